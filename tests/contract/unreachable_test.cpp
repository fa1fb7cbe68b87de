// Promise: a store that cannot be reached is told from a lock that is taken, in bounded time, and leaves nothing behind.

#include "tests/contract/contract.hpp"

#include <gmock/gmock.h>

#include <stop_token>

namespace pawl::contract {

using testing::HasSubstr;
using testing::Not;

PAWL_CONTRACT(Unreachable);

TEST_P(Unreachable, ATimedWaitEndsOnTime) {
  const Actor alice = world().impatient_client();
  world().cut(alice);
  const Duration wait = world().timeout() / 2;
  const Time began = world().now();
  const Result<Hold> waited = acquire(alice, "job", {.wait = wait});
  EXPECT_EQ(waited.code(), Errc::timed_out);
  EXPECT_THAT(waited.error().message, Not(HasSubstr("held by"))) << "nobody has said so";
  if (world().virtual_time()) {
    EXPECT_EQ(world().now() - began, wait);
  }
}

TEST_P(Unreachable, ATryIsUnavailableAndNotBusy) {
  const Actor alice = world().impatient_client();
  world().cut(alice);
  const Time began = world().now();
  EXPECT_EQ(try_acquire(alice, "job").code(), Errc::store_unavailable);
  if (world().virtual_time()) {
    EXPECT_LE(world().now() - began, 2 * world().timeout());
  }
}

TEST_P(Unreachable, ATryInAnOpenSessionIsNotBusyEither) {
  const Actor alice = world().impatient_client();
  { const Hold hold = must_acquire(alice, "other"); }
  world().cut(alice);
  const Result<Hold> tried = try_acquire(alice, "job");
  EXPECT_TRUE(tried.code() == Errc::store_unavailable || tried.code() == Errc::outcome_unknown)
      << tried.error().to_string();
}

TEST_P(Unreachable, AWaitWithoutBoundIsToldWhenNoSessionCanBeOpened) {
  const Actor alice = world().impatient_client();
  world().cut(alice);
  EXPECT_EQ(acquire(alice, "job").code(), Errc::store_unavailable);
}

TEST_P(Unreachable, AStoreThatRefusesIsUnavailable) {
  const Actor alice = world().impatient_client();
  alice.faults().refuse(true);
  EXPECT_EQ(acquire(alice, "job").code(), Errc::store_unavailable);
  EXPECT_EQ(inspect(alice, "job").code(), Errc::store_unavailable);
}

TEST_P(Unreachable, AWaitCanBeCancelled) {
  const Actor alice = world().client(), bob = world().impatient_client();
  const Hold hold = must_acquire(alice, "job");
  std::stop_source stop;
  StartedHold bobs = start_acquire(bob, "job", {}, stop.get_token());
  ASSERT_TRUE(world().queued("job", 1));
  world().cut(bob);
  stop.request_stop();
  EXPECT_EQ(bobs.get().code(), Errc::cancelled);
}

// Scenario: bob gives up while he is cut off, so his withdrawal cannot arrive. It is repeated until it does.
TEST_P(Unreachable, WhatCouldNotBeWithdrawnIsWithdrawnWhenTheStoreIsBack) {
  const Actor alice = world().client(), bob = world().impatient_client();
  const Hold hold = must_acquire(alice, "job");
  std::stop_source stop;
  StartedHold bobs = start_acquire(bob, "job", {}, stop.get_token());
  ASSERT_TRUE(world().queued("job", 1));
  world().cut(bob);
  stop.request_stop();
  EXPECT_EQ(bobs.get().code(), Errc::cancelled);
  EXPECT_EQ(world().view("job").waiters.size(), 1U);
  world().heal(bob);
  EXPECT_TRUE(world().queued("job", 0));
}

TEST_P(Unreachable, AReleaseThatCannotBeConfirmedIsUnknownAndGoesOn) {
  const Actor alice = world().impatient_client(), bob = world().client();
  Hold hold = must_acquire(alice, "job");
  world().cut(alice);
  const Time began = world().now();
  EXPECT_EQ(release(alice, hold).code(), Errc::outcome_unknown);
  if (world().virtual_time()) {
    EXPECT_EQ(world().now() - began, 2 * world().timeout());
  }
  EXPECT_EQ(hold.state(), HoldState::released);
  EXPECT_EQ(try_acquire(bob, "job").code(), Errc::busy);
  world().heal(alice);
  EXPECT_TRUE(acquire(bob, "job", {.wait = world().hang()}));
}

TEST_P(Unreachable, QuestionsSayThatTheOutcomeIsUnknownOrTheStoreIsAway) {
  const Actor alice = world().impatient_client();
  const Hold hold = must_acquire(alice, "job");
  world().cut(alice);
  const auto honest = [](Errc code) { return code == Errc::store_unavailable || code == Errc::outcome_unknown; };
  EXPECT_TRUE(honest(inspect(alice, "job").code()));
  EXPECT_TRUE(honest(list(alice).code()));
  EXPECT_TRUE(honest(check(alice, hold.sequencer()).code()));
  EXPECT_TRUE(honest(revoke(alice, "job").code()));
}

TEST_P(Unreachable, AClientWorksAgainWhenTheStoreIsBack) {
  const Actor alice = world().impatient_client();
  world().cut(alice);
  EXPECT_FALSE(try_acquire(alice, "job"));
  world().heal(alice);
  EXPECT_TRUE(world().ask_until([&] { return try_acquire(alice, "job").has_value(); }));
}

}  // namespace pawl::contract
