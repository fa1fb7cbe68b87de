// A server that has forgotten its locks: whoever holds one learns of it at once, long before its next renewal. Leases are
// ten minutes here, so that no renewal can help.

#include "tests/redis/commands.hpp"
#include "tests/support/naive_redis.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/redis_frames.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <stop_token>
#include <string>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::RedisServer;
using test::naive::Redis;

class RedisForgotten : public testing::TestWithParam<const char*> {
 protected:
  std::string url() const { return server_.url(std::string("?lease=10m&timeout=5s&scheme=") + GetParam()); }
  void restart() {
    server_.kill();
    server_.start();
  }
  static bool is_lost(const Hold& hold) {
    return eventually([&] { return hold.lost().stop_requested(); });
  }

  RedisServer server_;
};

TEST_P(RedisForgotten, AfterFlushallTheHolderLearnsOfItWhenAnotherHolds) {
  Client alice(url()), bob(url());
  const Hold before = alice.mutex("job").acquire().value();
  server_.cli({"FLUSHALL"});
  const Hold after = bob.mutex("job").acquire({.wait = 30s}).value();
  EXPECT_TRUE(is_lost(before));
  EXPECT_TRUE(after.valid());
  EXPECT_GT(after.token(), before.token());
}

TEST_P(RedisForgotten, AfterFlushallANewClientIsHeardOfAsWell) {
  Client alice(url());
  const Hold before = alice.mutex("job").acquire().value();
  server_.cli({"FLUSHALL"});
  Client bob(url());
  EXPECT_TRUE(is_lost(before));
}

TEST_P(RedisForgotten, OnesOwnNextRequestIsEnough) {
  Client alice(url());
  const Hold before = alice.mutex("job").acquire().value();
  const Hold shorter = alice.mutex("other").acquire({.lease = 9min}).value();
  server_.cli({"FLUSHALL"});
  EXPECT_TRUE(alice.epoch());
  EXPECT_TRUE(is_lost(before));
  EXPECT_TRUE(is_lost(shorter)) << "every session of the client";
}

TEST_P(RedisForgotten, AfterARestartWithoutPersistenceTheHolderLearnsOfItWhenItIsConnectedAgain) {
  Client alice(url());
  const Hold before = alice.mutex("job").acquire().value();
  server_.kill();
  server_.start();
  EXPECT_TRUE(is_lost(before));
}

// The server comes back with its last save: the sessions are in it, and what was written later is not.

TEST_P(RedisForgotten, ThatOnlyTheGrantWasLostIsNoticedAsWell) {
  Client alice(url());
  const Hold kept = alice.mutex("kept").acquire().value();
  server_.cli({"SAVE"});
  const Hold forgotten = alice.mutex("forgotten").acquire().value();
  restart();
  EXPECT_TRUE(is_lost(forgotten));
  EXPECT_TRUE(kept.valid());
  EXPECT_TRUE(alice.check(kept.sequencer()));
}

TEST_P(RedisForgotten, AHolderThatTheServerTakesForAWaiterHasLostTheLock) {
  Client alice(url()), bob(url());
  const Hold kept = bob.mutex("kept").acquire().value();
  Hold first = bob.mutex("job").acquire().value();
  auto waiter = std::async(std::launch::async, [&] { return alice.mutex("job").acquire({.wait = 60s}); });
  ASSERT_TRUE(eventually([&] { return bob.inspect("job").value().waiters.size() == 1; }));
  server_.cli({"SAVE"});
  EXPECT_TRUE(first.release());
  const Hold next = waiter.get().value();
  restart();
  EXPECT_TRUE(is_lost(next));
  EXPECT_TRUE(kept.valid());
}

TEST_P(RedisForgotten, ALockWhoseReleaseWasLostIsNotShutAsLongAsItsClientLives) {
  Client alice(url()), bob(url());
  const Hold kept = bob.mutex("kept").acquire().value();
  Hold released = bob.mutex("job").acquire().value();
  server_.cli({"SAVE"});
  EXPECT_TRUE(released.release());
  restart();
  EXPECT_TRUE(alice.mutex("job").acquire({.wait = 60s}));
  EXPECT_TRUE(kept.valid());
}

