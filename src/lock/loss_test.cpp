// A loss waits for nothing: not for an observer that is slow or stuck, not for an executor that is, and not for the
// callback of another loss.

#include "base/manual_clock.hpp"
#include "base/real_runtime.hpp"
#include "lock/client_core.hpp"
#include "lock/hold_core.hpp"
#include "lock/lock_core.hpp"
#include "store/memory/memory_store.hpp"
#include "tests/support/threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace pawl::lock {
namespace {

using namespace std::chrono_literals;
using base::Time;
using local::LocalHold;

constexpr auto hang = 60s;
constexpr auto enough_events = 5'000;  // twice as many, with the releases

/// Shut until it is opened; opened at the end, so that nothing hangs in it.
class Gate {
 public:
  ~Gate() { open(); }
  void open() {
    if (!open_.exchange(true)) promise_.set_value();
  }
  void pass() { future_.wait(); }

 private:
  std::promise<void> promise_;
  std::shared_future<void> future_ = promise_.get_future().share();
  std::atomic<bool> open_ = false;
};

class LossTest : public testing::Test {
 protected:
  ~LossTest() override {
    observer_gate_.open();
    callback_gate_.open();
    disk_.open();
  }

  std::shared_ptr<ClientCore> client(std::function<void(const Event&)> observer = {}) {
    ClientOptions options;
    options.observer = std::move(observer);
    auto store = std::make_shared<store::memory::MemoryStore>(state_, runtime_);
    return clients_.emplace_back(make_handle(ClientCore::make(runtime_, std::move(store), options).value()));
  }
  Result<Hold> acquire(const std::shared_ptr<ClientCore>& client, std::string_view name, AcquireOptions options = {}) {
    return ClientCore::mutex(client, name, {}).value()->acquire_blocking(options, {});
  }
  void fill_the_queue_of_the_observer(const std::shared_ptr<ClientCore>& client) {
    const auto other = ClientCore::mutex(client, "other", {}).value();
    for (int i = 0; i < enough_events; ++i) ASSERT_TRUE(other->acquire_blocking({}, {}).value().release());
  }
  std::function<void(const Event&)> stuck() {
    return [this](const Event&) { observer_gate_.pass(); };
  }
  static std::future_status wait_for(std::promise<void>& promise) { return promise.get_future().wait_for(hang); }

