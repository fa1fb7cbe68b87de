#include "base/real_runtime.hpp"

#include "base/wakeup.hpp"
#include "tests/support/threads.hpp"

#include <gtest/gtest.h>

#include <signal.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace pawl::base {
namespace {

using namespace std::chrono_literals;
using test::eventually;

constexpr auto hang = 60s;

awaitable<Result<int>> answer(int value) { co_return value; }

awaitable<Result<int>> answer_after(Runtime& runtime, Duration pause, int value) {
  co_await sleep_for(runtime, pause);
  co_return value;
}

awaitable<Result<int>> fail_badly() {
  throw std::runtime_error("no answer");
  co_return 1;
}

/// Goes through the executor several times and counts, unguarded.
awaitable<Result<int>> count_up(Runtime& runtime, int& unguarded, int& inside, int value) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(++inside, 1);
    ++unguarded;
    --inside;
    co_await sleep_for(runtime, Duration(i));
  }
  co_return value;
}

awaitable<Result<std::thread::id>> offload_to(Runtime& runtime, std::thread::id& back) {
  std::thread::id where;
  const std::function<void()> work = [&where] { where = std::this_thread::get_id(); };
  const std::string lane = "test";
  co_await runtime.offload(lane, work);
  back = std::this_thread::get_id();
  co_return where;
}

awaitable<Result<int>> offload_slowly(Runtime& runtime, std::shared_future<void> until) {
  const std::function<void()> work = [until] { until.wait(); };
  const std::string lane = "test";
  co_await runtime.offload(lane, work);
  co_return 1;
}

awaitable<void> wait_for_ever(std::shared_ptr<int> guest, Runtime& runtime) {
  Wakeup wakeup{runtime};
  co_await wakeup.wait(Time::max());
  ++*guest;
}

awaitable<void> offload_for_ever(std::shared_ptr<int> guest, Runtime& runtime, std::function<void()> work) {
  const std::string lane = "test";
  co_await runtime.offload(lane, work);
  ++*guest;
}

class RealRuntimeTest : public testing::Test {
 protected:
  /// Runs it on the executor and waits.
  void on_executor(std::function<void()> work) {
    std::promise<void> done;
    runtime_.send([&] {
      work();
      done.set_value();
    });
    ASSERT_EQ(done.get_future().wait_for(hang), std::future_status::ready);
  }
  /// Only a caller that waits makes it.
  void make_the_background_leave() { EXPECT_TRUE(runtime_.block_on(answer(0))); }
  std::vector<test::ThreadSeen> its_threads() const { return test::threads_besides(others_); }

  const std::vector<test::ThreadSeen> others_ = test::threads_seen();  // before it starts its own
  RealRuntime runtime_;
};

TEST_F(RealRuntimeTest, BlockOnGivesTheResult) {
  EXPECT_EQ(runtime_.block_on(answer(7)).value(), 7);
  EXPECT_EQ(runtime_.block_on(answer_after(runtime_, 1ms, 8)).value(), 8);
}

TEST_F(RealRuntimeTest, BlockOnHandsAnExceptionToItsCaller) {
  EXPECT_THROW((void)runtime_.block_on(fail_badly()), std::runtime_error);
  EXPECT_EQ(runtime_.block_on(answer(7)).value(), 7);
}

TEST_F(RealRuntimeTest, EveryThreadGetsItsOwnResultAndOneDrivesAtATime) {
  int unguarded = 0, inside = 0;  // a race here is what ThreadSanitizer is for
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const int mine = t * 1000 + i;
        EXPECT_EQ(runtime_.block_on(count_up(runtime_, unguarded, inside, mine)).value(), mine);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  on_executor([&] { EXPECT_EQ(unguarded, 8 * 100 * 3); });
}

TEST_F(RealRuntimeTest, CallersThatComeAndGoHandTheSeatToTheBackgroundAndBack) {
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(runtime_.block_on(answer(i)).value(), i);
    // Nobody waits here: the timer is served by the background.
    std::promise<void> woken;
    runtime_.send([&] {
      spawn(runtime_, [](Runtime& runtime, std::promise<void>& done) -> awaitable<void> {
        co_await sleep_for(runtime, 1ms);
        done.set_value();
      }(runtime_, woken));
    });
    ASSERT_EQ(woken.get_future().wait_for(hang), std::future_status::ready);
  }
}

