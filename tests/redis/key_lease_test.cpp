// The schemes whose lease sits on the lock's own key: `simple` and `redisson`.

#include "tests/redis/commands.hpp"
#include "tests/support/real_world.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::Commands;
using test::eventually;
using test::RedisServer;
using testing::HasSubstr;
using testing::Not;

class RedisKeyLease : public testing::TestWithParam<const char*> {
 protected:
  std::string query(const std::string& more = {}) const { return "?scheme=" + std::string(GetParam()) + more; }
  std::string url(const std::string& more = {}) const { return server_.url(query(more)); }
  /// As a user who may do everything but that.
  std::string url_without(const std::string& command) const {
    server_.cli({"ACL", "SETUSER", "weak", "on", ">pw", "~*", "&*", "+@all", "-" + command});
    return "redis://weak:pw@127.0.0.1:" + std::to_string(server_.port()) + "/0" + query("&lease=3s&timeout=1s");
  }
  bool simple() const { return GetParam() == std::string("simple"); }

  RedisServer server_;
};
INSTANTIATE_TEST_SUITE_P(Schemes, RedisKeyLease, testing::Values("simple", "redisson"),
                         [](const auto& scheme) { return std::string(scheme.param); });

// The key ran out, and the holder was told that it was renewed.
TEST_P(RedisKeyLease, AKeyThatCannotBeRenewedIsLost) {
  Client weak(url_without("pexpire")), bob(url());
  const Result<Hold> hold = weak.mutex("job").try_acquire();
  if (simple()) {
    ASSERT_TRUE(hold);
  } else {
    EXPECT_EQ(hold.code(), Errc::permission_denied) << "a key without an end would be shut for ever";
    EXPECT_TRUE(bob.mutex("job").try_acquire());
    return;
  }
  EXPECT_TRUE(bob.mutex("job").acquire({.wait = 60s}));
  EXPECT_FALSE(hold->valid());
}

// Ten scripts a second, and "held by a client of another library".
TEST_P(RedisKeyLease, AWaiterDoesNotPollBecauseOfALockDelay) {
  scene::RealWorld world({server_.url(), GetParam(), 1s, 5s});
  const scene::Actor alice = world.client(), bob = world.client();
  const Hold hold = must_acquire(alice, "job", {.lock_delay = 60s});
  world.expire(alice);
  const Result<Hold> refused = try_acquire(bob, "job");
  EXPECT_EQ(refused.code(), Errc::busy);
  EXPECT_THAT(refused.error().message, Not(HasSubstr("another library")));
  std::stop_source stop;
  scene::StartedHold waits = start_acquire(bob, "job", {}, stop.get_token());
  ASSERT_TRUE(world.queued("job", 1));
  EXPECT_GT(world.view("job").shut_for, 0s);
  const Commands commands(server_);
  std::this_thread::sleep_for(2s);  // what does not happen cannot be waited for
  EXPECT_LE(commands.scripts(), 5);
  stop.request_stop();
  EXPECT_FALSE(waits.get());
}

TEST_P(RedisKeyLease, ThreeThousandKeysAreRenewedBitByBit) {
  Client client(url("&lease=20s&timeout=30s"));
  std::vector<Hold> holds;
  for (int i = 0; i < 3'000; ++i) holds.push_back(client.mutex("job" + std::to_string(i)).acquire().value());
  const Commands commands(server_);
  EXPECT_TRUE(eventually([&] { return commands.counts()["pexpire"] >= 3'000; }));
  EXPECT_LE(commands.per_script(), 2'000);
  for (const Hold& hold : holds) ASSERT_TRUE(hold.valid());
}

}  // namespace
}  // namespace pawl
