// Promise: a wait ends when it should (granted, timed out, cancelled), and whoever gives up leaves nothing behind.

#include "tests/contract/contract.hpp"

#include <stop_token>
#include <string>

namespace pawl::contract {

PAWL_CONTRACT(Waiting);

TEST_P(Waiting, ATryAnswersBusyAtOnce) {
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job");
  const Time began = world().now();
  EXPECT_EQ(try_acquire(bob, "job").code(), Errc::busy);
  if (world().virtual_time()) {
    EXPECT_EQ(world().now(), began);
  }
  EXPECT_TRUE(world().view("job").waiters.empty());
}

TEST_P(Waiting, ATryBehindAThreadOfTheSameClientIsBusyToo) {
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job");
  std::stop_source stop;
  StartedHold bobs = start_acquire(bob, "job", {}, stop.get_token());
  ASSERT_TRUE(world().queued("job", 1));
  EXPECT_EQ(try_acquire(bob, "job").code(), Errc::busy);
  stop.request_stop();
  EXPECT_EQ(bobs.get().code(), Errc::cancelled);
}

TEST_P(Waiting, ATryOfAFreeLockIsGranted) {
  const Actor alice = world().client();
  EXPECT_TRUE(try_acquire(alice, "job"));
}

// Scenario: the release was only sent when the same client tries again. It must not be busy with itself.
TEST_P(Waiting, ATryRightAfterLettingGoIsGranted) {
  const Actor alice = world().client();
  for (int round = 0; round < 20; ++round) {
    Hold hold = must_acquire(alice, "job");
    hold = Hold();
    StartedHold next = start_acquire(alice, "job", {.wait = 0s});
    EXPECT_EQ(next.get().code(), no_error);
  }
}

TEST_P(Waiting, BusySaysWhoHoldsIt) {
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job", {.label = "nightly backup"});
  const Result<Hold> refused = try_acquire(bob, "job");
  ASSERT_EQ(refused.code(), Errc::busy);
  EXPECT_NE(refused.error().message.find("nightly backup"), std::string::npos) << refused.error().message;
}

TEST_P(Waiting, ANegativeWaitIsAnInvalidArgument) {
  const Actor alice = world().client();
  EXPECT_EQ(acquire(alice, "job", {.wait = -1ns}).code(), Errc::invalid_argument);
  EXPECT_EQ(alice.sent(Operation::claim), 0U);
}

TEST_P(Waiting, ATimedWaitEndsOnTime) {
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job");
  const Time began = world().now();
  EXPECT_EQ(acquire(bob, "job", {.wait = a_moment()}).code(), Errc::timed_out);
  EXPECT_GE(world().now() - began, a_moment());
  if (world().virtual_time()) {
    EXPECT_EQ(world().now() - began, a_moment());
  }
}

TEST_P(Waiting, TheLongestPossibleWaitIsAsGoodAsForEver) {
  const Actor alice = world().client(), bob = world().client();
  Hold hold = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job", {.wait = Duration::max()});
  ASSERT_TRUE(world().queued("job", 1));
  world().sleep(a_moment());
  EXPECT_FALSE(bobs.ready());
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(bobs.get());
}

TEST_P(Waiting, ATimedWaitIsGrantedWhenTheLockComesFreeInTime) {
  const Actor alice = world().client(), bob = world().client();
  Hold hold = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job", {.wait = world().hang()});
  ASSERT_TRUE(world().queued("job", 1));
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(bobs.get());
}

TEST_P(Waiting, WhoeverIsStoppedBeforehandAsksNothing) {
  const Actor alice = world().client();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(acquire(alice, "job", {}, stop.get_token()).code(), Errc::cancelled);
  EXPECT_EQ(alice.sent(Operation::claim), 0U);
}

TEST_P(Waiting, AStopRequestEndsTheWait) {
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job");
  std::stop_source stop;
  StartedHold bobs = start_acquire(bob, "job", {}, stop.get_token());
  ASSERT_TRUE(world().queued("job", 1));
  stop.request_stop();
  EXPECT_EQ(bobs.get().code(), Errc::cancelled);
  EXPECT_TRUE(world().queued("job", 0));
}

TEST_P(Waiting, AStopRequestAfterTheGrantChangesNothing) {
  const Actor alice = world().client();
  std::stop_source stop;
  const Hold hold = acquire(alice, "job", {}, stop.get_token()).value();
  stop.request_stop();
  world().sleep(a_moment());
  EXPECT_TRUE(hold.valid());
  EXPECT_FALSE(hold.lost().stop_requested());
}

TEST_P(Waiting, WhoeverGivesUpLeavesNothingBehind) {
  const Actor alice = world().client(), bob = world().client(), carol = world().client();
  Hold hold = must_acquire(alice, "job");
  EXPECT_EQ(acquire(bob, "job", {.wait = a_moment()}).code(), Errc::timed_out);
  EXPECT_TRUE(world().queued("job", 0));

  StartedHold carols = start_acquire(carol, "job");
  ASSERT_TRUE(world().queued("job", 1));
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(carols.get());
}

TEST_P(Waiting, TheNextThreadKeepsThePlaceOfOneThatGaveUp) {
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().client(), carol = world().client();
  Hold hold = must_acquire(alice, "job");
  std::stop_source stop;
  StartedHold first = start_acquire(bob, "job", {}, stop.get_token());
  ASSERT_TRUE(world().queued("job", 1));
  StartedHold second = start_acquire(bob, "job");
  StartedHold carols = start_acquire(carol, "job");
  ASSERT_TRUE(world().queued("job", 2));
  const std::string place = world().view("job").waiters[0].claim;

  stop.request_stop();
  EXPECT_EQ(first.get().code(), Errc::cancelled);
  ASSERT_TRUE(world().queued("job", 2));
  EXPECT_EQ(world().view("job").waiters[0].claim, place);
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(second.get());
  EXPECT_TRUE(carols.get());
}

TEST_P(Waiting, ALostNoticeCostsTimeAndNothingElse) {
  const Actor alice = world().client(), bob = world().brief_client();
  bob.faults().drop_notices(true);
  Hold hold = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  const Time released = world().now();
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(bobs.get());
  if (world().virtual_time()) {
    EXPECT_LE(world().now() - released, world().lease() / 3 + 1ms);
  }
}

TEST_P(Waiting, AWaiterKeepsItsPlaceThroughAShortCut) {
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().brief_client(), carol = world().client();
  Hold hold = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  StartedHold carols = start_acquire(carol, "job");
  ASSERT_TRUE(world().queued("job", 2));

  world().cut(bob);
  EXPECT_TRUE(release(alice, hold));
  world().sleep(a_moment());
  EXPECT_FALSE(carols.ready());
  world().heal(bob);
  EXPECT_TRUE(bobs.get());
  EXPECT_TRUE(carols.get());
}

TEST_P(Waiting, AWaiterWhoseSessionEndedAsksAgainInANewOne) {
  const Actor alice = world().client(), bob = world().brief_client();
  Hold hold = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  const std::string before = world().view("job").waiters.at(0).claim;
  world().expire(bob);
  const auto asks_again = [&] {
    const LockView view = world().view("job");
    return view.waiters.size() == 1 && view.waiters[0].claim != before;
  };
  EXPECT_TRUE(world().ask_until(asks_again));
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(bobs.get());
}

}  // namespace pawl::contract
