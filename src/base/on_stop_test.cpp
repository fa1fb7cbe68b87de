#include "base/on_stop.hpp"

#include "base/driver.hpp"
#include "base/real_runtime.hpp"
#include "base/simulated_runtime.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <stop_token>
#include <thread>

namespace pawl::base {
namespace {

using namespace std::chrono_literals;

class OnStopTest : public testing::Test {
 protected:
  /// How often it was done, once all is done that can be.
  int done() {
    world_.run_for(0s);
    return done_;
  }

  SimWorld world_{1};
  SimProcess& process_ = world_.add_process();
  std::stop_source source_;
  int done_ = 0;
  std::optional<OnStop> on_stop_{std::in_place, process_, source_.get_token(), [this] { ++done_; }};
};

TEST_F(OnStopTest, NothingHappensUnlessAStopIsAskedFor) { EXPECT_EQ(done(), 0); }

TEST_F(OnStopTest, WhoeverAsksOnlyPosts) {
  source_.request_stop();
  EXPECT_EQ(done_, 0) << "it was done by the one who asked";
  EXPECT_EQ(done(), 1);
}

TEST_F(OnStopTest, AskingTwiceIsAskingOnce) {
  source_.request_stop();
  source_.request_stop();
  EXPECT_EQ(done(), 1);
}

TEST_F(OnStopTest, AStopFromBeforeCounts) {
  source_.request_stop();
  const OnStop late(process_, source_.get_token(), [this] { done_ += 10; });
  EXPECT_EQ(done(), 11);
}

TEST_F(OnStopTest, NothingHappensOnceItIsGone) {
  on_stop_.reset();
  source_.request_stop();
  EXPECT_EQ(done(), 0);
}

TEST_F(OnStopTest, WhatWasAskedForInTimeIsDoneThoughItIsGone) {
  source_.request_stop();
  on_stop_.reset();
  EXPECT_EQ(done(), 1);
}

TEST_F(OnStopTest, ATokenThatNobodyCanStopIsFine) {
  const OnStop never(process_, std::stop_token(), [this] { ++done_; });
  EXPECT_EQ(done(), 0);
}

TEST(OnStopInARealProcess, AnyThreadMayAskAndItIsDoneOnTheExecutor) {
  RealRuntime runtime;
  std::stop_source source;
  std::promise<bool> on_executor;
  const OnStop on_stop(runtime, source.get_token(), [&] { on_executor.set_value(Driver::driving()); });
  std::thread other([&] {
    source.request_stop();
    EXPECT_FALSE(Driver::driving());
  });
  auto done = on_executor.get_future();
  ASSERT_EQ(done.wait_for(60s), std::future_status::ready);
  EXPECT_TRUE(done.get());
  other.join();
}

}  // namespace
}  // namespace pawl::base
