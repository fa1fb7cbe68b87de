// Three servers, some of which fail: nobody believes in a hold that somebody else may have, and the queue goes on.

#include "tests/support/threads.hpp"
#include "tests/support/zookeeper_server.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
#include <iostream>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test::eventually;
using test::ZooKeeperEnsemble;
using test::ZooKeeperOptions;

/// When the hold was valid for the last time, as far as anybody can tell who looks all the time. Nobody else may look then.
class LastMoment {
 public:
  explicit LastMoment(const Hold& hold)
      : looks_(std::async(std::launch::async, [&hold] {
          const auto end = steady_clock::now() + 120s;
          steady_clock::time_point last;  // at the beginning of time, if it was never seen valid
          for (auto now = steady_clock::now(); now < end; now = steady_clock::now()) {
            // The clock is read before: so it was valid then, or later.
            if (!hold.valid()) return last;
            last = now;
            std::this_thread::sleep_for(100us);
          }
          throw std::runtime_error("it is valid for ever");
        })) {}
  steady_clock::time_point get() { return looks_.get(); }

 private:
  std::future<steady_clock::time_point> looks_;
};

// The validity of a holder that speaks to a follower without a leader

struct Pace {
  const char* name;
  std::chrono::milliseconds tick;
  Duration lease;  ///< a session is half as long again
};

class ZooKeeperCutFollower : public testing::TestWithParam<Pace> {};

// A session of two ticks is the shortest that servers grant if nobody tells them otherwise.
INSTANTIATE_TEST_SUITE_P(Sessions, ZooKeeperCutFollower,
                         testing::Values(Pace{"OfThirtyTicks", 100ms, 2s}, Pace{"OfTwoTicks", 1s, 1334ms}),
                         [](const auto& pace) { return pace.param.name; });

TEST_P(ZooKeeperCutFollower, ItsClientsHoldEndsBeforeAnotherIsGranted) {
  const Duration lease = GetParam().lease;
  ZooKeeperEnsemble ensemble(
      ZooKeeperOptions{.tick = GetParam().tick, .sync_limit = 300s});  // the followers are patient: sessions end first
  // A round in which the machine stood still for as long as the lease, before the cut, does not count.
  int counted = 0;
  for (int round = 0; counted < 4; ++round) {
    ASSERT_LT(round, 40) << "a hold hardly ever lives long enough to be cut off";
    const std::size_t leader = ensemble.leader(), alone = ensemble.follower();
    const std::string where =
        "/round-" + std::to_string(round) + "?timeout=30s&lease=" + std::to_string(lease / 1ms) + "ms";
    Client alice(ensemble[alone].url(where)), bob(ensemble[leader].url(where));
    Hold hold = alice.mutex("job").acquire().value();
    auto bobs = std::async(std::launch::async, [&] {
      Result<Hold> his = bob.mutex("job").acquire({.wait = 120s});
      return std::pair(std::move(his), steady_clock::now());
    });
    if (!eventually([&] { return !hold.valid() || bob.inspect("job").value().waiters.size() == 1; })) FAIL();
    // For a session or more, so that only what was confirmed meanwhile can count; each time to another moment.
    std::this_thread::sleep_for(lease + lease / 2 + round % 7 * lease / 7);
    if (!hold.valid()) continue;
    LastMoment last(hold);
    ensemble.cut(alone);
    const auto cut = steady_clock::now();
    const auto end = last.get();
    EXPECT_EQ(ensemble[alone].mode(), "follower") << "it answers as if nothing had happened";
    auto [his, granted] = bobs.get();
    ASSERT_TRUE(his) << his.error().to_string();
    EXPECT_LT(end, granted) << "two believed";
    if (end > cut) ++counted;
    std::cout << "valid for " << (end - cut) / 1ms << " ms after the cut, granted to another " << (granted - end) / 1ms
              << " ms later\n";
    EXPECT_GT(his->token(), hold.token());
    EXPECT_EQ(hold.release().code(), Errc::lost);
    EXPECT_TRUE(his->release());
    ensemble.heal(alone);
    ensemble.wait_until_they_serve();
  }
}

// Leaders

/// Clients that all want one lock, one after the other, and write down what they had.
class Queue {
 public:
  struct Turn {
    std::size_t who;
    Token token;
    steady_clock::time_point begin, end;  ///< it was valid at both
    bool lost;
  };

  /// Each has a session of its own, and its place behind the one before it.
  Queue(const std::string& url, std::size_t size, Duration work) : work_(work) {
    Client viewer(url);
    for (std::size_t i = 0; i < size; ++i) {
      threads_.emplace_back([this, url, i] { take_turn(url, i); });
      const auto there = [&] {
        const Result<LockView> view = viewer.inspect("job");
        return view && view->waiters.size() == i + 1;
      };
      if (!eventually(there)) throw std::runtime_error("it does not wait");
    }
  }

