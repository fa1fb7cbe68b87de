#include "local/local_lock.hpp"

#include "tests/support/client_scene.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace pawl::local {
namespace {

using namespace test;
using testing::HasSubstr;

using HoldPtr = std::shared_ptr<LocalHold>;
using Got = Result<HoldPtr>;

class LocalLockTest : public ClientScene {
 protected:
  static constexpr Duration lease = 30s;

  /// Threads of one client that share a lock.
  struct House {
    Party party;
    std::shared_ptr<LocalLock> lock;
  };
  House house(std::string host, PassBounds bounds = {}) {
    Party one = party(std::move(host));
    auto lock = std::make_shared<LocalLock>(one.context, one.keeper, one.scheme(), lock_key("job"), bounds);
    return {one, lock};
  }

  static Request wish(std::optional<Duration> wait = {}) {
    Request request;
    request.terms = {lease, 0s};
    request.wait = wait;
    return request;
  }
  Started<Got> start_acquire(const House& house, Request request = wish(), std::stop_token stop = {}) {
    return start<Got>(house.party, house.lock->acquire(std::move(request), std::move(stop)));
  }
  Got acquire(const House& house, Request request = wish()) { return await<Got>(start_acquire(house, request)); }
  HoldPtr hold(const House& house, Request request = wish()) { return acquire(house, request).value(); }

  Result<void> release(const House& house, const HoldPtr& held) {
    if (!held->let_go()) return Error{Errc::lost, "before it was released"};
    return run(house.party, house.lock->release(held));
  }
  /// Several who wait, in order.
  std::vector<Started<Got>> line_up(const House& house, int count) {
    std::vector<Started<Got>> all;
    for (int i = 0; i < count; ++i) all.push_back(start_acquire(house));
    return all;
  }
  /// How often the lock goes from hand to hand before it leaves the house.
  int passes_before_leaving(const House& house, HoldPtr held, std::vector<Started<Got>>& line, Duration each = 0s) {
    const std::uint64_t before = house.party.context->telemetry.local_passes;
    for (Started<Got>& next : line) {
      pass(each);
      EXPECT_TRUE(release(house, held));
      if (!next->has_value()) break;
      held = (**next).value();
    }
    return static_cast<int>(house.party.context->telemetry.local_passes - before);
  }
  LockView view() { return run(bystander_, bystander_.scheme().inspect(lock_key("job"), soon())).value(); }
  HoldPtr got(const Started<Got>& started) { return started->has_value() && **started ? (**started).value() : nullptr; }
  std::size_t claims(const House& house) const { return house.party.sent(Operation::claim); }

