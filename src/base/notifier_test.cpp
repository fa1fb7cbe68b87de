#include "base/notifier.hpp"

#include "base/boot_clock.hpp"
#include "base/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace pawl::base {
namespace {

using namespace std::chrono_literals;

class NotifierTest : public testing::Test {
 protected:
  ~NotifierTest() override { replace_log_sink({}); }

  /// Until everything that was asked before has been called.
  void settle() {
    std::promise<void> done;
    notifier_.call([&] { done.set_value(); });
    ASSERT_EQ(done.get_future().wait_for(60s), std::future_status::ready) << "the notifier hangs";
  }
  std::function<void()> say(std::string what) {
    return [this, what] { said_.push_back(what); };
  }
  /// Keeps the notifier busy until the result is set.
  std::promise<void> block() {
    std::promise<void> release;
    notifier_.call([wait = std::make_shared<std::future<void>>(release.get_future())] { wait->wait(); });
    return release;
  }

  std::vector<std::string> said_;  // by the notifier thread; read after settle()
  Notifier notifier_;
};

/// Does something when it goes.
struct AtTheEnd {
  explicit AtTheEnd(std::function<void()> what) : act(std::move(what)) {}
  ~AtTheEnd() { act(); }
  std::function<void()> act;
};

TEST_F(NotifierTest, CallsAreMadeInOrderOnOneOtherThread) {
  std::vector<bool> here;
  for (int i = 0; i < 100; ++i) {
    notifier_.call([&, i] {
      said_.push_back(std::to_string(i));
      here.push_back(notifier_.here());
    });
  }
  settle();
  ASSERT_EQ(said_.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(said_[i], std::to_string(i));
    EXPECT_TRUE(here[i]);
  }
  EXPECT_FALSE(notifier_.here());
}

TEST_F(NotifierTest, AlarmsFireInOrderOfTimeAndThenOfSetting) {
  const Time now = read_boot_clock();
  std::promise<void> last;
  notifier_.set_alarm(now + 30ms, [&] {
    said_.push_back("late");
    last.set_value();
  });
  notifier_.set_alarm(now + 20ms, say("first"));
  notifier_.set_alarm(now + 20ms, say("second"));
  notifier_.set_alarm(now + 10ms, say("early"));
  ASSERT_EQ(last.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_EQ(said_, (std::vector<std::string>{"early", "first", "second", "late"}));
}

TEST_F(NotifierTest, AnAlarmIsNeverEarly) {
  for (const Duration delay : {Duration(0), Duration(1us), Duration(1ms), Duration(5ms)}) {
    const Time due = read_boot_clock() + delay;
    std::promise<Time> rung;
    notifier_.set_alarm(due, [&] { rung.set_value(read_boot_clock()); });
    EXPECT_GE(rung.get_future().get(), due);
  }
}

TEST_F(NotifierTest, AnAlarmInThePastFiresAtOnce) {
  std::promise<void> rung;
  notifier_.set_alarm(Time(1ns), [&] { rung.set_value(); });
  EXPECT_EQ(rung.get_future().wait_for(60s), std::future_status::ready);
  std::promise<void> again;
  notifier_.set_alarm(Time(-1ns), [&] { again.set_value(); });
  EXPECT_EQ(again.get_future().wait_for(60s), std::future_status::ready);
}

TEST_F(NotifierTest, AnAlarmDoesNotWaitForACallThatIsStuck) {
  std::promise<void> release = block(), rung;
  notifier_.set_alarm(read_boot_clock(), [&] { rung.set_value(); });
  EXPECT_EQ(rung.get_future().wait_for(60s), std::future_status::ready);
  release.set_value();
  settle();
}

TEST_F(NotifierTest, ACancelledAlarmNeverFires) {
  const Runtime::AlarmId id = notifier_.set_alarm(read_boot_clock() + 5ms, say("cancelled"));
  EXPECT_NE(id, 0u);
  notifier_.cancel_alarm(id);
  notifier_.cancel_alarm(id);
  notifier_.cancel_alarm(0);
  std::promise<void> later;
  notifier_.set_alarm(read_boot_clock() + 10ms, [&] { later.set_value(); });
  ASSERT_EQ(later.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_TRUE(said_.empty());
}

TEST_F(NotifierTest, ACallbackMayCallAndSetAndCancel) {
  std::promise<void> done;
  notifier_.call([&] {
    const Runtime::AlarmId never = notifier_.set_alarm(read_boot_clock() + 1h, say("never"));
    notifier_.cancel_alarm(never);
    notifier_.set_alarm(read_boot_clock() + 1ms, [&] { notifier_.call([&] { done.set_value(); }); });
  });
  EXPECT_EQ(done.get_future().wait_for(60s), std::future_status::ready);
}

TEST_F(NotifierTest, ACallbackThatThrowsIsLoggedAndTheNextIsCalled) {
  std::mutex mutex;
  std::vector<std::string> logged;
  replace_log_sink([&](Level, std::string_view text) {
    const std::lock_guard lock(mutex);
    logged.emplace_back(text);
  });
  notifier_.call([] { throw std::runtime_error("user's fault"); });
  notifier_.call([] { throw 7; });
  std::promise<void> last;  // alarms have a thread of their own
  const Time now = read_boot_clock();
  notifier_.set_alarm(now, [] { throw std::runtime_error("again"); });
  notifier_.set_alarm(now, [&] { last.set_value(); });
  settle();
  ASSERT_EQ(last.get_future().wait_for(60s), std::future_status::ready);
  const std::lock_guard lock(mutex);
  ASSERT_EQ(logged.size(), 3u);
  EXPECT_THAT(logged.front() + logged.back(), testing::HasSubstr("callback threw"));
}

// What a callback holds (a hold, a client) must not live on until something else happens.
TEST_F(NotifierTest, WhatACallbackHeldIsLetGoWhenItIsOver) {
  const auto guest = std::make_shared<int>(0);
  std::promise<void> called, gone;
  notifier_.call([end = std::make_shared<AtTheEnd>([&] { gone.set_value(); }), &called] { called.set_value(); });
  called.get_future().wait();
  EXPECT_EQ(gone.get_future().wait_for(60s), std::future_status::ready);
}

// A hold that goes cancels its alarm, and the notifier may be the last to let go of it.
TEST_F(NotifierTest, WhatACallbackHeldMayCancelAlarmsWhenItGoes) {
  std::atomic<int> gone = 0;
  const auto at_the_end = [&] {
    notifier_.cancel_alarm(1);
    ++gone;
  };
  notifier_.call([end = std::make_shared<AtTheEnd>(at_the_end)] {});
  settle();
  const Runtime::AlarmId id =
      notifier_.set_alarm(read_boot_clock() + 1h, [end = std::make_shared<AtTheEnd>(at_the_end)] {});
  notifier_.cancel_alarm(id);
  settle();
  EXPECT_EQ(gone, 2);
}

TEST_F(NotifierTest, StopLetsWhatIsDueBeCalledAndNothingElse) {
  std::promise<void> release = block();
  notifier_.call(say("due"));
  notifier_.set_alarm(read_boot_clock() + 1h, say("never"));
  release.set_value();
  notifier_.stop();
  notifier_.call(say("too late"));
  EXPECT_EQ(said_, (std::vector<std::string>{"due"}));
}

}  // namespace
}  // namespace pawl::base