TEST_F(RealRuntimeTest, BlockOnInsideTheRuntimeWouldDeadlock) {
  on_executor([&] {
    EXPECT_FALSE(runtime_.may_block());
    EXPECT_EQ(runtime_.block_on(answer(1)).code(), Errc::would_deadlock);
  });
  EXPECT_TRUE(runtime_.may_block());
}

TEST_F(RealRuntimeTest, BlockOnInACallbackWouldDeadlock) {
  std::promise<Errc> code;
  runtime_.notify([&] { code.set_value(runtime_.block_on(answer(1)).code()); });
  EXPECT_EQ(code.get_future().get(), Errc::would_deadlock);
}

TEST_F(RealRuntimeTest, WhatIsSentIsServedThoughNobodyDrives) {
  int served = 0;
  for (int i = 0; i < 100; ++i) on_executor([&] { ++served; });
  EXPECT_EQ(served, 100);
}

TEST_F(RealRuntimeTest, WhatIsSentIsServedWhileACallerSleeps) {
  std::promise<void> stop;
  std::thread sleeper([&] { EXPECT_EQ(runtime_.block_on(offload_slowly(runtime_, stop.get_future())).value(), 1); });
  for (int i = 0; i < 100; ++i) on_executor([] {});
  stop.set_value();
  sleeper.join();
}

TEST_F(RealRuntimeTest, WhatIsSentKeepsItsOrder) {
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) runtime_.send([&order, i] { order.push_back(i); });
  on_executor([&] {
    ASSERT_EQ(order.size(), 1000u);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[i], i);
  });
}

// Another thread sat in the driver's seat when it was sent, and left without a look at it.
TEST_F(RealRuntimeTest, WhatWasSentComesBeforeWhatIsRunHereLater) {
  for (int round = 0; round < 100; ++round) {
    std::promise<void> sits, sent;
    std::thread other([&] {
      const auto sit = [&] {
        sits.set_value();
        sent.get_future().wait();
      };
      while (!runtime_.run_here(sit, Runtime::Afterwards::leaves)) make_the_background_leave();
    });
    sits.get_future().wait();
    std::atomic<bool> ran = false;
    runtime_.send([&] { ran = true; });
    sent.set_value();
    bool before = false;
    while (!runtime_.run_here([&] { before = ran; }, Runtime::Afterwards::leaves)) make_the_background_leave();
    EXPECT_TRUE(before) << round;
    other.join();
  }
}

TEST_F(RealRuntimeTest, ASleepIsNeverShort) {
  for (const Duration pause : {Duration(1us), Duration(1ms), Duration(7ms)}) {
    const Time before = runtime_.now();
    EXPECT_TRUE(runtime_.block_on(answer_after(runtime_, pause, 1)));
    EXPECT_GE(runtime_.now() - before, pause);
  }
}

TEST_F(RealRuntimeTest, AShortSleepEndsWhileALongOneGoesOn) {
  const auto guest = std::make_shared<int>(0);
  runtime_.send([&] {
    spawn(runtime_, [](std::shared_ptr<int> kept, Runtime& runtime) -> awaitable<void> {
      co_await sleep_for(runtime, 1h);
      ++*kept;
    }(guest, runtime_));
  });
  EXPECT_EQ(runtime_.block_on(answer_after(runtime_, 2ms, 5)).value(), 5);
  EXPECT_EQ(*guest, 0);
}

TEST_F(RealRuntimeTest, AnAlarmFiresThoughTheExecutorIsStuck) {
  std::promise<void> rung;
  const auto waits = rung.get_future().share();
  runtime_.set_alarm(runtime_.now() + 5ms, [&] { rung.set_value(); });
  on_executor([&] { EXPECT_EQ(waits.wait_for(hang), std::future_status::ready); });
}

// Whatever runs there may block on a disk, and the next loss would wait for it.
TEST_F(RealRuntimeTest, WhatACallbackSendsIsNotRunOnTheThreadOfTheCallback) {
  for (int round = 0; round < 500; ++round) {
    ASSERT_TRUE(runtime_.block_on(answer(round)));  // nobody drives for a moment
    std::promise<bool> same;
    runtime_.notify([&] {
      runtime_.send(
          [&, callbacks = std::this_thread::get_id()] { same.set_value(std::this_thread::get_id() == callbacks); });
    });
    ASSERT_FALSE(same.get_future().get()) << "in round " << round;
  }
}