  Party bystander_ = party("bystander");
};

// none: nobody has asked the store

TEST_F(LocalLockTest, NoneClaimsForWhoeverAsks) {
  const House alice = house("alice");
  const HoldPtr held = hold(alice);
  EXPECT_EQ(held->state(), HoldState::held);
  EXPECT_EQ(held->token().sub(), 0u);
  EXPECT_EQ(view().holders.size(), 1u);
  EXPECT_TRUE(release(alice, held));
  EXPECT_EQ(view().holders.size(), 0u);
  EXPECT_EQ(alice.party.context->tasks, 0u);
}

TEST_F(LocalLockTest, NoneIsWhatARelaseLeavesAndTheNextClaimGetsALargerToken) {
  const House alice = house("alice");
  const HoldPtr first = hold(alice);
  EXPECT_TRUE(release(alice, first));
  const HoldPtr second = hold(alice);
  EXPECT_GT(second->token().counter(), first->token().counter());
  EXPECT_EQ(alice.party.sent(Operation::open_session), 1u);
}

TEST_F(LocalLockTest, NoneRefusesWhatTheStoreRefusesAndIsNoneAgain) {
  const House alice = house("alice");
  alice.party.faults->cut();
  EXPECT_EQ(acquire(alice).code(), Errc::store_unavailable);
  alice.party.faults->heal();
  EXPECT_TRUE(hold(alice));
}

// asking

TEST_F(LocalLockTest, AskingQueuesUpWhoeverElseAsksBehindOneClaim) {
  const House alice = house("alice"), bob = house("bob");
  const HoldPtr held = hold(alice);
  const auto line = line_up(bob, 5);
  EXPECT_EQ(view().waiters.size(), 1u);
  EXPECT_EQ(bob.party.context->telemetry.store_claims, 1u);
  EXPECT_TRUE(release(alice, held));
  EXPECT_TRUE(got(line[0]));
  EXPECT_FALSE(line[1]->has_value());
}

TEST_F(LocalLockTest, AskingOnTimeoutTellsWhoHoldsIt) {
  const House alice = house("alice"), bob = house("bob");
  const HoldPtr held = hold(alice);
  const Time began = now();
  const Got timed_out = acquire(bob, wish(2s));
  EXPECT_EQ(timed_out.code(), Errc::timed_out);
  EXPECT_EQ(now(), began + 2s);
  EXPECT_THAT(timed_out.error().message, HasSubstr("\"job\" was not granted within 2s: it is held by alice"));
  EXPECT_EQ(view().waiters.size(), 0u) << "and leaves the queue";
  EXPECT_EQ(bob.party.context->tasks, 0u);
}

TEST_F(LocalLockTest, AskingHeadThatGivesUpLeavesTheClaimToTheNextWithEqualTerms) {
  const House alice = house("alice"), bob = house("bob");
  const HoldPtr held = hold(alice);
  const auto first = start_acquire(bob, wish(1s));
  const auto second = start_acquire(bob);
  const std::string claim = view().waiters.at(0).claim;
  pass(1s);
  EXPECT_EQ((**first).code(), Errc::timed_out);
  EXPECT_EQ(view().waiters.at(0).claim, claim) << "the place in the queue is kept";
  EXPECT_TRUE(release(alice, held));
  EXPECT_TRUE(got(second));
}

TEST_F(LocalLockTest, AskingHeadThatGivesUpLeavesTheQueueWhenTheNextHasOtherTerms) {
  const House alice = house("alice"), bob = house("bob");
  const HoldPtr held = hold(alice);
  const auto first = start_acquire(bob, wish(1s));
  Request other = wish();
  other.terms.lease = 10s;
  const auto second = start_acquire(bob, other);
  const std::string claim = view().waiters.at(0).claim;
  pass(1s);
  EXPECT_EQ((**first).code(), Errc::timed_out);
  ASSERT_EQ(view().waiters.size(), 1u);
  EXPECT_NE(view().waiters.at(0).claim, claim);
  EXPECT_TRUE(release(alice, held));
  EXPECT_TRUE(got(second));
}

TEST_F(LocalLockTest, AskingLastOneThatGivesUpWithdrawsTheClaim) {
  const House alice = house("alice"), bob = house("bob");
  const HoldPtr held = hold(alice);
  std::stop_source stop;
  const auto waits = start_acquire(bob, wish(), stop.get_token());
  stop.request_stop();
  EXPECT_FALSE(waits->has_value()) << "the one who stops does not do the work";
  pass(0s);
  EXPECT_EQ((**waits).code(), Errc::cancelled);
  EXPECT_EQ(view().waiters.size(), 0u);
}

TEST_F(LocalLockTest, AskingOneInTheMiddleThatGivesUpDisturbsNobody) {
  const House alice = house("alice"), bob = house("bob");
  const HoldPtr held = hold(alice);
  const auto first = start_acquire(bob);
  const auto middle = start_acquire(bob, wish(1s));
  const auto last = start_acquire(bob);
  pass(1s);
  EXPECT_EQ((**middle).code(), Errc::timed_out);
  EXPECT_TRUE(release(alice, held));
  ASSERT_TRUE(got(first));
  EXPECT_TRUE(release(bob, got(first)));
  EXPECT_TRUE(got(last));
}

TEST_F(LocalLockTest, AskingForAStopThatWasRequestedBeforeIsCancelledAtOnce) {
  const House alice = house("alice");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(await<Got>(start_acquire(alice, wish(), stop.get_token())).code(), Errc::cancelled);
  EXPECT_EQ(claims(alice), 0u);
}

TEST_F(LocalLockTest, AskingThatTheStoreRefusesRefusesAllWhoAskForTheSame) {
  const House alice = house("alice");
  alice.party.faults->cut();
  const auto first = start_acquire(alice), second = start_acquire(alice);
  Request other = wish();
  other.terms.lease = 10s;
  const auto third = start_acquire(alice, other), fourth = start_acquire(alice);
  EXPECT_TRUE(until([&] { return first->has_value(); }));
  pass(0s);
  ASSERT_TRUE(second->has_value());
  EXPECT_FALSE(third->has_value()) << "has other terms, and its own try";
  EXPECT_EQ((**second).code(), Errc::store_unavailable);
  alice.party.faults->heal();
  EXPECT_TRUE(until([&] { return third->has_value(); }));
  ASSERT_TRUE(got(third));
  EXPECT_TRUE(release(alice, got(third)));
  EXPECT_TRUE(until([&] { return fourth->has_value(); }));
  EXPECT_TRUE(got(fourth));
}

// A try gives up on a store that is away; whoever waits behind it has more patience.
TEST_F(LocalLockTest, AskingTryThatFailsDoesNotSpeakForThoseWhoWait) {
  const House alice = house("alice");
  EXPECT_TRUE(release(alice, hold(alice)));  // there is a session
  alice.party.faults->refuse(true);
  const auto tries = start_acquire(alice, wish(0s));
  const auto waits = start_acquire(alice);
  EXPECT_TRUE(until([&] { return tries->has_value(); }, 1min));
  EXPECT_EQ((**tries).code(), Errc::store_unavailable);
  EXPECT_FALSE(waits->has_value());
  alice.party.faults->refuse(false);
  EXPECT_TRUE(until([&] { return got(waits) != nullptr; }, 1min));
}

// a try

TEST_F(LocalLockTest, ATryIsBusyWhenTheLockIsTakenElsewhere) {
  const House alice = house("alice"), bob = house("bob");
  Request labelled = wish();
  labelled.label = "nightly";
  const HoldPtr held = hold(alice, labelled);
  const Got tried = acquire(bob, wish(0s));
  EXPECT_EQ(tried.code(), Errc::busy);
  EXPECT_THAT(tried.error().message, HasSubstr("held by alice"));
  EXPECT_THAT(tried.error().message, HasSubstr("nightly"));
  EXPECT_EQ(view().waiters.size(), 0u);
}

TEST_F(LocalLockTest, ATryIsBusyWithoutAskingTheStoreWhenTheClientHasIt) {
  const House alice = house("alice");
  const HoldPtr held = hold(alice);
  const Got tried = acquire(alice, wish(0s));
  EXPECT_EQ(tried.code(), Errc::busy);
  EXPECT_THAT(tried.error().message, HasSubstr("another thread of this client"));
  EXPECT_EQ(claims(alice), 1u);
}

TEST_F(LocalLockTest, ATryNeverQueuesBehindThoseWhoWait) {
  const House alice = house("alice"), bob = house("bob");
  const HoldPtr held = hold(alice);
  const auto waits = start_acquire(bob);
  EXPECT_EQ(acquire(bob, wish(0s)).code(), Errc::busy);
  EXPECT_TRUE(release(alice, held));
  EXPECT_TRUE(got(waits));
}

TEST_F(LocalLockTest, ATryThatIsBusyLetsThoseBehindItWait) {
  const House alice = house("alice"), bob = house("bob");
  EXPECT_TRUE(release(bob, hold(bob)));
  const HoldPtr held = hold(alice);
  bob.party.faults->delay_all(100ms);
  const auto tries = start_acquire(bob, wish(0s));
  const auto waits = start_acquire(bob);
  EXPECT_TRUE(until([&] { return tries->has_value(); }));
  EXPECT_EQ((**tries).code(), Errc::busy);
  EXPECT_FALSE(waits->has_value());
  bob.party.faults->delay_all(0s);
  pass(1s);
  EXPECT_TRUE(release(alice, held));
  EXPECT_TRUE(until([&] { return got(waits) != nullptr; }, lease));
}

TEST_F(LocalLockTest, ATryJustAfterOurOwnReleaseIsNotBusyWithOurselves) {
  const House alice = house("alice");
  const HoldPtr held = hold(alice);
  ASSERT_TRUE(held->let_go());
  alice.lock->send_release(held, nullptr);
  EXPECT_TRUE(acquire(alice, wish(0s)));
}

TEST_F(LocalLockTest, ATryOnAStoreThatDoesNotAnswerIsNotBusy) {
  const House alice = house("alice");
  EXPECT_TRUE(release(alice, hold(alice)));
  alice.party.faults->cut();
  const Got tried = acquire(alice, wish(0s));
  EXPECT_NE(tried.code(), Errc::busy);
  EXPECT_FALSE(tried);
}

// granted: from hand to hand

TEST_F(LocalLockTest, GrantedIsPassedOnInOrderWithATokenForEach) {
  const House alice = house("alice");
  HoldPtr held = hold(alice);
  const auto line = line_up(alice, 10);
  for (std::uint16_t i = 0; i < 10; ++i) {
    EXPECT_TRUE(release(alice, held));
    const HoldPtr next = got(line[i]);
    ASSERT_TRUE(next) << i;
    if (i + 1 < 10) {
      EXPECT_FALSE(line[i + 1]->has_value());
    }
    EXPECT_EQ(next->token(), held->token().with_sub(static_cast<std::uint16_t>(i + 1)));
    EXPECT_GT(next->token(), held->token());
    held = next;
  }
  EXPECT_EQ(claims(alice), 1u);
  EXPECT_EQ(alice.party.context->telemetry.local_passes, 10u);
}

TEST_F(LocalLockTest, GrantedIsPassedOnForEverWhileNobodyElseWaits) {
  const House alice = house("alice", {.passes = 3, .time = 1ms});
  const HoldPtr held = hold(alice);
  auto line = line_up(alice, 200);
  EXPECT_EQ(passes_before_leaving(alice, held, line, 10ms), 200);
}

TEST_F(LocalLockTest, GrantedLeavesTheHouseAfterSoManyPassesWhenOthersWait) {
  const House alice = house("alice", {.passes = 3, .time = 1h}), bob = house("bob");
  const HoldPtr held = hold(alice);
  const auto other = start_acquire(bob);
  auto line = line_up(alice, 10);
  EXPECT_EQ(passes_before_leaving(alice, held, line), 3);
  EXPECT_TRUE(got(other));
}

TEST_F(LocalLockTest, GrantedLeavesTheHouseAfterSoLongWhenOthersWait) {
  const House alice = house("alice", {.passes = 1000, .time = 10ms}), bob = house("bob");
  const HoldPtr held = hold(alice);
  const auto other = start_acquire(bob);
  auto line = line_up(alice, 20);
  EXPECT_EQ(passes_before_leaving(alice, held, line, 3ms), 3) << "at 3, 6 and 9 ms";
  EXPECT_TRUE(got(other));
}

TEST_F(LocalLockTest, GrantedCountsThePassesFromWhenOthersBeganToWait) {
  const House alice = house("alice", {.passes = 3, .time = 1h}), bob = house("bob");
  HoldPtr held = hold(alice);
  auto line = line_up(alice, 20);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(release(alice, held));
    held = got(line[i]);
    ASSERT_TRUE(held);
  }
  const auto other = start_acquire(bob);
  std::vector<Started<Got>> rest(line.begin() + 10, line.end());
  EXPECT_EQ(passes_before_leaving(alice, held, rest), 3);
  EXPECT_TRUE(got(other));
}

