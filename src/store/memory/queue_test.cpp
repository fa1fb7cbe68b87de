#include "store/memory/queue.hpp"

#include "tests/support/actor.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl::store::memory {
namespace {

using namespace test;
using What = Notice::What;

class QueueTest : public StoreScene {};

TEST_F(QueueTest, AFreeLockIsGrantedWithATokenOfThisEpoch) {
  Actor alice = actor("alice");
  const auto grant = granted(alice.claim(alice.wish("job")));
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->token, Token(1'700'000'000'000, 1));
  EXPECT_FALSE(grant->contended);
}

TEST_F(QueueTest, TheNextHolderGetsALargerTokenWhateverTheLock) {
  Actor alice = actor("alice");
  const Claim first = alice.wish("job");
  const Token before = granted(alice.claim(first))->token;
  alice.withdraw(first);
  EXPECT_GT(granted(alice.claim(alice.wish("job")))->token, before);
  EXPECT_GT(granted(alice.claim(alice.wish("other")))->token, before);
}

TEST_F(QueueTest, AClaimIsIdempotent) {
  Actor alice = actor("alice"), bob = actor("bob"), carol = actor("carol");
  const Claim held = alice.wish("job"), second = bob.wish("job"), third = carol.wish("job");
  const Token token = granted(alice.claim(held))->token;
  EXPECT_EQ(granted(alice.claim(held))->token, token);
  EXPECT_TRUE(waiting(bob.claim(second)));
  EXPECT_TRUE(waiting(carol.claim(third)));
  EXPECT_TRUE(waiting(bob.claim(second)));
  EXPECT_TRUE(granted(alice.claim(held))->contended);
  EXPECT_EQ(census().claims, 3u);
  alice.withdraw(held);
  EXPECT_EQ(bob.look(second).place, Standing::Place::held) << "asking again must not cost the place";
}

TEST_F(QueueTest, AClaimIdOfAnotherLockIsRefused) {
  Actor alice = actor("alice");
  Claim claim = alice.wish("job");
  alice.claim(claim).value();
  claim.key = key("other");
  EXPECT_EQ(alice.claim(claim).code(), Errc::invalid_argument);
}

TEST_F(QueueTest, AClaimOfAnUnknownSessionIsLost) {
  Actor alice = actor("alice");
  Claim claim = alice.wish("job");
  alice.close();
  EXPECT_EQ(alice.claim(claim).code(), Errc::lost);
  EXPECT_EQ(census().keys, 0u);
}

TEST_F(QueueTest, WhatCanNeverBeIsRefusedAndLeavesNothing) {
  Actor alice = actor("alice");
  Claim claim = alice.wish("job");
  claim.mode = Mode::shared;
  EXPECT_EQ(alice.claim(claim).code(), Errc::invalid_argument) << "only rw is shared";
  EXPECT_EQ(alice.claim(alice.permits_wish("job", 4, 3)).code(), Errc::invalid_argument);
  EXPECT_EQ(alice.claim(alice.permits_wish("job", 0, 3)).code(), Errc::invalid_argument);
  EXPECT_EQ(census().keys, 0u);
  EXPECT_EQ(census().claims, 0u);
}

TEST_F(QueueTest, KindsNeverMeet) {
  Actor alice = actor("alice"), bob = actor("bob");
  Claim mutex = alice.wish("job"), election = bob.wish("job");
  election.key.kind = Kind::election;
  EXPECT_TRUE(granted(alice.claim(mutex)));
  EXPECT_TRUE(granted(bob.claim(election)));
}

TEST_F(QueueTest, ATryLeavesNoTrace) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim held = alice.wish("job");
  Claim attempt = bob.wish("job");
  attempt.may_queue = false;
  alice.claim(held).value();
  EXPECT_TRUE(waiting(bob.claim(attempt)));
  EXPECT_EQ(bob.look(attempt).place, Standing::Place::gone);
  EXPECT_TRUE(alice.told.empty());
  alice.withdraw(held);
  EXPECT_EQ(census().claims, 0u);
  EXPECT_TRUE(granted(bob.claim(attempt)));
}

TEST_F(QueueTest, TheReleasePassesTheLockToTheHeadAndTellsIt) {
  Actor alice = actor("alice"), bob = actor("bob"), carol = actor("carol");
  const Claim first = alice.wish("job"), second = bob.wish("job"), third = carol.wish("job");
  const Token token = granted(alice.claim(first))->token;
  bob.claim(second).value();
  carol.claim(third).value();

  EXPECT_EQ(alice.withdraw(first), Withdrawn::done);
  ASSERT_EQ(bob.told.size(), 1u);
  EXPECT_EQ(bob.told[0].what, What::granted);
  EXPECT_GT(bob.told[0].grant.token, token);
  EXPECT_TRUE(bob.told[0].grant.contended);
  EXPECT_EQ(granted(bob.claim(second))->token, bob.told[0].grant.token);
  EXPECT_TRUE(carol.told.empty()) << "exactly the next one is woken";

  bob.withdraw(second);
  ASSERT_EQ(carol.told.size(), 1u);
  EXPECT_FALSE(carol.told[0].grant.contended);
}

