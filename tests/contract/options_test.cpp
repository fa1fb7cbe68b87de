// Promise: AcquireOptions over LockOptions over ClientOptions, and nonsense is refused with a sentence.

#include "tests/contract/contract.hpp"

#include <string>

namespace pawl::contract {

class Options : public Contract {
 protected:
  std::string holders_label() { return world().view("job").holders.at(0).owner.label; }
  /// The longest lease that this hold can have, to the tenth.
  static bool is_about(Duration remaining, Duration lease) { return remaining <= lease && remaining > lease / 10 * 9; }
};
INSTANTIATE_TEST_SUITE_P(Schemes, Options, ::testing::ValuesIn(all_schemes()), line_name);

namespace {

Result<std::shared_ptr<lock::LockCore>> mutex_of(const Actor& actor, LockOptions options) {
  return lock::ClientCore::mutex(actor.core(), "job", options);
}

}  // namespace

TEST_P(Options, TheLeaseComesFromTheNearestLevelThatSetsIt) {
  const Actor alice = world().client({.lease = 100s});
  EXPECT_TRUE(is_about(must_acquire(alice, "client").remaining(), 100s));
  const auto mutex = alice.mutex("lock", {.lease = 200s});
  EXPECT_TRUE(is_about(start_acquire(alice, mutex).get().value().remaining(), 200s));
  EXPECT_TRUE(is_about(start_acquire(alice, mutex, {.lease = 300s}).get().value().remaining(), 300s));
}

TEST_P(Options, TheLabelComesFromTheNearestLevelThatSetsIt) {
  const Actor alice = world().client({.label = "client"});
  {
    Hold hold = must_acquire(alice, "job");
    EXPECT_EQ(holders_label(), "client");
    EXPECT_TRUE(release(alice, hold));
  }
  const auto mutex = alice.mutex("job", {.label = "lock"});
  {
    Hold hold = start_acquire(alice, mutex).get().value();
    EXPECT_EQ(holders_label(), "lock");
    EXPECT_TRUE(release(alice, hold));
  }
  const Hold hold = start_acquire(alice, mutex, {.label = "acquisition"}).get().value();
  EXPECT_EQ(holders_label(), "acquisition");
}

TEST_P(Options, TheLabelIsCopiedBeforeTheCallReturns) {
  const Actor alice = world().client();
  StartedHold started = [&] {
    const std::string label = "a label on the stack, too long for a small string";
    return start_acquire(alice, "job", {.label = label});
  }();
  const Hold hold = started.get().value();
  EXPECT_EQ(holders_label(), "a label on the stack, too long for a small string");
}

TEST_P(Options, MaxHoldComesFromTheNearestLevelThatSetsIt) {
  const Actor alice = world().client({.lease = 100s, .max_hold = 75s});
  EXPECT_TRUE(is_about(must_acquire(alice, "client").remaining(), 75s));
  const auto mutex = alice.mutex("lock", {.max_hold = 60s});
  EXPECT_TRUE(is_about(start_acquire(alice, mutex).get().value().remaining(), 60s));
  EXPECT_TRUE(is_about(start_acquire(alice, mutex, {.max_hold = 45s}).get().value().remaining(), 45s));
}

TEST_P(Options, TheLockDelayComesFromTheNearestLevelThatSetsIt) {
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().client({.lock_delay = 60s});
  const Hold by_client = must_acquire(alice, "client");
  const Hold by_call = must_acquire(alice, "call", {.lock_delay = 0s});
  world().expire(alice);
  EXPECT_GT(world().view("client").shut_for, 0s);
  EXPECT_EQ(world().view("call").shut_for, 0s);
}

TEST_P(Options, HandlesOfOneLockMustAgreeOnTheHandOff) {
  const Actor alice = world().client();
  const auto first = mutex_of(alice, {.local_passes = 3});
  ASSERT_TRUE(first);
  EXPECT_TRUE(mutex_of(alice, {.local_passes = 3}));
  EXPECT_EQ(mutex_of(alice, {.local_passes = 4}).code(), Errc::invalid_argument);
  EXPECT_EQ(mutex_of(alice, {.local_passes = 3, .local_pass_time = 1s}).code(), Errc::invalid_argument);
  EXPECT_EQ(mutex_of(alice, {}).code(), Errc::invalid_argument);
}

TEST_P(Options, DefaultsSpelledOutAgreeWithDefaults) {
  const Actor alice = world().client();
  const auto first = mutex_of(alice, {});
  ASSERT_TRUE(first);
  const LockOptions spelled_out{.scheme = can().scheme, .local_passes = 64, .local_pass_time = 10ms};
  EXPECT_TRUE(mutex_of(alice, spelled_out));
}

TEST_P(Options, WhenTheLastHandleIsGoneAnotherAgreementIsPossible) {
  const Actor alice = world().client();
  EXPECT_TRUE(mutex_of(alice, {.local_passes = 3}));
  EXPECT_TRUE(mutex_of(alice, {.local_passes = 4}));
}

// A hold keeps its lock's agreement, even when no handle is left.
TEST_P(Options, AHoldCountsAsAHandle) {
  const Actor alice = world().client();
  const Hold hold = start_acquire(alice, alice.mutex("job", {.local_passes = 3})).get().value();
  EXPECT_EQ(mutex_of(alice, {.local_passes = 4}).code(), Errc::invalid_argument);
}

TEST_P(Options, HandlesMayHaveDefaultsOfTheirOwn) {
  const Actor alice = world().client();
  const auto first = alice.mutex("job", {.label = "first"});
  const auto second = alice.mutex("job", {.label = "second"});
  {
    Hold hold = start_acquire(alice, first).get().value();
    EXPECT_EQ(holders_label(), "first");
    EXPECT_TRUE(release(alice, hold));
  }
  const Hold hold = start_acquire(alice, second).get().value();
  EXPECT_EQ(holders_label(), "second");
}

TEST_P(Options, AnUnknownSchemeIsRefusedAndTheKnownOnesAreNamed) {
  const Actor alice = world().client();
  const auto refused = mutex_of(alice, {.scheme = "no such scheme"});
  ASSERT_EQ(refused.code(), Errc::invalid_argument);
  EXPECT_NE(refused.error().message.find(can().scheme), std::string::npos);
}

TEST_P(Options, NonsenseIsRefusedAtEveryLevel) {
  const Actor alice = world().client();
  EXPECT_EQ(mutex_of(alice, {.lease = -1s}).code(), Errc::invalid_argument);
  EXPECT_EQ(mutex_of(alice, {.max_hold = 0s}).code(), Errc::invalid_argument);
  EXPECT_EQ(mutex_of(alice, {.lock_delay = 61s}).code(), Errc::invalid_argument);
  EXPECT_EQ(acquire(alice, "job", {.max_hold = 0s}).code(), Errc::invalid_argument);
  EXPECT_EQ(acquire(alice, "job", {.label = std::string_view(std::string(257, 'x'))}).code(), Errc::invalid_argument);
  EXPECT_THROW(world().client({.lease = 0s}), Exception);
  EXPECT_THROW(world().client({.timeout = 0s}), Exception);
  EXPECT_THROW(world().client({.scheme = "no such scheme"}), Exception);
}

// Claims with different leases cannot be one claim: the second waits behind the first, in order.
TEST_P(Options, DifferentLeasesOfOneLockQueueBehindEachOther) {
  const Actor alice = world().client();
  Hold first = must_acquire(alice, "job");
  const auto mutex = alice.mutex("job");
  StartedHold second = start_acquire_in_order(alice, mutex, {.lease = 100s});
  StartedHold third = start_acquire_in_order(alice, mutex);
  EXPECT_TRUE(release(alice, first));
  Hold hold = second.get().value();
  EXPECT_FALSE(third.ready());
  EXPECT_TRUE(is_about(hold.remaining(), 100s));
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(third.get());
  EXPECT_EQ(alice.metrics().local_passes, 0U);
}

}  // namespace pawl::contract