TEST_F(LocalLockTest, GrantedToOneBehindWhomOthersWaitIsBoundedFromTheBeginning) {
  const House alice = house("alice"), bob = house("bob", {.passes = 2, .time = 1h}), carol = house("carol");
  const HoldPtr held = hold(alice);
  auto line = line_up(bob, 10);
  const auto other = start_acquire(carol);
  EXPECT_TRUE(release(alice, held));
  const HoldPtr first = got(line[0]);
  ASSERT_TRUE(first);
  std::vector<Started<Got>> rest(line.begin() + 1, line.end());
  EXPECT_EQ(passes_before_leaving(bob, first, rest), 2);
  EXPECT_TRUE(got(other));
}

TEST_F(LocalLockTest, GrantedIsNeverPassedOnWithZeroPasses) {
  const House alice = house("alice", {.passes = 0});
  const HoldPtr held = hold(alice);
  const auto line = line_up(alice, 1);
  EXPECT_TRUE(release(alice, held));
  ASSERT_TRUE(got(line[0]));
  EXPECT_GT(got(line[0])->token().counter(), held->token().counter());
  EXPECT_EQ(alice.party.context->telemetry.local_passes, 0u);
}

TEST_F(LocalLockTest, GrantedLeavesAndComesBackForThoseWhoStillWait) {
  const House alice = house("alice", {.passes = 1, .time = 1h}), bob = house("bob");
  const HoldPtr held = hold(alice);
  const auto other = start_acquire(bob);
  auto line = line_up(alice, 3);
  passes_before_leaving(alice, held, line);
  ASSERT_TRUE(got(other));
  EXPECT_FALSE(line[1]->has_value());
  EXPECT_TRUE(release(bob, got(other)));
  EXPECT_TRUE(got(line[1]));
}

