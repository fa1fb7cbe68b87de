// The accidents that locks on Redis are known for: docs/hazards.md. Each happens to a naive lock on a real server first,
// and then the same things are done to pawl.

#include "tests/redis/commands.hpp"
#include "tests/redis/hazard_child.hpp"
#include "tests/support/naive_redis.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <time.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

// In place of the C library's, so that a child can live in another time: the wall clock only, as if somebody had set it.
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const char* const ahead = std::getenv("PAWL_HAZARD_CLOCK_AHEAD");
  const auto outcome = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  if (outcome == 0 && clock == CLOCK_REALTIME && ahead != nullptr) now->tv_sec += std::atol(ahead);
  return outcome;
}

namespace pawl {
namespace {

using namespace std::chrono_literals;
using hazard::Child;
using test::eventually;
using test::RedisServer;
using test::naive::Redis;
using test::naive::StampLock;
using test::naive::TwoStepLock;
using test::naive::UnownedLock;
using testing::ElementsAre;
using testing::StartsWith;

/// Who works at the moment, as they believe: two names are an accident.
using Inside = std::vector<std::string>;

std::string text_of(const std::string& path) {
  std::string text;
  std::ifstream(path) >> text;
  return text;
}

/// As hazard::Part does it: the fence stands beside the file. Here a replica may take over that has not heard of the store.
Result<void> fenced_write(const Hold& hold, const std::string& path, const std::string& text) {
  const Sequencer sequencer = hold.sequencer();
  Fence fence = Fence::open(path + ".fence", sequencer.kind, sequencer.name, {.follow_new_store = true}).value();
  return fence.admit(sequencer, [&] { std::ofstream(path) << text; });
}

class NaiveRedisLock : public testing::Test {
 protected:
  RedisServer server_;
  Redis alice_{server_.port()}, bob_{server_.port()}, carol_{server_.port()};
};

/// pawl, with each scheme of the store.
class RedisHazard : public testing::TestWithParam<const char*> {
 protected:
  std::string url(const RedisServer& server, const std::string& more) const {
    return server.url("?scheme=" + std::string(GetParam()) + "&prefix=" + prefix_ + more);
  }

