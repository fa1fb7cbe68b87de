// The accidents that Redlock is known for: docs/hazards.md#redlock. Each happens to the algorithm as it is often written first,
// and then the same things are done to pawl. Where pawl has two believers as well, the test says so, and shows the fence.

#include "tests/redis/hazard_child.hpp"
#include "tests/redlock/nodes.hpp"
#include "tests/support/server_clock.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string_view>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using hazard::Child;
using redlock_test::ClassicRedlock;
using redlock_test::key_of;
using redlock_test::nodes;
using redlock_test::nodes_with;
using test::eventually;
using test::RedisServers;
using testing::StartsWith;

using Nodes = std::vector<std::size_t>;

std::string text_of(const std::string& path) {
  std::string text;
  std::ifstream(path) >> text;
  return text;
}

Result<void> fenced_write(const Hold& hold, const std::string& path, const std::string& text) {
  const Sequencer sequencer = hold.sequencer();
  Fence fence = Fence::open(path + ".fence", sequencer.kind, sequencer.name).value();
  return fence.admit(sequencer, [&] { std::ofstream(path) << text; });
}

class RedlockHazard : public testing::Test {
 protected:
  std::string url(const std::string& more = {}, const std::string& timeout = "1s") const {
    return servers_.url("?node_timeout=300ms&delay=20ms&prefix=h:&timeout=" + timeout + more);
  }
  /// What the client does in `work` meets no other node than these.
  template <class Work>
  auto reaching(const Nodes& reached, Work work) {
    for (std::size_t i = 0; i < nodes; ++i) {
      if (std::find(reached.begin(), reached.end(), i) == reached.end()) servers_[i].stop();
    }
    auto outcome = work();
    for (std::size_t i = 0; i < nodes; ++i) servers_[i].go_on();
    return outcome;
  }
  /// A hold on just a majority of the nodes, as when the others did not answer, or their answers were lost.
  Hold hold_on_three(Client& client, const std::string& name) {
    Hold hold = reaching({0, 1, 2}, [&] { return client.mutex(name).acquire({.wait = 60s}).value(); });
    for (const std::size_t node : {3U, 4U}) {
      test::naive::Redis redis(servers_[node].port());
      // The requests that waited there come first.
      EXPECT_TRUE(eventually([&] { return redis.number({"EXISTS", key_of("h:", name)}) == 1; }));
      redis.call({"DEL", key_of("h:", name)});
    }
    return hold;
  }
  void restart_empty(std::size_t node) {
    servers_[node].kill();
    servers_[node].start();
  }
  /// Everybody knows every node.
  static void warm_up(Client& client) { client.mutex("warm up").acquire({.wait = 60s}).value().release().value(); }

  RedisServers servers_{nodes};
};

// A node that restarts empty (antirez: "delayed restarts"; redsync#186)

TEST_F(RedlockHazard, WithoutMembershipANodeThatRestartsEmptyLetsASecondClientIn) {
  ClassicRedlock lock(servers_, "classic");
  ASSERT_TRUE(lock.take("alice", 60s, {0, 1, 2}));
  EXPECT_FALSE(lock.take("early", 60s, {2, 3, 4})) << "the lock works";
  for (const std::size_t node : {3U, 4U}) test::naive::Redis(servers_[node].port()).call({"DEL", "classic"});
  restart_empty(2);
  EXPECT_TRUE(lock.take("bob", 60s, {2, 3, 4})) << "the accident: alice has not let go";
}

TEST_F(RedlockHazard, ANodeThatRestartsEmptyLetsNoSecondClientIn) {
  Client alice(url("&lease=20s")), bob(url("&lease=20s"));
  warm_up(alice);
  warm_up(bob);
  Hold hold = hold_on_three(alice, "job");
  restart_empty(2);
  EXPECT_FALSE(bob.mutex("job").try_acquire()) << "the two that are free are no majority";
  EXPECT_FALSE(bob.mutex("job").acquire({.wait = 500ms}));
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(bob.mutex("job").acquire({.wait = 60s})) << "and four nodes go on";
}