TEST_F(LocalLockTest, GrantedIsNotSharedByOtherTermsWhichComeInTheirTurn) {
  const House alice = house("alice");
  const HoldPtr held = hold(alice);
  Request longer = wish();
  longer.terms.lease = 60s;
  Request delayed = wish();
  delayed.terms.lock_delay = 5s;
  const auto second = start_acquire(alice, longer);
  const auto third = start_acquire(alice);
  const auto fourth = start_acquire(alice, delayed);
  EXPECT_TRUE(release(alice, held));
  ASSERT_TRUE(got(second));
  EXPECT_GT(got(second)->token().counter(), held->token().counter());
  EXPECT_GT(got(second)->remaining(), 30s);
  EXPECT_FALSE(third->has_value()) << "not past the one before it";
  EXPECT_TRUE(release(alice, got(second)));
  ASSERT_TRUE(got(third));
  EXPECT_TRUE(release(alice, got(third)));
  EXPECT_TRUE(got(fourth));
  EXPECT_EQ(alice.party.context->telemetry.local_passes, 0u);
}

TEST_F(LocalLockTest, GrantedIsNotPassedOnAfterARequestToRelease) {
  const House alice = house("alice");
  const HoldPtr held = hold(alice);
  const auto line = line_up(alice, 1);
  store::ClaimId id;
  ASSERT_TRUE(base::parse_hex(view().holders.at(0).claim, id.high, id.low));
  ASSERT_TRUE(run(bystander_, bystander_.scheme().revoke(lock_key("job"), id, false, soon())).value());
  pass(0s);
  EXPECT_TRUE(held->release_requested().stop_requested());
  EXPECT_TRUE(release(alice, held));
  ASSERT_TRUE(got(line[0]));
  EXPECT_GT(got(line[0])->token().counter(), held->token().counter());
}

