// A MySQL server that is restarted, moves, fails over to its replica, ends idle connections, or hangs in a TLS handshake.

#include "tests/support/mysql_frames.hpp"
#include "tests/support/mysql_server.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/socket.hpp"
#include "tests/support/threads.hpp"

#include <pawl/mysql.hpp>
#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::MysqlClient;
using test::MysqlServer;
using test::Proxy;
using testing::HasSubstr;

std::vector<std::string> numbers_of_ours(MysqlClient& root) {
  std::vector<std::string> numbers;
  for (const auto& row : root.query("SELECT id FROM information_schema.processlist WHERE user = 'pawl' ORDER BY id")) {
    numbers.push_back(row[0]);
  }
  return numbers;
}

TEST(MysqlOutage, AServerThatEndsIdleConnectionsAfterTwoSecondsEndsNoneOfOurs) {
  MysqlServer server({"--wait-timeout=2", "--interactive-timeout=2"});
  Client client(server.url("?lease=600s&timeout=30s"));
  const Hold hold = client.mutex("job").acquire().value();
  const std::vector<std::string> before = [&] {
    MysqlClient root = server.root();
    return numbers_of_ours(root);
  }();
  for (int round = 0; round < 2; ++round) {
    MysqlClient stranger(server.port(), "root", "", "pawl");
    const std::string number = stranger.field("SELECT CONNECTION_ID()");
    ASSERT_TRUE(eventually([&] {
      return server.root().field("SELECT COUNT(*) FROM information_schema.processlist WHERE id = " + number) == "0";
    })) << "an idle connection lives longer";
  }
  MysqlClient root = server.root();
  EXPECT_EQ(numbers_of_ours(root), before);
  EXPECT_TRUE(hold.valid());
}

