// Promise: a lock whose holder failed stays shut for its lock-delay; one that was released does not.

#include "tests/contract/contract.hpp"

#include <stop_token>

namespace pawl::contract {

class LockDelay : public Contract {
 protected:
  Duration delay() const { return 5 * a_moment(); }

  /// Takes the lock's next grant and tells how long it was waited for.
  Duration time_to_acquire(const Actor& actor) {
    const Time began = world().now();
    EXPECT_TRUE(acquire(actor, "job", {.wait = world().hang()}));
    return world().now() - began;
  }
};
INSTANTIATE_TEST_SUITE_P(Schemes, LockDelay, ::testing::ValuesIn(all_schemes()), line_name);

TEST_P(LockDelay, AfterItsHolderFailedALockStaysShut) {
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job", {.lock_delay = delay()});
  world().expire(alice);
  EXPECT_EQ(try_acquire(bob, "job").code(), Errc::busy);
  const Duration shut = world().view("job").shut_for;
  EXPECT_GT(shut, 0s);
  EXPECT_LE(shut, delay());
  const Duration waited = time_to_acquire(bob);
  EXPECT_GE(waited, shut - delay() / 2);
  if (world().virtual_time()) {
    EXPECT_EQ(shut, delay());
    EXPECT_LE(waited, delay() + 1ms);
    EXPECT_GE(waited, delay());
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
  EXPECT_GE(world().now() - failed, delay() / 2);
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
  EXPECT_GE(world().now() - failed, delay() / 2);
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
  const Actor alice = world().client(), bob = world().client(), carol = world().client();
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
  const Hold delayed = must_acquire(alice, "job", {.lock_delay = delay()});
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
  EXPECT_TRUE(world().eventually([&] { return hold.lost().stop_requested(); }));
  const Time lost = world().now();
  world().heal(alice);
  EXPECT_EQ(release(alice, hold).code(), Errc::lost);
  EXPECT_TRUE(acquire(bob, "job", {.wait = world().hang()}));
  EXPECT_GE(world().now() - lost, delay());
}

TEST_P(LockDelay, MaxHoldCountsAsFailure) {
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().client(), bob = world().brief_client();
  const Hold hold = must_acquire(alice, "job", {.lock_delay = delay(), .max_hold = a_moment()});
  EXPECT_TRUE(world().eventually([&] { return hold.lost().stop_requested(); }));
  const Time lost = world().now();
  EXPECT_TRUE(acquire(bob, "job", {.wait = world().hang()}));
  EXPECT_GE(world().now() - lost, delay() / 2);
  if (world().virtual_time()) {
    EXPECT_GE(world().now() - lost, delay());
  }
}

// Scenario: alice stops as she should: when she hears of the loss she throws the hold away.
TEST_P(LockDelay, AHoldThatIsDroppedWhenItsLossIsToldIsNotACleanReleaseEither) {
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().client(), bob = world().brief_client();
  Hold hold = must_acquire(alice, "job", {.lock_delay = delay(), .max_hold = a_moment()});
  const std::stop_token lost = hold.lost();
  const std::stop_callback on_lost(lost, [&] { hold = Hold(); });
  EXPECT_TRUE(world().eventually([&] { return lost.stop_requested(); }));
  const Time told = world().now();
  EXPECT_TRUE(acquire(bob, "job", {.wait = world().hang()}));
  EXPECT_GE(world().now() - told, delay() / 2);
}

TEST_P(LockDelay, TheDelayHoldsInsideTheClientToo) {
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().brief_client();
  const Hold hold = must_acquire(alice, "job", {.lock_delay = delay(), .max_hold = a_moment()});
  const Time began = world().now();
  const Hold next = must_acquire(alice, "job", {.lock_delay = delay()});
  EXPECT_GE(world().now() - began, delay());
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

}  // namespace pawl::contract
