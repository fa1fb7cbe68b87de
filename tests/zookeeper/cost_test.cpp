// What the servers are asked for: the same for a short queue and for a long one, and the queue is not listed.

#include "tests/support/threads.hpp"
#include "tests/support/zookeeper_server.hpp"
#include "tests/zookeeper/stranger.hpp"
#include "tests/zookeeper/wire.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <future>
#include <memory>
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
using test::eventually;
using test::Stranger;
using test::ZooKeeperServer;
using testing::Pair;
using testing::UnorderedElementsAre;
using wire::Counts;
using wire::Wire;

/// A folder of its own for each test. An hour: nobody renews meanwhile.
std::string place(const std::string& more = {}) {
  static int places = 0;
  return "/cost-" + std::to_string(++places) + "?lease=1h&timeout=60s" + more;
}

/// So many threads of one client, each with a place of its own in the queue of one lock. Those who have it keep it until
/// it is taken from them.
class Crowd {
 public:
  Crowd(Client& client, const std::string& lock, std::size_t size) : mutex_(client.mutex(lock, {.local_passes = 0})) {
    for (std::size_t i = 0; i < size; ++i) threads_.emplace_back([this] { wait(); });
    const auto all = [&] {
      std::this_thread::sleep_for(20ms);  // to ask is work for the server
      return client.inspect(lock).value().waiters.size() == size;
    };
    if (!eventually(all, 120s)) throw std::runtime_error("they do not all wait");
  }
  ~Crowd() {
    stop_.request_stop();
    for (std::jthread& thread : threads_) thread.join();
  }

  /// Of whoever has it next.
  Hold next() {
    std::optional<Hold> hold;
    if (!eventually([&] { return (hold = take()).has_value(); })) throw std::runtime_error("nobody has it");
    return std::move(*hold);
  }

 private:
  void wait() {
    Result<Hold> hold = mutex_.acquire({}, stop_.get_token());
    if (!hold) return;
    const std::lock_guard lock(guard_);
    granted_.push_back(std::move(*hold));
  }
  std::optional<Hold> take() {
    const std::lock_guard lock(guard_);
    if (granted_.empty()) return std::nullopt;
    Hold hold = std::move(granted_.front());
    granted_.pop_front();
    return hold;
  }

  Mutex mutex_;
  std::stop_source stop_;
  std::mutex guard_;
  std::deque<Hold> granted_;  // guarded by guard_
  std::vector<std::jthread> threads_;
};

TEST(ZooKeeperCost, AFreeLockIsOneTransactionAndOneCheckAndItsReleaseIsOneTransaction) {
  const Wire wire(ZooKeeperServer::shared().port());
  Client client(wire.url(place()));
  ASSERT_TRUE(client.mutex("job").acquire().value().release()) << "now its folder is there";
  constexpr std::size_t rounds = 100;
  const Counts before = wire.requests();
  for (std::size_t i = 0; i < rounds; ++i) ASSERT_TRUE(client.mutex("job").acquire().value().release());
  Counts counts = wire.requests_since(before);
  EXPECT_LE(wire::count(counts, "getData and watch"), rounds) << "holds of more than a millisecond watch their node";
  counts.erase("getData and watch");
  EXPECT_THAT(counts, UnorderedElementsAre(Pair("multi", 2 * rounds), Pair("getData", rounds)));
}

TEST(ZooKeeperCost, TheFirstUseOfALockMakesItsFolderAndNoMore) {
  const Wire wire(ZooKeeperServer::shared().port());
  Client client(wire.url(place()));
  ASSERT_TRUE(client.mutex("one").acquire().value().release()) << "now the folders above are there";
  const Counts before = wire.requests();
  ASSERT_TRUE(client.mutex("two").acquire().value().release());
  Counts counts = wire.requests_since(before);
  counts.erase("getData and watch");
  // In vain, the folder, and again; the one list is that of failed holders, which a new folder cannot know of.
  EXPECT_THAT(counts, UnorderedElementsAre(Pair("multi", 3), Pair("createContainer", 1), Pair("getData", 2),
                                           Pair("getChildren2", 1), Pair("setData", 1)));
}

/// Of such a lease.
class ZooKeeperHeartbeats : public testing::TestWithParam<std::chrono::milliseconds> {};

INSTANTIATE_TEST_SUITE_P(Leases, ZooKeeperHeartbeats, testing::Values(600ms, 1s),
                         [](const auto& lease) { return std::to_string(lease.param.count()) + "ms"; });