  /// All of them, when all had theirs.
  std::vector<Turn> turns() {
    for (std::jthread& thread : threads_) thread.join();
    threads_.clear();
    std::vector<Turn> turns = turns_;
    std::sort(turns.begin(), turns.end(), [](const Turn& one, const Turn& other) { return one.begin < other.begin; });
    return turns;
  }

 private:
  void take_turn(const std::string& url, std::size_t i) {
    Client client(url);
    Result<Hold> hold = client.mutex("job").acquire({.wait = 240s});
    if (!hold) {
      ADD_FAILURE() << i << ": " << hold.error().to_string();
      return;
    }
    Turn turn{i, hold->token(), {}, {}, false};
    const auto until = steady_clock::now() + work_;
    for (auto now = steady_clock::now(); now < until; now = steady_clock::now()) {
      if (!hold->valid()) break;
      if (turn.begin == steady_clock::time_point{}) turn.begin = now;
      turn.end = now;
      std::this_thread::sleep_for(1ms);
    }
    turn.lost = !hold->valid();
    [[maybe_unused]] const Result<void> released = hold->release();
    const std::lock_guard lock(mutex_);
    turns_.push_back(turn);
  }

  const Duration work_;
  std::mutex mutex_;
  std::vector<Turn> turns_;  // guarded by mutex_
  std::vector<std::jthread> threads_;
};

/// Nobody's turn began before that of the one before it was over, and they came in order.
void expect_one_after_the_other(const std::vector<Queue::Turn>& turns, std::size_t size) {
  ASSERT_EQ(turns.size(), size);
  for (std::size_t i = 0; i < size; ++i) {
    EXPECT_EQ(turns[i].who, i) << "overtaken";
    if (i == 0) continue;
    EXPECT_GT(turns[i].begin, turns[i - 1].end) << i << ": two believed at the same time";
    EXPECT_GT(turns[i].token, turns[i - 1].token);
  }
}

TEST(ZooKeeperEnsembleLock, AKilledLeaderCostsNobodyHoldOrPlace) {
  ZooKeeperEnsemble ensemble(ZooKeeperOptions{.sync_limit = 2s});
  // Long sessions: they outlive the election.
  const std::string url = ensemble.url("?lease=5m&timeout=60s");
  Client alice(url);
  Hold hold = alice.mutex("job").acquire().value();
  constexpr std::size_t size = 6;
  Queue queue(url, size, 50ms);
  const std::size_t first = ensemble.leader();
  ensemble.kill(first);
  EXPECT_NE(ensemble.leader(), first);
  EXPECT_TRUE(hold.valid());
  EXPECT_FALSE(hold.lost().stop_requested());
  const auto end = steady_clock::now();
  EXPECT_TRUE(hold.release());
  const std::vector<Queue::Turn> turns = queue.turns();
  expect_one_after_the_other(turns, size);
  EXPECT_GT(turns.front().begin, end);
  EXPECT_TRUE(std::none_of(turns.begin(), turns.end(), [](const Queue::Turn& turn) { return turn.lost; }));
  ensemble.start(first);
}

// Scenario: the sessions are shorter than the election may take. Alice keeps the lock or loses it; both are fine, two
// holders are not.
// It is not told that the others have left it, and confirms what it is asked as before.
TEST(ZooKeeperEnsembleLock, AHoldOnALeaderThatOthersHaveReplacedEndsBeforeAnotherIsGranted) {
  ZooKeeperEnsemble ensemble(ZooKeeperOptions{.sync_limit = 600s});
  const std::size_t first = ensemble.leader(), one = (first + 1) % ensemble.size, other = (first + 2) % ensemble.size;
  const std::string where = "?timeout=60s&lease=2s";
  Client alice(ensemble[first].url(where));
  Client bob("zookeeper://" + ensemble[one].address() + "," + ensemble[other].address() + where);
  Hold hold = alice.mutex("job").acquire().value();
  std::this_thread::sleep_for(2s);  // nothing else is under way then, and only what was confirmed can count
  LastMoment last(hold);
  ensemble.cut(first);
  ensemble.kill(one);
  ensemble.kill(other);
  ensemble.start(one);
  ensemble.start(other);
  ASSERT_NE(ensemble.leader(), first);
  Result<Hold> his = bob.mutex("job").acquire({.wait = 120s});
  const auto granted = steady_clock::now();
  ASSERT_EQ(ensemble[first].mode(), "leader") << "as it believes";
  ASSERT_TRUE(his) << his.error().to_string();
  const auto end = last.get();
  EXPECT_LT(end, granted) << "two believed";
  EXPECT_GT(his->token(), hold.token());
  EXPECT_EQ(hold.release().code(), Errc::lost);
  EXPECT_TRUE(his->release());
  ensemble.heal(first);
}