TEST_F(LocalLockTest, GrantedIsPassedOnWithTheLabelOfTheNext) {
  const House alice = house("alice");
  Request first = wish(), second = wish();
  first.label = "one";
  second.label = "two";
  const HoldPtr held = hold(alice, first);
  const auto next = start_acquire(alice, second);
  EXPECT_EQ(view().holders.at(0).owner.label, "one");
  EXPECT_TRUE(release(alice, held));
  pass(0s);
  EXPECT_EQ(view().holders.at(0).owner.label, "two");
}

TEST_F(LocalLockTest, GrantedReleaseWithoutWaitingForTheStore) {
  const House alice = house("alice"), bob = house("bob");
  const HoldPtr held = hold(alice);
  const auto other = start_acquire(bob);
  ASSERT_TRUE(held->let_go());
  alice.lock->send_release(held, nullptr);
  pass(0s);
  EXPECT_TRUE(got(other));
}

TEST_F(LocalLockTest, GrantedReleaseThatTheStoreDoesNotConfirmIsUnknownAndGoesOn) {
  const House alice = house("alice"), bob = house("bob");
  const HoldPtr held = hold(alice);
  alice.party.faults->refuse(true);
  EXPECT_EQ(release(alice, held).code(), Errc::outcome_unknown);
  const auto other = start_acquire(bob);
  EXPECT_FALSE(other->has_value());
  alice.party.faults->refuse(false);
  EXPECT_TRUE(until([&] { return got(other) != nullptr; }, lease));
}

