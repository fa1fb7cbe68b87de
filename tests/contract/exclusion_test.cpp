// Promise: at most one holder at a time, and only the owner lets go.

#include "tests/contract/contract.hpp"

#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace pawl::contract {

PAWL_CONTRACT(Exclusion);

TEST_P(Exclusion, TheSecondClientIsRefusedWhileTheFirstHolds) {
  const Actor alice = world().client(), bob = world().client();
  Hold first = must_acquire(alice, "job");
  EXPECT_EQ(try_acquire(bob, "job").code(), Errc::busy);

  EXPECT_TRUE(release(alice, first));
  EXPECT_TRUE(try_acquire(bob, "job"));
}

TEST_P(Exclusion, AWaiterIsGrantedWhenTheHolderLetsGo) {
  const Actor alice = world().client(), bob = world().client();
  Hold first = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  EXPECT_FALSE(bobs.ready());

  EXPECT_TRUE(release(alice, first));
  EXPECT_TRUE(bobs.get().value().valid());
}

namespace {

struct Room {
  std::atomic<int> inside = 0;
  std::atomic<int> visits = 0;
  std::atomic<int> met_somebody = 0;
};

awaitable<int> visit(std::shared_ptr<lock::LockCore> mutex, Room& room, int times) {
  for (int i = 0; i < times; ++i) {
    const AcquireOptions options;
    Result<Hold> hold = co_await mutex->acquire(options, std::stop_token());
    if (!hold) co_return 0;
    if (++room.inside != 1) ++room.met_somebody;
    ++room.visits;
    co_await base::sleep_for(mutex->client().runtime(), 100us);
    --room.inside;
  }
  co_return times;
}

}  // namespace

TEST_P(Exclusion, NobodyMeetsAnybodyInside) {
  Room room;
  std::vector<Started<int>> all;
  for (int i = 0; i < 6; ++i) {
    const Actor actor = world().client();
    for (int task = 0; task < 3; ++task) all.push_back(start(actor, visit(actor.mutex("room"), room, 10)));
  }
  for (Started<int>& one : all) EXPECT_EQ(one.get(), 10);
  EXPECT_EQ(room.met_somebody, 0);
  EXPECT_EQ(room.visits, 180);
}

TEST_P(Exclusion, AHoldIsReleasedWhenItGoesOutOfScope) {
  const Actor alice = world().client(), bob = world().client();
  { const Hold hold = must_acquire(alice, "job"); }
  EXPECT_TRUE(acquire(bob, "job", {.wait = world().hang()}));
}

TEST_P(Exclusion, AMovedHoldIsReleasedOnceAndByItsLastOwner) {
  const Actor alice = world().client(), bob = world().client();
  Hold first = must_acquire(alice, "job");
  Hold second = std::move(first);
  EXPECT_EQ(first.state(), HoldState::released);  // NOLINT(bugprone-use-after-move): that is the claim
  EXPECT_EQ(second.state(), HoldState::held);
  EXPECT_EQ(try_acquire(bob, "job").code(), Errc::busy);

  second = must_acquire(alice, "another job");
  EXPECT_TRUE(acquire(bob, "job", {.wait = world().hang()}));
  EXPECT_EQ(alice.metrics().released, 1);
}

TEST_P(Exclusion, AnEmptyHoldIsReleasedAndHoldsNothing) {
  Hold hold;
  EXPECT_EQ(hold.state(), HoldState::released);
  EXPECT_EQ(hold.remaining(), 0s);
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(hold.token(), Token());
  EXPECT_FALSE(hold.lost().stop_requested());
  EXPECT_EQ(hold.release().code(), Errc::not_owner);
}

TEST_P(Exclusion, ReleasingTwiceIsNotOwner) {
  const Actor alice = world().client(), bob = world().client();
  Hold hold = must_acquire(alice, "job");
  EXPECT_TRUE(release(alice, hold));
  const Hold bobs = must_acquire(bob, "job");
  EXPECT_EQ(release(alice, hold).code(), Errc::not_owner);
  EXPECT_EQ(hold.state(), HoldState::released);
  EXPECT_TRUE(bobs.valid());
  EXPECT_EQ(world().view("job").holders.size(), 1U);
}

TEST_P(Exclusion, DifferentNamesAreDifferentLocks) {
  const Actor alice = world().client(), bob = world().client();
  const Hold one = must_acquire(alice, "job/1");
  EXPECT_TRUE(try_acquire(bob, "job/2"));
  EXPECT_TRUE(try_acquire(alice, "job/3"));
}

TEST_P(Exclusion, AllHandlesOfANameInOneClientAreOneLock) {
  const Actor alice = world().client();
  const Hold hold = must_acquire(alice, "job");
  EXPECT_EQ(try_acquire(alice, "job").code(), Errc::busy);
}

// Scenario: alice's lease is over at the store and bob holds. Whatever alice still sends must not touch bob.
TEST_P(Exclusion, WhoeverWasOvertakenCannotReleaseTheNextHolder) {
  const Actor alice = world().client(), bob = world().client();
  Hold alices = must_acquire(alice, "job");
  world().expire(alice);
  const Hold bobs = must_acquire(bob, "job");

  EXPECT_EQ(release(alice, alices).code(), Errc::lost);
  EXPECT_TRUE(bobs.valid());
  const LockView view = world().view("job");
  ASSERT_EQ(view.holders.size(), 1U);
  EXPECT_EQ(view.holders[0].token, bobs.token());
}

// Scenario: the release is under way for longer than the lease, and arrives when bob holds.
TEST_P(Exclusion, AReleaseThatArrivesLateLeavesTheNextHolderAlone) {
  const Actor alice = world().brief_client(), bob = world().client();
  Hold alices = must_acquire(alice, "job");
  alice.faults().delay_all(3 * world().lease() / 2);
  Started<Result<void>> releasing = start_release(alice, alices);
  const Hold bobs = must_acquire(bob, "job");
  EXPECT_FALSE(releasing.get());

  world().sleep(2 * world().lease());
  const LockView view = world().view("job");
  ASSERT_EQ(view.holders.size(), 1U);
  EXPECT_EQ(view.holders[0].token, bobs.token());
  EXPECT_TRUE(bobs.valid());
}

TEST_P(Exclusion, RequestsThatArriveTwiceChangeNothing) {
  // A session that is opened twice ends with its lease.
  const Actor alice = world().client({.lease = sturdy_lease()}), bob = world().client({.lease = sturdy_lease()});
  alice.faults().duplicate(true);
  bob.faults().duplicate(true);
  for (int round = 0; round < 5; ++round) {
    Hold alices = must_acquire(alice, "job");
    EXPECT_EQ(try_acquire(bob, "job").code(), Errc::busy);
    EXPECT_TRUE(release(alice, alices));
    Hold bobs = must_acquire(bob, "job");
    EXPECT_GT(bobs.token(), alices.token());
  }
}

}  // namespace pawl::contract