TEST_F(RealRuntimeTest, ACancelledAlarmNeverFires) {
  std::atomic<bool> rang = false;
  runtime_.cancel_alarm(runtime_.set_alarm(runtime_.now() + 1ms, [&] { rang = true; }));
  std::promise<void> later;
  runtime_.set_alarm(runtime_.now() + 3ms, [&] { later.set_value(); });
  later.get_future().wait();
  EXPECT_FALSE(rang);
}

TEST_F(RealRuntimeTest, OffloadedWorkRunsElsewhereAndComesBack) {
  std::thread::id back;
  const std::thread::id where = runtime_.block_on(offload_to(runtime_, back)).value();
  EXPECT_NE(where, std::this_thread::get_id());
  EXPECT_NE(where, back);
}

TEST_F(RealRuntimeTest, TheExecutorGoesOnWhileWorkIsOffloaded) {
  std::promise<void> stop;
  const std::shared_future<void> until = stop.get_future().share();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {  // more than the pool has threads
    threads.emplace_back([&] { EXPECT_TRUE(runtime_.block_on(offload_slowly(runtime_, until))); });
  }
  EXPECT_EQ(runtime_.block_on(answer_after(runtime_, 1ms, 1)).value(), 1);
  stop.set_value();
  for (std::thread& thread : threads) thread.join();
}

TEST_F(RealRuntimeTest, ItsThreadsAreDeafToAllSignals) {
  std::thread::id back;
  ASSERT_TRUE(runtime_.block_on(offload_to(runtime_, back)));
  runtime_.expect_observers();
  const std::set<std::string> all{"pawl-alarms", "pawl-io", "pawl-notify", "pawl-observe", "pawl-offload"};
  std::set<std::string> names;
  EXPECT_TRUE(test::eventually([&] {  // each gives itself its name
    names.clear();
    for (const test::ThreadSeen& thread : its_threads()) names.insert(thread.name);
    return names == all;
  })) << testing::PrintToString(names);
  for (const test::ThreadSeen& thread : its_threads()) {
    const std::uint64_t blocked = std::stoull(test::thread_status(thread, "SigBlk"), nullptr, 16);
    for (int signal = 1; signal <= SIGRTMAX; ++signal) {
      if (signal == SIGKILL || signal == SIGSTOP || (signal >= 32 && signal < SIGRTMIN)) continue;  // not to be blocked
      EXPECT_TRUE((blocked >> (signal - 1)) & 1) << thread.name << " hears signal " << signal;
    }
  }
}

TEST_F(RealRuntimeTest, ChanceDoesNotRepeat) {
  std::set<std::uint64_t> drawn;
  for (int i = 0; i < 1000; ++i) drawn.insert(runtime_.random());
  EXPECT_EQ(drawn.size(), 1000u);
}

TEST_F(RealRuntimeTest, IdleThreadsSleep) {
  ASSERT_TRUE(runtime_.block_on(answer(1)));
  std::this_thread::sleep_for(50ms);  // to see that something does not happen
  const std::vector<test::ThreadSeen> threads = its_threads();
  std::uint64_t before = 0, after = 0;
  for (const auto& thread : threads) before += test::times_slept(thread);
  std::this_thread::sleep_for(200ms);
  for (const auto& thread : threads) after += test::times_slept(thread);
  EXPECT_LE(after - before, 40u);
}

/// Once more where the background sits in the seat: whoever blocks makes it leave.
bool wait_here(RealRuntime& runtime, const std::function<bool(const Runtime::Done&)>& work) {
  return eventually([&] {
    const bool ran = runtime.wait_here(work);
    if (!ran) (void)runtime.block_on(answer(1));
    return ran;
  });
}

TEST_F(RealRuntimeTest, AWaitWithoutACoroutineEndsWhenItsTimeIsOver) {
  Wakeup wakeup{runtime_};
  std::atomic<bool> woken = false;
  const auto wait = [&](const Runtime::Done& done) {
    auto then = [&woken, &done](Woke) {
      woken = true;
      done();
    };
    wakeup.wait_with(Resumption(std::move(then)), after(runtime_.now(), 1ms));
    return true;
  };
  ASSERT_TRUE(wait_here(runtime_, wait)) << "the executor is never free";
  EXPECT_TRUE(woken);
}