// Two restart empty, one after the other, while the first one has not rejoined: the rest has just a majority.
TEST_F(RedlockHazard, TwoNodesThatRestartEmptyLetNoSecondClientInAndRejoinInTheEnd) {
  Client alice(url("&lease=3s")), bob(url("&lease=3s"));
  warm_up(alice);
  warm_up(bob);
  Hold hold = alice.mutex("job").acquire({.wait = 60s}).value();
  const Token token = hold.token();
  restart_empty(1);
  restart_empty(3);
  EXPECT_FALSE(bob.mutex("job").acquire({.wait = 300ms}));
  EXPECT_TRUE(eventually([&] { return nodes_with(servers_, key_of("h:", "job")) == nodes || !hold.valid(); }))
      << "they rejoin after the longest lease, and get the lock back";
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(hold.release());
  EXPECT_GT(bob.mutex("job").acquire({.wait = 60s}).value().token(), token);
}

// Three of five: what is left knows that it does not know.
TEST_F(RedlockHazard, AMajorityThatRestartsEmptyIsRefusedUntilAnOperatorBeginsANewEpoch) {
  Client alice(url("&lease=2s"));
  warm_up(alice);
  Hold hold = alice.mutex("job").acquire({.wait = 60s}).value();
  const Token token = hold.token();
  for (const std::size_t node : {0U, 1U, 2U}) restart_empty(node);
  Client bob(url("&lease=2s", "5s"), {.connect = Connect::lazy});
  const Result<Hold> refused = bob.mutex("job").try_acquire();
  ASSERT_EQ(refused.code(), Errc::store_unavailable);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("pawl epoch new"));
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); })) << "alice cannot renew, either";
  ASSERT_TRUE(bob.raise_epoch());
  Hold next = bob.mutex("job").acquire({.wait = 60s}).value();
  EXPECT_GT(next.token(), token);
  EXPECT_TRUE(next.release());
}

// Kleppmann: a pause, and a late write. No lock with a lease prevents it; a token does.

TEST_F(RedlockHazard, KleppmannAPauseBehindTheAcquireAndALateWrite) {
  const test::TemporaryFolder folder;
  const std::string unfenced = folder / "unfenced", fenced = folder / "fenced";
  Child alice;
  ASSERT_EQ(alice.say("open " + url("&lease=1s")), "ok");
  ASSERT_THAT(alice.say("acquire job"), StartsWith("ok"));
  alice.stop();
  Client bob(url());
  Hold hold = bob.mutex("job").acquire({.wait = 60s}).value();
  std::ofstream(unfenced) << "bob";
  ASSERT_TRUE(fenced_write(hold, fenced, "bob"));
  alice.go_on();
  EXPECT_EQ(alice.say("write " + unfenced + " alice"), "ok");
  EXPECT_THAT(alice.say("fenced-write " + fenced + " alice"), StartsWith("overtaken"));
  EXPECT_EQ(text_of(unfenced), "alice") << "without a fence the late write wins, on any store";
  EXPECT_EQ(text_of(fenced), "bob");
  EXPECT_EQ(alice.say("valid"), "no") << "she would have known if she had asked";
}

// antirez: "if the delay is between asking and the end of acquiring, the client notices, and does not consider it acquired".

