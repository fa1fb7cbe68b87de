// A MySQL server whose wall clock is set while clients hold locks.

#include "tests/support/mysql_frames.hpp"
#include "tests/support/mysql_server.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/server_clock.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::MysqlServer;

class MysqlClock : public testing::Test {
 protected:
  /// What the server says.
  bool is_ahead_by(std::chrono::seconds ahead) {
    const std::int64_t theirs = std::stoll(server().root().field("SELECT UNIX_TIMESTAMP()"));
    const auto ours = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::abs(std::chrono::seconds(theirs) - ours - ahead) < 5min;
  }
  MysqlServer& server() {
    if (!server_) {
      server_ = std::make_unique<MysqlServer>(std::vector<std::string>{}, clock_.environment());
    }
    return *server_;
  }
  std::string url(const std::string& query) { return server().url("?timeout=30s" + query); }

  test::ServerClock clock_;

 private:
  std::unique_ptr<MysqlServer> server_;
};

// The client is cut off from the server, so that nobody ends its session.
TEST_F(MysqlClock, SetBackProlongsTheLeaseOfNoDeadClient) {
  clock_.set_ahead(2h);
  test::Proxy proxy(server().port(), test::mysql_framing());
  ASSERT_TRUE(is_ahead_by(2h));
  Client dead(MysqlServer::url_at(proxy.port(), "?lease=5s&timeout=30s"));
  const Hold hold = dead.mutex("job").acquire().value();
  proxy.hold();
  clock_.set_ahead(0h);
  ASSERT_TRUE(is_ahead_by(0h));
  Client next(url("&lease=5s"));
  EXPECT_TRUE(next.mutex("job").acquire({.wait = 60s})) << "two hours and a lease were cut to a lease";
  EXPECT_FALSE(hold.valid());
}

TEST_F(MysqlClock, SetBackCostsNoHold) {
  clock_.set_ahead(2h);
  Client alice(url("&lease=600s")), bob(url("&lease=600s"));
  const Hold hold = alice.mutex("job").acquire().value();
  const std::uint64_t epoch = alice.epoch().value();
  clock_.set_ahead(0h);
  ASSERT_TRUE(is_ahead_by(0h));
  EXPECT_TRUE(bob.mutex("other").acquire({.wait = 60s}));
  EXPECT_EQ(bob.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_TRUE(hold.valid());
  EXPECT_EQ(alice.epoch().value(), epoch) << "it is the same life of the server";
}

TEST_F(MysqlClock, SetForwardEndsSessionsAndTheHolderIsToldWithTheNextRenewal) {
  Client alice(url("&lease=6s")), bob(url("&lease=6s"));
  const Hold hold = alice.mutex("job").acquire().value();
  const Token first = hold.token();
  clock_.set_ahead(2h);
  ASSERT_TRUE(is_ahead_by(2h));
  const Hold next = bob.mutex("job").acquire({.wait = 60s}).value();
  EXPECT_GT(next.token(), first) << "a fence tells them apart";
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
}

}  // namespace
}  // namespace pawl