// Under load they are fewer, never more.
TEST_P(ZooKeeperHeartbeats, AreThoseOfTheSessionHoweverShortTheLeaseIs) {
  constexpr std::chrono::milliseconds session = 4s;  // two ticks: servers do not agree to less
  const ZooKeeperServer server({.tick = session / 2, .min_session = session});
  const Wire wire(server.port());
  const auto lease = GetParam();
  Client client(wire.url("/beats?timeout=60s&lease=" + std::to_string(lease.count()) + "ms"));
  const Hold hold = client.mutex("job").acquire().value();
  const auto since = std::chrono::steady_clock::now();
  const std::size_t before = wire.heartbeats();
  const std::uint64_t renewals = client.metrics().renewals;
  const std::uint64_t enough = 12s / lease;  // in four seconds: more than the heartbeats of one session
  ASSERT_TRUE(eventually([&] { return client.metrics().renewals >= renewals + enough; }, 60s));
  const std::size_t beats = wire.heartbeats() - before;
  const auto passed = std::chrono::steady_clock::now() - since;
  EXPECT_LE(beats, static_cast<std::size_t>(9 * passed / session) + 2) << client.metrics().renewals << " renewals";
  EXPECT_GE(beats, 1U);
  EXPECT_TRUE(hold.valid());
}

/// With so many before it.
class ZooKeeperQueue : public testing::TestWithParam<std::size_t> {
 protected:
  const std::string place_ = place();
};

INSTANTIATE_TEST_SUITE_P(Waiters, ZooKeeperQueue, testing::Values(1, 100, 1'000), testing::PrintToStringParamName());

TEST_P(ZooKeeperQueue, ANewcomerAsksForTheSameWhateverItsLength) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const Wire wire(server.port());
  Client others(server.url(place_)), late(wire.url(place_));
  ASSERT_TRUE(late.mutex("elsewhere").acquire().value().release()) << "now its session is there";
  const Hold hold = others.mutex("job", {.local_passes = 0}).acquire().value();
  const Crowd crowd(others, "job", GetParam());
  const auto wait = [&] {
    const Counts before = wire.requests();
    std::stop_source stop;
    auto waits = std::async(std::launch::async, [&] { return late.mutex("job").acquire({}, stop.get_token()); });
    EXPECT_TRUE(eventually([&] { return wire::watches(wire.requests_since(before)) == 2; }));
    const Counts asked = wire.requests_since(before);
    stop.request_stop();
    EXPECT_EQ(waits.get().code(), Errc::cancelled);
    return asked;
  };
  // Its node and its ticket, the folder, who is before it, the ticket of that one, and its own node, should somebody take
  // it away.
  EXPECT_THAT(wait(), UnorderedElementsAre(Pair("multi", 1), Pair("getData", 2), Pair("getData and watch", 2)));
  const auto waiting = [&](std::size_t count) {
    return eventually([&] { return others.inspect("job").value().waiters.size() == count; });
  };
  ASSERT_TRUE(waiting(GetParam()));
  std::stop_source stop;
  const auto between = std::async(
      std::launch::async, [&] { return others.mutex("job", {.local_passes = 0}).acquire({}, stop.get_token()); });
  EXPECT_TRUE(waiting(GetParam() + 1)) << "so the number before its own is somebody's";
  // Now it expects a crowd, and leaves the folder out.
  EXPECT_THAT(wait(), UnorderedElementsAre(Pair("multi", 1), Pair("getData", 1), Pair("getData and watch", 2)));
  stop.request_stop();
}

// Everybody goes through one proxy. Who waits looks every few seconds whether it has missed something: with a thousand of
// them that is somebody all the time, so the cheapest of many hand-overs is the one in which nobody looked.
TEST_P(ZooKeeperQueue, AHandOverCostsTheSameWhateverItsLength) {
  const Wire wire(ZooKeeperServer::shared().port());
  Client client(wire.url(place_)), others(wire.url(place_));
  Hold hold = client.mutex("job").acquire().value();
  Crowd crowd(others, "job", GetParam() + 1);
  EXPECT_TRUE(hold.release());
  hold = crowd.next();
  std::optional<Counts> cheapest;
  const std::size_t most = std::min<std::size_t>(GetParam(), 30);
  for (std::size_t i = 0; i < most; ++i) {
    const Counts before = wire.requests();
    EXPECT_TRUE(hold.release());
    hold = crowd.next();
    const Counts counts = wire.requests_since(before);
    EXPECT_EQ(wire::lists(counts), 0);
    if (!cheapest || wire::sum(counts) < wire::sum(*cheapest)) cheapest = counts;
  }
  // The next one is told, and need not ask.
  EXPECT_THAT(*cheapest, UnorderedElementsAre(Pair("multi", 1)));
}

TEST_P(ZooKeeperQueue, IsNotListedFromItsFirstToItsLast) {
  const Wire wire(ZooKeeperServer::shared().port());
  Client client(wire.url(place_)), others(wire.url(place_));
  ASSERT_TRUE(client.mutex("job").acquire().value().release()) << "now its folder is there";
  const Mutex mutex = others.mutex("job", {.local_passes = 0});
  std::vector<std::jthread> threads;
  std::atomic<std::size_t> served = 0, refused = 0;
  const Counts before = wire.requests();
  Hold hold = client.mutex("job").acquire().value();
  for (std::size_t i = 0; i < GetParam(); ++i) {
    threads.emplace_back([&, own = mutex]() mutable {
      Result<Hold> its = own.acquire();
      (its && its->release() ? served : refused) += 1;
    });
  }
  EXPECT_TRUE(eventually([&] { return wire::watches(wire.requests_since(before)) >= 2 * GetParam(); }));
  EXPECT_TRUE(hold.release());
  for (std::jthread& thread : threads) thread.join();
  EXPECT_EQ(served, GetParam());
  EXPECT_EQ(refused, 0);
  const Counts counts = wire.requests_since(before);
  EXPECT_LE(wire::lists(counts), 1) << "by the first one, if others came while it did";
  EXPECT_EQ(wire::count(counts, "multi"), 2 * (GetParam() + 1));
}

TEST(ZooKeeperCost, ReadersListTheQueueOncePerWait) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string where = place();
  const Wire wire(server.port());
  Client writer(server.url(where));
  constexpr std::size_t size = 20;
  std::vector<Client> readers;  // readers of one client share a place
  for (std::size_t i = 0; i < size; ++i) {
    readers.emplace_back(wire.url(where));
    ASSERT_TRUE(readers.back().mutex("elsewhere").acquire().value().release());
  }
  ASSERT_TRUE(writer.shared_mutex("job").acquire().value().release());
  for (int round = 0; round < 3; ++round) {
    Hold hold = writer.shared_mutex("job").acquire().value();
    const Counts before = wire.requests();
    std::vector<std::future<Result<Hold>>> waits;
    for (Client& reader : readers) {
      waits.push_back(std::async(std::launch::async, [&] { return reader.shared_mutex("job").acquire_shared(); }));
    }
    ASSERT_TRUE(eventually([&] { return writer.inspect("job", Kind::rw).value().waiters.size() == size; }));
    EXPECT_TRUE(hold.release());
    std::vector<Hold> holds;
    for (auto& wait : waits) holds.push_back(wait.get().value());
    EXPECT_EQ(wire::lists(wire.requests_since(before)), size);
  }
}