TEST(ZooKeeperEnsembleLock, AHoldThatDoesNotOutliveTheElectionEndsBeforeTheNextBegins) {
  ZooKeeperEnsemble ensemble(ZooKeeperOptions{.sync_limit = 2s});
  for (int round = 0; round < 3; ++round) {
    const std::string url = ensemble.url("/round-" + std::to_string(round) + "?lease=600ms&timeout=60s");
    Client alice(url), bob(url);
    Hold hold = alice.mutex("job").acquire().value();
    auto bobs = std::async(std::launch::async, [&] {
      Result<Hold> his = bob.mutex("job").acquire({.wait = 120s});
      return std::pair(std::move(his), steady_clock::now());
    });
    LastMoment last(hold);
    const std::size_t leader = ensemble.leader();
    ensemble.kill(leader);
    EXPECT_NE(ensemble.leader(), leader);
    const bool kept = !hold.lost().stop_requested();
    if (kept) {
      ASSERT_TRUE(alice.close(60s));
    }
    const auto end = last.get();
    auto [his, granted] = bobs.get();
    ASSERT_TRUE(his) << his.error().to_string();
    EXPECT_LT(end, granted) << "two believed; alice " << (kept ? "kept it" : "lost it");
    EXPECT_GT(his->token(), hold.token());
    ensemble.start(leader);
    ensemble.wait_until_they_serve();
  }
}

/// With leases that end meanwhile, and with leases that do not.
class ZooKeeperHangingLeader : public testing::TestWithParam<Duration> {};

INSTANTIATE_TEST_SUITE_P(Leases, ZooKeeperHangingLeader, testing::Values(Duration(1s), Duration(30s)),
                         [](const auto& lease) { return std::to_string(lease.param / 1s) + "s"; });

TEST_P(ZooKeeperHangingLeader, OfFiveSecondsLeavesOneHolderAtATimeAndTheQueueGoesOn) {
  ZooKeeperEnsemble ensemble(ZooKeeperOptions{.sync_limit = 2s});
  const std::string url = ensemble.url("?timeout=60s&lease=" + std::to_string(GetParam() / 1s) + "s");
  // Eight clients take the lock again and again. What each believed is compared in the end.
  struct Span {
    steady_clock::time_point begin, end;
    Token token;
  };
  std::mutex mutex;
  std::vector<Span> spans;  // guarded by mutex
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&](const std::stop_token& stop) {
      Client client(url);
      while (!stop.stop_requested()) {
        Result<Hold> hold = client.mutex("job").acquire({}, stop);
        if (!hold) continue;  // trouble is what this is about
        Span span{{}, {}, hold->token()};
        const auto until = steady_clock::now() + 20ms;
        for (auto now = steady_clock::now(); now < until && hold->valid(); now = steady_clock::now()) {
          if (span.begin == steady_clock::time_point{}) span.begin = now;
          span.end = now;
          std::this_thread::sleep_for(1ms);
        }
        [[maybe_unused]] const Result<void> released = hold->release();
        const std::lock_guard lock(mutex);
        if (span.begin != steady_clock::time_point{}) spans.push_back(span);
      }
    });
  }
  const auto so_far = [&] {
    const std::lock_guard lock(mutex);
    return spans.size();
  };
  ASSERT_TRUE(eventually([&] { return so_far() > 10; }));
  const std::size_t leader = ensemble.leader();
  ensemble.stop(leader);
  const auto stopped = steady_clock::now();
  std::this_thread::sleep_for(5s);
  EXPECT_NE(ensemble.leader(), leader) << "otherwise it could be elected again";
  ensemble.go_on(leader);
  const std::size_t meanwhile = so_far();
  EXPECT_TRUE(eventually([&] { return so_far() > meanwhile + 20; }, 120s)) << "the queue stands still";
  EXPECT_TRUE(eventually([&] { return ensemble[leader].mode() == "follower"; }, 300s));
  for (std::jthread& thread : threads) thread.request_stop();
  threads.clear();
  std::sort(spans.begin(), spans.end(), [](const Span& one, const Span& other) { return one.begin < other.begin; });
  for (std::size_t i = 1; i < spans.size(); ++i) {
    ASSERT_GT(spans[i].begin, spans[i - 1].end)
        << "two believed, " << (spans[i].begin - stopped) / 1ms << " ms after the leader stopped";
    ASSERT_GT(spans[i].token, spans[i - 1].token);
  }
}