TEST_F(RealRuntimeTest, AfterWorkThatThrewHereEverybodyGoesOn) {
  const bool threw = eventually([&] {
    try {
      runtime_.run_here([] { throw std::runtime_error("oh"); }, Runtime::Afterwards::leaves);
      make_the_background_leave();
      return false;
    } catch (const std::runtime_error&) {
      return true;
    }
  });
  ASSERT_TRUE(threw);
  // Nobody blocks on anything, so only those who were told to go on do.
  std::promise<void> woken;
  spawn(runtime_, [](Runtime& runtime, std::promise<void>& then) -> awaitable<void> {
    co_await sleep_for(runtime, 1ms);
    then.set_value();
  }(runtime_, woken));
  EXPECT_EQ(woken.get_future().wait_for(hang), std::future_status::ready);
}

using RealRuntimeDeathTest = RealRuntimeTest;

TEST_F(RealRuntimeDeathTest, OutOfMemoryEndsTheProcessWithASentence) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto dies = testing::KilledBySignal(SIGABRT);
  const auto wait = [] { std::promise<void>().get_future().wait_for(hang); };
  EXPECT_EXIT(({
                runtime_.send([] { throw std::bad_alloc(); });
                wait();
              }),
              dies, "out of memory");
  EXPECT_EXIT((void)runtime_.block_on([]() -> awaitable<Result<int>> {
    throw std::bad_alloc();
    co_return 1;
  }()),
              dies, "out of memory");
  EXPECT_EXIT(({
                runtime_.set_alarm(runtime_.now(), [] { throw std::bad_alloc(); });
                wait();
              }),
              dies, "out of memory");
}

TEST_F(RealRuntimeTest, NothingIsWaitedForWhereNothingWasBegun) {
  int calls = 0;
  ASSERT_TRUE(wait_here(runtime_, [&](const Runtime::Done&) { return ++calls == 0; }));
  EXPECT_EQ(calls, 1);
}

TEST_F(RealRuntimeTest, AnotherThreadEndsAWaitWithoutACoroutine) {
  Wakeup wakeup{runtime_};
  std::thread other([&] { runtime_.send([&] { wakeup.notify(); }); });
  const auto wait = [&](const Runtime::Done& done) {
    wakeup.wait_with(Resumption([&done](Woke) { done(); }), Time::max());
    return true;
  };
  EXPECT_TRUE(wait_here(runtime_, wait));
  other.join();
}

TEST(RealRuntimeAtTheEnd, WhatIsStillWaitingIsDropped) {
  const auto guest = std::make_shared<int>(0);
  {
    RealRuntime runtime;
    for (int i = 0; i < 3; ++i) spawn(runtime, wait_for_ever(guest, runtime));
    EXPECT_TRUE(runtime.block_on(answer_after(runtime, 1ms, 1)));
    runtime.set_alarm(runtime.now() + 1h, [guest] { ++*guest; });
    spawn(runtime, wait_for_ever(guest, runtime));
  }
  EXPECT_EQ(guest.use_count(), 1);
  EXPECT_EQ(*guest, 0);
}

// Its thread comes back to an executor that must still be there.
TEST(RealRuntimeAtTheEnd, WaitsForOffloadedWorkThatIsStillRunning) {
  for (int round = 0; round < 20; ++round) {
    const auto guest = std::make_shared<int>(0);
    std::promise<void> running;
    {
      RealRuntime runtime;
      const std::function<void()> work = [&running, &runtime] {
        running.set_value();
        while (!runtime.inert()) std::this_thread::yield();  // a call that blocks, and the runtime ends meanwhile
        std::this_thread::sleep_for(1ms);
      };
      spawn(runtime, offload_for_ever(guest, runtime, work));
      running.get_future().wait();
    }
    EXPECT_EQ(guest.use_count(), 1);
  }
}

TEST(RealRuntimeAtTheEnd, ManyCanBeMadeAndEnded) {
  for (int i = 0; i < 50; ++i) {
    RealRuntime runtime;
    EXPECT_EQ(runtime.block_on(answer(i)).value(), i);
  }
}

TEST(ProcessWideRuntime, IsOneForAll) {
  RealRuntime& runtime = RealRuntime::process_wide();
  EXPECT_EQ(&runtime, &RealRuntime::process_wide());
  EXPECT_FALSE(runtime.inert());
  EXPECT_EQ(runtime.block_on(answer(1)).value(), 1);
}

}  // namespace
}  // namespace pawl::base