TEST_F(QueueTest, ServesInTheOrderOfArrival) {
  Actor holder = actor("holder"), waiter = actor("waiter");
  std::vector<Claim> claims;
  claims.push_back(holder.wish("job"));
  holder.claim(claims[0]).value();
  for (int i = 1; i <= 20; ++i) {
    claims.push_back(waiter.wish("job"));
    waiter.claim(claims.back()).value();
  }
  waiter.withdraw(claims[3]);  // one in the middle gives up
  holder.withdraw(claims[0]);
  for (std::size_t i = 1; i < claims.size(); ++i) {
    if (i == 3) continue;
    EXPECT_EQ(waiter.look(claims[i]).place, Standing::Place::held) << i;
    waiter.withdraw(claims[i]);
  }
  EXPECT_EQ(census().keys, 0u);
}

TEST_F(QueueTest, TheHolderHearsOfTheFirstWaiterOnly) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim held = alice.wish("job"), second = bob.wish("job"), third = bob.wish("job");
  EXPECT_FALSE(granted(alice.claim(held))->contended);
  bob.claim(second).value();
  bob.claim(third).value();
  ASSERT_EQ(alice.told.size(), 1u);
  EXPECT_EQ(alice.told[0].what, What::contended);
  EXPECT_TRUE(alice.look(held).contended);

  bob.withdraw(second);
  bob.withdraw(third);
  EXPECT_FALSE(alice.look(held).contended);
  bob.claim(bob.wish("job")).value();
  EXPECT_EQ(alice.told.size(), 2u) << "contended anew after everybody had left";
}

TEST_F(QueueTest, WaitingNamesTheHolderAndWhatIsAhead) {
  Actor alice = actor("alice"), bob = actor("bob");
  Claim held = alice.wish("job");
  held.label = "nightly backup";
  alice.claim(held).value();
  const auto second = waiting(bob.claim(bob.wish("job")));
  const auto third = waiting(bob.claim(bob.wish("job")));
  ASSERT_TRUE(second && third);
  ASSERT_TRUE(second->holder);
  EXPECT_EQ(second->holder->host, "here");
  EXPECT_EQ(second->holder->label, "nightly backup");
  EXPECT_EQ(second->ahead, 1u);
  EXPECT_EQ(third->ahead, 2u);
}

TEST_F(QueueTest, LockDelayCountsFromTheExpiry) {
  Actor alice = actor("alice", 3s), bob = actor("bob", 60s);
  Claim held = alice.wish("job");
  held.lock_delay = 5s;
  const Claim next = bob.wish("job");
  alice.claim(held).value();
  bob.claim(next).value();
  pass(6s);  // 3 s after the expiry, which nobody has noticed yet
  const auto state = waiting(bob.claim(next));
  ASSERT_TRUE(state);
  EXPECT_FALSE(state->holder);
  EXPECT_EQ(state->ahead, 0u);
  EXPECT_EQ(state->look_again_in, 2s + 1ms);
  EXPECT_EQ(bob.inspect("job").shut_for, 2s);
  pass(2s - 1ns);
  EXPECT_TRUE(waiting(bob.claim(next)));
  pass(1ns);
  EXPECT_TRUE(granted(bob.claim(next)));
}

TEST_F(QueueTest, AnybodysRequestEndsALockDelay) {
  Actor alice = actor("alice"), bob = actor("bob");
  Claim held = alice.wish("job");
  held.lock_delay = 5s;
  const Claim next = bob.wish("job");
  alice.claim(held).value();
  bob.claim(next).value();
  alice.withdraw(held, {.ending = Ending::failed});
  pass(5s);
  EXPECT_TRUE(alice.renew());
  ASSERT_EQ(bob.told.size(), 2u);
  EXPECT_EQ(bob.told[0].what, What::look_again);
  EXPECT_EQ(bob.told[1].what, What::granted);
}

TEST_F(QueueTest, WhenALockIsShutItsHeadLearnsForHowLong) {
  Actor alice = actor("alice"), bob = actor("bob"), carol = actor("carol");
  Claim held = alice.wish("job");
  held.lock_delay = 5s;
  const Claim second = bob.wish("job"), third = carol.wish("job");
  alice.claim(held).value();
  bob.claim(second).value();
  carol.claim(third).value();
  alice.withdraw(held, {.ending = Ending::failed});
  ASSERT_EQ(bob.told.size(), 1u);
  EXPECT_EQ(bob.told[0].what, What::look_again);
  EXPECT_EQ(waiting(bob.claim(second))->look_again_in, 5s + 1ms);
  EXPECT_TRUE(carol.told.empty());
  bob.withdraw(second);
  ASSERT_EQ(carol.told.size(), 1u) << "carol is the head now";
  EXPECT_EQ(waiting(carol.claim(third))->look_again_in, 5s + 1ms);
}

TEST_F(QueueTest, ACloseWithAHoldIsAFailure) {
  Actor alice = actor("alice"), bob = actor("bob");
  Claim held = alice.wish("job");
  held.lock_delay = 5s;
  alice.claim(held).value();
  alice.close();
  EXPECT_TRUE(waiting(bob.claim(bob.wish("job"))));
}

TEST_F(QueueTest, ACleanReleaseKnowsNoLockDelay) {
  Actor alice = actor("alice"), bob = actor("bob");
  Claim held = alice.wish("job");
  held.lock_delay = 5s;
  alice.claim(held).value();
  alice.withdraw(held);
  EXPECT_TRUE(granted(bob.claim(bob.wish("job"))));
}

