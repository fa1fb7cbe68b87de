// What Redis is asked for with many locks and many waiters, and what a death costs.

#include "tests/redis/commands.hpp"
#include "tests/redis/opening.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::Commands;
using test::eventually;
using test::RedisServer;

/// So many threads, each with a place of its own in the queue of one lock; all are let go of at the end.
class Crowd {
 public:
  Crowd(Client& client, const std::string& lock, std::size_t size) : mutex_(client.mutex(lock, {.local_passes = 0})) {
    for (std::size_t i = 0; i < size; ++i) {
      waits_.push_back(std::async(std::launch::async, [this] { return mutex_.acquire({}, stop_.get_token()); }));
    }
    const auto all = [&] { return client.inspect(lock).value().waiters.size() == size; };
    if (!eventually(all)) throw std::runtime_error("they do not all wait");
  }
  ~Crowd() {
    stop_.request_stop();
    for (auto& wait : waits_) wait.wait();
  }

 private:
  Mutex mutex_;
  std::stop_source stop_;
  std::vector<std::future<Result<Hold>>> waits_;
};

TEST(RedisScale, AHandOverCostsTheSameWithTenWaitersAndWithAThousand) {
  RedisServer server;
  const auto cost = [&](std::size_t waiters) {
    // An hour: nobody renews or looks again meanwhile.
    Client holder(server.url("?lease=1h")), waiter(server.url("?lease=1h"));
    const std::string lock = "job" + std::to_string(waiters);
    Hold hold = holder.mutex(lock).acquire().value();
    const Crowd crowd(waiter, lock, waiters);
    const Commands commands(server);
    EXPECT_TRUE(hold.release());
    const std::map<std::string, int> counts = commands.counts();
    EXPECT_EQ(counts.at("evalsha"), 1) << "one script";
    EXPECT_EQ(counts.at("publish"), 1) << "one word, to the next one";
    return counts;
  };
  EXPECT_EQ(cost(10), cost(1'000));
}

TEST(RedisScale, TenThousandLocksAreRenewedByOneCommandAlsoAfterAThousandMore) {
  RedisServer server;
  Client client(server.url("?lease=12s&timeout=30s"));
  const std::vector<Hold> holds = hold_many(client, 10'000);
  const Commands commands(server);
  // Two renewals, and as many scripts; one may have begun before the count, or end after it. Never one per lock.
  const auto scripts_of_two_renewals = [&] {
    const std::uint64_t before = client.metrics().renewals;
    commands.reset();
    EXPECT_TRUE(eventually([&] { return client.metrics().renewals >= before + 2; }));
    return commands.counts()["evalsha"];
  };
  const int before = scripts_of_two_renewals();
  EXPECT_GE(before, 1);
  EXPECT_LE(before, 3);
  for (int i = 0; i < 1'000; ++i) EXPECT_TRUE(client.mutex("more").acquire().value().release());
  const int after = scripts_of_two_renewals();
  EXPECT_GE(after, 1);
  EXPECT_LE(after, 3);
  for (const Hold& hold : holds) ASSERT_TRUE(hold.valid());
}

/// A process that waits for a lock until it is killed with -9.
class Waiter {
 public:
  Waiter(const std::string& url, const std::string& lock) : pid_(::fork()) {
    if (pid_ != 0) return;
    Client client(url);
    const Result<Hold> hold = client.mutex(lock).acquire();
    ::pause();
    ::_exit(hold ? 0 : 1);
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() { kill(); }

  /// -1 once it was killed.
  pid_t pid() const { return pid_; }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_;
};

class RedisDeadWaiter : public testing::TestWithParam<std::string> {};

// Scenario: alice holds; three processes wait, and bob waits behind them. One of the three is killed, then alice lets go. The
// two others live: each is killed once it has the lock, so that bob's turn comes.
TEST_P(RedisDeadWaiter, HoldsTheOthersUpForItsLeaseAtTheMost) {
  RedisServer server;
  const std::string url = server.url("?lease=5s&timeout=5s&scheme=" + GetParam());
  Client alice(url), bob(url);
  for (const std::size_t victim : {0U, 1U}) {  // at the head, in the middle
    const std::string lock = "job" + std::to_string(victim);
    std::vector<std::unique_ptr<Waiter>> processes;
    Hold hold = alice.mutex(lock).acquire().value();
    const auto waiting = [&] { return alice.inspect(lock).value().waiters.size(); };
    for (std::size_t i = 0; i < 3; ++i) {
      processes.push_back(std::make_unique<Waiter>(url, lock));
      ASSERT_TRUE(eventually([&] { return waiting() == i + 1; }));
    }
    auto bobs = std::async(std::launch::async, [&] { return bob.mutex(lock).acquire({.wait = 60s}); });
    ASSERT_TRUE(eventually([&] { return waiting() == 4; }));
    processes[victim]->kill();
    EXPECT_TRUE(hold.release());
    int served = 0;
    while (bobs.wait_for(10ms) != std::future_status::ready) {  // a minute at the most: it is his wait
      const LockView view = alice.inspect(lock).value();
      for (auto& process : processes) {
        if (view.holders.empty() || view.holders[0].owner.pid != process->pid()) continue;
        process->kill();
        ++served;
      }
    }
    EXPECT_TRUE(bobs.get());
    const bool fair = GetParam() == "queue";
    EXPECT_TRUE(served == 2 || !fair) << served << " were served before bob";
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, RedisDeadWaiter, testing::Values("queue", "simple", "redisson"),
                         [](const auto& scheme) { return scheme.param; });

// Redis saves its data now and then: what was written since is gone after kill -9.
TEST(RedisRestart, ThatLostTheLastWritesNeverRepeatsAToken) {
  RedisServer server({"--save", "3600 1000000"});
  Token last;
  for (int life = 0; life < 3; ++life) {
    Client client(server.url("?timeout=5s"));
    for (int i = 0; i < 5; ++i) {
      const Hold hold = client.mutex("saved").acquire({.wait = 60s}).value();
      EXPECT_GT(hold.token(), last);
      last = hold.token();
    }
    server.cli({"SAVE"});
    std::vector<Hold> lost;
    for (int i = 0; i < 5; ++i) {
      lost.push_back(client.mutex("lost" + std::to_string(i)).acquire({.wait = 60s}).value());
      EXPECT_GT(lost.back().token(), last);
      last = lost.back().token();
    }
    server.kill();
    server.start();
    EXPECT_NE(server.cli({"EXISTS", "{pawl}:meta"}), "0\n") << "it has its data, but for the last";
  }
}

}  // namespace
}  // namespace pawl
