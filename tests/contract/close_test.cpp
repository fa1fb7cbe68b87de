// Promise: close() lets go of everything, tells everybody, and leaves nothing at the store.

#include "tests/contract/contract.hpp"

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace pawl::contract {

PAWL_CONTRACT(Close);

TEST_P(Close, WhatIsHeldIsReleasedAndEndsAsLost) {
  const Actor alice = world().client(), bob = world().client();
  Hold hold = must_acquire(alice, "job");
  EXPECT_TRUE(close(alice));
  EXPECT_TRUE(world().eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_EQ(hold.remaining(), 0s);
  EXPECT_TRUE(try_acquire(bob, "job"));
}

namespace {

/// True: the other one had been told when we came to hold.
awaitable<bool> follow(std::shared_ptr<lock::LockCore> mutex, const Hold& other) {
  Result<Hold> hold = co_await mutex->acquire(AcquireOptions(), std::stop_token());
  co_return hold&& other.lost().stop_requested() && other.remaining() == 0s;
}

}  // namespace

TEST_P(Close, TheLoserIsToldBeforeTheNextOneHolds) {
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job");
  Started<bool> follows = start(bob, follow(bob.mutex("job"), hold));
  ASSERT_TRUE(world().queued("job", 1));
  EXPECT_TRUE(close(alice));
  EXPECT_TRUE(follows.get());
}

TEST_P(Close, WhoeverWaitsIsToldClosed) {
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job");
  StartedHold first = start_acquire(bob, "job"), second = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  EXPECT_TRUE(close(bob));
  EXPECT_EQ(first.get().code(), Errc::closed);
  EXPECT_EQ(second.get().code(), Errc::closed);
  EXPECT_TRUE(world().view("job").waiters.empty());
}

TEST_P(Close, EverythingAfterItIsClosed) {
  const Actor alice = world().client();
  const auto mutex = alice.mutex("job");
  Hold hold = must_acquire(alice, "job");
  const Sequencer sequencer = hold.sequencer();
  EXPECT_TRUE(close(alice));
  EXPECT_EQ(start_acquire(alice, mutex).get().code(), Errc::closed);
  EXPECT_EQ(lock::ClientCore::mutex(alice.core(), "other", {}).code(), Errc::closed);
  EXPECT_EQ(inspect(alice, "job").code(), Errc::closed);
  EXPECT_EQ(list(alice).code(), Errc::closed);
  EXPECT_EQ(check(alice, sequencer).code(), Errc::closed);
  EXPECT_EQ(revoke(alice, "job").code(), Errc::closed);
  EXPECT_EQ(release(alice, hold).code(), Errc::lost);
}

TEST_P(Close, NoSessionIsLeftAtTheStore) {
  const Actor alice = world().client();
  const Hold hold = must_acquire(alice, "job"), longer = must_acquire(alice, "longer", {.lease = 60s});
  EXPECT_EQ(alice.store().sessions().size(), 2U);
  EXPECT_TRUE(close(alice));
  EXPECT_TRUE(alice.store().sessions().empty());
  EXPECT_TRUE(world().views().empty());
}

TEST_P(Close, NothingIsRenewedAfterIt) {
  const Actor alice = world().brief_client();
  const Hold hold = must_acquire(alice, "job");
  EXPECT_TRUE(close(alice));
  const std::size_t before = alice.sent(Operation::renew);
  world().sleep(world().lease());
  EXPECT_EQ(alice.sent(Operation::renew), before);
}

TEST_P(Close, ReleasesThatWereOnlySentArrive) {
  const Actor alice = world().client();
  std::vector<Hold> holds;
  for (int i = 0; i < 20; ++i) holds.push_back(must_acquire(alice, "job " + std::to_string(i)));
  holds.clear();
  EXPECT_TRUE(close(alice));
  EXPECT_TRUE(world().views().empty());
  EXPECT_EQ(alice.metrics().released, 20U);
  EXPECT_EQ(alice.metrics().lost, 0U);
}

TEST_P(Close, TwiceIsFine) {
  const Actor alice = world().client();
  const Hold hold = must_acquire(alice, "job");
  EXPECT_TRUE(close(alice));
  EXPECT_TRUE(close(alice));
}

TEST_P(Close, TwiceAtTheSameTimeIsFineToo) {
  const Actor alice = world().client();
  const Hold hold = must_acquire(alice, "job");
  alice.faults().delay_all(a_moment());
  Started<Result<void>> first = start(alice, alice.core()->close(world().hang()));
  Started<Result<void>> second = start(alice, alice.core()->close(world().hang()));
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
}

TEST_P(Close, AnIdleClientClosesAtOnce) {
  const Actor alice = world().client();
  EXPECT_TRUE(close(alice));
  EXPECT_EQ(alice.sent(Operation::open_session), 0U);
}

TEST_P(Close, AStoreThatIsAwayIsWaitedForInBoundedTime) {
  const Actor alice = world().brief_client();
  const Hold hold = must_acquire(alice, "job");
  world().cut(alice);
  const Time began = world().now();
  const Duration within = 2 * a_moment();
  EXPECT_EQ(close(alice, within).code(), Errc::outcome_unknown);
  if (world().virtual_time()) {
    EXPECT_EQ(world().now() - began, within);
  }
  EXPECT_TRUE(world().eventually([&] { return hold.lost().stop_requested(); }));
}

TEST_P(Close, AHandleThatOutlivesItDoesNoHarm) {
  const Actor alice = world().client();
  const auto mutex = alice.mutex("job");
  { const Hold hold = start_acquire(alice, mutex).get().value(); }
  EXPECT_TRUE(close(alice));
  EXPECT_EQ(mutex->name(), "job");
  EXPECT_EQ(start_acquire(alice, mutex, {.wait = 0s}).get().code(), Errc::closed);
}

}  // namespace pawl::contract