 private:
  // A client whose server has died goes on asking until its lease ends: it must not meet another test's server by chance.
  static inline int tests = 0;
  const std::string prefix_ = "{hazard-" + std::to_string(++tests) + "}:";
};

INSTANTIATE_TEST_SUITE_P(Schemes, RedisHazard, testing::Values("queue", "simple", "redisson"),
                         [](const auto& scheme) { return std::string(scheme.param); });

// Taken twice

TEST_F(NaiveRedisLock, TakenTwiceByOneThreadWaitsForItself) {
  UnownedLock outer(alice_, "job"), inner(alice_, "job");
  ASSERT_TRUE(outer.take("alice", 60s));
  EXPECT_FALSE(inner.take("alice", 60s)) << "the accident: she waits for herself until her lease ends";
}

TEST_P(RedisHazard, TakenTwiceByOneThreadIsHeldUntilTheLastUnlock) {
  RedisServer server;
  Client alice(url(server, "")), bob(url(server, ""));
  Mutex mutex = alice.mutex("job"), bobs = bob.mutex("job");
  mutex.lock();
  mutex.lock();
  EXPECT_EQ(mutex.acquire().code(), Errc::would_deadlock) << "a Hold would wait for her own lock()";
  mutex.unlock();
  EXPECT_FALSE(bobs.try_lock());
  mutex.unlock();
  EXPECT_TRUE(bobs.try_lock_for(60s));
  bobs.unlock();
}

// Wrong release

TEST_F(NaiveRedisLock, ALateReleaseDeletesTheLockOfSomebodyElse) {
  UnownedLock alice(alice_, "job"), bob(bob_, "job"), carol(carol_, "job");
  Inside inside;
  ASSERT_TRUE(alice.take("alice", 200ms));
  ASSERT_TRUE(eventually([&] { return bob.take("bob", 60s); })) << "her lease has ended, and she does not know";
  inside.emplace_back("bob");
  ASSERT_FALSE(carol.take("carol", 60s));
  alice.release();
  if (carol.take("carol", 60s)) inside.emplace_back("carol");
  EXPECT_THAT(inside, ElementsAre("bob", "carol")) << "the accident";
}

TEST_P(RedisHazard, ALateReleaseTouchesNobodyElsesLock) {
  RedisServer server;
  Child alice;
  ASSERT_EQ(alice.say("open " + url(server, "&lease=500ms")), "ok");
  ASSERT_THAT(alice.say("acquire job"), StartsWith("ok"));
  alice.stop();
  Client bob(url(server, "")), carol(url(server, ""));
  Hold bobs = bob.mutex("job").acquire({.wait = 60s}).value();
  alice.go_on();
  EXPECT_THAT(alice.say("release"), StartsWith("lost"));
  EXPECT_EQ(carol.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_TRUE(carol.check(bobs.sequencer()));
  EXPECT_TRUE(bobs.release());
}

TEST(RedisHazardRaw, ALateReleaseLeavesAKeyThatIsSomebodyElsesByNow) {
  RedisServer server;
  Redis redis(server.port());
  Client client(server.url("?names=raw&scheme=simple"));
  Hold hold = client.mutex("job").acquire().value();
  redis.call({"DEL", "job"});  // so that pawl's own lease still runs, and its release does go to the server
  ASSERT_TRUE(UnownedLock(redis, "job").take("bob", 60s));
  EXPECT_EQ(hold.release().code(), Errc::lost);
  EXPECT_EQ(redis.call({"GET", "job"}), "bob");
}

TEST(RedisHazardRaw, ALateReleaseLeavesAHashThatIsSomebodyElsesByNow) {
  RedisServer server;
  Redis redis(server.port());
  Client client(server.url("?names=raw&scheme=redisson"));
  Hold hold = client.mutex("job").acquire().value();
  redis.call({"DEL", "job"});
  ASSERT_EQ(redis.number({"HSET", "job", "bob:1", "1"}), 1);
  EXPECT_EQ(hold.release().code(), Errc::lost);
  EXPECT_EQ(redis.call({"HGET", "job", "bob:1"}), "1");
}

// SETNX, a crash, and no EXPIRE

TEST_F(NaiveRedisLock, ACrashBetweenSetnxAndExpireShutsTheLockForEver) {
  Child alice;
  ASSERT_EQ(alice.say("naive-setnx " + std::to_string(server_.port()) + " job alice"), "yes");
  alice.kill();  // before her second step
  EXPECT_FALSE(TwoStepLock(bob_, "job").first_step("bob"));
  EXPECT_EQ(bob_.number({"PTTL", "job"}), -1) << "the accident: nothing will ever end it";
}

TEST_P(RedisHazard, ACrashAtAnyMomentFreesTheLockWhenTheLeaseEnds) {
  RedisServer server;
  Client bob(url(server, ""));
  constexpr int crashes = 6;
  for (int i = 0; i < crashes; ++i) {
    Child alice;
    ASSERT_EQ(alice.say("open " + url(server, "&lease=300ms")), "ok");
    alice.send("acquire job");
    std::this_thread::sleep_for(i * 300us);  // another moment each time
    alice.kill();
    EXPECT_TRUE(bob.mutex("job").acquire({.wait = 60s})) << "crash " << i;
  }
  Child alice;
  ASSERT_EQ(alice.say("open " + url(server, "&lease=8s")), "ok");
  ASSERT_THAT(alice.say("acquire job"), StartsWith("ok"));
  alice.kill();
  EXPECT_EQ(bob.mutex("job").try_acquire().code(), Errc::busy) << "she held it when she died";
  EXPECT_TRUE(bob.mutex("job").acquire({.wait = 60s}));
}

// GETSET with a time as the value

TEST_F(NaiveRedisLock, AClockThatRunsAheadStealsTheLock) {
  StampLock alice(alice_, "job"), bob(bob_, "job");
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  Inside inside;
  if (alice.take(now, 30s)) inside.emplace_back("alice");
  if (bob.take(now + 60s, 30s)) inside.emplace_back("bob");
  EXPECT_THAT(inside, ElementsAre("alice", "bob")) << "the accident: at the same moment, by a clock one minute ahead";
}

TEST_F(NaiveRedisLock, WhoeverLosesTheRaceWritesOverTheHoldersValue) {
  StampLock bob(bob_, "job"), carol(carol_, "job");
  const std::string dead = StampLock::stamp(0ms, 1000ms);  // of a holder that crashed
  ASSERT_EQ(alice_.call({"SET", "job", dead}), "OK");
  ASSERT_TRUE(StampLock::over(bob.read().value(), 2000ms));
  ASSERT_TRUE(StampLock::over(carol.read().value(), 2001ms));
  ASSERT_TRUE(bob.swap(dead, 2000ms, 30s));
  ASSERT_FALSE(carol.swap(dead, 2001ms, 90s)) << "she has lost";
  EXPECT_NE(bob.read(), StampLock::stamp(2000ms, 30s)) << "the accident: the holder does not find his own value";
  EXPECT_EQ(bob.read(), StampLock::stamp(2001ms, 90s)) << "and the lock lasts for as long as the loser wished";
}

TEST_P(RedisHazard, AClockThatRunsAheadStealsNothing) {
  for (const std::chrono::seconds ahead : {24h, -24h}) {
    RedisServer server;
    Child elsewhere(ahead);
    const std::chrono::milliseconds there(std::stoll(elsewhere.say("clock")));
    const auto here = std::chrono::system_clock::now().time_since_epoch();
    ASSERT_GT(ahead > 0s ? there - here : here - there, 23h) << "it does live in another time";
    ASSERT_EQ(elsewhere.say("open " + url(server, "")), "ok");
    Client client(url(server, ""));
    Hold hold = client.mutex("job").acquire().value();
    EXPECT_THAT(elsewhere.say("try job"), StartsWith("busy"));
    EXPECT_TRUE(hold.release());
    EXPECT_THAT(elsewhere.say("acquire job"), StartsWith("ok"));
    EXPECT_EQ(client.mutex("job").try_acquire().code(), Errc::busy);
    EXPECT_EQ(elsewhere.say("release"), "ok");
    EXPECT_TRUE(client.mutex("job").try_acquire());
  }
}

TEST_P(RedisHazard, WhoeverLosesTheRaceChangesNothingForTheHolder) {
  RedisServer server;
  Client alice(url(server, "")), bob(url(server, ""));
  Hold alices = alice.mutex("job").acquire({.lease = 30s}).value();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(bob.mutex("job").try_acquire({.lease = 10min}).code(), Errc::busy);
  }
  EXPECT_TRUE(bob.check(alices.sequencer()));
  EXPECT_TRUE(alices.release());
  EXPECT_TRUE(bob.mutex("job").try_acquire()) << "free at once, and not when somebody's wish would have ended";
}

// Work that takes longer than the lease

TEST_F(NaiveRedisLock, LongWorkIsDoneByTwoAtATime) {
  UnownedLock alice(alice_, "job"), bob(bob_, "job");
  Inside inside;
  ASSERT_TRUE(alice.take("alice", 200ms));
  inside.emplace_back("alice");
  if (eventually([&] { return bob.take("bob", 200ms); })) inside.emplace_back("bob");
  EXPECT_THAT(inside, ElementsAre("alice", "bob")) << "the accident: she is still at work";
}

TEST_P(RedisHazard, LongWorkIsDoneByOneAtATime) {
  RedisServer server;
  Client alice(url(server, "&lease=3s")), bob(url(server, ""));
  Hold hold = alice.mutex("job").acquire().value();
  EXPECT_EQ(bob.mutex("job").acquire({.wait = 7s}).code(), Errc::timed_out) << "more than two leases";
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(bob.check(hold.sequencer()));
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(bob.mutex("job").acquire({.wait = 60s}));
}

// A pause that is longer than the lease, and a write that comes late

TEST_F(NaiveRedisLock, APausedHolderWritesOverTheWorkOfTheNext) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "file";
  Child alice;
  ASSERT_EQ(alice.say("naive-take " + std::to_string(server_.port()) + " job 200"), "yes");
  alice.stop();
  ASSERT_TRUE(eventually([&] { return UnownedLock(bob_, "job").take("bob", 60s); }));
  std::ofstream(file) << "bob";
  alice.go_on();
  ASSERT_EQ(alice.say("write " + file + " alice"), "ok");
  EXPECT_EQ(text_of(file), "alice") << "the accident: the work of the holder is lost";
}

TEST_P(RedisHazard, APausedHolderWritesOverTheWorkOfTheNextWhereThereIsNoFence) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "file";
  RedisServer server;
  Child alice;
  ASSERT_EQ(alice.say("open " + url(server, "&lease=1s")), "ok");
  ASSERT_THAT(alice.say("acquire job"), StartsWith("ok"));
  ASSERT_EQ(alice.say("valid"), "yes") << "she looks, and then she stands still";
  alice.stop();
  Client bob(url(server, ""));
  const Hold hold = bob.mutex("job").acquire({.wait = 60s}).value();
  std::ofstream(file) << "bob";
  alice.go_on();
  ASSERT_EQ(alice.say("write " + file + " alice"), "ok");
  EXPECT_EQ(text_of(file), "alice") << "no lock alone can prevent this";
  EXPECT_EQ(alice.say("valid"), "no") << "if only she had looked";
}

