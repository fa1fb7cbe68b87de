// Promise: a thousand clients can wait for one lock, and one client can hold ten thousand, or as many as the scheme declares
// (most_held).

#include "tests/contract/contract.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

namespace pawl::contract {

PAWL_CONTRACT(Many);

namespace {

/// The order in which the clients were served.
struct Served {
  std::mutex mutex = {};  // guards the order
  std::vector<int> order = {};
};

awaitable<bool> be_served(std::shared_ptr<lock::LockCore> mutex, Served& served, int who) {
  const AcquireOptions options;
  Result<Hold> hold = co_await mutex->acquire(options, std::stop_token());
  if (!hold) co_return false;
  const std::lock_guard lock(served.mutex);
  served.order.push_back(who);
  co_return true;
}

}  // namespace

TEST_P(Many, AThousandClientsWaitForOneLockAndAllAreServedInOrder) {
  PAWL_NEEDS(fair);
  const int clients =
      can().most_waiters == 0 ? 1'000 : static_cast<int>(std::min<std::uint64_t>(1'000, can().most_waiters));
  const Actor alice = world().client();
  Hold hold = must_acquire(alice, "job");
  Served served;
  const auto arrived = std::make_shared<std::atomic<int>>(0);
  ClientOptions options;
  options.lease = 30s;
  options.timeout = 30s;  // a thousand of them are many for one machine
  options.observer = [arrived](const Event& event) {
    if (event.type == EventType::waiting) ++*arrived;
  };
  std::vector<Started<bool>> waiting;
  for (int i = 0; i < clients; ++i) {
    const Actor actor = world().client(options);
    waiting.push_back(start(actor, be_served(actor.mutex("job"), served, i)));
    // One after the other, so that the order of arrival is known.
    ASSERT_TRUE(world().eventually([&] { return *arrived > i; }));
  }
  ASSERT_TRUE(world().queued("job", static_cast<std::size_t>(clients)));
  EXPECT_TRUE(release(alice, hold));
  for (Started<bool>& one : waiting) EXPECT_TRUE(one.get());

  std::vector<int> arrival(static_cast<std::size_t>(clients));
  std::iota(arrival.begin(), arrival.end(), 0);
  EXPECT_EQ(served.order, arrival);
}

/// All is asked for at once, and a slow machine must end neither a request nor a lease.
ClientOptions patient(World& world) {
  ClientOptions options;
  options.timeout = 30s;
  if (world.virtual_time()) return options;
  options.timeout = 120s;
  options.lease = 600s;
  return options;
}

TEST_P(Many, OneClientHoldsTenThousandLocksWithOneStreamOfRenewals) {
  const std::size_t locks = as_many_as_it_holds(10'000);
  const Actor alice = world().client(patient(world()));
  std::vector<StartedHold> started;
  for (std::size_t i = 0; i < locks; ++i) started.push_back(start_acquire(alice, "job/" + std::to_string(i)));
  std::vector<Hold> holds;
  for (StartedHold& one : started) holds.push_back(one.get().value());
  EXPECT_EQ(world().views("job/").size(), locks);
  EXPECT_EQ(alice.sent(Operation::open_session), 1U);
  if (world().virtual_time()) {
    const std::size_t before = alice.sent(Operation::renew);
    world().sleep(world().lease());
    EXPECT_EQ(alice.sent(Operation::renew) - before, 3U);
    for (const Hold& hold : holds) ASSERT_TRUE(hold.valid());
  }
  holds.clear();
  EXPECT_TRUE(world().ask_until([&] { return world().views().empty(); }));
  EXPECT_EQ(alice.metrics().released, locks);
}

TEST_P(Many, OneClientWaitsForAThousandLocksAtOnce) {
  const std::size_t locks = as_many_as_it_holds(1'000);
  const Actor alice = world().client(patient(world())), bob = world().client(patient(world()));
  std::vector<Hold> holds;
  std::vector<StartedHold> waiting;
  for (std::size_t i = 0; i < locks; ++i) holds.push_back(must_acquire(alice, "job/" + std::to_string(i)));
  for (std::size_t i = 0; i < locks; ++i) waiting.push_back(start_acquire(bob, "job/" + std::to_string(i)));
  ASSERT_TRUE(world().queued("job/" + std::to_string(locks - 1), 1));
  holds.clear();
  for (StartedHold& one : waiting) EXPECT_TRUE(one.get());
  EXPECT_EQ(bob.sent(Operation::open_session), 1U);
}

TEST_P(Many, AThousandThreadsOfOneClientShareOneClaim) {
  PAWL_NEEDS(knows_contention);
  const Actor alice = world().client();
  Served served;
  std::vector<Started<bool>> started;
  for (int i = 0; i < 1'000; ++i) started.push_back(start(alice, be_served(alice.mutex("job"), served, i)));
  for (Started<bool>& one : started) EXPECT_TRUE(one.get());
  EXPECT_EQ(served.order.size(), 1'000U);
  EXPECT_TRUE(std::is_sorted(served.order.begin(), served.order.end()));
}

}  // namespace pawl::contract
