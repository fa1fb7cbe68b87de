// Promise: remaining() is never above zero once another client can hold the lock, and lost() fires as soon as we run.

#include "tests/contract/contract.hpp"

#include <atomic>
#include <functional>
#include <stop_token>

namespace pawl::contract {

PAWL_CONTRACT(Loss);

namespace {

using OnStop = std::stop_callback<std::function<void()>>;

}  // namespace

TEST_P(Loss, WhoeverIsCutOffLosesItsHoldByItsOwnClock) {
  PAWL_NEEDS(bounded_by_lease);
  const Actor alice = world().brief_client();
  const Time before_sending = world().now();
  const Hold hold = must_acquire(alice, "job");
  world().cut(alice);
  const Duration lease = world().lease();
  EXPECT_LE(hold.remaining(), lease - base::drift(lease));

  EXPECT_TRUE(world().eventually([&] { return is_lost(hold); }));
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_EQ(hold.remaining(), 0s);
  if (world().virtual_time()) {
    EXPECT_EQ(world().now() - before_sending, lease - (lease / 100 + 2ms));
  }
}

TEST_P(Loss, TheDeadlineIsCountedFromTheTimeBeforeSending) {
  PAWL_NEEDS(bounded_by_lease);
  const Actor alice = world().brief_client();
  alice.faults().delay_all(world().lease() / 10);
  const Time began = world().now();
  const Hold hold = must_acquire(alice, "job");
  const Duration lease = world().lease();
  const Duration remaining = hold.remaining();
  if (alice.sent(Operation::renew) == 0) {  // a machine that stood still may have renewed it by now
    EXPECT_LE(remaining, lease - base::drift(lease) - 2 * lease / 10) << "opening the session, and the claim";
  }
  if (!world().virtual_time()) return;
  EXPECT_EQ(world().now() - began, 2 * lease / 10);
  EXPECT_EQ(remaining, lease - base::drift(lease) - 2 * lease / 10);
}

TEST_P(Loss, RemainingIsZeroBeforeAnotherCanHold) {
  PAWL_NEEDS(bounded_by_lease);
  const Actor alice = world().brief_client(), bob = world().client();
  const Hold alices = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(waits_or_has(bobs, "job"));
  world().cut(alice);
  ASSERT_TRUE(world().eventually([&] { return bobs.ready() || alices.remaining() == 0s; }));
  EXPECT_EQ(alices.remaining(), 0s);
  if (world().virtual_time()) {
    EXPECT_FALSE(bobs.ready());
  }
  EXPECT_TRUE(bobs.get());
  EXPECT_EQ(alices.remaining(), 0s);
  EXPECT_TRUE(world().eventually([&] { return is_lost(alices); }));
}

TEST_P(Loss, LostFiresOnce) {
  const Actor alice = world().brief_client();
  const Hold hold = must_acquire(alice, "job");
  std::atomic<int> fired = 0;
  const OnStop on_lost(hold.lost(), [&] { ++fired; });
  world().cut(alice);
  EXPECT_TRUE(world().eventually([&] { return fired > 0; }));
  world().heal(alice);
  world().sleep(world().lease());
  EXPECT_EQ(fired, 1);
  EXPECT_EQ(alice.metrics().lost, 1U);
}

TEST_P(Loss, ACleanReleaseNeverFiresLost) {
  expect_undisturbed([&] {
    const Actor alice = world().brief_client();
    Hold hold = must_acquire(alice, "job");
    const std::stop_token lost = hold.lost();
    if (!release(alice, hold)) return "its lease was over first";
    world().cut(alice);
    world().sleep(2 * world().lease());
    EXPECT_FALSE(lost.stop_requested());
    EXPECT_EQ(hold.state(), HoldState::released);
    EXPECT_EQ(hold.remaining(), 0s);
    return "";
  });
}

TEST_P(Loss, AReleaseAfterTheLossReportsIt) {
  const Actor alice = world().brief_client();
  Hold hold = must_acquire(alice, "job");
  world().cut(alice);
  EXPECT_TRUE(world().eventually([&] { return is_lost(hold); }));
  EXPECT_EQ(release(alice, hold).code(), Errc::lost);
  EXPECT_EQ(hold.state(), HoldState::lost);
}

TEST_P(Loss, AllLocksOfTheSessionAreLostTogether) {
  const Actor alice = world().brief_client();
  const Hold one = must_acquire(alice, "one"), two = must_acquire(alice, "two");
  world().cut(alice);
  EXPECT_TRUE(world().eventually([&] { return is_lost(one) && is_lost(two); }));
}

// Scenario: the store has forgotten the session (an operator, a restart). The next renewal tells.
TEST_P(Loss, ASessionThatEndedAtTheStoreIsNoticedAtTheNextRenewal) {
  const Actor alice = world().brief_client();
  const Hold hold = must_acquire(alice, "job");
  const Time began = world().now();
  world().expire(alice);
  EXPECT_TRUE(world().eventually([&] { return is_lost(hold); }));
  if (world().virtual_time()) {
    EXPECT_LE(world().now() - began, world().lease() / 3);
  }
}

// Scenario: the store hears every renewal and extends the lease, but its answers are lost.
TEST_P(Loss, WithoutAnswersAHoldIsLostAlthoughTheStoreExtendsIt) {
  PAWL_NEEDS(bounded_by_lease);
  const Actor alice = world().brief_client(), bob = world().client();
  const Time began = world().now();
  const Hold alices = must_acquire(alice, "job");
  alice.faults().drop_replies(true);
  StartedHold bobs = start_acquire(bob, "job");
  EXPECT_TRUE(world().eventually([&] { return is_lost(alices); }));
  const Duration lease = world().lease();
  if (world().virtual_time()) {
    EXPECT_EQ(world().now() - began, lease - base::drift(lease));
  }
  // What the store had extended is given back at once, not when the lease is over.
  EXPECT_TRUE(bobs.get());
  if (world().virtual_time()) {
    EXPECT_LE(world().now() - began, lease);
  }
  EXPECT_EQ(alices.remaining(), 0s);
}

TEST_P(Loss, AStoreThatRefusesToRenewIsLikeOneThatIsAway) {
  const Actor alice = world().brief_client();
  const Hold hold = must_acquire(alice, "job");
  alice.faults().refuse(true);
  EXPECT_TRUE(world().eventually([&] { return is_lost(hold); }));
  if (world().virtual_time()) {
    EXPECT_GT(alice.metrics().renewal_failures, 0U);
  }
}

TEST_P(Loss, AfterALossTheClientCanHoldAgain) {
  const Actor alice = world().brief_client();
  const Hold lost = must_acquire(alice, "job");
  world().cut(alice);
  EXPECT_TRUE(world().eventually([&] { return is_lost(lost); }));
  world().heal(alice);
  const Hold next = must_acquire(alice, "job", {.lease = 30s});
  EXPECT_TRUE(next.valid());
  EXPECT_GT(next.token(), lost.token());
  EXPECT_EQ(lost.state(), HoldState::lost);
}

TEST_P(Loss, AThreadThatWaitedBehindALostHoldIsServed) {
  const Actor alice = world().brief_client();
  const Hold lost = must_acquire(alice, "job");
  StartedHold next = start_acquire(alice, "job");
  world().expire(alice);
  const Hold hold = next.get().value();
  EXPECT_EQ(lost.state(), HoldState::lost);
  EXPECT_TRUE(world().eventually([&] { return is_lost(lost); }));
  EXPECT_GT(hold.token(), lost.token());
}

TEST_P(Loss, MaxHoldEndsAHoldOnTime) {
  const Actor alice = world().client(), bob = world().client();
  const Time began = world().now();
  Hold hold = must_acquire(alice, "job", {.max_hold = a_moment()});
  EXPECT_LE(hold.remaining(), a_moment());
  EXPECT_TRUE(world().eventually([&] { return is_lost(hold); }));
  if (world().virtual_time()) {
    EXPECT_EQ(world().now() - began, a_moment());
  }
  EXPECT_EQ(release(alice, hold).code(), Errc::lost);
  EXPECT_TRUE(acquire(bob, "job", {.wait = world().hang()}));
}

TEST_P(Loss, MaxHoldPassesTheLockOnInsideTheClientToo) {
  const Actor alice = world().client();
  const Hold first = must_acquire(alice, "job", {.max_hold = a_moment()});
  const Hold second = must_acquire(alice, "job");
  EXPECT_EQ(first.remaining(), 0s);
  EXPECT_GT(second.token(), first.token());
  EXPECT_TRUE(second.valid());
}

TEST_P(Loss, AHoldThatIsReleasedInTimeIsNotLostByMaxHold) {
  const Duration most = 20 * a_moment();
  expect_undisturbed([&] {
    const Actor alice = world().client();
    Hold hold = must_acquire(alice, "job", {.max_hold = most});
    const bool released = release(alice, hold).has_value();
    world().sleep(most + a_moment());
    if (!released) return "its time was over first";
    EXPECT_FALSE(is_lost(hold));
    EXPECT_EQ(alice.metrics().lost, 0U);
    return "";
  });
}

}  // namespace pawl::contract
