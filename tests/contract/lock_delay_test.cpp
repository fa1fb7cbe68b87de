// Promise: a lock whose holder failed stays shut for its lock-delay; one that was released does not.

#include "tests/contract/contract.hpp"

#include <stop_token>

namespace pawl::contract {

class LockDelay : public Contract {
 protected:
  /// One that a test can wait for. On a machine that stands still for a moment it may be over before a test has looked:
  /// only waits are measured with it, and from a moment before which it cannot have begun.
  Duration delay() const { return 5 * a_moment(); }
  /// One that no test outlives.
  static constexpr Duration long_delay = 60s;

  /// Waits for the lock and expects that it was shut for its delay, which began at this moment or later.
  void expect_shut_since(Time failed, const Actor& actor) {
    EXPECT_TRUE(acquire(actor, "job", {.wait = world().hang()}));
    expect_shut_since(failed);
  }
  void expect_shut_since(Time failed) { EXPECT_GE(world().now() - failed, delay() - rounding()); }
  /// A server may count in whole milliseconds.
  Duration rounding() { return world().virtual_time() ? 0ms : 5ms; }
};
INSTANTIATE_TEST_SUITE_P(Schemes, LockDelay, ::testing::ValuesIn(all_schemes()), line_name);

TEST_P(LockDelay, AfterItsHolderFailedALockStaysShut) {
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job", {.lock_delay = long_delay});
  world().expire(alice);
  EXPECT_EQ(try_acquire(bob, "job").code(), Errc::busy);
  const Duration shut = world().view("job").shut_for;
  EXPECT_GT(shut, 0s);
  EXPECT_LE(shut, long_delay + rounding());
  if (world().virtual_time()) {
    EXPECT_EQ(shut, long_delay);
  }
}

TEST_P(LockDelay, ALockIsFreeWhenItsDelayIsOver) {
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job", {.lock_delay = delay()});
  const Time failed = world().now();
  world().expire(alice);
  expect_shut_since(failed, bob);
  if (world().virtual_time()) {
    EXPECT_LE(world().now() - failed, delay() + 1ms);
  }
}

TEST_P(LockDelay, AWaiterIsServedWhenTheDelayIsOver) {
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().client(), bob = world().brief_client();
  const Hold hold = must_acquire(alice, "job", {.lock_delay = delay()});
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  const Time failed = world().now();
  world().expire(alice);
  EXPECT_TRUE(bobs.get());
  expect_shut_since(failed);
}

TEST_P(LockDelay, WaitersAreServedInTheirOrderWhenTheDelayIsOver) {
  PAWL_NEEDS(lock_delay);
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().brief_client(), carol = world().client();
  const Hold hold = must_acquire(alice, "job", {.lock_delay = delay()});
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  StartedHold carols = start_acquire(carol, "job");
  ASSERT_TRUE(world().queued("job", 2));
  const Time failed = world().now();
  world().expire(alice);
  EXPECT_TRUE(bobs.get());
  expect_shut_since(failed);
  EXPECT_TRUE(carols.get());
}

TEST_P(LockDelay, AfterACleanReleaseALockIsFreeAtOnce) {
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().client(), bob = world().client();
  Hold hold = must_acquire(alice, "job", {.lock_delay = 60s});
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(try_acquire(bob, "job"));
}

TEST_P(LockDelay, WithoutADelayALockIsFreeWhenItsHolderFails) {
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job");
  world().expire(alice);
  EXPECT_TRUE(try_acquire(bob, "job"));
}

TEST_P(LockDelay, ADeadWaiterDelaysNobody) {
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().client(), bob = world().impatient_client(), carol = world().client();
  Hold hold = must_acquire(alice, "job");
  std::stop_source stop;
  StartedHold bobs = start_acquire(bob, "job", {.lock_delay = 60s}, stop.get_token());
  ASSERT_TRUE(world().queued("job", 1));
  world().cut(bob);
  world().expire(bob);
  ASSERT_TRUE(world().queued("job", 0));
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(try_acquire(carol, "job"));
  stop.request_stop();
  EXPECT_FALSE(bobs.get());
}

TEST_P(LockDelay, OneDelayedLockDoesNotDelayTheOthersOfItsSession) {
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().client(), bob = world().client();
  const Hold delayed = must_acquire(alice, "job", {.lock_delay = long_delay});
  const Hold plain = must_acquire(alice, "other job");
  world().expire(alice);
  EXPECT_TRUE(try_acquire(bob, "other job"));
  EXPECT_EQ(try_acquire(bob, "job").code(), Errc::busy);
}

// Scenario: alice is cut off, loses the hold by her own clock, comes back and lets go. That is no clean release.
TEST_P(LockDelay, AReleaseAfterTheLossIsNotACleanOne) {
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().brief_client(), bob = world().client();
  Hold hold = must_acquire(alice, "job", {.lock_delay = delay()});
  world().cut(alice);
  const Time now = world().now();
  const Duration remaining = hold.remaining();  // asked later, so that the sum is not too late
  EXPECT_TRUE(world().eventually([&] { return is_lost(hold); }));
  world().heal(alice);
  EXPECT_EQ(release(alice, hold).code(), Errc::lost);
  if (remaining == 0s) return;  // the machine stood still for the whole lease: nobody knows when it was lost
  expect_shut_since(now + remaining, bob);
}

TEST_P(LockDelay, MaxHoldCountsAsFailure) {
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().client(), bob = world().brief_client();
  const Time began = world().now();
  const Hold hold = must_acquire(alice, "job", {.lock_delay = delay(), .max_hold = a_moment()});
  EXPECT_TRUE(world().eventually([&] { return is_lost(hold); }));
  expect_shut_since(began + a_moment(), bob);
}

// Scenario: alice stops as she should: when she hears of the loss she throws the hold away.
TEST_P(LockDelay, AHoldThatIsDroppedWhenItsLossIsToldIsNotACleanReleaseEither) {
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().client(), bob = world().brief_client();
  const Time began = world().now();
  Hold hold = must_acquire(alice, "job", {.lock_delay = delay(), .max_hold = a_moment()});
  const std::stop_token lost = hold.lost();
  const std::stop_callback on_lost(lost, [&] { hold = Hold(); });
  EXPECT_TRUE(world().eventually([&] { return lost.stop_requested(); }));
  expect_shut_since(began + a_moment(), bob);
}

TEST_P(LockDelay, TheDelayHoldsInsideTheClientToo) {
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().brief_client();
  const Time began = world().now();
  const Hold hold = must_acquire(alice, "job", {.lock_delay = delay(), .max_hold = a_moment()});
  const Hold next = must_acquire(alice, "job", {.lock_delay = delay()});
  expect_shut_since(began + a_moment());
  EXPECT_GT(next.token(), hold.token());
}

TEST_P(LockDelay, MoreThan60SecondsIsAnInvalidArgument) {
  const Actor alice = world().client();
  EXPECT_EQ(acquire(alice, "job", {.lock_delay = 60s + 1ns}).code(), Errc::invalid_argument);
  EXPECT_EQ(acquire(alice, "job", {.lock_delay = -1ns}).code(), Errc::invalid_argument);
}

TEST_P(LockDelay, ASchemeWithoutItSaysSo) {
  if (can().lock_delay) GTEST_SKIP() << can().store << "/" << can().scheme << " declares: lock_delay";
  const Actor alice = world().client();
  EXPECT_EQ(acquire(alice, "job", {.lock_delay = 1s}).code(), Errc::unsupported);
}

TEST_P(LockDelay, WhoFindsALockShutIsToldSo) {
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job", {.lock_delay = 60s});
  world().expire(alice);
  const std::string shut = "is in lock-delay for ";
  const Result<Hold> tried = try_acquire(bob, "job");
  ASSERT_EQ(tried.code(), Errc::busy);
  EXPECT_NE(tried.error().message.find("\"job\" " + shut), std::string::npos) << tried.error().message;
  const Result<Hold> waited = acquire(bob, "job", {.wait = a_moment()});
  ASSERT_EQ(waited.code(), Errc::timed_out);
  EXPECT_NE(waited.error().message.find(": it " + shut), std::string::npos) << waited.error().message;
}

}  // namespace pawl::contract