TEST_F(QueueTest, AShutLockIsForgottenWhenItsDelayIsOver) {
  Actor alice = actor("alice");
  Claim held = alice.wish("job");
  held.lock_delay = 5s;
  alice.claim(held).value();
  alice.withdraw(held, {.ending = Ending::failed});
  EXPECT_EQ(census().keys, 1u);
  EXPECT_EQ(alice.list("").size(), 1u);
  pass(5s);
  EXPECT_EQ(census().keys, 0u);
}

TEST_F(QueueTest, OnlyTheOwnerReleases) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim held = alice.wish("job");
  alice.claim(held).value();
  EXPECT_EQ(bob.withdraw(bob.wish("job")), Withdrawn::not_there);
  Claim forged = held;
  forged.session = bob.session;
  EXPECT_EQ(bob.withdraw(forged), Withdrawn::not_there);
  forged = held;
  forged.key = key("other");
  EXPECT_EQ(alice.withdraw(forged), Withdrawn::not_there);
  EXPECT_EQ(alice.look(held).place, Standing::Place::held);
  EXPECT_EQ(alice.withdraw(held), Withdrawn::done);
  EXPECT_EQ(alice.withdraw(held), Withdrawn::not_there);
}

TEST_F(QueueTest, ALateClaimAfterAnUnsettledWithdrawalIsRefused) {
  Actor alice = actor("alice");
  const Claim late = alice.wish("job");
  EXPECT_EQ(alice.withdraw(late, {.unsettled = true}), Withdrawn::not_there);
  EXPECT_EQ(alice.claim(late).code(), Errc::not_owner);
  EXPECT_EQ(census().claims, 0u);
  EXPECT_EQ(census().tombstones, 1u);
}

TEST_F(QueueTest, TombstonesEndWithTheirSession) {
  Actor alice = actor("alice", 3s);
  const Claim claim = alice.wish("job");
  alice.claim(claim).value();
  EXPECT_EQ(alice.withdraw(claim, {.unsettled = true}), Withdrawn::done);
  EXPECT_EQ(census().tombstones, 1u);
  pass(3s);
  EXPECT_EQ(alice.withdraw(claim, {.unsettled = true}), Withdrawn::not_there);
  EXPECT_EQ(census().tombstones, 0u);
}

TEST_F(QueueTest, ASettledWithdrawalLeavesNothing) {
  Actor alice = actor("alice");
  const Claim claim = alice.wish("job");
  alice.claim(claim).value();
  alice.withdraw(claim);
  EXPECT_EQ(census(), (Census{.sessions = 1, .watches = 1}));
}

TEST_F(QueueTest, LookAgainComesAfterTheFirstExpiryOfAnySession) {
  Actor alice = actor("alice", 30s), bob = actor("bob", 30s), stranger = actor("stranger", 4s);
  alice.claim(alice.wish("job")).value();
  EXPECT_EQ(waiting(bob.claim(bob.wish("job")))->look_again_in, 4s + 1ms);
}

TEST_F(QueueTest, LookAgainIsAtMostAThirdOfTheLeaseAndAtLeastAMillisecond) {
  Actor alice = actor("alice", 30s), bob = actor("bob", 30s);
  alice.claim(alice.wish("job")).value();
  Claim claim = bob.wish("job");
  EXPECT_EQ(waiting(bob.claim(claim))->look_again_in, 10s);
  claim.id = {1, 1};
  claim.lease = 1us;
  EXPECT_EQ(waiting(bob.claim(claim))->look_again_in, 1ms);
}

using Named = std::vector<ClaimId>;

TEST_F(QueueTest, ARenewalNamesTheClaimsThatWereToldSomething) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim held = alice.wish("job"), other = alice.wish("other"), next = bob.wish("job");
  alice.claim(held).value();
  alice.claim(other).value();
  EXPECT_EQ(alice.changed(), Named{}) << "the answer to a claim is no news";
  bob.claim(next).value();
  EXPECT_EQ(alice.changed(), Named{held.id}) << "contended";
  EXPECT_EQ(alice.changed(), Named{held.id}) << "until it is asked about";
  alice.look(held);
  EXPECT_EQ(alice.changed(), Named{});
  EXPECT_TRUE(bob.revoke(held, false));
  EXPECT_EQ(alice.changed(), Named{held.id}) << "asked to release";
  alice.claim(held).value();
  EXPECT_EQ(alice.changed(), Named{});
  EXPECT_TRUE(bob.revoke(held, true));
  EXPECT_EQ(alice.changed(), Named{held.id}) << "taken away";
  EXPECT_EQ(bob.changed(), Named{next.id}) << "and granted to the next one";
  EXPECT_EQ(alice.withdraw(held), Withdrawn::not_there);
  EXPECT_EQ(alice.changed(), Named{});
}

TEST_F(QueueTest, TheChangeNumberMovesWhileClaimsAreNamed) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim held = alice.wish("job");
  alice.claim(held).value();
  EXPECT_EQ(alice.changes(), 0u);
  bob.claim(bob.wish("job")).value();
  EXPECT_EQ(alice.changes(), 1u);
  alice.look(held);
  EXPECT_EQ(alice.changes(), 1u);
}

