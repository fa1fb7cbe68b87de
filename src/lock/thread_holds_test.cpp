#include "lock/thread_holds.hpp"

#include <pawl/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>

namespace pawl::lock {
namespace {

using namespace std::chrono_literals;
using Entry = ThreadHolds::Entry;

constexpr Mode alone = Mode::exclusive;
constexpr Mode shared = Mode::shared;

class ThreadHoldsTest : public testing::Test {
 protected:
  Hold a_hold(AcquireOptions options = {}) { return mutex_.acquire(options).value(); }
  bool is_free() { return mutex_.try_acquire().has_value(); }
  /// In that mode; not the last time.
  bool stays(const ThreadHolds::Left& left) { return left.was_inside && !left.hold && left.downgrade == nullptr; }
  /// It was not inside in that mode.
  bool refused(const ThreadHolds::Left& left) { return !left.was_inside && !left.hold && left.downgrade == nullptr; }

  Client client_{"memory:"};
  Mutex mutex_ = client_.mutex("job");
  ThreadHolds holds_;
};

// outside

TEST_F(ThreadHoldsTest, OutsideTheFirstEntryIsForTheCallerToMake) {
  for (const Mode mode : {alone, shared}) {
    EXPECT_EQ(holds_.enter(1, mode), Entry::first);
    EXPECT_EQ(holds_.enter(1, mode), Entry::first) << "nothing was begun";
  }
  EXPECT_EQ(holds_.find(1), nullptr);
}

TEST_F(ThreadHoldsTest, OutsideNobodyCanLeave) {
  holds_.begin(1, alone, a_hold());
  for (const Mode mode : {alone, shared}) EXPECT_TRUE(refused(holds_.leave(2, mode)));
  EXPECT_FALSE(holds_.take(2));
  EXPECT_EQ(holds_.find(2), nullptr);
  EXPECT_NE(holds_.find(1), nullptr);
}

TEST_F(ThreadHoldsTest, OutsideIsWhoeverIsAnotherThread) {
  holds_.begin(1, alone, a_hold());
  EXPECT_EQ(holds_.enter(2, alone), Entry::first);
  EXPECT_EQ(holds_.enter(2, shared), Entry::first);
}

TEST_F(ThreadHoldsTest, OutsideIsWhereTheLastLeaves) {
  for (const Mode mode : {alone, shared}) {
    holds_.begin(1, mode, a_hold());
    const ThreadHolds::Left last = holds_.leave(1, mode);
    EXPECT_TRUE(last.was_inside && last.hold);
    EXPECT_TRUE(refused(holds_.leave(1, mode)));
    EXPECT_EQ(holds_.enter(1, alone), Entry::first);
    EXPECT_EQ(holds_.enter(1, shared), Entry::first);
  }
}

// inside, alone

TEST_F(ThreadHoldsTest, AloneAThreadLeavesWhenItHasLeftAsOftenAsItEntered) {
  holds_.begin(1, alone, a_hold());
  EXPECT_EQ(holds_.enter(1, alone), Entry::again);
  EXPECT_EQ(holds_.enter(1, alone), Entry::again);
  EXPECT_TRUE(stays(holds_.leave(1, alone)));
  EXPECT_TRUE(stays(holds_.leave(1, alone)));
  EXPECT_FALSE(is_free());
  const ThreadHolds::Left last = holds_.leave(1, alone);
  EXPECT_TRUE(last.was_inside);
  EXPECT_EQ(last.downgrade, nullptr);
  ASSERT_TRUE(last.hold);
  EXPECT_TRUE(last.hold->valid()) << "it is the caller's to release";
  EXPECT_EQ(holds_.enter(1, alone), Entry::first);
}

TEST_F(ThreadHoldsTest, AloneEntersSharedAgainAndLeavesItAsShared) {
  holds_.begin(1, alone, a_hold());
  EXPECT_EQ(holds_.enter(1, shared), Entry::again);
  EXPECT_TRUE(stays(holds_.leave(1, shared)));
  EXPECT_TRUE(refused(holds_.leave(1, shared))) << "it is inside alone, not shared";
  EXPECT_EQ(holds_.enter(1, alone), Entry::again) << "still alone";
}

TEST_F(ThreadHoldsTest, AloneCannotLeaveSharedWhatItNeverShared) {
  holds_.begin(1, alone, a_hold());
  EXPECT_TRUE(refused(holds_.leave(1, shared)));
  EXPECT_TRUE(holds_.leave(1, alone).hold);
}

TEST_F(ThreadHoldsTest, AloneIsDowngradedWhenOnlySharedEntriesAreLeft) {
  holds_.begin(1, alone, a_hold());
  const Hold* const held = holds_.find(1);
  EXPECT_EQ(holds_.enter(1, shared), Entry::again);
  EXPECT_EQ(holds_.enter(1, alone), Entry::again);
  EXPECT_EQ(holds_.enter(1, shared), Entry::again);
  EXPECT_TRUE(stays(holds_.leave(1, alone))) << "it is in there alone once more";

  const ThreadHolds::Left left = holds_.leave(1, alone);
  EXPECT_TRUE(left.was_inside);
  EXPECT_FALSE(left.hold);
  EXPECT_EQ(left.downgrade, held) << "it stays where it is";
  EXPECT_EQ(holds_.find(1), held);
  EXPECT_TRUE(held->valid());

  EXPECT_EQ(holds_.enter(1, alone), Entry::would_deadlock) << "shared now, and there is no way back";
  EXPECT_TRUE(refused(holds_.leave(1, alone)));
  EXPECT_TRUE(stays(holds_.leave(1, shared)));
  EXPECT_TRUE(holds_.leave(1, shared).hold);
}

TEST_F(ThreadHoldsTest, AloneThatLeavesItsSharedEntriesFirstIsNeverDowngraded) {
  holds_.begin(1, alone, a_hold());
  EXPECT_EQ(holds_.enter(1, shared), Entry::again);
  EXPECT_TRUE(stays(holds_.leave(1, shared)));
  const ThreadHolds::Left last = holds_.leave(1, alone);
  EXPECT_TRUE(last.hold);
  EXPECT_EQ(last.downgrade, nullptr);
}

// inside, shared

TEST_F(ThreadHoldsTest, SharedEntersSharedAgain) {
  holds_.begin(1, shared, a_hold());
  EXPECT_EQ(holds_.enter(1, shared), Entry::again);
  EXPECT_TRUE(stays(holds_.leave(1, shared)));
  const ThreadHolds::Left last = holds_.leave(1, shared);
  EXPECT_EQ(last.downgrade, nullptr);
  ASSERT_TRUE(last.hold);
  EXPECT_TRUE(last.hold->valid());
}

TEST_F(ThreadHoldsTest, SharedThatWantsToBeAloneWouldWaitForItself) {
  holds_.begin(1, shared, a_hold());
  EXPECT_EQ(holds_.enter(1, alone), Entry::would_deadlock);
  EXPECT_EQ(holds_.enter(2, alone), Entry::first) << "another thread only waits";
  EXPECT_TRUE(holds_.leave(1, shared).hold) << "the refused entry has not counted";
}

TEST_F(ThreadHoldsTest, SharedCannotLeaveAlone) {
  holds_.begin(1, shared, a_hold());
  EXPECT_TRUE(refused(holds_.leave(1, alone)));
  EXPECT_TRUE(holds_.leave(1, shared).hold);
}

TEST_F(ThreadHoldsTest, SharedByManyThreadsEachCountsForItself) {
  SharedMutex readers = client_.shared_mutex("job");
  for (const std::uint64_t thread : {1, 2}) holds_.begin(thread, shared, readers.acquire_shared().value());
  EXPECT_EQ(holds_.enter(1, shared), Entry::again);
  EXPECT_TRUE(holds_.leave(2, shared).hold);
  EXPECT_TRUE(stays(holds_.leave(1, shared)));
  EXPECT_TRUE(holds_.leave(1, shared).hold);
}

// lost

TEST_F(ThreadHoldsTest, ALostHoldCannotBeEnteredAgainButLeft) {
  for (const Mode mode : {alone, shared}) {
    Hold hold = a_hold();
    ASSERT_TRUE(client_.revoke("job", {.now = true}));
    while (hold.valid()) {
    }
    holds_.begin(1, mode, std::move(hold));
    EXPECT_EQ(holds_.enter(1, shared), Entry::lost);
    EXPECT_EQ(holds_.enter(1, alone), Entry::lost);
    const ThreadHolds::Left left = holds_.leave(1, mode);
    EXPECT_TRUE(left.hold) << "the refused entries have not counted";
    EXPECT_TRUE(left.was_inside);
  }
}

// the end of a thread

TEST_F(ThreadHoldsTest, TakeTakesItHoweverOftenItWasEntered) {
  holds_.begin(1, alone, a_hold());
  holds_.enter(1, alone);
  holds_.enter(1, shared);
  EXPECT_TRUE(holds_.take(1));
  EXPECT_EQ(holds_.enter(1, alone), Entry::first);
  EXPECT_TRUE(is_free());
}

TEST_F(ThreadHoldsTest, WhatWasFoundStaysWhereItIsWhenOthersComeAndGo) {
  holds_.begin(5, alone, a_hold());
  const Hold* found = holds_.find(5);
  for (std::uint64_t thread = 10; thread < 100; ++thread) holds_.begin(thread, shared, Hold());
  for (std::uint64_t thread = 10; thread < 100; ++thread) holds_.take(thread);
  EXPECT_EQ(holds_.find(5), found);
  EXPECT_TRUE(found->valid());
}

}  // namespace
}  // namespace pawl::lock