TEST_P(RedisHazard, APausedHolderIsRefusedByTheFence) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "file";
  RedisServer server;
  Child alice;
  ASSERT_EQ(alice.say("open " + url(server, "&lease=1s")), "ok");
  ASSERT_THAT(alice.say("acquire job"), StartsWith("ok"));
  ASSERT_EQ(alice.say("fenced-write " + file + " early"), "ok");
  alice.stop();
  Client bob(url(server, ""));
  const Hold hold = bob.mutex("job").acquire({.wait = 60s}).value();
  ASSERT_TRUE(fenced_write(hold, file, "bob"));
  alice.go_on();
  EXPECT_THAT(alice.say("fenced-write " + file + " alice"), StartsWith("overtaken"));
  EXPECT_EQ(text_of(file), "bob");
  EXPECT_TRUE(fenced_write(hold, file, "bob-again"));
}

// A master that dies before its replica has the grant

/// Two servers, one of which replicates the other.
class Pair {
 public:
  /// Everything that was written up to now.
  bool replicated() {
    Redis redis(master.port());
    redis.call({"SET", "up to here", "1"});
    return redis.number({"WAIT", "1", "60000"}) == 1;
  }
  /// The replica hears nothing from now on.
  void cut() {
    replica.stop();
    Redis(master.port()).call({"CLIENT", "KILL", "TYPE", "replica"});
  }
  /// The master dies, and the replica takes its place.
  void fail_over() {
    master.kill();
    replica.go_on();
    Redis(replica.port()).call({"REPLICAOF", "NO", "ONE"});
  }