TEST_F(QueueTest, AskingReachesTheHolderAndChangesNothingElse) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim held = alice.wish("job"), next = bob.wish("job");
  alice.claim(held).value();
  bob.claim(next).value();
  alice.told.clear();
  EXPECT_TRUE(bob.revoke(held, false));
  ASSERT_EQ(alice.told.size(), 1u);
  EXPECT_EQ(alice.told[0].what, What::release_requested);
  EXPECT_TRUE(alice.look(held).release_requested);
  EXPECT_TRUE(alice.inspect("job").holders.at(0).release_requested);
  EXPECT_EQ(bob.look(next).place, Standing::Place::waiting);
}

TEST_F(QueueTest, AskingConcernsHoldersOnly) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim held = alice.wish("job"), next = bob.wish("job");
  alice.claim(held).value();
  bob.claim(next).value();
  EXPECT_FALSE(alice.revoke(next, false));
  EXPECT_FALSE(alice.revoke(alice.wish("job"), false));
  EXPECT_FALSE(alice.revoke(alice.wish("job"), true));
  EXPECT_TRUE(bob.told.empty());
}

TEST_F(QueueTest, TakingAwayPassesTheLockOnWithoutDelay) {
  Actor alice = actor("alice"), bob = actor("bob");
  Claim held = alice.wish("job");
  held.lock_delay = 5s;
  const Claim next = bob.wish("job");
  alice.claim(held).value();
  bob.claim(next).value();
  EXPECT_TRUE(bob.revoke(held, true));
  EXPECT_EQ(alice.told.back().what, What::gone);
  EXPECT_EQ(alice.look(held).place, Standing::Place::gone);
  EXPECT_EQ(bob.look(next).place, Standing::Place::held);
}

TEST_F(QueueTest, AWaiterThatWasTakenAwayDoesNotComeBack) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim held = alice.wish("job"), next = bob.wish("job");
  alice.claim(held).value();
  bob.claim(next).value();
  EXPECT_TRUE(alice.revoke(next, true));
  EXPECT_EQ(bob.told.back().what, What::gone);
  EXPECT_EQ(bob.claim(next).code(), Errc::not_owner) << "as if the notice had been lost";
}

TEST_F(QueueTest, CheckKnowsTheStandingGrantWhateverItsSub) {
  Actor alice = actor("alice");
  const Claim held = alice.wish("job");
  const Token token = granted(alice.claim(held))->token;
  EXPECT_TRUE(alice.check("job", token));
  EXPECT_TRUE(alice.check("job", token.with_sub(9)));
  EXPECT_FALSE(alice.check("job", Token(token.epoch(), token.counter() + 1)));
  EXPECT_FALSE(alice.check("job", Token(token.epoch() + 1, token.counter())));
  EXPECT_FALSE(alice.check("other", token));
  alice.withdraw(held);
  EXPECT_FALSE(alice.check("job", token));
}

TEST_F(QueueTest, InspectShowsHolderWaitersAndAges) {
  Actor alice = actor("alice", 30s), bob = actor("bob", 60s);
  const Claim held = alice.wish("job"), second = bob.wish("job"), third = bob.wish("job");
  const Token token = granted(alice.claim(held))->token;
  pass(1s);
  bob.claim(second).value();
  bob.claim(third).value();
  pass(2s);
  const LockView view = bob.inspect("job");
  EXPECT_EQ(view.name, "job");
  EXPECT_EQ(view.scheme, "queue");
  ASSERT_EQ(view.holders.size(), 1u);
  EXPECT_EQ(view.holders[0].claim, to_string(held.id));
  EXPECT_EQ(view.holders[0].owner.label, "alice");
  EXPECT_EQ(view.holders[0].token, token);
  EXPECT_EQ(view.holders[0].age, 3s);
  EXPECT_EQ(view.holders[0].lease_left, 27s);
  ASSERT_EQ(view.waiters.size(), 2u);
  EXPECT_EQ(view.waiters[0].claim, to_string(second.id));
  EXPECT_EQ(view.waiters[1].claim, to_string(third.id));
  EXPECT_EQ(view.waiters[0].age, 2s);
}

TEST_F(QueueTest, AClaimTakesANewLabel) {
  Actor alice = actor("alice");
  Claim held = alice.wish("job");
  alice.claim(held).value();
  held.label = "second thread";
  EXPECT_TRUE(alice.run(alice.scheme().relabel(held, alice.soon())));
  EXPECT_EQ(alice.inspect("job").holders.at(0).owner.label, "second thread");
  EXPECT_TRUE(alice.run(alice.scheme().relabel(alice.wish("job"), alice.soon()))) << "for people only: never an error";
}

TEST_F(QueueTest, AnUnusedLockGivesAnEmptyViewAndIsNotListed) {
  Actor alice = actor("alice");
  const LockView view = alice.inspect("job");
  EXPECT_EQ(view.name, "job");
  EXPECT_TRUE(view.holders.empty() && view.waiters.empty());
  EXPECT_TRUE(alice.list("").empty());
}

