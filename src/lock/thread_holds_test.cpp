#include "lock/thread_holds.hpp"

#include <pawl/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>

namespace pawl::lock {
namespace {

using namespace std::chrono_literals;
using Entry = ThreadHolds::Entry;

class ThreadHoldsTest : public testing::Test {
 protected:
  Hold a_hold(AcquireOptions options = {}) { return mutex_.acquire(options).value(); }
  bool is_free() { return mutex_.try_acquire().has_value(); }

  Client client_{"memory:"};
  Mutex mutex_ = client_.mutex("job");
  ThreadHolds holds_;
  bool inside_ = false;
};

TEST_F(ThreadHoldsTest, TheFirstEntryIsForTheCallerToMake) {
  EXPECT_EQ(holds_.enter(1), Entry::first);
  EXPECT_EQ(holds_.enter(1), Entry::first) << "nothing was begun";
  EXPECT_EQ(holds_.find(1), nullptr);
}

TEST_F(ThreadHoldsTest, AThreadLeavesWhenItHasLeftAsOftenAsItEntered) {
  holds_.begin(1, a_hold());
  EXPECT_EQ(holds_.enter(1), Entry::again);
  EXPECT_EQ(holds_.enter(1), Entry::again);
  EXPECT_FALSE(holds_.leave(1, inside_));
  EXPECT_TRUE(inside_);
  EXPECT_FALSE(holds_.leave(1, inside_));
  EXPECT_FALSE(is_free());
  const std::optional<Hold> last = holds_.leave(1, inside_);
  ASSERT_TRUE(last);
  EXPECT_TRUE(last->valid()) << "it is the caller's to release";
  EXPECT_EQ(holds_.enter(1), Entry::first);
}

TEST_F(ThreadHoldsTest, WhoeverNeverEnteredCannotLeave) {
  holds_.begin(1, a_hold());
  EXPECT_FALSE(holds_.leave(2, inside_));
  EXPECT_FALSE(inside_);
  EXPECT_FALSE(holds_.take(2));
  EXPECT_EQ(holds_.find(2), nullptr);
  EXPECT_NE(holds_.find(1), nullptr);
}

TEST_F(ThreadHoldsTest, AnotherThreadsEntryIsItsFirst) {
  holds_.begin(1, a_hold());
  EXPECT_EQ(holds_.enter(2), Entry::first);
}

TEST_F(ThreadHoldsTest, ALostHoldCannotBeEnteredAgainButLeft) {
  Hold hold = a_hold();
  ASSERT_TRUE(client_.revoke("job", {.now = true}));
  while (hold.valid()) {
  }
  holds_.begin(1, std::move(hold));
  EXPECT_EQ(holds_.enter(1), Entry::lost);
  EXPECT_TRUE(holds_.leave(1, inside_)) << "the refused entry has not counted";
  EXPECT_TRUE(inside_);
}

TEST_F(ThreadHoldsTest, TakeTakesItHoweverOftenItWasEntered) {
  holds_.begin(1, a_hold());
  holds_.enter(1);
  holds_.enter(1);
  EXPECT_TRUE(holds_.take(1));
  EXPECT_EQ(holds_.enter(1), Entry::first);
  EXPECT_TRUE(is_free());
}

TEST_F(ThreadHoldsTest, WhatWasFoundStaysWhereItIsWhenOthersComeAndGo) {
  holds_.begin(5, a_hold());
  const Hold* found = holds_.find(5);
  for (std::uint64_t thread = 10; thread < 100; ++thread) holds_.begin(thread, Hold());
  for (std::uint64_t thread = 10; thread < 100; ++thread) holds_.take(thread);
  EXPECT_EQ(holds_.find(5), found);
  EXPECT_TRUE(found->valid());
}

}  // namespace
}  // namespace pawl::lock