  RedisServer master{{"--repl-diskless-sync-delay", "0"}};
  RedisServer replica{{"--replicaof", "127.0.0.1 " + std::to_string(master.port())}};
};

TEST_F(NaiveRedisLock, AfterALostMasterTwoHoldItAndBothWrite) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "file";
  Pair pair;
  ASSERT_TRUE(pair.replicated());
  pair.cut();
  Inside inside;
  Redis alice(pair.master.port());
  if (UnownedLock(alice, "job").take("alice", 60s)) inside.emplace_back("alice");
  pair.fail_over();
  Redis bob(pair.replica.port());
  if (UnownedLock(bob, "job").take("bob", 60s)) inside.emplace_back("bob");
  EXPECT_THAT(inside, ElementsAre("alice", "bob")) << "the accident: her lease has a minute to go";
  std::ofstream(file) << "bob";
  std::ofstream(file) << "alice";
  EXPECT_EQ(text_of(file), "alice") << "the accident: his work is lost";
}

TEST_P(RedisHazard, AfterALostMasterTheFenceRefusesTheOlderHolder) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "file";
  Pair pair;
  Client alice(url(pair.master, "&timeout=1s"));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(alice.mutex("job").acquire({.wait = 60s}));  // the counter has come to 10
  ASSERT_TRUE(pair.replicated());
  pair.cut();
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(alice.mutex("job").acquire({.wait = 60s}));  // to 20, which nobody else knows
  const Hold alices = alice.mutex("job").acquire({.wait = 60s, .lease = 10min}).value();
  ASSERT_TRUE(fenced_write(alices, file, "alice"));
  pair.fail_over();

  Client bob(url(pair.replica, "&timeout=1s"));
  const Hold bobs = bob.mutex("job").acquire({.wait = 60s}).value();
  EXPECT_TRUE(alices.valid()) << "two believe: that is what a fail-over does to any lock";
  EXPECT_GT(bobs.token().epoch(), alices.token().epoch());
  EXPECT_LT(bobs.token().counter(), alices.token().counter()) << "the count alone would have let her through";
  EXPECT_TRUE(fenced_write(bobs, file, "bob"));
  EXPECT_EQ(fenced_write(alices, file, "late").code(), Errc::overtaken);
  EXPECT_EQ(text_of(file), "bob");
}