TEST_F(QueueTest, ListIsSortedByKindThenNameAndCutByThePrefix) {
  Actor alice = actor("alice");
  Claim election = alice.wish("a/0");
  election.key.kind = Kind::election;
  alice.claim(election).value();
  for (const char* name : {"b/1", "a/2", "a/1"}) alice.claim(alice.wish(name)).value();
  std::vector<std::string> names;
  for (const LockView& view : alice.list("a/")) names.push_back(view.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a/1", "a/2", "a/0"}));
  EXPECT_EQ(alice.list("").size(), 4u);
  EXPECT_TRUE(alice.list("c").empty());
}

TEST_F(QueueTest, NobodyIsToldAfterUnwatchOrAfterTheStoreHasGone) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim held = alice.wish("job");
  alice.claim(held).value();
  alice.scheme().unwatch(held.id);
  {
    Actor carol = actor("carol");
    carol.claim(carol.wish("job")).value();
    EXPECT_EQ(census().watches, 1u);
  }
  EXPECT_EQ(census().watches, 0u);
  alice.withdraw(held);
  EXPECT_TRUE(alice.told.empty());
}

TEST_F(QueueTest, AWakerMayAskTheStoreAgain) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim held = alice.wish("job"), next = bob.wish("job");
  alice.claim(held).value();
  Census seen;
  bob.scheme().watch(next.id, [&](const Notice&) { seen = census(); });  // would deadlock under the mutex
  bob.claim(next).value();
  alice.withdraw(held);
  EXPECT_EQ(seen.claims, 1u);
}

// readers and writers

TEST_F(QueueTest, ReadersShareEachWithATokenOfItsOwn) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim first = alice.read_wish("job"), second = bob.read_wish("job");
  const auto one = granted(alice.claim(first)), other = granted(bob.claim(second));
  ASSERT_TRUE(one && other);
  EXPECT_GT(other->token, one->token);
  EXPECT_FALSE(one->contended || other->contended);
  EXPECT_EQ(granted(alice.claim(first))->token, one->token) << "asked again";
  EXPECT_TRUE(alice.check("job", one->token, Kind::rw));
  EXPECT_TRUE(alice.check("job", other->token, Kind::rw));
  EXPECT_TRUE(alice.told.empty() && bob.told.empty());
}

TEST_F(QueueTest, AWriterIsAlone) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim writes = alice.write_wish("job"), reads = bob.read_wish("job"), writes_next = bob.write_wish("job");
  EXPECT_TRUE(granted(alice.claim(writes)));
  EXPECT_TRUE(waiting(bob.claim(reads)));
  EXPECT_TRUE(waiting(bob.claim(writes_next)));
  alice.withdraw(writes);
  EXPECT_TRUE(bob.holds(reads));
  EXPECT_FALSE(bob.holds(writes_next));
  bob.withdraw(reads);
  EXPECT_TRUE(bob.holds(writes_next));
}

TEST_F(QueueTest, AWriterComesInWhenTheLastReaderHasLeft) {
  Actor alice = actor("alice"), bob = actor("bob"), carol = actor("carol");
  const Claim first = alice.read_wish("job"), second = bob.read_wish("job"), writes = carol.write_wish("job");
  alice.claim(first).value();
  const Token token = granted(bob.claim(second))->token;
  const auto state = waiting(carol.claim(writes));
  ASSERT_TRUE(state);
  EXPECT_EQ(state->ahead, 2u);
  EXPECT_EQ(state->holder->label, "alice");
  ASSERT_EQ(alice.told.size(), 1u) << "both hear of it";
  ASSERT_EQ(bob.told.size(), 1u);
  EXPECT_EQ(bob.told[0].what, What::contended);
  EXPECT_TRUE(alice.look(first).contended && bob.look(second).contended);

  bob.withdraw(second);
  EXPECT_TRUE(carol.told.empty());
  alice.withdraw(first);
  ASSERT_EQ(carol.told.size(), 1u);
  EXPECT_EQ(carol.told[0].what, What::granted);
  EXPECT_GT(carol.told[0].grant.token, token);
}

TEST_F(QueueTest, AReaderDoesNotPassAWriterWhoWaits) {
  Actor alice = actor("alice"), bob = actor("bob"), carol = actor("carol"), dave = actor("dave");
  const Claim first = alice.read_wish("job"), writes = bob.write_wish("job");
  const Claim third = carol.read_wish("job"), fourth = dave.read_wish("job");
  alice.claim(first).value();
  bob.claim(writes).value();
  EXPECT_EQ(waiting(carol.claim(third))->ahead, 2u);
  Claim attempt = carol.read_wish("job");
  attempt.may_queue = false;
  EXPECT_TRUE(waiting(carol.claim(attempt))) << "nor does a try";
  dave.claim(fourth).value();

  alice.withdraw(first);
  EXPECT_TRUE(bob.holds(writes));
  EXPECT_FALSE(carol.holds(third) || dave.holds(fourth));
  const Token written = bob.look(writes).token;
  bob.withdraw(writes);
  EXPECT_TRUE(carol.holds(third) && dave.holds(fourth)) << "those behind it come in together";
  ASSERT_EQ(carol.told.size(), 1u);
  ASSERT_EQ(dave.told.size(), 1u);
  EXPECT_GT(carol.told[0].grant.token, written);
  EXPECT_GT(dave.told[0].grant.token, carol.told[0].grant.token);
  EXPECT_TRUE(carol.told[0].grant.contended) << "dave was still waiting";
  EXPECT_FALSE(dave.told[0].grant.contended);
}