TEST(MysqlOutage, ARestartCostsNoHoldAndNoPlaceInTheQueue) {
  MysqlServer server;
  Client alice(server.url("?lease=120s&timeout=30s")), bob(server.url("?lease=120s&timeout=30s"));
  Hold hold = alice.mutex("job").acquire().value();
  auto waiting = std::async(std::launch::async, [&] { return bob.mutex("job").acquire({.wait = 240s}); });
  {
    MysqlClient root = server.root();
    ASSERT_TRUE(eventually([&] { return root.field("SELECT COUNT(*) FROM pawl_claim WHERE state = 0") == "1"; }));
  }
  server.end();
  server.start();
  EXPECT_EQ(Client(server.url("?timeout=30s")).mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_TRUE(hold.valid());
  const Token first = hold.token();
  EXPECT_TRUE(hold.release());
  EXPECT_GT(waiting.get().value().token(), first);
}

// To one that knows nothing of what the first one has granted.
TEST(MysqlOutage, WhenTheAddressMovesToAnotherServerHoldsAreLostAndTokensGrow) {
  MysqlServer first, second;
  Proxy address(first.port(), test::mysql_framing());
  const std::string url = MysqlServer::url_at(address.port(), "?lease=15s&timeout=10s");
  Client alice(url);
  const Hold hold = alice.mutex("job").acquire().value();
  address.move_to(second.port());
  first.root().query("SET GLOBAL read_only = 1");  // as a failover does with the server that it leaves
  address.cut();
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  Client bob(url);
  EXPECT_GT(bob.mutex("job").acquire({.wait = 60s}).value().token(), hold.token());
}

// New connections lead to the new server, and the old ones stay where they were.
TEST(MysqlOutage, AServerThatWasMadeReadOnlyUnderOurConnectionsIsLeftForTheNewOne) {
  MysqlServer first, second;
  Proxy address(first.port(), test::mysql_framing());
  const std::string url = MysqlServer::url_at(address.port(), "?lease=15s&timeout=10s");
  Client alice(url);
  { ASSERT_TRUE(alice.mutex("job").acquire({.wait = 60s})); }
  address.move_to(second.port());
  first.root().query("SET GLOBAL read_only = 1");
  EXPECT_TRUE(alice.mutex("job").acquire({.wait = 120s})) << "1290 makes it connect again";
  MysqlClient root = second.root();
  EXPECT_TRUE(eventually([&] { return numbers_of_ours(root).size() == 2; })) << "the listener as well";
}

TEST(MysqlOutage, APromotedReplicaKnowsTheHoldsAndBeginsANewEpoch) {
  MysqlServer master({"--log-bin=binlog", "--binlog-format=MIXED", "--server-id=1"});
  MysqlServer replica({"--log-bin=binlog", "--binlog-format=MIXED", "--server-id=2", "--read-only=1"});
  master.root().query(
      "RESET MASTER; CREATE USER replicator IDENTIFIED BY 'pw'; GRANT REPLICATION SLAVE ON *.* TO replicator");
  MysqlClient theirs = replica.root();
  theirs.query("CHANGE MASTER TO master_host = '127.0.0.1', master_port = " + std::to_string(master.port()) +
               ", master_user = 'replicator', master_password = 'pw', master_use_gtid = slave_pos; START SLAVE");
  Proxy address(master.port(), test::mysql_framing());
  const std::string url = MysqlServer::url_at(address.port(), "?lease=600s&timeout=20s");
  Client alice(url);
  const Hold hold = alice.mutex("job").acquire().value();
  ASSERT_TRUE(eventually([&] {
    return theirs.field("SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'pawl_claim'") == "1" &&
           theirs.field("SELECT COUNT(*) FROM pawl_claim WHERE state = 1") == "1";
  }));
  const Result<Client> refused = Client::open(replica.url("?timeout=2s"));
  EXPECT_EQ(refused.code(), Errc::store_unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("read-only"));

  master.kill();
  theirs.query("STOP SLAVE; SET GLOBAL read_only = 0");
  address.move_to(replica.port());
  Client bob(url);
  EXPECT_EQ(bob.mutex("job").try_acquire().code(), Errc::busy) << "the replica knows it";
  const Token next = bob.mutex("other").acquire({.wait = 60s}).value().token();
  EXPECT_GT(next.epoch(), hold.token().epoch());
  EXPECT_TRUE(hold.valid());
}

// The client library blocks while it connects.
TEST(MysqlOutage, AServerThatHangsInItsTlsHandshakeDelaysNoRenewalOfAnotherStore) {
  test::TemporaryFolder folder;
  const std::string make = "cd '" + folder.path() +
                           "' && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -keyout key.pem "
                           "-out cert.pem > /dev/null 2>&1";
  ASSERT_EQ(std::system(make.c_str()), 0);
  MysqlServer server({"--ssl-cert=" + folder.path() + "/cert.pem", "--ssl-key=" + folder.path() + "/key.pem"});
  Proxy proxy(server.port(), test::mysql_framing());
  proxy.hold_requests(true);  // the server has greeted, and is waiting for the handshake
  Client other("memory:beside-a-tls-handshake", {.lease = 1s});
  const Hold hold = other.mutex("job").acquire().value();
  const Result<Client> client =
      Client::open(MysqlServer::url_at(proxy.port(), "?timeout=4s&ca=" + folder.path() + "/cert.pem"));
  EXPECT_EQ(client.code(), Errc::store_unavailable);
  EXPECT_GE(proxy.accepted(), 1U);
  EXPECT_TRUE(hold.valid());
}

TEST(MysqlOutage, AMemberOfAGaleraClusterLocksNoRows) {
  MysqlServer server({"--wsrep-on=ON", "--binlog-format=ROW"});
  MysqlClient user(server.port(), "pawl", "secret", "pawl");
  const Result<void> prepared = mysql::prepare_row(user.handle(), "job");
  EXPECT_EQ(prepared.code(), Errc::unsupported);
  EXPECT_THAT(prepared.error().message, HasSubstr("Galera"));
}

}  // namespace
}  // namespace pawl