TEST_P(RedisForgotten, AWaiterWhoseLeavingWasLostIsNotGrantedTheLock) {
  Client alice(url()), bob(url()), carol(url());
  const Hold kept = bob.mutex("kept").acquire().value();
  Hold hold = alice.mutex("job").acquire().value();
  std::stop_source enough;
  auto waiter = std::async(std::launch::async, [&] { return bob.mutex("job").acquire({}, enough.get_token()); });
  ASSERT_TRUE(eventually([&] { return alice.inspect("job").value().waiters.size() == 1; }));
  server_.cli({"SAVE"});
  enough.request_stop();
  EXPECT_EQ(waiter.get().code(), Errc::cancelled);
  ASSERT_TRUE(eventually([&] { return alice.inspect("job").value().waiters.empty(); }));
  restart();
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(carol.mutex("job").acquire({.wait = 60s}));
}

TEST_P(RedisForgotten, AnAnnouncementAloneEndsNothing) {
  Client alice(url());
  const Hold hold = alice.mutex("job").acquire().value();
  const std::uint64_t before = alice.metrics().renewals;
  const test::Commands commands(server_);
  Redis stranger(server_.port());
  EXPECT_EQ(stranger.number({"PUBLISH", "{pawl}:epoch", "99999999999999"}), 1) << "it listens";
  EXPECT_EQ(stranger.number({"PUBLISH", "{pawl}:epoch", "nonsense"}), 1);
  EXPECT_TRUE(eventually([&] { return commands.scripts() > 0; })) << "it asks the server";
  EXPECT_TRUE(alice.check(hold.sequencer())) << "which is behind that question";
  EXPECT_EQ(alice.metrics().renewals, before) << "the epoch is what it was: nothing is in doubt";
  EXPECT_TRUE(hold.valid());
}

// Scenario: a client that may publish does so as fast as it can.
TEST_P(RedisForgotten, AFloodOfAnnouncementsMakesAHolderAskOneQuestionAtATime) {
  Client alice(url());
  const Hold hold = alice.mutex("job").acquire().value();
  const std::uint64_t before = alice.metrics().renewals;
  const test::Commands commands(server_);
  constexpr int flood = 2'000;
  server_.cli(
      {"EVAL",
       "for i = 1, " + std::to_string(flood) + " do redis.call('PUBLISH', '{pawl}:epoch', '99999999999999') end", "0"});
  EXPECT_TRUE(alice.check(hold.sequencer()));
  EXPECT_LT(commands.scripts(), flood / 10);
  EXPECT_EQ(alice.metrics().renewals, before);
}

TEST_P(RedisForgotten, ANewEpochByHandEndsNothing) {
  Client alice(url()), bob(url());
  const Hold hold = alice.mutex("job").acquire().value();
  const std::uint64_t before = alice.metrics().renewals;
  EXPECT_TRUE(bob.raise_epoch());
  EXPECT_TRUE(eventually([&] { return alice.metrics().renewals > before; }));
  EXPECT_TRUE(hold.valid());
}

// Scene: the announcement is lost, because the listening connection breaks at the same time.
TEST_P(RedisForgotten, WhoeverDidNotListenMeanwhileLooksWhenItListensAgain) {
  test::Proxy proxy(server_.port(), test::redis_framing({}));
  Client alice("redis://127.0.0.1:" + std::to_string(proxy.port()) + "/0?lease=10m&scheme=" + GetParam());
  const Hold before = alice.mutex("job").acquire().value();
  proxy.hold();
  server_.cli({"CLIENT", "KILL", "TYPE", "pubsub"});
  server_.cli({"FLUSHALL"});
  Client bob(url());
  EXPECT_TRUE(bob.mutex("job").acquire({.wait = 30s}));
  proxy.go_on();
  EXPECT_TRUE(is_lost(before));
}

TEST_P(RedisForgotten, AfterARestartItIsTheSameStoreWhereAClientStillKnowsIt) {
  Client alice(url());
  EXPECT_TRUE(alice.mutex("job").acquire());
  const std::uint64_t before = alice.store_id();
  server_.kill();
  server_.start();
  EXPECT_TRUE(alice.mutex("job").acquire({.wait = 30s}));
  EXPECT_EQ(alice.store_id(), before);
  EXPECT_EQ(Client(url()).store_id(), before);
}

INSTANTIATE_TEST_SUITE_P(All, RedisForgotten, testing::Values("queue", "simple"),
                         [](const auto& scheme) { return std::string(scheme.param); });

}  // namespace
}  // namespace pawl
