#include "base/wakeup.hpp"

#include "base/simulated_runtime.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::base {
namespace {

using namespace std::chrono_literals;

struct Seen {
  std::optional<Woke> why;
  Time when{};
};

awaitable<void> wait_once(Runtime& runtime, Wakeup& wakeup, Time deadline, Seen& seen) {
  seen.why = co_await wakeup.wait(deadline);
  seen.when = runtime.now();
}

awaitable<void> sleep_and_say(Runtime& runtime, Time when, std::string name, std::vector<std::string>& said) {
  co_await sleep_until(runtime, when);
  said.push_back(name);
}

/// Holds `guest` while it waits: whoever drops the coroutine lets it go.
awaitable<void> wait_with(std::shared_ptr<int> guest, Runtime& runtime) {
  Wakeup wakeup{runtime};
  co_await wakeup.wait(Time::max());
  *guest = 1;
}

awaitable<void> wait_inside(std::shared_ptr<int> guest, Runtime& runtime) {
  co_await wait_with(guest, runtime);
  *guest = 2;
}

class WakeupTest : public testing::Test {
 protected:
  Seen wait(Time deadline) {
    Seen seen;
    spawn(process_, wait_once(process_, wakeup_, deadline, seen));
    world_.run_until([&] { return seen.why.has_value(); });
    return seen;
  }

  SimWorld world_{1};
  SimProcess& process_ = world_.add_process();
  Wakeup wakeup_{process_};
  const Time start_ = world_.now();
};

TEST_F(WakeupTest, ANotifyBeforeTheWaitIsNotLost) {
  wakeup_.notify();
  EXPECT_EQ(wait(Time::max()).why, Woke::notified);
}

TEST_F(WakeupTest, TwoNotifiesBeforeTheWaitCountAsOne) {
  wakeup_.notify();
  wakeup_.notify();
  EXPECT_EQ(wait(Time::max()).why, Woke::notified);
  EXPECT_EQ(wait(start_ + 1s).why, Woke::timed_out);
}

TEST_F(WakeupTest, ANotifyEndsTheWaitAtOnce) {
  Seen seen;
  spawn(process_, wait_once(process_, wakeup_, start_ + 10s, seen));
  world_.run_for(3s);
  EXPECT_FALSE(seen.why);
  wakeup_.notify();
  world_.run_for(0s);
  EXPECT_EQ(seen.why, Woke::notified);
  EXPECT_EQ(seen.when, start_ + 3s);
}

TEST_F(WakeupTest, TimesOutExactlyAtTheDeadline) {
  const Seen seen = wait(start_ + 5s);
  EXPECT_EQ(seen.why, Woke::timed_out);
  EXPECT_EQ(seen.when, start_ + 5s);
}

TEST_F(WakeupTest, ADeadlineThatHasPassedTimesOutAtOnce) {
  EXPECT_EQ(wait(start_).why, Woke::timed_out);
  EXPECT_EQ(wait(start_ - 1s).why, Woke::timed_out);
  EXPECT_EQ(world_.now(), start_);
}

TEST_F(WakeupTest, ANotifyGoesBeforeADeadlineThatHasPassed) {
  wakeup_.notify();
  EXPECT_EQ(wait(start_ - 1s).why, Woke::notified);
}

TEST_F(WakeupTest, ANotifyAfterTheTimeoutIsKeptForTheNextWait) {
  EXPECT_EQ(wait(start_).why, Woke::timed_out);
  wakeup_.notify();
  EXPECT_EQ(wait(Time::max()).why, Woke::notified);
}

TEST_F(WakeupTest, ANotifiedWaitLeavesNoTimerBehind) {
  wakeup_.notify();
  wait(start_ + 10s);
  world_.run_until([] { return false; });
  EXPECT_EQ(world_.now(), start_);
}

TEST_F(WakeupTest, WaitersOfOneTimeGoOnInTheOrderInWhichTheyCame) {
  std::vector<std::string> said;
  spawn(process_, sleep_and_say(process_, start_ + 2s, "late", said));
  spawn(process_, sleep_and_say(process_, start_ + 1s, "first", said));
  spawn(process_, sleep_and_say(process_, start_ + 1s, "second", said));
  spawn(process_, sleep_and_say(process_, start_ + 1s, "third", said));
  world_.run_for(2s);
  EXPECT_EQ(said, (std::vector<std::string>{"first", "second", "third", "late"}));
}

TEST_F(WakeupTest, WhoeverIsWokenMayDestroyTheWakeupAndItsNotifierMayGoOn) {
  auto own = std::make_unique<Wakeup>(process_);
  Seen seen;
  spawn(process_, wait_once(process_, *own, Time::max(), seen));
  world_.run_for(0s);
  own->notify();
  own.reset();
  world_.run_for(0s);
  EXPECT_EQ(seen.why, Woke::notified);
}

TEST_F(WakeupTest, AWakeupThatGoesTakesItsWaiterAlong) {
  const auto guest = std::make_shared<int>(0);
  auto own = std::make_shared<Wakeup>(process_);
  Wakeup& wakeup = *own;
  spawn(process_, [](std::shared_ptr<int> kept, Wakeup& on) -> awaitable<void> {
    co_await on.wait(Time::max());
    *kept = 1;
  }(guest, wakeup));
  world_.run_for(0s);
  EXPECT_EQ(guest.use_count(), 2);
  own.reset();
  world_.run_for(0s);  // a coroutine is taken apart on its executor
  EXPECT_EQ(guest.use_count(), 1);
  EXPECT_EQ(*guest, 0);
}

TEST(WakeupAtTheEnd, ARuntimeThatEndsDropsWhoStillWaits) {
  const auto guest = std::make_shared<int>(0);
  {
    SimWorld world{1};
    SimProcess& process = world.add_process();
    for (int i = 0; i < 3; ++i) spawn(process, wait_with(guest, process));
    spawn(process, wait_inside(guest, process));
    world.run_for(1s);
    EXPECT_GT(guest.use_count(), 4);
  }
  EXPECT_EQ(guest.use_count(), 1);
  EXPECT_EQ(*guest, 0);
}

TEST(WakeupAtTheEnd, ARuntimeThatEndsDropsWhoHasNotBegunYet) {
  const auto guest = std::make_shared<int>(0);
  {
    SimWorld world{1};
    SimProcess& process = world.add_process();
    spawn(process, wait_with(guest, process));
  }
  EXPECT_EQ(guest.use_count(), 1);
}

/// As a client's objects do: the end of one tells the next.
struct Teller {
  explicit Teller(std::shared_ptr<Wakeup> other) : next(std::move(other)) {}
  ~Teller() { next->notify(); }
  const std::shared_ptr<Wakeup> next;
};

awaitable<void> wait_and_tell(std::shared_ptr<Wakeup> own, std::shared_ptr<Wakeup> other, std::shared_ptr<int> guest) {
  const Teller teller(other);
  co_await own->wait(Time::max());
  *guest = 1;
}

TEST(WakeupAtTheEnd, WhatIsDroppedMayNotifyOthersThatAreDroppedToo) {
  const auto guest = std::make_shared<int>(0);
  {
    SimWorld world{1};
    SimProcess& process = world.add_process();
    const auto one = std::make_shared<Wakeup>(process), two = std::make_shared<Wakeup>(process);
    spawn(process, wait_and_tell(one, two, guest));
    spawn(process, wait_and_tell(two, one, guest));
    world.run_for(0s);
  }
  EXPECT_EQ(guest.use_count(), 1);
  EXPECT_EQ(*guest, 0);
}

}  // namespace
}  // namespace pawl::base