TEST(ZooKeeperEnsembleLock, WithAllServersDownAHoldEndsAtItsOwnDeadline) {
  ZooKeeperEnsemble ensemble;
  constexpr Duration lease = 12s;
  Client alice(ensemble.url("?lease=12s&timeout=30s"));
  Hold hold = alice.mutex("job").acquire().value();
  ASSERT_TRUE(eventually([&] { return alice.metrics().renewals > 0; }));
  std::promise<steady_clock::time_point> told;
  const std::stop_callback when(hold.lost(), [&] { told.set_value(steady_clock::now()); });
  LastMoment last(hold);
  for (std::size_t i = 0; i < ZooKeeperEnsemble::size; ++i) ensemble.kill(i);
  const auto dead = steady_clock::now();
  const auto end = last.get();
  EXPECT_GT(end, dead);
  EXPECT_LE(end - dead, lease + lease / 2) << "before its session can end, by its own clock";
  EXPECT_LT(told.get_future().get() - end, 10s);
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_EQ(hold.release().code(), Errc::lost);
}

TEST(ZooKeeperEnsembleLock, AfterAllServersWereDownTheQueueGoesOn) {
  ZooKeeperEnsemble ensemble;
  const std::string url = ensemble.url("?lease=5m&timeout=60s");
  Client alice(url);
  Hold hold = alice.mutex("job").acquire().value();
  constexpr std::size_t size = 4;
  Queue queue(url, size, 50ms);
  for (std::size_t i = 0; i < ZooKeeperEnsemble::size; ++i) ensemble.kill(i);
  for (std::size_t i = 0; i < ZooKeeperEnsemble::size; ++i) ensemble.start(i);
  ensemble.wait_until_they_serve();
  EXPECT_TRUE(hold.valid()) << "its session outlives that";
  EXPECT_TRUE(hold.release());
  expect_one_after_the_other(queue.turns(), size);
}

// Servers of clients

/// Which of them has a client.
std::optional<std::size_t> server_of(const ZooKeeperEnsemble& ensemble, const std::vector<std::size_t>& among) {
  for (const std::size_t i : among) {
    const std::string clients = ensemble[i].four_letter("cons");
    if (clients.find("sid=") != std::string::npos) return i;
  }
  return std::nullopt;
}

TEST(ZooKeeperEnsembleLock, AClientWhoseServerDiesMovesWithHoldAndPlace) {
  ZooKeeperEnsemble ensemble;
  // Followers only: then a server can die without an election.
  const std::size_t leader = ensemble.leader();
  std::vector<std::size_t> followers;
  std::string hosts;
  for (std::size_t i = 0; i < ZooKeeperEnsemble::size; ++i) {
    if (i == leader) continue;
    followers.push_back(i);
    hosts += (hosts.empty() ? "" : ",") + ensemble[i].address();
  }
  const std::string query = "?lease=20s&timeout=60s";
  Client alice("zookeeper://" + hosts + "/" + query);
  Hold hold = alice.mutex("job").acquire().value();
  const std::optional<std::size_t> first = server_of(ensemble, followers);
  ASSERT_TRUE(first);
  const std::size_t second = followers[0] == *first ? followers[1] : followers[0];
  // Bob waits on the server that will die, carol behind him elsewhere.
  Client bob("zookeeper://" + ensemble[*first].address() + "," + ensemble[leader].address() + "/" + query);
  Client carol(ensemble[leader].url("/" + query));
  const auto waiting = [&] { return carol.inspect("job").value().waiters; };
  auto bobs = std::async(std::launch::async, [&] { return bob.mutex("job").acquire({.wait = 120s}); });
  ASSERT_TRUE(eventually([&] { return waiting().size() == 1; }));
  auto carols = std::async(std::launch::async, [&] { return carol.mutex("job").acquire({.wait = 120s}); });
  ASSERT_TRUE(eventually([&] { return waiting().size() == 2; }));
  const std::string place = waiting()[0].claim;

  ensemble.kill(*first);
  EXPECT_TRUE(eventually([&] { return ensemble[second].four_letter("cons").find("sid=") != std::string::npos; }));
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(carol.check(hold.sequencer())) << "the same node";
  ASSERT_EQ(waiting().size(), 2);
  EXPECT_EQ(waiting()[0].claim, place) << "the same place";
  EXPECT_TRUE(hold.release());
  Hold his = bobs.get().value();
  EXPECT_EQ(carols.wait_for(0s), std::future_status::timeout);
  EXPECT_TRUE(his.release());
  EXPECT_TRUE(carols.get().value().release());
}

}  // namespace
}  // namespace pawl