// granted: loss

TEST_F(LocalLockTest, ALostLeaseTellsTheHolderAndTheNextClaimsAnew) {
  const House alice = house("alice");
  const HoldPtr held = hold(alice);
  const auto next = start_acquire(alice);
  alice.party.faults->cut();
  EXPECT_TRUE(until([&] { return held->lost().stop_requested(); }, lease));
  EXPECT_FALSE(next->has_value()) << "the lease is checked before a pass";
  alice.party.faults->heal();
  EXPECT_TRUE(until([&] { return next->has_value(); }, 3 * lease));
  EXPECT_TRUE(got(next));
  EXPECT_EQ(release(alice, held).code(), Errc::lost);
}

TEST_F(LocalLockTest, AnOverdueHoldIsNotPassedOnThoughNobodyHasToldItsLoss) {
  const House alice = house("alice");
  const HoldPtr held = hold(alice);
  const auto next = start_acquire(alice);
  alice.party.process.pause();
  pass(lease);
  alice.party.process.resume();
  EXPECT_EQ(release(alice, held).code(), Errc::lost);
  EXPECT_TRUE(until([&] { return got(next) != nullptr; }, lease));
  EXPECT_GT(got(next)->token().counter(), held->token().counter());
}

TEST_F(LocalLockTest, MaxHoldIsForEachHolderAndTheNextIsServedAtOnce) {
  const House alice = house("alice");
  Request bounded = wish();
  bounded.max_hold = 5s;
  const HoldPtr held = hold(alice, bounded);
  const auto second = start_acquire(alice, bounded), third = start_acquire(alice);
  pass(5s - 1ns);
  EXPECT_FALSE(second->has_value());
  pass(1ns);
  EXPECT_TRUE(held->lost().stop_requested());
  ASSERT_TRUE(got(second));
  EXPECT_GT(got(second)->token(), held->token());
  EXPECT_EQ(got(second)->remaining(), 5s) << "its own";
  pass(5s);
  ASSERT_TRUE(got(third));
  pass(1h);
  EXPECT_EQ(got(third)->state(), HoldState::held) << "nobody bounded this one";
}

TEST_F(LocalLockTest, MaxHoldWithALockDelayShutsTheLockForOurOwnToo) {
  const House alice = house("alice"), bob = house("bob");
  Request bounded = wish();
  bounded.max_hold = 5s;
  bounded.terms.lock_delay = 10s;
  const HoldPtr held = hold(alice, bounded);
  const auto ours = start_acquire(alice, bounded);
  const auto theirs = start_acquire(bob);
  pass(15s - 1ns);
  EXPECT_TRUE(held->lost().stop_requested());
  EXPECT_FALSE(ours->has_value() || theirs->has_value());
  EXPECT_TRUE(until([&] { return theirs->has_value(); }, 2s));
  EXPECT_FALSE(ours->has_value()) << "behind the one who waited longer";
}

TEST_F(LocalLockTest, AHoldThatIsTakenAwayTellsItsHolderAndTheNextClaimsAnew) {
  const House alice = house("alice");
  const HoldPtr held = hold(alice);
  const auto next = start_acquire(alice);
  store::ClaimId id;
  ASSERT_TRUE(base::parse_hex(view().holders.at(0).claim, id.high, id.low));
  ASSERT_TRUE(run(bystander_, bystander_.scheme().revoke(lock_key("job"), id, true, soon())).value());
  pass(0s);
  EXPECT_TRUE(held->lost().stop_requested());
  ASSERT_TRUE(got(next));
  EXPECT_GT(got(next)->token().counter(), held->token().counter());
}

