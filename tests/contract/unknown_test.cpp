// Promise: an unknown outcome is never called a failure or a success. It is resolved by the claim's id, or undone.

#include "tests/contract/contract.hpp"

#include <string>

namespace pawl::contract {

PAWL_CONTRACT(UnknownOutcome);

TEST_P(UnknownOutcome, AGrantWhoseReplyIsLostIsFoundAgainAndNotClaimedTwice) {
  const Actor alice = world().brief_client(), bob = world().client();
  alice.faults().lose_next_reply(Operation::claim);
  const Hold hold = must_acquire(alice, "job");
  EXPECT_EQ(alice.sent(Operation::claim), 2U);
  const LockView view = world().view("job");
  ASSERT_EQ(view.holders.size(), 1U);
  EXPECT_EQ(view.holders[0].token, hold.token());
  EXPECT_TRUE(view.waiters.empty());
  EXPECT_EQ(alice.metrics().store_claims, 1U);
  EXPECT_EQ(try_acquire(bob, "job").code(), Errc::busy);
}

TEST_P(UnknownOutcome, AClaimWhoseRequestIsLostIsSentAgain) {
  const Actor alice = world().brief_client();
  alice.faults().lose_next_request(Operation::claim);
  EXPECT_TRUE(must_acquire(alice, "job").valid());
}

// E2: a client that waits for an answer as long as its timeout, whatever the lease, asks again too late for short leases.
TEST_P(UnknownOutcome, AnAnswerIsNotWaitedForLongerThanAThirdOfTheLease) {
  const Duration lease = 3 * world().timeout() / 2;
  const Actor alice = world().client({.lease = std::max<Duration>(lease, can().shortest_lease)});
  alice.faults().lose_next_reply(Operation::claim);
  const Time began = world().now();
  EXPECT_TRUE(must_acquire(alice, "job").valid());
  EXPECT_EQ(alice.sent(Operation::claim), 2U);
  if (world().virtual_time()) {
    EXPECT_GE(world().now() - began, lease / 3);
    EXPECT_LE(world().now() - began, lease / 3 + 20ms);
  }
}

TEST_P(UnknownOutcome, ATryWhoseReplyIsLostIsGrantedToo) {
  const Actor alice = world().brief_client();
  alice.faults().lose_next_reply(Operation::claim);
  EXPECT_TRUE(try_acquire(alice, "job"));
}

TEST_P(UnknownOutcome, AWaiterWhoseReplyIsLostKeepsItsPlace) {
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().brief_client(), carol = world().client();
  Hold hold = must_acquire(alice, "job");
  bob.faults().lose_next_reply(Operation::claim);
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  const std::string place = world().view("job").waiters.at(0).claim;
  StartedHold carols = start_acquire(carol, "job");
  ASSERT_TRUE(world().queued("job", 2));
  EXPECT_TRUE(world().eventually([&] { return bob.sent(Operation::claim) >= 2; }));
  EXPECT_EQ(world().view("job").waiters.at(0).claim, place);
  EXPECT_EQ(world().view("job").waiters.size(), 2U);
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(bobs.get());
  EXPECT_TRUE(carols.get());
}

TEST_P(UnknownOutcome, AReleaseWhoseReplyIsLostIsConfirmedByAskingAgain) {
  const Actor alice = world().brief_client(), bob = world().client();
  Hold hold = must_acquire(alice, "job");
  alice.faults().lose_next_reply(Operation::withdraw);
  EXPECT_TRUE(release(alice, hold));
  EXPECT_EQ(alice.sent(Operation::withdraw), 2U);
  EXPECT_TRUE(try_acquire(bob, "job"));
}

// Scenario: alice's release was applied, but its reply is lost. Bob holds when she repeats it.
TEST_P(UnknownOutcome, ARepeatedReleaseLeavesTheNextHolderAlone) {
  const Actor alice = world().brief_client(), bob = world().client();
  Hold alices = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  alice.faults().lose_next_reply(Operation::withdraw);
  Started<Result<void>> released = start_release(alice, alices);
  const Hold hold = bobs.get().value();
  EXPECT_TRUE(released.get());
  EXPECT_TRUE(hold.valid());
  EXPECT_EQ(world().view("job").holders.at(0).token, hold.token());
}

// Scenario: alice gives up, and her claim reaches the store only afterwards. It must not stay there.
TEST_P(UnknownOutcome, AClaimThatArrivesAfterItsOwnerGaveUpIsUndone) {
  const Actor alice = world().client(), bob = world().client();
  { const Hold opened = must_acquire(alice, "other"); }  // the session is open
  alice.faults().delay_all(2 * a_moment());
  EXPECT_EQ(acquire(alice, "job", {.wait = a_moment()}).code(), Errc::timed_out);
  alice.faults().delay_all(0s);
  world().sleep(3 * a_moment());
  EXPECT_TRUE(acquire(bob, "job", {.wait = world().hang()}));
  EXPECT_TRUE(world().ask_until([&] { return world().view("job").holders.empty(); }));
}

TEST_P(UnknownOutcome, AClaimThatArrivesAfterItWasWithdrawnIsRefused) {
  const Actor alice = world().brief_client(), bob = world().client();
  { const Hold opened = must_acquire(alice, "other"); }
  // Longer than alice waits for an answer: she hears nothing, gives up, and her withdrawal overtakes the claim.
  alice.faults().delay_all(world().lease() / 2);
  StartedHold alices = start_acquire(alice, "job", {.wait = world().lease() / 10});
  ASSERT_TRUE(world().eventually([&] { return alice.sent(Operation::claim) == 2; }));
  alice.faults().delay_all(0s);
  EXPECT_EQ(alices.get().code(), Errc::timed_out);
  EXPECT_TRUE(world().eventually([&] { return alice.sent(Operation::withdraw) >= 2; }));
  world().sleep(world().lease());
  EXPECT_TRUE(world().view("job").holders.empty());
  EXPECT_TRUE(try_acquire(bob, "job"));
}

TEST_P(UnknownOutcome, ASessionWhoseReplyIsLostIsOpenedAgainAndLeavesNoLockShut) {
  const Actor alice = world().brief_client(), bob = world().client();
  alice.faults().lose_next_reply(Operation::open_session);
  Hold hold = must_acquire(alice, "job", {.wait = world().hang()});
  EXPECT_EQ(alice.sent(Operation::open_session), 2U);
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(try_acquire(bob, "job"));
}

TEST_P(UnknownOutcome, ARenewalWhoseReplyIsLostChangesNothing) {
  const Actor alice = world().client({.lease = sturdy_lease()});
  const Hold hold = must_acquire(alice, "job");
  alice.faults().lose_next_reply(Operation::renew);
  EXPECT_TRUE(lives_until(hold, [&] { return alice.metrics().renewals >= 2; })) << "its lease was over first";
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_EQ(alice.metrics().sessions_opened, 1U);
}

TEST_P(UnknownOutcome, WhatWasUndoneIsCounted) {
  const Actor alice = world().brief_client();
  { const Hold opened = must_acquire(alice, "other"); }
  alice.faults().delay_all(world().lease() / 2);
  StartedHold alices = start_acquire(alice, "job", {.wait = world().lease() / 10});
  ASSERT_TRUE(world().eventually([&] { return alice.sent(Operation::claim) == 2; }));
  alice.faults().delay_all(0s);
  EXPECT_EQ(alices.get().code(), Errc::timed_out);
  EXPECT_TRUE(world().eventually([&] { return alice.metrics().undone == 1; }));
}

// Scenario: the outcome of a claim was unknown for a while and is known now. Its release is a release like any other.
TEST_P(UnknownOutcome, AReleaseIsNoUndoing) {
  const Actor alice = world().brief_client();
  alice.faults().lose_next_reply(Operation::claim);
  Hold hold = must_acquire(alice, "job");
  EXPECT_TRUE(release(alice, hold));
  world().sleep(a_moment());
  EXPECT_EQ(alice.metrics().undone, 0U);
  EXPECT_EQ(alice.metrics().released, 1U);
}

}  // namespace pawl::contract
