#include "base/driver.hpp"

#include "base/log.hpp"
#include "base/threads.hpp"

#include "tests/support/skip.hpp"
#include "tests/support/threads.hpp"

#include <gtest/gtest.h>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <boost/asio/post.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace pawl::base {
namespace {

using namespace std::chrono_literals;
using boost::asio::post;
using test::eventually;

class DriverTest : public testing::Test {
 protected:
  /// Waits for `work`, which runs on the executor.
  void call(std::function<void()> work) {
    Driver::Caller me;
    post(driver_.io(), [&] {
      work();
      driver_.finish(me);
    });
    driver_.wait(me);
  }
  std::thread::id who_drives_now() {
    std::promise<std::thread::id> who;
    post(driver_.io(), [&] { who.set_value(std::this_thread::get_id()); });
    return who.get_future().get();
  }
  /// Runs again and again until `so`, as work that never ends by itself.
  void repeat_until(std::function<bool()> so, std::function<void()> then) {
    post(driver_.io(), [this, so = std::move(so), then = std::move(then)]() mutable {
      if (so()) return then();
      repeat_until(std::move(so), std::move(then));
    });
  }

  const std::vector<test::ThreadSeen> others_ = test::threads_seen();  // before it starts its own
  Driver driver_;
};

TEST_F(DriverTest, AHandlerThatThrowsIsSaidAndTheSeatIsFreeAfterwards) {
  std::vector<std::string> said;
  const LogSink before = replace_log_sink([&](Level, std::string_view text) { said.emplace_back(text); });
  Driver::Caller me;
  post(driver_.io(), [] { throw std::runtime_error("oh"); });
  post(driver_.io(), [&] { driver_.finish(me); });
  driver_.wait(me);
  call([] {});
  replace_log_sink(before);
  EXPECT_EQ(said, std::vector<std::string>{"a handler threw: oh"});
}

// The seat is empty, or the background's.

TEST_F(DriverTest, WithoutCallersTheBackgroundDrives) { EXPECT_NE(who_drives_now(), std::this_thread::get_id()); }

TEST_F(DriverTest, ACallerTakesTheSeatFromTheBackground) {
  const auto me = std::this_thread::get_id();
  who_drives_now();  // the background sits
  Driver::Caller caller;
  std::thread::id drives;
  repeat_until([&] { return std::this_thread::get_id() == me; },
               [&] {
                 drives = std::this_thread::get_id();
                 driver_.finish(caller);
               });
  driver_.wait(caller);  // hangs unless we come to drive
  EXPECT_EQ(drives, me);
}

TEST_F(DriverTest, TheBackgroundTakesOverWhenTheCallerIsDone) {
  for (int i = 0; i < 20; ++i) {
    call([] {});
    EXPECT_NE(who_drives_now(), std::this_thread::get_id());
  }
}

TEST_F(DriverTest, ACallerWhoIsDoneBeforeItWaitsDoesNotWait) {
  Driver::Caller me;
  driver_.finish(me);
  driver_.wait(me);
  EXPECT_NE(who_drives_now(), std::this_thread::get_id()) << "nobody was kept";
}

TEST_F(DriverTest, WorkIsRunHereOnlyWhileTheSeatIsEmpty) {
  std::thread::id ran_by;
  bool drove = false;
  // The background may just be sitting: a caller who comes and goes leaves an empty seat behind.
  const bool ran = eventually([&] {
    call([] {});
    return driver_.run_here([&] {
      ran_by = std::this_thread::get_id();
      drove = Driver::driving();
      return false;
    });
  });
  EXPECT_TRUE(ran);
  EXPECT_EQ(ran_by, std::this_thread::get_id());
  EXPECT_TRUE(drove);
  EXPECT_FALSE(Driver::driving());
  call([&] { EXPECT_FALSE(driver_.run_here([] { return false; })) << "the seat is ours already"; });
}

TEST_F(DriverTest, WhoeverRunsWorkHereAgainAndAgainDoesNotKeepTheNewsAway) {
  std::atomic<bool> news = false;
  call([] {});
  post(driver_.io(), [&] { news = true; });
  const bool came = eventually([&] {
    for (int i = 0; i < 1000 && !news; ++i) driver_.run_here([] { return false; });
    return news.load();
  });
  EXPECT_TRUE(came);
}

TEST_F(DriverTest, WhatWorkRunHereLeavesToDoIsDoneBeforeItReturns) {
  bool done = false;
  const bool ran = eventually([&] {
    call([] {});
    return driver_.run_here([&] {
      post(driver_.io(), [&] { done = true; });
      return true;
    });
  });
  EXPECT_TRUE(ran);
  EXPECT_TRUE(done);
}

TEST_F(DriverTest, WhatWorkRunHereThrowsIsItsCallersAndTheSeatIsFreeAfterwards) {
  const bool threw = eventually([&] {
    call([] {});
    try {
      driver_.run_here([]() -> bool { throw std::runtime_error("oh"); });
      return false;
    } catch (const std::runtime_error&) {
      return true;
    }
  });
  EXPECT_TRUE(threw);
  EXPECT_FALSE(Driver::driving());
  call([] {});
}

// Callers that the kernel runs after all others.

constexpr int weakest_nice = 19;

/// Makes the thread that it is in wait for the others.
struct Weaken {
  std::function<void()> now;
  bool by_nice = false;
};
class WeakCallers : public DriverTest, public testing::WithParamInterface<Weaken> {
 protected:
  void SetUp() override {
    if (GetParam().by_nice && this_thread_nice() >= weakest_nice)
      PAWL_SKIP_WITHOUT("no thread can be weaker than this one");
  }
  std::atomic<bool> left_ = false;
};

TEST_P(WeakCallers, NeverDrive) {
  std::thread weak([&] {
    GetParam().now();
    std::thread::id served_by;
    call([&] { served_by = std::this_thread::get_id(); });
    EXPECT_NE(served_by, std::this_thread::get_id());
    for (int i = 0; i < 100; ++i) {
      EXPECT_FALSE(driver_.run_here([] { return false; }));
      driver_.help();
    }
  });
  weak.join();
}

TEST_P(WeakCallers, AreNotPromoted) {
  std::atomic<bool> waits = false;
  std::thread::id served_by;
  std::thread weak;
  std::thread::id weak_id;
  call([&] {  // we drive
    weak = std::thread([&] {
      GetParam().now();
      weak_id = std::this_thread::get_id();
      Driver::Caller caller;
      waits = true;
      // Served only when we have left the seat.
      repeat_until([&] { return left_.load(); },
                   [&] {
                     served_by = std::this_thread::get_id();
                     driver_.finish(caller);
                   });
      driver_.wait(caller);
    });
    ASSERT_TRUE(eventually([&] { return waits.load(); }));
  });
  left_ = true;
  weak.join();
  EXPECT_NE(served_by, weak_id);
}

INSTANTIATE_TEST_SUITE_P(
    Both, WeakCallers,
    testing::Values(Weaken{.now =
                               [] {
                                 const sched_param none{};
                                 ASSERT_EQ(::pthread_setschedparam(pthread_self(), SCHED_IDLE, &none), 0);
                               }},
                    Weaken{.now = [] { ASSERT_EQ(::setpriority(PRIO_PROCESS, 0, this_thread_nice() + 1), 0); },
                           .by_nice = true}));

// The seat is a caller's.

TEST_F(DriverTest, AFollowerIsServedByTheOneWhoDrives) {
  std::atomic<bool> follower_done = false;
  std::thread::id served_by;
  Driver::Caller leader;
  std::thread follower;
  // The leader drives until the follower has been served, so it must be the leader who does that.
  const auto me = std::this_thread::get_id();
  repeat_until([&] { return std::this_thread::get_id() == me; },
               [&] {
                 follower = std::thread([&] {
                   call([&] { served_by = std::this_thread::get_id(); });
                   follower_done = true;
                 });
                 repeat_until([&] { return follower_done.load(); }, [&] { driver_.finish(leader); });
               });
  driver_.wait(leader);
  follower.join();
  EXPECT_EQ(served_by, me);
}

TEST_F(DriverTest, AFollowerIsPromotedWhenTheDriverLeaves) {
  std::promise<void> waits;
  std::thread::id follower_id, drove;
  Driver::Caller leader, second;
  std::thread follower([&] {
    follower_id = std::this_thread::get_id();
    waits.set_value();
    driver_.wait(second);
  });
  waits.get_future().wait();
  post(driver_.io(), [&] { driver_.finish(leader); });
  driver_.wait(leader);
  repeat_until([&] { return std::this_thread::get_id() == follower_id; },
               [&] {
                 drove = std::this_thread::get_id();
                 driver_.finish(second);
               });
  follower.join();
  EXPECT_EQ(drove, follower_id);
}

TEST_F(DriverTest, OneThreadDrivesAtATimeHoweverManyCall) {
  int unguarded = 0;  // a race here is what ThreadSanitizer is for
  int inside = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        bool served = false;
        call([&] {
          EXPECT_EQ(++inside, 1);
          ++unguarded;
          served = true;
          --inside;
        });
        EXPECT_TRUE(served);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  call([&] { EXPECT_EQ(unguarded, 8 * 300); });
}

// What else there is.

TEST_F(DriverTest, OnlyWhoeverDrivesIsDriving) {
  EXPECT_FALSE(Driver::driving());
  call([] { EXPECT_TRUE(Driver::driving()); });
  EXPECT_FALSE(Driver::driving());
}

TEST_F(DriverTest, HelpRunsWhatIsReadyOrLeavesItToTheDriver) {
  for (int i = 0; i < 50; ++i) {
    std::promise<void> done;
    post(driver_.io(), [&] { done.set_value(); });
    driver_.help();
    EXPECT_EQ(done.get_future().wait_for(60s), std::future_status::ready);
  }
}

TEST_F(DriverTest, HelpDoesNotServeForEver) {
  std::atomic<bool> stop = false;
  std::promise<void> stopped;
  call([] {});  // leaves the seat empty, most likely
  repeat_until([&] { return stop.load(); }, [&] { stopped.set_value(); });
  driver_.help();
  stop = true;
  EXPECT_EQ(stopped.get_future().wait_for(60s), std::future_status::ready);
}

TEST_F(DriverTest, HelpInsideADriverIsNothing) {
  bool helped = false;
  call([&] {
    post(driver_.io(), [&helped] { helped = true; });
    driver_.help();
    EXPECT_FALSE(helped) << "what is ready is not run in the middle of something else";
  });
  call([] {});  // behind it
  EXPECT_TRUE(helped);
}

TEST_F(DriverTest, ACallerThatSleepsForLongDoesNotKeepTheBackgroundAwake) {
  std::vector<test::ThreadSeen> ours;
  ASSERT_TRUE(test::eventually([&] {  // it gives itself its name
    ours = test::threads_besides(others_);
    return ours.size() == 1 && ours.front().name == "pawl-io";
  }));
  const test::ThreadSeen background = ours.front();
  std::atomic<bool> driving = false;
  std::thread::id caller_id;
  Driver::Caller caller;
  std::thread thread([&] {
    repeat_until([me = std::this_thread::get_id()] { return std::this_thread::get_id() == me; },
                 [&] { driving = true; });
    driver_.wait(caller);
  });
  ASSERT_TRUE(eventually([&] { return driving.load(); }));
  std::this_thread::sleep_for(50ms);  // to see that something does not happen
  const std::uint64_t before = test::times_slept(background);
  std::this_thread::sleep_for(300ms);
  EXPECT_LE(test::times_slept(background) - before, 20u) << "every millisecond would be 300";
  driver_.finish(caller);
  post(driver_.io(), [] {});
  thread.join();
}

TEST(DriverAtTheEnd, NothingRunsAfterStop) {
  const auto guest = std::make_shared<int>(0);
  {
    Driver driver;
    driver.stop();
    post(driver.io(), [guest] { ++*guest; });
    driver.stop();
  }
  EXPECT_EQ(*guest, 0);
  EXPECT_EQ(guest.use_count(), 1);
}

}  // namespace
}  // namespace pawl::base