// The process stands still somewhere between the grant and the caller, for longer than max_hold.
TEST_F(LocalLockTest, AGrantThatWasOverBeforeItsCallerWasToldIsAsIfItHadNeverBeen) {
  const House alice = house("alice"), bob = house("bob");
  Request bounded = wish();
  bounded.max_hold = 5s;
  for (std::uint64_t steps = 0; steps < 20; ++steps) {
    const HoldPtr held = hold(bob);
    const auto waits = start_acquire(alice, bounded);
    ASSERT_TRUE(held->let_go());
    bob.lock->send_release(held, nullptr);
    const std::uint64_t stop = world_.steps() + steps;
    world_.run_until([&] { return world_.steps() >= stop; }, now());
    const bool told = waits->has_value();
    alice.party.process.pause();
    pass(6s);
    alice.party.process.resume();
    EXPECT_TRUE(until([&] { return waits->has_value(); }, lease));
    ASSERT_TRUE(got(waits));
    if (told) {
      EXPECT_EQ(release(alice, got(waits)).code(), Errc::lost);
    } else {
      EXPECT_TRUE(release(alice, got(waits))) << steps;
    }
    pass(1s);
  }
}

// closed

TEST_F(LocalLockTest, CloseRefusesWhoWaitsAndLosesWhatIsHeld) {
  const House alice = house("alice"), bob = house("bob");
  const HoldPtr held = hold(alice);
  const auto waits = start_acquire(alice);
  const auto other = start_acquire(bob);
  alice.lock->close();
  EXPECT_EQ(held->remaining(), 0s) << "at once, before anybody else can have it";
  pass(0s);
  EXPECT_TRUE(held->lost().stop_requested());
  EXPECT_EQ((**waits).code(), Errc::closed);
  EXPECT_TRUE(got(other));
  EXPECT_EQ(acquire(alice).code(), Errc::closed);
  EXPECT_EQ(alice.party.context->tasks, 0u);
}

TEST_F(LocalLockTest, CloseWhileAskingWithdrawsTheClaim) {
  const House alice = house("alice"), bob = house("bob");
  const HoldPtr held = hold(alice);
  const auto waits = start_acquire(bob);
  bob.lock->close();
  pass(0s);
  EXPECT_EQ((**waits).code(), Errc::closed);
  EXPECT_EQ(view().waiters.size(), 0u);
}

TEST_F(LocalLockTest, CloseOfAHoldThatIsLostCountsAsFailed) {
  const House alice = house("alice"), bob = house("bob");
  Request delayed = wish();
  delayed.terms.lock_delay = 10s;
  const HoldPtr held = hold(alice, delayed);
  alice.lock->close();
  const auto other = start_acquire(bob);
  pass(10s - 1ns);
  EXPECT_FALSE(other->has_value());
  EXPECT_TRUE(until([&] { return got(other) != nullptr; }, 2s));
}

// Its holder has let go on a thread of his own, and the word has not reached the executor yet.
TEST_F(LocalLockTest, CloseOfAHoldThatWasJustReleasedIsAsCleanAsTheRelease) {
  const House alice = house("alice"), bob = house("bob");
  Request delayed = wish();
  delayed.terms.lock_delay = 10s;
  const HoldPtr held = hold(alice, delayed);
  EXPECT_TRUE(held->let_go());
  alice.lock->close();
  alice.lock->send_release(held, nullptr);
  EXPECT_TRUE(acquire(bob, wish(0s)));
  EXPECT_FALSE(held->lost().stop_requested());
}

TEST_F(LocalLockTest, TheWaitIsMeasuredForWhoeverGetsIt) {
  const House alice = house("alice");
  const HoldPtr held = hold(alice);
  const auto next = start_acquire(alice);
  pass(2s);
  EXPECT_TRUE(release(alice, held));
  EXPECT_TRUE(got(next));
  const Metrics seen = alice.party.context->telemetry.snapshot();
  EXPECT_EQ(seen.wait.count, 2u);
  EXPECT_EQ(seen.wait.total, 2s);
}

}  // namespace
}  // namespace pawl::local
