// Where the URLs of the MySQL store lead.

#include "tests/support/mysql_frames.hpp"
#include "tests/support/mysql_server.hpp"
#include "tests/support/proxy.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::MysqlServer;
using test::Proxy;

// The client library takes "localhost" for the socket of a server on this machine, whatever the port.
TEST(MysqlAddress, LocalhostWithAPortIsTheServerAtThatPort) {
  MysqlServer server;
  const std::string port = std::to_string(server.port());
  Result<Client> client = Client::open("mysql://pawl:secret@localhost:" + port + "/pawl?timeout=30s");
  ASSERT_TRUE(client) << client.error().message;
  const Hold hold = client->mutex("job").acquire().value();
  EXPECT_EQ(server.root().field("SELECT COUNT(*) FROM pawl_claim"), "1");
}

TEST(MysqlAddress, MariadbIsAnotherNameForMysql) {
  MysqlServer& server = MysqlServer::shared();
  const std::string at =
      "://pawl:secret@127.0.0.1:" + std::to_string(server.port()) + "/pawl?timeout=30s&prefix=named-so";
  Client alice("mariadb" + at), bob("mysql" + at);
  const Hold hold = alice.mutex("job").acquire().value();
  EXPECT_EQ(bob.mutex("job").try_acquire().code(), Errc::busy);
}

// Each answer comes late: what is asked one after the other is asked at different times.
TEST(MysqlAddress, ASlowLinkStartsNoNewEpoch) {
  MysqlServer server;
  Client near(server.url("?timeout=30s&lease=600s"));
  const std::uint64_t epoch = near.epoch().value();
  Proxy proxy(server.port(), test::mysql_framing());
  proxy.delay_replies(4s);
  Client far(MysqlServer::url_at(proxy.port(), "?timeout=120s&lease=600s"));
  EXPECT_EQ(far.epoch().value(), epoch) << "it is the same life of the same server";
}

}  // namespace
}  // namespace pawl