TEST_F(QueueTest, ReadersUpToTheNextWriterComeInTogether) {
  Actor holder = actor("holder"), others = actor("others");
  const Claim writes = holder.write_wish("job");
  holder.claim(writes).value();
  const Claim first = others.read_wish("job"), second = others.read_wish("job");
  const Claim next_writer = others.write_wish("job"), last = others.read_wish("job");
  for (const Claim& claim : {first, second, next_writer, last}) others.claim(claim).value();
  holder.withdraw(writes);
  EXPECT_TRUE(others.holds(first) && others.holds(second));
  EXPECT_FALSE(others.holds(next_writer) || others.holds(last));
  EXPECT_TRUE(others.look(first).contended);
  others.withdraw(first);
  others.withdraw(second);
  EXPECT_TRUE(others.holds(next_writer));
  EXPECT_FALSE(others.holds(last));
}

TEST_F(QueueTest, AWriterWhoGivesUpLetsTheReadersBehindItIn) {
  Actor alice = actor("alice"), bob = actor("bob"), carol = actor("carol");
  const Claim first = alice.read_wish("job"), writes = bob.write_wish("job"), third = carol.read_wish("job");
  alice.claim(first).value();
  bob.claim(writes).value();
  carol.claim(third).value();
  bob.withdraw(writes);
  EXPECT_TRUE(alice.holds(first) && carol.holds(third));
  ASSERT_EQ(carol.told.size(), 1u);
  EXPECT_EQ(carol.told[0].what, What::granted);
}

TEST_F(QueueTest, ADowngradeLetsReadersInAndKeepsTheToken) {
  Actor alice = actor("alice"), bob = actor("bob"), carol = actor("carol");
  const Claim writes = alice.write_wish("job"), reads = bob.read_wish("job"), writes_next = carol.write_wish("job");
  const Token token = granted(alice.claim(writes))->token;
  bob.claim(reads).value();
  carol.claim(writes_next).value();
  EXPECT_TRUE(alice.downgrade(writes));
  EXPECT_EQ(alice.look(writes).token, token);
  EXPECT_TRUE(alice.holds(writes) && bob.holds(reads));
  EXPECT_FALSE(carol.holds(writes_next));
  EXPECT_EQ(bob.told.back().what, What::granted);
  EXPECT_EQ(alice.inspect("job", Kind::rw).holders.at(0).mode, Mode::shared);
  EXPECT_TRUE(alice.downgrade(writes)) << "twice changes nothing";
  EXPECT_EQ(granted(alice.claim(writes))->token, token) << "nor does a late claim, which says exclusive";
  EXPECT_TRUE(bob.holds(reads));

  bob.withdraw(reads);
  EXPECT_FALSE(carol.holds(writes_next));
  alice.withdraw(writes);
  EXPECT_TRUE(carol.holds(writes_next));
}

TEST_F(QueueTest, OnlyAHolderOfARwLockIsDowngraded) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim mutex = alice.wish("job"), held = alice.write_wish("job"), next = bob.write_wish("job");
  alice.claim(mutex).value();
  alice.claim(held).value();
  bob.claim(next).value();
  EXPECT_EQ(alice.downgrade(mutex).code(), Errc::not_owner);
  EXPECT_EQ(bob.downgrade(next).code(), Errc::not_owner) << "it waits";
  EXPECT_EQ(alice.downgrade(alice.write_wish("job")).code(), Errc::not_owner) << "nobody knows it";
  Claim forged = held;
  forged.session = bob.session;
  EXPECT_EQ(bob.downgrade(forged).code(), Errc::not_owner);
  EXPECT_EQ(alice.inspect("job", Kind::rw).holders.at(0).mode, Mode::exclusive);
}

TEST_F(QueueTest, OneReaderIsAskedOrTakenAwayAndTheOthersStay) {
  Actor alice = actor("alice"), bob = actor("bob"), carol = actor("carol");
  const Claim first = alice.read_wish("job"), second = bob.read_wish("job"), writes = carol.write_wish("job");
  alice.claim(first).value();
  bob.claim(second).value();
  carol.claim(writes).value();
  EXPECT_TRUE(carol.revoke(second, false));
  EXPECT_TRUE(bob.look(second).release_requested);
  EXPECT_FALSE(alice.look(first).release_requested);
  EXPECT_TRUE(carol.revoke(second, true));
  EXPECT_EQ(bob.told.back().what, What::gone);
  EXPECT_TRUE(alice.holds(first));
  EXPECT_FALSE(carol.holds(writes));
  EXPECT_TRUE(carol.revoke(first, true));
  EXPECT_TRUE(carol.holds(writes));
}

// readers and writers that fail