  Gate observer_gate_, callback_gate_, disk_;
  base::ManualClock clock_;
  base::RealRuntime runtime_{clock_};
  std::shared_ptr<store::memory::MemoryState> state_ = store::memory::private_state(runtime_);
  std::vector<std::shared_ptr<ClientCore>> clients_;  // closed after the gates were opened
};

TEST_F(LossTest, DoesNotWaitForAnObserverThatIsStuck) {
  const auto alice = client(stuck());
  const Hold hold = acquire(alice, "job", {.max_hold = 300ms}).value();
  const Time until = clock_.now() + hold.remaining();
  fill_the_queue_of_the_observer(alice);
  std::promise<void> told;
  const std::stop_callback on_lost(hold.lost(), [&] { told.set_value(); });
  clock_.move_to(until - 1ns);
  EXPECT_EQ(hold.remaining(), 1ns);
  EXPECT_FALSE(hold.lost().stop_requested());
  clock_.move_to(until);
  EXPECT_EQ(wait_for(told), std::future_status::ready) << "the loss waits behind the events";
}

TEST_F(LossTest, OfALeaseDoesNotWaitForAnObserverThatIsStuckEither) {
  const auto alice = client(stuck());
  const Hold hold = acquire(alice, "job").value();
  fill_the_queue_of_the_observer(alice);
  std::promise<void> told;
  const std::stop_callback on_lost(hold.lost(), [&] { told.set_value(); });
  std::promise<void> stuck_there;
  runtime_.notify([&] {
    runtime_.send([&] {
      stuck_there.set_value();
      disk_.pass();
    });
  });
  ASSERT_EQ(wait_for(stuck_there), std::future_status::ready) << "the executor: nothing is renewed";
  clock_.move_to(clock_.now() + hold.remaining());
  EXPECT_EQ(wait_for(told), std::future_status::ready);
  disk_.open();
}

TEST_F(LossTest, IsHeardByTheNextWaiterThoughTheObserverIsStuck) {
  const auto alice = client(stuck());
  const Hold hold = acquire(alice, "job", {.max_hold = 300ms}).value();
  fill_the_queue_of_the_observer(alice);
  std::promise<void> next;
  std::thread waiter([&] {
    const Result<Hold> mine = acquire(alice, "job");
    EXPECT_TRUE(mine) << mine.error().message;
    next.set_value();
  });
  clock_.move_to(clock_.now() + 300ms);
  EXPECT_EQ(wait_for(next), std::future_status::ready);
  observer_gate_.open();
  waiter.join();
}

TEST_F(LossTest, OfOneLockIsHeardByItsWaiterThoughTheCallbackOfAnotherIsStuck) {
  const auto alice = client();
  const Hold stuck = acquire(alice, "stuck", {.max_hold = 200ms}).value();
  const Hold hold = acquire(alice, "job", {.max_hold = 300ms}).value();
  std::promise<void> begun, next;
  const std::stop_callback on_lost(stuck.lost(), [&] {
    begun.set_value();
    callback_gate_.pass();
  });
  std::thread waiter([&] {
    EXPECT_TRUE(acquire(alice, "job"));
    next.set_value();
  });
  clock_.move_to(clock_.now() + 200ms);
  ASSERT_EQ(wait_for(begun), std::future_status::ready);
  clock_.move_to(clock_.now() + 100ms);
  EXPECT_EQ(hold.remaining(), 0ns);
  ASSERT_TRUE(test::eventually([&] { return alice->context().telemetry.lost == 2; }));
  clock_.move_to(clock_.now() + 1s);  // for so long the waiter lets the callbacks go first
  EXPECT_EQ(wait_for(next), std::future_status::ready);
  callback_gate_.open();
  waiter.join();
}

TEST_F(LossTest, TheLoserIsToldBeforeTheNextLocalHolder) {
  const auto alice = client();
  for (int round = 0; round < 200; ++round) {
    const Hold hold = acquire(alice, "job", {.max_hold = 300ms}).value();
    std::atomic<bool> told = false;
    const std::stop_callback on_lost(hold.lost(), [&] { told = true; });
    std::thread waiter([&] {
      EXPECT_TRUE(acquire(alice, "job"));
      EXPECT_TRUE(told) << "in round " << round;
    });
    clock_.move_to(clock_.now() + 300ms);
    waiter.join();
  }
}

TEST_F(LossTest, ByCloseIsHeardByTheNextClientThoughTheCallbackIsStuck) {
  const auto alice = client(), bob = client();
  const Hold hold = acquire(alice, "job", {.lease = 2h}).value();
  std::promise<void> begun;
  const std::stop_callback on_lost(hold.lost(), [&] {
    begun.set_value();
    callback_gate_.pass();
  });
  std::thread closer([&] { EXPECT_TRUE(runtime_.block_on(alice->close(1h))); });
  ASSERT_EQ(wait_for(begun), std::future_status::ready);
  std::promise<void> next;
  std::thread waiter([&] {
    EXPECT_TRUE(acquire(bob, "job"));
    next.set_value();
  });
  // A step of a second is enough; more of them where the close has not come so far yet. Its session is alive all the time.
  const auto granted = next.get_future();
  const Time too_late = clock_.now() + 30min;
  while (granted.wait_for(10ms) != std::future_status::ready && clock_.now() < too_late) {
    clock_.move_to(clock_.now() + LocalHold::longest_callback);
  }
  EXPECT_LT(clock_.now(), too_late) << "the lock is kept until the callback returns";
  callback_gate_.open();
  closer.join();
  waiter.join();
}

// The promise itself, in real time: within one second of the deadline, behind 10,000 events that need ten seconds or more.
TEST(LossInRealTime, IsToldWithinASecondThoughTheObserverIsSlow) {
  base::RealRuntime runtime;
  std::atomic<bool> slow = true;
  std::atomic<int> observed = 0;
  ClientOptions options;
  options.observer = [&](const Event&) {
    ++observed;
    if (slow) std::this_thread::sleep_for(1ms);
  };
  auto store = std::make_shared<store::memory::MemoryStore>(store::memory::private_state(runtime), runtime);
  const auto alice = make_handle(ClientCore::make(runtime, std::move(store), options).value());
  const auto other = ClientCore::mutex(alice, "other", {}).value();
  for (int i = 0; i < enough_events; ++i) ASSERT_TRUE(other->acquire_blocking({}, {}).value().release());

  const auto job = ClientCore::mutex(alice, "job", {}).value();
  const Hold hold = job->acquire_blocking({.max_hold = 300ms}, {}).value();
  const Time now = runtime.now();
  const Time deadline = now + hold.remaining();
  std::promise<Time> told;
  {
    const std::stop_callback on_lost(hold.lost(), [&] { told.set_value(runtime.now()); });
    auto when = told.get_future();
    ASSERT_EQ(when.wait_for(hang), std::future_status::ready);
    EXPECT_LT(observed, 2 * enough_events) << "the observer was not behind: this says nothing";
    EXPECT_LT(when.get() - deadline, 1s);
  }
  slow = false;
}

}  // namespace
}  // namespace pawl::lock