TEST_F(RedlockHazard, AntirezAPauseWhileTheAnswersAreUnderWayIsNoticed) {
  Child alice;
  ASSERT_EQ(alice.say("open " + url("&lease=2s")), "ok");
  ASSERT_THAT(alice.say("acquire warm-up"), StartsWith("ok"));
  ASSERT_EQ(alice.say("release"), "ok");
  Client bob(url());
  warm_up(bob);
  for (const std::size_t node : {0U, 1U, 2U}) servers_[node].stop();
  alice.send("acquire job");
  test::naive::Redis fourth(servers_[3].port());
  ASSERT_TRUE(eventually([&] { return fourth.number({"EXISTS", key_of("h:", "job")}) == 1; })) << "she has asked";
  alice.stop();
  for (const std::size_t node : {0U, 1U, 2U}) servers_[node].go_on();
  ASSERT_TRUE(eventually([&] { return nodes_with(servers_, key_of("h:", "job")) == nodes; })) << "all have said yes";
  Hold hold = bob.mutex("job").acquire({.wait = 60s}).value();  // when her keys have ended
  alice.go_on();
  // Her answers say "taken" by a majority; they are too old.
  EXPECT_FALSE(alice.answers_within(500ms));
  EXPECT_TRUE(hold.valid());
  const std::string token = hold.token().to_string();
  EXPECT_TRUE(hold.release());
  const std::string granted = alice.answer();
  ASSERT_THAT(granted, StartsWith("ok "));
  EXPECT_GT(granted.substr(3), token) << "she was granted it behind bob";
}

// Clocks

/// Five nodes whose clocks a test may set.
class RedlockClocks : public testing::Test {
 protected:
  RedlockClocks() {
    for (const test::ServerClock& clock : clocks_) {
      std::vector<std::string> environment = clock.environment();
      environment.insert(environment.begin(), "env");
      servers_.add({}, environment);
    }
  }
  void set_ahead(std::size_t node, std::chrono::microseconds ahead) { clocks_.at(node).set_ahead(ahead); }
  std::string url(const std::string& more = {}) const {
    return servers_.url("?timeout=1s&node_timeout=300ms&delay=20ms&prefix=h:" + more);
  }

  std::array<test::ServerClock, nodes> clocks_;
  RedisServers servers_{0};
};

TEST_F(RedlockClocks, CanBeSet) {
  test::naive::Redis redis(servers_[0].port());
  const auto now = [&] { return redis.number({"EVAL", "return redis.call('TIME')[1]", "0"}); };
  const std::int64_t before = now();
  set_ahead(0, 1h);
  EXPECT_GE(now(), before + 3600);
}

// Kleppmann: client 1 has A, B, C; the clock of C jumps, so that the key ends there; client 2 has C, D, E.
TEST_F(RedlockClocks, KleppmannTheClockOfOneNodeOfABareMajorityLetsASecondClientIn) {
  ClassicRedlock lock(servers_, "classic");
  ASSERT_TRUE(lock.take("alice", 60s, {0, 1, 2}));
  set_ahead(2, 61s);
  EXPECT_TRUE(lock.take("bob", 60s, {2, 3, 4})) << "the accident";
}

// pawl takes all nodes that answer, and tops up those that did not: so one clock, or two, do no harm.
TEST_F(RedlockClocks, OfOneNodeAndOfTwoLetNoSecondClientIn) {
  Client alice(url("&lease=20s")), bob(url("&lease=20s"));
  Hold hold = alice.mutex("job").acquire({.wait = 60s}).value();
  ASSERT_TRUE(eventually([&] { return nodes_with(servers_, key_of("h:", "job")) == nodes; }));
  set_ahead(1, 1h);
  EXPECT_FALSE(bob.mutex("job").acquire({.wait = 200ms}));
  set_ahead(4, 1h);
  EXPECT_FALSE(bob.mutex("job").acquire({.wait = 200ms}));
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(bob.mutex("job").acquire({.wait = 60s}));
}

