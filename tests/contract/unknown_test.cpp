// Promise: an unknown outcome is never called a failure or a success. It is resolved by the claim's id, or undone.

#include "tests/contract/contract.hpp"

#include <cstddef>
#include <stop_token>
#include <string>

namespace pawl::contract {

class UnknownOutcome : public Contract {
 protected:
  /// What was asked once got no answer, and is asked again: once, but that a machine which stands still may cost more answers.
  void expect_asked_again(std::size_t sent) {
    EXPECT_GE(sent, 2U);
    if (world().virtual_time()) {
      EXPECT_EQ(sent, 2U);
    }
  }

  /// Alice's claim is under way for longer than she waits for an answer. Then she gives up, and her withdrawal overtakes it.
  void give_up_before_it_arrives(const Actor& alice) {
    { const Hold opened = must_acquire(alice, "other"); }  // the session is open
    alice.faults().delay_all(2 * world().timeout());
    std::stop_source stop;
    StartedHold alices = start_acquire(alice, "job", {}, stop.get_token());
    ASSERT_TRUE(world().eventually([&] { return alice.sent(Operation::claim) >= 2; }));
    stop.request_stop();
    EXPECT_EQ(alices.get().code(), Errc::cancelled);
    alice.faults().delay_all(0s);
  }
};
INSTANTIATE_TEST_SUITE_P(Schemes, UnknownOutcome, ::testing::ValuesIn(all_schemes()), line_name);

TEST_P(UnknownOutcome, AGrantWhoseReplyIsLostIsFoundAgainAndNotClaimedTwice) {
  const Actor alice = world().impatient_client(), bob = world().client();
  alice.faults().lose_next_reply(Operation::claim);
  const Hold hold = must_acquire(alice, "job");
  expect_asked_again(alice.sent(Operation::claim));
  const LockView view = world().view("job");
  ASSERT_EQ(view.holders.size(), 1U);
  EXPECT_EQ(view.holders[0].token, hold.token());
  EXPECT_TRUE(view.waiters.empty());
  EXPECT_EQ(alice.metrics().store_claims, 1U);
  EXPECT_EQ(try_acquire(bob, "job").code(), Errc::busy);
}

TEST_P(UnknownOutcome, AClaimWhoseRequestIsLostIsSentAgain) {
  const Actor alice = world().impatient_client();
  alice.faults().lose_next_request(Operation::claim);
  { const Hold hold = must_acquire(alice, "job"); }
  expect_asked_again(alice.sent(Operation::claim));
}

// E2: a client that waits for an answer as long as its timeout, whatever the lease, asks again too late for short leases.
TEST_P(UnknownOutcome, AnAnswerIsNotWaitedForLongerThanAThirdOfTheLease) {
  const Duration lease = 3 * world().timeout() / 2;
  const Actor alice = world().impatient_client({.lease = std::max<Duration>(lease, can().shortest_lease)});
  alice.faults().lose_next_reply(Operation::claim);
  const Time began = world().now();
  { const Hold hold = must_acquire(alice, "job"); }
  expect_asked_again(alice.sent(Operation::claim));
  if (world().virtual_time()) {
    EXPECT_GE(world().now() - began, lease / 3);
    EXPECT_LE(world().now() - began, lease / 3 + 20ms);
  }
}

TEST_P(UnknownOutcome, ATryWhoseReplyIsLostIsGrantedToo) {
  expect_undisturbed([&] {
    const Actor alice = world().impatient_client();
    alice.faults().lose_next_reply(Operation::claim);
    const Errc tried = try_acquire(alice, "job").code();
    const bool late = tried == Errc::store_unavailable || tried == Errc::outcome_unknown;
    if (late && !world().virtual_time()) return "it was not asked again in time";
    EXPECT_EQ(tried, no_error);
    return "";
  });
}

TEST_P(UnknownOutcome, AWaiterWhoseReplyIsLostKeepsItsPlace) {
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().impatient_client(), carol = world().client();
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
  const Actor bob = world().client();
  expect_undisturbed([&] {
    const Actor alice = world().impatient_client();
    Hold hold = must_acquire(alice, "job");
    alice.faults().lose_next_reply(Operation::withdraw);
    const Errc released = release(alice, hold).code();
    if (released == Errc::outcome_unknown && !world().virtual_time()) return "it was not asked again in time";
    EXPECT_EQ(released, no_error);
    expect_asked_again(alice.sent(Operation::withdraw));
    EXPECT_TRUE(try_acquire(bob, "job"));
    return "";
  });
}

// Scenario: alice's release was applied, but its reply is lost. Bob holds when she repeats it.
TEST_P(UnknownOutcome, ARepeatedReleaseLeavesTheNextHolderAlone) {
  const Actor alice = world().impatient_client(), bob = world().client();
  Hold alices = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  alice.faults().lose_next_reply(Operation::withdraw);
  Started<Result<void>> released = start_release(alice, alices);
  const Hold hold = bobs.get().value();
  const Errc outcome = released.get().code();
  const bool late = outcome == Errc::outcome_unknown && !world().virtual_time();
  EXPECT_TRUE(outcome == no_error || late) << to_string(outcome);
  EXPECT_TRUE(world().eventually([&] { return alice.sent(Operation::withdraw) >= 2; }));
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
  const Actor alice = world().impatient_client(), bob = world().client();
  give_up_before_it_arrives(alice);
  EXPECT_TRUE(world().eventually([&] { return alice.sent(Operation::withdraw) >= 2; }));
  world().sleep(2 * world().timeout());
  EXPECT_TRUE(world().ask_until([&] { return alice.metrics().undone == 1; }));
  EXPECT_TRUE(world().view("job").holders.empty());
  EXPECT_TRUE(try_acquire(bob, "job"));
}

TEST_P(UnknownOutcome, ASessionWhoseReplyIsLostIsOpenedAgainAndLeavesNoLockShut) {
  const Actor bob = world().client();
  expect_undisturbed([&] {
    const Actor alice = world().brief_client();  // the session that nobody knows of ends by itself
    alice.faults().lose_next_reply(Operation::open_session);
    Result<Hold> hold = acquire(alice, "job", {.wait = world().hang()});
    if (hold.code() == Errc::store_unavailable && !world().virtual_time()) return "it was not asked again in time";
    EXPECT_TRUE(hold);
    expect_asked_again(alice.sent(Operation::open_session));
    *hold = Hold();
    EXPECT_TRUE(acquire(bob, "job", {.wait = world().hang()}));
    return "";
  });
}

TEST_P(UnknownOutcome, ARenewalWhoseReplyIsLostChangesNothing) {
  expect_undisturbed([&] {
    const Actor alice = world().impatient_client({.lease = sturdy_lease()});
    const Hold hold = must_acquire(alice, "job");
    const std::size_t opened = alice.metrics().sessions_opened;
    alice.faults().lose_next_reply(Operation::renew);
    const auto repeated = [&] { return alice.metrics().renewal_failures >= 1 && alice.metrics().renewals >= 2; };
    if (!lives_until(hold, repeated)) return "its lease was over first";
    EXPECT_EQ(alice.metrics().sessions_opened, opened);
    return hold.state() == HoldState::held ? "" : "it was in jeopardy";
  });
}

TEST_P(UnknownOutcome, WhatWasUndoneIsCounted) {
  const Actor alice = world().impatient_client();
  give_up_before_it_arrives(alice);
  EXPECT_TRUE(world().eventually([&] { return alice.metrics().undone == 1; }));
}

// Scenario: the outcome of a claim was unknown for a while and is known now. Its release is a release like any other.
TEST_P(UnknownOutcome, AReleaseIsNoUndoing) {
  const Actor alice = world().client({.lease = 6s});
  alice.faults().lose_next_reply(Operation::claim);
  Hold hold = must_acquire(alice, "job");
  EXPECT_TRUE(release(alice, hold));
  world().sleep(a_moment());
  EXPECT_EQ(alice.metrics().undone, 0U);
  EXPECT_EQ(alice.metrics().released, 1U);
}

}  // namespace pawl::contract