// Scenario: alice holds, bob waits, then one of Curator's, then carol. Only carol has a stranger before her.
TEST(ZooKeeperCost, ANodeOfAnotherLibraryIsListedOncePerWaitByTheOneBehindIt) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const Wire wire(server.port());
  const std::string where = place("&names=raw");
  const std::string folder = where.substr(0, where.find('?')) + "/job";
  Client client(server.url(where)), carol(wire.url(where));
  ASSERT_TRUE(carol.mutex("/elsewhere").acquire().value().release());
  Stranger stranger(server);
  Mutex mutex = client.mutex("/job", {.local_passes = 0});
  const auto waiting = [&] { return client.inspect("/job").value().waiters.size(); };
  for (const bool gives_up : {false, true}) {
    Hold alices = mutex.acquire().value();
    auto bobs = std::async(std::launch::async, [&] { return mutex.acquire(); });
    ASSERT_TRUE(eventually([&] { return waiting() == 1; }));
    const std::string node = stranger.create(folder + "/_c_8c6ad0f2-0000-4000-8000-000000000000-lock-");
    const Counts before = wire.requests();
    auto carols = std::async(std::launch::async, [&] { return carol.mutex("/job").acquire(); });
    ASSERT_TRUE(eventually([&] { return waiting() == 3; }));
    if (gives_up) stranger.remove(node);
    EXPECT_TRUE(alices.release());
    Hold bobs_hold = bobs.get().value();
    EXPECT_TRUE(bobs_hold.release());
    if (!gives_up) {
      EXPECT_EQ(carols.wait_for(50ms), std::future_status::timeout) << "the stranger holds it";
      stranger.remove(node);
    }
    Hold hold = carols.get().value();
    EXPECT_EQ(wire::lists(wire.requests_since(before)), 1);
    EXPECT_TRUE(hold.release());
  }
}

}  // namespace
}  // namespace pawl