// A hold on a bare majority, as while two nodes are dead: one clock is enough there. The fence notices.
TEST_F(RedlockClocks, OfOneNodeOfABareMajorityLetsASecondClientInAndTheFenceRefusesTheFirstOne) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "file";
  Client alice(url("&lease=60s")), bob(url("&lease=60s"));
  for (Client* client : {&alice, &bob}) client->mutex("warm up").acquire({.wait = 60s}).value().release().value();
  for (const std::size_t node : {3U, 4U}) servers_[node].stop();
  Hold hold = alice.mutex("job").acquire({.wait = 60s}).value();
  for (const std::size_t node : {3U, 4U}) {
    servers_[node].go_on();
    test::naive::Redis redis(servers_[node].port());
    redis.call({"DEL", key_of("h:", "job")});
  }
  ASSERT_TRUE(fenced_write(hold, file, "alice"));
  set_ahead(2, 1h);
  const Result<Hold> second = bob.mutex("job").acquire({.wait = 60s});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_GT(second->token(), hold.token()) << "whether she has found out by now, or not";
  ASSERT_TRUE(fenced_write(*second, file, "bob"));
  EXPECT_EQ(fenced_write(hold, file, "alice-again").code(), Errc::overtaken);
  EXPECT_EQ(text_of(file), "bob");
}

// What still breaks it: the clocks of a majority. Exclusion is lost until the next renewal, for 5 s at the most; the order of
// tokens is not.
TEST_F(RedlockClocks, OfThreeNodesLetASecondClientInAndTheFenceRefusesTheFirstOne) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "file";
  Client alice(url("&lease=60s")), bob(url("&lease=60s"));
  Hold hold = alice.mutex("job").acquire({.wait = 60s}).value();
  ASSERT_TRUE(fenced_write(hold, file, "alice"));
  for (const std::size_t node : {0U, 1U, 2U}) set_ahead(node, 1h);
  Hold second = bob.mutex("job").acquire({.wait = 15s}).value();
  EXPECT_GT(second.token(), hold.token());
  ASSERT_TRUE(fenced_write(second, file, "bob"));
  EXPECT_EQ(fenced_write(hold, file, "alice-again").code(), Errc::overtaken);
  EXPECT_EQ(text_of(file), "bob");
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); })) << "until then both believed";
  EXPECT_TRUE(second.valid());
}

// As soon as another client was granted her lock by an operator, a holder should know: long before a third of her lease.
TEST_F(RedlockHazard, AHolderWhoseLockIsTakenAwayFindsOutLongBeforeAThirdOfItsLease) {
  Client alice(url("&lease=12h")), operator_(url());
  Hold hold = alice.mutex("job").acquire({.wait = 60s}).value();
  ASSERT_TRUE(operator_.revoke("job", {.now = true}));
  Hold next = operator_.mutex("job").acquire({.wait = 60s}).value();
  EXPECT_GT(next.token(), hold.token());
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_TRUE(next.valid());
}

// `drift` is for clocks that jump by a known time at the most: keys outlive their holders' belief by as much.
TEST_F(RedlockClocks, ThatJumpByLessThanTheDriftTakeNothingFromAHolder) {
  Client alice(url("&lease=3s&drift=5s"));
  Hold hold = alice.mutex("job").acquire({.wait = 60s}).value();
  ASSERT_TRUE(eventually([&] { return nodes_with(servers_, key_of("h:", "job")) == nodes; }));
  for (std::size_t node = 0; node < nodes; ++node) set_ahead(node, 4s);
  EXPECT_EQ(nodes_with(servers_, key_of("h:", "job")), nodes);
  EXPECT_TRUE(hold.valid());
}

// A clock that is set back keeps a lock shut for longer, on that node alone.
TEST_F(RedlockClocks, ThatAreSetBackOnAMinorityShutNoLock) {
  {
    Child alice;
    ASSERT_EQ(alice.say("open " + url("&lease=500ms")), "ok");
    ASSERT_THAT(alice.say("acquire job"), StartsWith("ok"));
    alice.kill();
  }
  for (const std::size_t node : {0U, 1U}) set_ahead(node, -1h);
  Client bob(url());
  EXPECT_TRUE(bob.mutex("job").acquire({.wait = 60s}));
}

}  // namespace
}  // namespace pawl

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--child") pawl::hazard::play();
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
