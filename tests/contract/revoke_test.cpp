// Promise: whoever asks for a lock is heard by its holder; `now` takes exactly one claim away, by its id.

#include "tests/contract/contract.hpp"

#include <string>

namespace pawl::contract {

PAWL_CONTRACT(Revoke);

namespace {

bool is_asked(const Hold& hold) { return hold.release_requested().stop_requested(); }

}  // namespace

TEST_P(Revoke, TheHolderIsAskedAndDecidesItself) {
  PAWL_NEEDS(revocable);
  const Actor alice = world().client(), bob = world().client();
  Hold hold = must_acquire(alice, "job");
  EXPECT_FALSE(is_asked(hold));
  EXPECT_TRUE(revoke(bob, "job"));
  EXPECT_TRUE(world().eventually([&] { return is_asked(hold); }));
  EXPECT_TRUE(hold.valid());
  EXPECT_FALSE(is_lost(hold));
  EXPECT_TRUE(world().view("job").holders.at(0).release_requested);
  EXPECT_EQ(try_acquire(bob, "job").code(), Errc::busy);
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(try_acquire(bob, "job"));
}

TEST_P(Revoke, WhoeverWaitsIsNotLetInBecauseTheHolderIsAsked) {
  PAWL_NEEDS(revocable);
  const Actor alice = world().client(), bob = world().client();
  Hold hold = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  EXPECT_TRUE(revoke(bob, "job"));
  EXPECT_TRUE(world().eventually([&] { return is_asked(hold); }));
  world().sleep(a_moment());
  EXPECT_FALSE(bobs.ready());
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(bobs.get());
}

TEST_P(Revoke, TheHolderIsAskedAlsoWhenTheNoticeIsLost) {
  PAWL_NEEDS(revocable);
  const Actor bob = world().client();
  expect_undisturbed([&] {
    const Actor alice = world().client({.lease = sturdy_lease()});
    alice.faults().drop_notices(true);
    const Hold hold = must_acquire(alice, "job");
    const Errc asked = revoke(bob, "job").code();
    if (is_lost(hold) || !lives_until(hold, [&] { return is_asked(hold); })) return "its lease was over first";
    EXPECT_EQ(asked, no_error);
    return "";
  });
}

// Scenario: as before, and the first look at what has changed gets no answer either.
TEST_P(Revoke, TheHolderIsAskedAlsoWhenTheFirstLookFails) {
  PAWL_NEEDS(revocable);
  const Actor bob = world().client();
  expect_undisturbed([&] {
    const Actor alice = world().client({.lease = sturdy_lease()});
    alice.faults().drop_notices(true);
    alice.faults().lose_next_reply(Operation::look);
    const Hold hold = must_acquire(alice, "job");
    const Errc asked = revoke(bob, "job").code();
    if (is_lost(hold) || !lives_until(hold, [&] { return is_asked(hold); })) return "its lease was over first";
    EXPECT_EQ(asked, no_error);
    return "";
  });
}

TEST_P(Revoke, AnAskedLockIsNotPassedOnInsideTheClient) {
  PAWL_NEEDS(revocable);
  PAWL_NEEDS(fair);  // otherwise the same client may be the first to ask again
  const Actor alice = world().client(), bob = world().client();
  Hold first = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  StartedHold second = start_acquire(alice, "job");
  EXPECT_TRUE(revoke(bob, "job"));
  EXPECT_TRUE(world().eventually([&] { return is_asked(first); }));
  EXPECT_TRUE(release(alice, first));
  Hold bobs_hold = bobs.get().value();
  EXPECT_FALSE(second.ready());
  EXPECT_TRUE(release(bob, bobs_hold));
  EXPECT_FALSE(is_asked(second.get().value()));
}

TEST_P(Revoke, NowTakesTheLockAwayAndTheNextIsGranted) {
  PAWL_NEEDS(revocable);
  const Actor alice = world().client(), bob = world().client(), operator_ = world().client();
  Hold alices = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  EXPECT_TRUE(revoke(operator_, "job", {.now = true}));
  const Hold next = bobs.get().value();
  EXPECT_TRUE(world().eventually([&] { return is_lost(alices); }));
  EXPECT_EQ(alices.remaining(), 0s);
  EXPECT_EQ(release(alice, alices).code(), Errc::lost);
  EXPECT_TRUE(next.valid());
}

TEST_P(Revoke, NowIsNoticedAlsoWhenTheNoticeIsLost) {
  PAWL_NEEDS(revocable);
  const Actor alice = world().client({.lease = sturdy_lease()}), bob = world().client();
  alice.faults().drop_notices(true);
  const Hold hold = must_acquire(alice, "job");
  const Time began = world().now();
  EXPECT_TRUE(revoke(bob, "job", {.now = true}));
  EXPECT_TRUE(world().eventually([&] { return is_lost(hold); }));
  if (world().virtual_time()) {
    EXPECT_LE(world().now() - began, sturdy_lease() / 3);
  }
}

TEST_P(Revoke, OtherLocksOfTheSameClientAreLeftAlone) {
  PAWL_NEEDS(revocable);
  const Actor alice = world().client(), bob = world().client();
  const Hold taken = must_acquire(alice, "job"), kept = must_acquire(alice, "other job");
  EXPECT_TRUE(revoke(bob, "job", {.now = true}));
  EXPECT_TRUE(world().eventually([&] { return is_lost(taken); }));
  EXPECT_TRUE(kept.valid());
  EXPECT_FALSE(is_lost(kept));
}

TEST_P(Revoke, AfterNowTheSameClientCanHoldAgain) {
  PAWL_NEEDS(revocable);
  const Actor alice = world().client(), bob = world().client();
  const Hold taken = must_acquire(alice, "job");
  EXPECT_TRUE(revoke(bob, "job", {.now = true}));
  EXPECT_TRUE(world().eventually([&] { return is_lost(taken); }));
  EXPECT_GT(must_acquire(alice, "job").token(), taken.token());
}

TEST_P(Revoke, NowEndsTheWaitOfAWaiter) {
  PAWL_NEEDS(revocable);
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  const std::string claim = world().view("job").waiters.at(0).claim;
  EXPECT_TRUE(revoke(alice, "job", {.now = true, .claim = claim}));
  EXPECT_EQ(bobs.get().code(), Errc::lost);
  EXPECT_TRUE(world().view("job").waiters.empty());
  EXPECT_TRUE(hold.valid());
}

TEST_P(Revoke, NowEndsTheWaitOfAWaiterAlsoWhenTheNoticeIsLost) {
  PAWL_NEEDS(revocable);
  const Actor alice = world().client(), bob = world().client({.lease = sturdy_lease()});
  bob.faults().drop_notices(true);
  const Hold hold = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  const std::string claim = world().view("job").waiters.at(0).claim;
  EXPECT_TRUE(revoke(alice, "job", {.now = true, .claim = claim}));
  EXPECT_EQ(bobs.get().code(), Errc::lost);
}

TEST_P(Revoke, NothingIsRevokedByNameAlone) {
  PAWL_NEEDS(revocable);
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job"), other = must_acquire(alice, "other job");
  const std::string others_claim = world().view("other job").holders.at(0).claim;
  EXPECT_EQ(revoke(bob, "job", {.now = true, .claim = std::string(32, 'a')}).code(), Errc::not_owner);
  EXPECT_EQ(revoke(bob, "job", {.now = true, .claim = others_claim}).code(), Errc::not_owner);
  EXPECT_EQ(revoke(bob, "job", {.claim = std::string(32, 'a')}).code(), Errc::not_owner);
  EXPECT_EQ(revoke(bob, "job", {.now = true, .claim = "not hex"}).code(), Errc::invalid_argument);
  world().sleep(a_moment());
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(other.valid());
  EXPECT_FALSE(is_asked(hold));
}

TEST_P(Revoke, WhereNobodyHoldsThereIsNothingToRevoke) {
  PAWL_NEEDS(revocable);
  const Actor alice = world().client();
  EXPECT_EQ(revoke(alice, "job").code(), Errc::not_owner);
  EXPECT_EQ(revoke(alice, "job", {.now = true}).code(), Errc::not_owner);
}

TEST_P(Revoke, AClaimIsRevokedOnce) {
  PAWL_NEEDS(revocable);
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job");
  const std::string claim = world().view("job").holders.at(0).claim;
  EXPECT_TRUE(revoke(bob, "job", {.now = true, .claim = claim}));
  const Hold next = must_acquire(bob, "job");
  EXPECT_EQ(revoke(alice, "job", {.now = true, .claim = claim}).code(), Errc::not_owner);
  EXPECT_TRUE(next.valid());
}

}  // namespace pawl::contract
