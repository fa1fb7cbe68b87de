// The schemes whose lease sits on the lock's own key: `simple` and `redisson`.

#include "tests/redis/commands.hpp"
#include "tests/redis/opening.hpp"
#include "tests/redis/script_user.hpp"
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
using test::ScriptUser;
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

/// With more sessions whose time is over than one script sweeps, so that nothing has cleaned up behind `dead` yet.
class RedisDeadKey : public RedisKeyLease {
 protected:
  static constexpr int dead = 1000, alive = 1001;  // sessions

  RedisDeadKey() {
    for (int session = 1; session <= 40; ++session) users_.open(session);
    users_.open(dead);
    users_.open(alive);
  }
  void claim(int session, int claim) { users_.claim_key(session, claim, GetParam(), "job"); }
  void let_the_dead_end() {
    for (int session = 1; session <= 40; ++session) users_.let_end(session, 1);
    users_.let_end(dead, 2);
  }
  bool was_woken(int claim) const {
    return server_.cli({"SISMEMBER", "{pawl}:t:" + ScriptUser::id(alive), ScriptUser::id(claim)}) == "1\n";
  }

  Client client_{url()};  // makes the epoch
  ScriptUser users_{server_};
};
INSTANTIATE_TEST_SUITE_P(Schemes, RedisDeadKey, testing::Values("simple", "redisson"),
                         [](const auto& scheme) { return std::string(scheme.param); });

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

// The one wake-up of a release went to any waiter. Fails without `lives(claim.s)` in wake_one().
TEST_P(RedisDeadKey, AWaiterDoesNotGetTheWakeUpOfOneThatLives) {
  constexpr int holds = 1, waits = 2;
  claim(alive, holds);
  claim(alive, waits);
  for (int i = 0; i < 40; ++i) claim(dead, 100 + i);
  let_the_dead_end();
  ASSERT_FALSE(was_woken(waits));
  users_.withdraw(alive, holds, std::string(GetParam()) + ":job");
  EXPECT_TRUE(was_woken(waits));
}

// A holder that had died, and was not swept yet, was shown as a client of another library. Fails without the last EXISTS in
// key_inspect.lua.
TEST_P(RedisDeadKey, AHolderIsNotShownAsForeign) {
  claim(dead, 1);
  ASSERT_EQ(client_.inspect("job").value().holders.size(), 1U);
  let_the_dead_end();
  const LockView view = client_.inspect("job").value();
  EXPECT_TRUE(view.holders.empty());
  EXPECT_GT(view.shut_for, 0s) << "its key is there";
  EXPECT_TRUE(client_.mutex("job").try_acquire());
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
  const std::vector<Hold> holds = hold_many(client, 3'000);
  const Commands commands(server_);
  EXPECT_TRUE(eventually([&] { return commands.counts()["pexpire"] >= 3'000; }));
  EXPECT_LE(commands.per_script(), 2'000);
  for (const Hold& hold : holds) ASSERT_TRUE(hold.valid());
}

}  // namespace
}  // namespace pawl
