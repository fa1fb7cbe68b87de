// Promise: a lock is kept for as long as it is held, by one renewal for all the locks of a client, and by none after.

#include "tests/contract/contract.hpp"

#include <string>
#include <vector>

namespace pawl::contract {

PAWL_CONTRACT(Lease);

namespace {

std::size_t renewals(const Actor& actor) { return actor.sent(Operation::renew); }

}  // namespace

TEST_P(Lease, ALockIsHeldFarLongerThanItsLease) {
  const Actor bob = world().client();
  expect_undisturbed([&] {
    const Actor alice = world().client({.lease = sturdy_lease()});
    const Hold hold = must_acquire(alice, "job");
    if (!lives_until(hold, [&] { return renewals(alice) >= 4; })) return "its lease was over first";
    const Errc tried = try_acquire(bob, "job").code();
    if (!hold.valid() || hold.state() != HoldState::held || is_lost(hold)) return "its lease was over later";
    EXPECT_EQ(tried, Errc::busy);
    return "";
  });
}

TEST_P(Lease, AWaiterKeepsItsSessionAliveForLongerThanItsLease) {
  const Actor alice = world().client();
  expect_undisturbed([&] {
    const Actor bob = world().client({.lease = sturdy_lease()});
    Hold hold = must_acquire(alice, "job");
    StartedHold bobs = start_acquire(bob, "job");
    EXPECT_TRUE(world().queued("job", 1));
    EXPECT_TRUE(world().eventually([&] { return renewals(bob) >= 4; }));
    const bool one_session = bob.metrics().sessions_opened == 1;
    EXPECT_TRUE(release(alice, hold));
    EXPECT_TRUE(bobs.get());
    return one_session ? "" : "its session was over first";
  });
}

// Scenario: the watchdogs of other libraries pile up, one for each time a lock was taken.
TEST_P(Lease, AfterAThousandCyclesThereIsStillOneRenewalPerInterval) {
  const Actor alice = world().client({.lease = sturdy_lease()});
  for (int i = 0; i < 1'000; ++i) {
    Hold hold = must_acquire(alice, "job");
    ASSERT_TRUE(release(alice, hold));
  }
  const Hold hold = must_acquire(alice, "job");
  const std::size_t before = renewals(alice);
  const Time began = world().now();
  const Duration interval = sturdy_lease() / 3;
  world().sleep(3 * interval);
  const auto due = static_cast<std::size_t>((world().now() - began) / interval);
  EXPECT_LE(renewals(alice) - before, due + 1);
  if (world().virtual_time()) {
    EXPECT_EQ(renewals(alice) - before, 3U);
    EXPECT_EQ(alice.metrics().sessions_opened, 1U);
  }
}

TEST_P(Lease, RenewalEndsAfterTheReleaseAndTheIdleSessionIsClosed) {
  expect_undisturbed([&] {
    const Actor alice = world().brief_client();
    Hold hold = must_acquire(alice, "job");
    const std::size_t sessions = alice.store().sessions().size();
    const Time released = world().now();
    if (!release(alice, hold)) return "its lease was over first";
    EXPECT_EQ(sessions, 1U);
    EXPECT_TRUE(world().eventually([&] { return alice.sent(Operation::close_session) > 0; }));
    EXPECT_GE(world().now() - released, world().lease());
    if (world().virtual_time()) {
      EXPECT_LE(world().now() - released, world().lease() + world().lease() / 3);
    }

    const std::size_t before = renewals(alice);
    world().sleep(world().lease());
    EXPECT_EQ(renewals(alice), before);
    return "";
  });
}

TEST_P(Lease, AClientWorksAgainAfterItsIdleSessionWasClosed) {
  const Actor alice = world().brief_client();
  { const Hold hold = must_acquire(alice, "job"); }
  EXPECT_TRUE(world().eventually([&] { return alice.sent(Operation::close_session) > 0; }));
  { const Hold hold = must_acquire(alice, "job"); }
  EXPECT_GE(alice.metrics().sessions_opened, 2U);
}

TEST_P(Lease, AllLocksOfOneLeaseLengthShareOneSession) {
  const Actor alice = world().client();
  std::vector<Hold> holds;
  for (int i = 0; i < 50; ++i) holds.push_back(must_acquire(alice, "job " + std::to_string(i)));
  EXPECT_EQ(alice.sent(Operation::open_session), 1U);
  holds.push_back(must_acquire(alice, "longer", {.lease = 60s}));
  EXPECT_EQ(alice.sent(Operation::open_session), 2U);
}

TEST_P(Lease, LocksThatAreAskedForAtTheSameTimeOpenOneSession) {
  const Actor alice = world().client();
  std::vector<StartedHold> started;
  for (int i = 0; i < 20; ++i) started.push_back(start_acquire(alice, "job " + std::to_string(i)));
  for (StartedHold& one : started) EXPECT_TRUE(one.get());
  EXPECT_EQ(alice.sent(Operation::open_session), 1U);
}

TEST_P(Lease, AClientHasEightLeaseLengthsAtMost) {
  const Actor alice = world().client();
  std::vector<Hold> holds;
  for (int i = 1; i <= 8; ++i) {
    holds.push_back(must_acquire(alice, "job " + std::to_string(i), {.lease = 30s + i * 1s}));
  }
  EXPECT_EQ(acquire(alice, "job 9", {.lease = 39s}).code(), Errc::overloaded);
  EXPECT_TRUE(acquire(alice, "job 9", {.lease = 38s}));
}

TEST_P(Lease, ALengthThatIsNoLongerUsedMakesRoomForAnother) {
  const Actor alice = world().client();
  std::vector<Hold> holds;
  for (int i = 1; i <= 7; ++i) {
    holds.push_back(must_acquire(alice, "job " + std::to_string(i), {.lease = 30s + i * 1s}));
  }
  { const Hold brief = must_acquire(alice, "job 8", {.lease = sturdy_lease()}); }
  EXPECT_EQ(acquire(alice, "job 9", {.lease = 39s}).code(), Errc::overloaded);
  EXPECT_TRUE(world().eventually([&] { return alice.store().sessions().size() == 7; }));
  EXPECT_TRUE(acquire(alice, "job 9", {.lease = 39s}));
}

TEST_P(Lease, ALeaseOutsideTheDeclaredBoundsIsAnInvalidArgument) {
  const Actor alice = world().client();
  EXPECT_EQ(acquire(alice, "job", {.lease = can().shortest_lease - 1ns}).code(), Errc::invalid_argument);
  EXPECT_EQ(acquire(alice, "job", {.lease = can().longest_lease + 1ns}).code(), Errc::invalid_argument);
  EXPECT_TRUE(acquire(alice, "job", {.lease = can().longest_lease}));
}

TEST_P(Lease, AFailedRenewalIsRepeatedInTime) {
  expect_undisturbed([&] {
    const Actor alice = world().impatient_client({.lease = sturdy_lease()});
    const Hold hold = must_acquire(alice, "job");
    alice.faults().lose_next_request(Operation::renew);
    const auto repeated = [&] { return alice.metrics().renewal_failures >= 1 && alice.metrics().renewals >= 2; };
    if (!lives_until(hold, repeated)) return "its lease was over first";
    return hold.state() == HoldState::held && !is_lost(hold) ? "" : "its lease was over later";
  });
}

// Scenario: a renewal is still under way when the client closes, and arrives when its session has gone.
TEST_P(Lease, ARenewalNeverCreates) {
  const Actor alice = world().brief_client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job");
  alice.faults().delay_all(world().lease() / 2);
  const std::size_t before = renewals(alice);
  ASSERT_TRUE(world().eventually([&] { return renewals(alice) > before; }));
  alice.faults().delay_all(0s);
  EXPECT_TRUE(close(alice));
  EXPECT_TRUE(try_acquire(bob, "job"));
  world().sleep(world().lease());
  EXPECT_TRUE(world().views().empty());
}

}  // namespace pawl::contract