TEST_F(QueueTest, TheGhostOfAReaderKeepsWritersOutAndLetsReadersIn) {
  Actor alice = actor("alice"), bob = actor("bob"), carol = actor("carol");
  Claim dead = alice.read_wish("job");
  dead.lock_delay = 5s;
  const Claim writes = bob.write_wish("job"), reads = carol.read_wish("job");
  alice.claim(dead).value();
  alice.withdraw(dead, {.ending = Ending::failed});
  EXPECT_TRUE(granted(carol.claim(reads))) << "readers share, with ghosts too";
  carol.withdraw(reads);
  EXPECT_TRUE(waiting(bob.claim(writes)));
  pass(5s - 1ns);
  EXPECT_TRUE(waiting(bob.claim(writes)));
  pass(1ns);
  EXPECT_TRUE(granted(bob.claim(writes)));
}

TEST_F(QueueTest, TheGhostOfAWriterKeepsEverybodyOut) {
  Actor alice = actor("alice"), bob = actor("bob");
  Claim dead = alice.write_wish("job");
  dead.lock_delay = 5s;
  const Claim reads = bob.read_wish("job"), writes = bob.write_wish("job");
  alice.claim(dead).value();
  alice.withdraw(dead, {.ending = Ending::failed});
  EXPECT_TRUE(waiting(bob.claim(reads)));
  EXPECT_TRUE(waiting(bob.claim(writes)));
  pass(5s);
  EXPECT_TRUE(granted(bob.claim(reads)));
  EXPECT_TRUE(waiting(bob.claim(writes)));
}

TEST_F(QueueTest, TheGhostOfADowngradedWriterIsAReaders) {
  Actor alice = actor("alice"), bob = actor("bob");
  Claim dead = alice.write_wish("job");
  dead.lock_delay = 5s;
  alice.claim(dead).value();
  EXPECT_TRUE(alice.downgrade(dead));
  alice.withdraw(dead, {.ending = Ending::failed});
  EXPECT_TRUE(granted(bob.claim(bob.read_wish("job"))));
  EXPECT_EQ(bob.inspect("job", Kind::rw).shut_for, 5s);
  EXPECT_TRUE(waiting(bob.claim(bob.write_wish("job"))));
}

TEST_F(QueueTest, SeveralReadersWhoseLeasesEndAtOnceLeaveTogether) {
  Actor alice = actor("alice", 3s), bob = actor("bob", 3s), carol = actor("carol", 60s), dave = actor("dave", 60s);
  Claim first = alice.read_wish("job"), second = bob.read_wish("job");
  first.lock_delay = 5s;
  second.lock_delay = 9s;
  const Claim third = carol.read_wish("job"), writes = dave.write_wish("job");
  alice.claim(first).value();
  bob.claim(second).value();
  carol.claim(third).value();
  dave.claim(writes).value();
  pass(4s);
  EXPECT_TRUE(carol.holds(third)) << "who lives stays";
  EXPECT_EQ(alice.claim(first).code(), Errc::lost);
  EXPECT_EQ(carol.inspect("job", Kind::rw).holders.size(), 1u);
  EXPECT_EQ(carol.inspect("job", Kind::rw).shut_for, 8s) << "for the last of the ghosts";
  carol.withdraw(third);
  EXPECT_EQ(waiting(dave.claim(writes))->look_again_in, 4s + 1ms) << "when the first ghost goes";
  pass(4s);
  EXPECT_TRUE(waiting(dave.claim(writes))) << "the second ghost is still there";
  pass(4s - 1ns);
  EXPECT_TRUE(waiting(dave.claim(writes)));
  pass(1ns);
  EXPECT_TRUE(granted(dave.claim(writes)));
}

TEST_F(QueueTest, HoldersAndWaitersThatExpireTogetherLeaveTheLockToWhoLives) {
  Actor dead = actor("dead", 3s), carol = actor("carol", 60s);
  const Claim first = dead.read_wish("job"), second = dead.read_wish("job"), writes = dead.write_wish("job");
  const Claim reads = carol.read_wish("job");
  for (const Claim& claim : {first, second, writes}) dead.claim(claim).value();
  carol.claim(reads).value();
  pass(3s);
  EXPECT_TRUE(carol.holds(reads));
  EXPECT_EQ(census().claims, 1u);
  EXPECT_FALSE(carol.look(reads).contended);
}

// permits

TEST_F(QueueTest, PermitsAreHandedOutByTheirNumbers) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim one = alice.permits_wish("job", 1, 3), two = bob.permits_wish("job", 2, 3);
  const auto first = granted(alice.claim(one)), second = granted(bob.claim(two));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->slots, Slots{0});
  EXPECT_EQ(second->slots, (Slots{1, 2}));
  EXPECT_GT(second->token, first->token);
  EXPECT_EQ(granted(bob.claim(two))->slots, (Slots{1, 2})) << "asked again";
  EXPECT_EQ(bob.look(two).slots, (Slots{1, 2}));
  const LockView view = alice.inspect("job", Kind::permits);
  EXPECT_EQ(view.permits, 3u);
  EXPECT_EQ(view.holders.at(1).slots, (Slots{1, 2}));
  EXPECT_EQ(view.holders.at(1).permits, 2u);
}

TEST_F(QueueTest, WhoeverWantsPermitsWaitsUntilThereAreEnough) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim one = alice.permits_wish("job", 1, 3), other = alice.permits_wish("job", 2, 3);
  const Claim all = bob.permits_wish("job", 3, 3);
  alice.claim(one).value();
  alice.claim(other).value();
  EXPECT_EQ(waiting(bob.claim(all))->ahead, 2u);
  alice.withdraw(other);
  EXPECT_FALSE(bob.holds(all)) << "two are not three";
  EXPECT_TRUE(bob.told.empty());
  alice.withdraw(one);
  ASSERT_EQ(bob.told.size(), 1u);
  EXPECT_EQ(bob.told[0].what, What::look_again) << "a notice has no room for slots";
  EXPECT_EQ(granted(bob.claim(all))->slots, (Slots{0, 1, 2}));
}