TEST_P(RedisHazard, AfterALostMasterOfWhichTheReplicaKnewNothingTheFenceRefusesTheOlderHolder) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "file";
  Pair pair;
  ASSERT_TRUE(pair.replicated());
  pair.cut();
  Client alice(url(pair.master, "&timeout=1s"));
  const Hold alices = alice.mutex("job").acquire({.lease = 10min}).value();
  ASSERT_TRUE(fenced_write(alices, file, "alice"));
  pair.fail_over();
  Client bob(url(pair.replica, "&timeout=1s"));
  const Hold bobs = bob.mutex("job").acquire({.wait = 60s}).value();
  EXPECT_NE(bobs.sequencer().store_id, alices.sequencer().store_id) << "nobody there knew which store it was";
  EXPECT_TRUE(fenced_write(bobs, file, "bob"));
  EXPECT_EQ(fenced_write(alices, file, "late").code(), Errc::overtaken);
  EXPECT_EQ(text_of(file), "bob");
}

TEST_P(RedisHazard, WithWaitReplicasAGrantThatNoReplicaHasIsNoGrant) {
  Pair pair;
  Client alice(url(pair.master, "&timeout=1s&wait_replicas=1"));
  ASSERT_TRUE(pair.replicated());
  pair.cut();
  EXPECT_EQ(alice.mutex("job").try_acquire().code(), Errc::store_unavailable);
  pair.fail_over();
  Client bob(url(pair.replica, "&timeout=1s"));
  EXPECT_TRUE(bob.mutex("job").try_acquire()) << "and he is the only one";
}

// Since Redis 7.2 WAIT counts from the last write of its own connection; from none, every replica counts.
TEST_P(RedisHazard, WithWaitReplicasTheConnectionThatWaitsHasWrittenBehindTheGrant) {
  Pair pair;
  ASSERT_TRUE(pair.replicated());
  Client alice(url(pair.master, "&timeout=10s&wait_replicas=1"));
  const test::Commands commands(pair.master);
  const Result<Hold> hold = alice.mutex("job").acquire({.wait = 60s});
  EXPECT_TRUE(hold);
  std::map<std::string, int> counts = commands.counts();
  EXPECT_EQ(counts["wait"], 1);
  EXPECT_EQ(counts["publish"], 1);
}