TEST_F(QueueTest, WhoeverWantsFewerPermitsDoesNotPassTheHead) {
  Actor alice = actor("alice"), bob = actor("bob"), carol = actor("carol");
  const Claim held = alice.permits_wish("job", 2, 3), two = bob.permits_wish("job", 2, 3);
  const Claim one = carol.permits_wish("job", 1, 3);
  alice.claim(held).value();
  bob.claim(two).value();
  EXPECT_TRUE(waiting(carol.claim(one))) << "though one is free";
  alice.withdraw(held);
  EXPECT_TRUE(bob.holds(two) && carol.holds(one)) << "both fit now";
  EXPECT_EQ(bob.look(two).slots, (Slots{0, 1}));
  EXPECT_EQ(carol.look(one).slots, Slots{2});
}

TEST_F(QueueTest, PermitsThatAreGivenBackAreGivenOutAgainWithLargerTokens) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim first = alice.permits_wish("job", 1, 2), second = alice.permits_wish("job", 1, 2);
  const Token token = granted(alice.claim(first))->token;
  alice.claim(second).value();
  alice.withdraw(first);
  const auto again = granted(bob.claim(bob.permits_wish("job", 1, 2)));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->slots, Slots{0});
  EXPECT_GT(again->token, token);
}

TEST_F(QueueTest, TheNumberOfPermitsIsAgreedOnUntilNobodyUsesThem) {
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim held = alice.permits_wish("job", 1, 3), more = bob.permits_wish("job", 1, 4);
  alice.claim(held).value();
  EXPECT_EQ(bob.claim(more).code(), Errc::invalid_argument);
  EXPECT_EQ(bob.look(more).place, Standing::Place::gone);
  alice.withdraw(held);
  EXPECT_TRUE(granted(bob.claim(more)));
  EXPECT_EQ(bob.inspect("job", Kind::permits).permits, 4u);
}

TEST_F(QueueTest, AGhostKeepsItsPermitsAndTheirNumber) {
  Actor alice = actor("alice"), bob = actor("bob");
  Claim dead = alice.permits_wish("job", 2, 3);
  dead.lock_delay = 5s;
  alice.claim(dead).value();
  alice.withdraw(dead, {.ending = Ending::failed});
  EXPECT_EQ(bob.claim(bob.permits_wish("job", 1, 4)).code(), Errc::invalid_argument);
  const Claim one = bob.permits_wish("job", 1, 3), two = bob.permits_wish("job", 2, 3);
  EXPECT_EQ(granted(bob.claim(one))->slots, Slots{2}) << "what the ghost has not";
  EXPECT_EQ(waiting(bob.claim(two))->look_again_in, 5s + 1ms);
  EXPECT_EQ(bob.inspect("job", Kind::permits).shut_for, 5s);
  pass(5s);
  EXPECT_EQ(granted(bob.claim(two))->slots, (Slots{0, 1}));
}

TEST_F(QueueTest, SeveralHoldersOfPermitsThatExpireAtOnceGiveThemAllBack) {
  Actor alice = actor("alice", 3s), bob = actor("bob", 3s), carol = actor("carol", 60s);
  Claim first = alice.permits_wish("job", 1, 3), second = bob.permits_wish("job", 2, 3);
  second.lock_delay = 5s;
  const Claim one = carol.permits_wish("job", 1, 3), all = carol.permits_wish("job", 3, 3);
  alice.claim(first).value();
  bob.claim(second).value();
  carol.claim(one).value();
  carol.claim(all).value();
  pass(3s);
  EXPECT_EQ(granted(carol.claim(one))->slots, Slots{0}) << "the other two are a ghost's";
  carol.withdraw(one);
  EXPECT_TRUE(waiting(carol.claim(all)));
  pass(5s);
  EXPECT_EQ(granted(carol.claim(all))->slots, (Slots{0, 1, 2}));
  carol.withdraw(all);
  EXPECT_EQ(census().keys, 0u);
}

// elections

TEST_F(QueueTest, ACandidatesValueIsShownWhetherItLeadsOrWaits) {
  Actor alice = actor("alice"), bob = actor("bob");
  Claim leads = alice.wish("job", Kind::election), stands_by = bob.wish("job", Kind::election);
  leads.value = "alice:80";
  stands_by.value = "bob:80";
  EXPECT_TRUE(granted(alice.claim(leads)));
  EXPECT_TRUE(waiting(bob.claim(stands_by)));
  EXPECT_EQ(alice.inspect("job", Kind::election).holders.at(0).value, "alice:80");
  EXPECT_EQ(alice.inspect("job", Kind::election).waiters.at(0).value, "bob:80");
  alice.withdraw(leads);
  EXPECT_EQ(alice.inspect("job", Kind::election).holders.at(0).value, "bob:80");
}

}  // namespace
}  // namespace pawl::store::memory