TEST_P(RedisHazard, WithWaitReplicasTheNewMasterKnowsTheHolder) {
  Pair pair;
  ASSERT_TRUE(pair.replicated());
  Client alice(url(pair.master, "&timeout=10s&wait_replicas=1"));
  const Hold hold = alice.mutex("job").acquire({.wait = 60s, .lease = 10min}).value();
  pair.cut();
  pair.fail_over();
  Client bob(url(pair.replica, ""));
  EXPECT_EQ(bob.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_TRUE(bob.check(hold.sequencer())) << "the grant stands, with the token of its time";
}

TEST_P(RedisHazard, WithWaitReplicasAHandOverThatNoReplicaHasIsNoGrantEither) {
  Pair pair;
  ASSERT_TRUE(pair.replicated());
  Client alice(url(pair.master, "&timeout=1s&wait_replicas=1")), bob(url(pair.master, "&timeout=1s&wait_replicas=1"));
  Hold alices = alice.mutex("job").acquire({.wait = 60s}).value();
  auto wait = std::async(std::launch::async, [&] { return bob.mutex("job").acquire({.wait = 3s}); });
  ASSERT_TRUE(eventually([&] { return alice.inspect("job").value().waiters.size() == 1; }));
  pair.cut();
  EXPECT_TRUE(alices.release());
  EXPECT_FALSE(wait.get()) << "no replica has it";
}

TEST_P(RedisHazard, AfterALostMasterOneThatWasAReplicaInBetweenBeginsAnotherEpoch) {
  Pair pair;
  Client alice(url(pair.master, ""));  // her connection outlives all of this
  EXPECT_TRUE(alice.mutex("job").acquire({.lease = 10min}));
  ASSERT_TRUE(pair.replicated());
  Redis first(pair.master.port()), second(pair.replica.port());
  second.call({"REPLICAOF", "NO", "ONE"});
  first.call({"REPLICAOF", "127.0.0.1", std::to_string(pair.replica.port())});
  Client bob(url(pair.replica, "&timeout=1s"));
  EXPECT_TRUE(bob.mutex("job").acquire({.wait = 60s}));
  second.call({"SET", "up to here", "2"});
  ASSERT_EQ(second.number({"WAIT", "1", "60000"}), 1);
  pair.master.stop();
  second.call({"CLIENT", "KILL", "TYPE", "replica"});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(bob.mutex("job").acquire({.wait = 60s}));
  const Hold bobs = bob.mutex("job").acquire({.wait = 60s}).value();
  pair.replica.kill();
  pair.master.go_on();
  first.call({"REPLICAOF", "NO", "ONE"});
  EXPECT_GT(alice.mutex("job").acquire({.wait = 60s, .lease = 10min}).value().token(), bobs.token());
}

TEST_P(RedisHazard, WithWaitReplicasAReplicaThatHangsCostsNoHold) {
  Pair pair;
  ASSERT_TRUE(pair.replicated());
  Client alice(url(pair.master, "&lease=3s&wait_replicas=1"));
  const Hold hold = alice.mutex("job").acquire({.wait = 60s}).value();
  pair.replica.stop();
  std::vector<std::future<Result<Hold>>> others;
  for (int i = 0; i < 8; ++i) {
    others.push_back(std::async(std::launch::async,
                                [&, i] { return alice.mutex("other " + std::to_string(i)).acquire({.wait = 6s}); }));
  }
  for (auto& other : others) EXPECT_FALSE(other.get());
  EXPECT_TRUE(hold.valid());
}

}  // namespace
}  // namespace pawl

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--child") pawl::hazard::play();
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
