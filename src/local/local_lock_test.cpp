#include "local/local_lock.hpp"

#include "tests/support/client_scene.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
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
  House house(std::string host, PassBounds bounds = {}, Kind kind = Kind::mutex) {
    Party one = party(std::move(host));
    auto lock = std::make_shared<LocalLock>(one.context, one.keeper, one.scheme(), key_of(kind), bounds);
    return {one, lock};
  }
  /// Of readers and writers.
  House library(std::string host, PassBounds bounds = {}) { return house(std::move(host), bounds, Kind::rw); }
  static LockKey key_of(Kind kind) { return {kind, store::LockName::make("job").value()}; }

  static Request wish(std::optional<Duration> wait = {}) {
    Request request;
    request.terms = {lease, 0s};
    request.wait = wait;
    return request;
  }
  static Request reading(std::optional<Duration> wait = {}) {
    Request request = wish(wait);
    request.terms.mode = Mode::shared;
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
  Started<Result<void>> start_downgrade(const House& house, const HoldPtr& held) {
    return start<Result<void>>(house.party, house.lock->downgrade(held));
  }
  Result<void> downgrade(const House& house, const HoldPtr& held) {
    return await<Result<void>>(start_downgrade(house, held));
  }
  /// Asks the first holder for the lock, or takes it away.
  void revoke(Kind kind, bool now) {
    store::ClaimId id;
    ASSERT_TRUE(base::parse_hex(view(kind).holders.at(0).claim, id.high, id.low));
    ASSERT_TRUE(run(bystander_, bystander_.scheme().revoke(key_of(kind), id, now, soon())).value());
    pass(0s);
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
  LockView view(Kind kind = Kind::mutex) {
    return run(bystander_, bystander_.scheme().inspect(key_of(kind), soon())).value();
  }
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
  pass(0s);
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
  EXPECT_THAT(tried.error().message, HasSubstr("this client already"));
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

// The first grant is over before its caller is told; what is left of the wait counts for the second, not all of it.
TEST_F(LocalLockTest, AGrantThatWasOverBeforeItsCallerWasToldIsAskedForAgainForTheRestOfTheWait) {
  const House alice = house("alice"), bob = house("bob");
  const HoldPtr held = hold(bob);
  Request bounded = wish(20s);
  bounded.max_hold = 5s;
  auto place = alice.lock->queue_up(bounded, {}).value();
  pass(0s);
  EXPECT_TRUE(release(bob, held));
  pass(10s);
  ASSERT_TRUE(LocalLock::granted(place));
  EXPECT_EQ(LocalLock::granted(place)->remaining(), 0s);
  const HoldPtr again = hold(bob);
  const Time began = now();
  const auto waits = start<Got>(alice.party, alice.lock->acquire(bounded, {}, std::move(place)));
  EXPECT_EQ(await<Got>(waits).code(), Errc::timed_out);
  EXPECT_EQ(now() - began, 10s);
}

// shared

TEST_F(LocalLockTest, SharedIsOneClaimForAllReadersWithATokenForEach) {
  const House alice = library("alice");
  const HoldPtr first = hold(alice, reading()), second = hold(alice, reading()), third = hold(alice, reading());
  EXPECT_EQ(claims(alice), 1u);
  EXPECT_EQ(view(Kind::rw).holders.size(), 1u);
  EXPECT_EQ(first->mode(), Mode::shared);
  EXPECT_EQ(third->mode(), Mode::shared);
  EXPECT_EQ(second->token(), first->token().with_sub(1));
  EXPECT_EQ(third->token(), first->token().with_sub(2));
  EXPECT_EQ(alice.party.context->telemetry.local_passes, 0u) << "nobody has passed anything on";
}

TEST_F(LocalLockTest, SharedIsHeldUntilTheLastReaderHasLeft) {
  const House alice = library("alice"), bob = library("bob");
  const HoldPtr first = hold(alice, reading()), second = hold(alice, reading());
  const auto writer = start_acquire(bob);
  EXPECT_TRUE(release(alice, first)) << "settled at once";
  EXPECT_FALSE(writer->has_value());
  EXPECT_EQ(second->state(), HoldState::held);
  EXPECT_EQ(alice.party.sent(Operation::withdraw), 0u);
  EXPECT_TRUE(release(alice, second));
  ASSERT_TRUE(got(writer));
  EXPECT_GT(got(writer)->token(), second->token());
}

TEST_F(LocalLockTest, SharedLetsATryIn) {
  const House alice = library("alice");
  const HoldPtr held = hold(alice, reading());
  EXPECT_TRUE(acquire(alice, reading(0s)));
  EXPECT_EQ(acquire(alice, wish(0s)).code(), Errc::busy) << "but no writer";
  EXPECT_EQ(claims(alice), 1u);
}

TEST_F(LocalLockTest, SharedByTwoHouses) {
  const House alice = library("alice"), bob = library("bob");
  const HoldPtr ours = hold(alice, reading()), theirs = hold(bob, reading());
  EXPECT_EQ(ours->state(), HoldState::held);
  EXPECT_EQ(theirs->state(), HoldState::held);
  EXPECT_EQ(view(Kind::rw).holders.size(), 2u);
}

TEST_F(LocalLockTest, SharedReadersWhoQueuedUpWhileAskingComeInTogether) {
  const House alice = library("alice"), bob = library("bob");
  const HoldPtr writer = hold(alice);
  const auto first = start_acquire(bob, reading()), second = start_acquire(bob, reading());
  const auto then = start_acquire(bob), last = start_acquire(bob, reading());
  EXPECT_EQ(view(Kind::rw).waiters.size(), 1u);
  EXPECT_TRUE(release(alice, writer));
  ASSERT_TRUE(got(first) && got(second));
  EXPECT_GT(got(second)->token(), got(first)->token());
  EXPECT_FALSE(then->has_value() || last->has_value()) << "up to the writer";
  EXPECT_TRUE(release(bob, got(first)));
  EXPECT_TRUE(release(bob, got(second)));
  ASSERT_TRUE(got(then));
  EXPECT_EQ(got(then)->mode(), Mode::exclusive);
  EXPECT_FALSE(last->has_value());
  EXPECT_TRUE(release(bob, got(then)));
  EXPECT_TRUE(got(last));
}

TEST_F(LocalLockTest, SharedLetsNobodyPassAWriterOfThisHouse) {
  const House alice = library("alice");
  const HoldPtr held = hold(alice, reading());
  const auto writer = start_acquire(alice);
  const auto later = start_acquire(alice, reading()), last = start_acquire(alice, reading());
  EXPECT_FALSE(later->has_value());
  EXPECT_EQ(acquire(alice, reading(0s)).code(), Errc::busy) << "nor does a try";
  EXPECT_TRUE(release(alice, held));
  ASSERT_TRUE(got(writer));
  EXPECT_FALSE(later->has_value());
  EXPECT_GT(got(writer)->token().counter(), held->token().counter()) << "it is another claim";
  EXPECT_TRUE(release(alice, got(writer)));
  ASSERT_TRUE(got(later) && got(last)) << "together";
  EXPECT_GT(got(later)->token(), got(writer)->token());
}

TEST_F(LocalLockTest, SharedLetsReadersInWhenTheWriterBeforeThemGivesUp) {
  const House alice = library("alice");
  const HoldPtr held = hold(alice, reading());
  const auto writer = start_acquire(alice, wish(1s));
  const auto first = start_acquire(alice, reading()), second = start_acquire(alice, reading());
  EXPECT_FALSE(first->has_value());
  pass(1s);
  EXPECT_EQ((**writer).code(), Errc::timed_out);
  EXPECT_TRUE(got(first)) << "nobody waits any more whom it would pass";
  EXPECT_TRUE(got(second));
  EXPECT_EQ(claims(alice), 1u);
}

TEST_F(LocalLockTest, SharedIsNotForOtherTerms) {
  const House alice = library("alice");
  const HoldPtr held = hold(alice, reading());
  Request longer = reading();
  longer.terms.lease = 60s;
  const auto other = start_acquire(alice, longer), same = start_acquire(alice, reading());
  EXPECT_FALSE(other->has_value() || same->has_value()) << "and nobody passes it";
  EXPECT_TRUE(release(alice, held));
  EXPECT_TRUE(got(other));
  EXPECT_FALSE(same->has_value());
}

TEST_F(LocalLockTest, SharedLetsInOnlySoManyWhenOthersWait) {
  const House alice = library("alice", {.passes = 2, .time = 1h}), bob = library("bob");
  const HoldPtr held = hold(alice, reading());
  const auto writer = start_acquire(bob);
  const HoldPtr second = hold(alice, reading()), third = hold(alice, reading());
  const auto late = start_acquire(alice, reading());
  EXPECT_FALSE(late->has_value()) << "behind the writer of the other house";
  for (const HoldPtr& one : {held, second, third}) EXPECT_TRUE(release(alice, one));
  EXPECT_TRUE(got(writer));
  EXPECT_FALSE(late->has_value());
  EXPECT_TRUE(release(bob, got(writer)));
  EXPECT_TRUE(got(late));
}

TEST_F(LocalLockTest, SharedLetsInOnlyForSoLongWhenOthersWait) {
  const House alice = library("alice", {.passes = 1000, .time = 10ms}), bob = library("bob");
  const HoldPtr held = hold(alice, reading());
  const auto writer = start_acquire(bob);
  pass(9ms);
  EXPECT_TRUE(acquire(alice, reading(0s)));
  pass(1ms);
  EXPECT_EQ(acquire(alice, reading(0s)).code(), Errc::busy);
}

TEST_F(LocalLockTest, SharedIsAskedForAllItsReadersAndLetsInNobodyMore) {
  const House alice = library("alice");
  const HoldPtr first = hold(alice, reading()), second = hold(alice, reading());
  revoke(Kind::rw, false);
  EXPECT_TRUE(first->release_requested().stop_requested());
  EXPECT_TRUE(second->release_requested().stop_requested());
  const auto late = start_acquire(alice, reading());
  EXPECT_FALSE(late->has_value());
  EXPECT_TRUE(release(alice, first));
  EXPECT_TRUE(release(alice, second));
  ASSERT_TRUE(got(late));
  EXPECT_GT(got(late)->token().counter(), first->token().counter());
}

TEST_F(LocalLockTest, SharedThatIsTakenAwayIsLostForAll) {
  const House alice = library("alice");
  const HoldPtr first = hold(alice, reading()), second = hold(alice, reading());
  const auto writer = start_acquire(alice);
  revoke(Kind::rw, true);
  EXPECT_TRUE(first->lost().stop_requested());
  EXPECT_TRUE(second->lost().stop_requested());
  EXPECT_TRUE(got(writer)) << "the next claims anew";
  EXPECT_EQ(release(alice, first).code(), Errc::lost);
}

TEST_F(LocalLockTest, SharedWhoseLeaseIsOverIsLostForAll) {
  const House alice = library("alice");
  const HoldPtr first = hold(alice, reading()), second = hold(alice, reading());
  alice.party.faults->cut();
  EXPECT_TRUE(until([&] { return first->lost().stop_requested(); }, lease));
  pass(0s);
  EXPECT_TRUE(second->lost().stop_requested());
  alice.party.faults->heal();
  pass(lease);
  EXPECT_TRUE(acquire(alice, reading()));
  EXPECT_EQ(alice.party.context->telemetry.lost, 2u);
}

TEST_F(LocalLockTest, SharedByOneThatIsLostStaysWithTheOthers) {
  const House alice = library("alice"), bob = library("bob");
  Request bounded = reading();
  bounded.max_hold = 5s;
  const HoldPtr first = hold(alice, bounded), second = hold(alice, reading());
  const auto writer = start_acquire(bob);
  pass(5s);
  EXPECT_TRUE(first->lost().stop_requested());
  EXPECT_EQ(second->state(), HoldState::held);
  EXPECT_FALSE(writer->has_value());
  EXPECT_EQ(release(alice, first).code(), Errc::lost);
  EXPECT_TRUE(release(alice, second));
  EXPECT_TRUE(got(writer)) << "without a lock-delay it is free at once";
}

TEST_F(LocalLockTest, SharedByOneThatFailedIsShutWhenTheLastHasLeft) {
  const House alice = library("alice"), bob = library("bob");
  Request bounded = reading();
  bounded.terms.lock_delay = 10s;
  Request endless = bounded;
  bounded.max_hold = 5s;
  const HoldPtr first = hold(alice, bounded), second = hold(alice, endless);
  pass(5s);
  EXPECT_TRUE(first->lost().stop_requested());
  const auto writer = start_acquire(bob);
  EXPECT_TRUE(release(alice, second)) << "itself it ended well";
  pass(10s - 1ns);
  EXPECT_FALSE(writer->has_value());
  EXPECT_TRUE(until([&] { return got(writer) != nullptr; }, 2s));
}

TEST_F(LocalLockTest, SharedByOneThatFailedIsForgottenWithItsClaim) {
  const House alice = library("alice"), bob = library("bob");
  Request bounded = reading();
  bounded.max_hold = 5s;
  bounded.terms.lock_delay = 10s;
  const HoldPtr failed = hold(alice, bounded);
  pass(5s);
  EXPECT_TRUE(failed->lost().stop_requested());
  const HoldPtr next = hold(alice, bounded);
  EXPECT_TRUE(release(alice, next));
  pass(10s);
  EXPECT_TRUE(acquire(bob, wish(0s)));
}

TEST_F(LocalLockTest, SharedIsClosedForAllItsReaders) {
  const House alice = library("alice"), bob = library("bob");
  const HoldPtr first = hold(alice, reading()), second = hold(alice, reading());
  const auto writer = start_acquire(bob);
  alice.lock->close();
  EXPECT_EQ(first->remaining() + second->remaining(), 0s);
  pass(0s);
  EXPECT_TRUE(first->lost().stop_requested() && second->lost().stop_requested());
  EXPECT_TRUE(got(writer));
}

// downgraded

TEST_F(LocalLockTest, DowngradedLetsTheReadersInTheQueueIn) {
  const House alice = library("alice");
  const HoldPtr held = hold(alice);
  EXPECT_EQ(held->mode(), Mode::exclusive);
  const auto first = start_acquire(alice, reading()), second = start_acquire(alice, reading());
  const auto writer = start_acquire(alice), last = start_acquire(alice, reading());
  const Token token = held->token();
  EXPECT_TRUE(downgrade(alice, held));
  pass(0s);
  EXPECT_EQ(held->mode(), Mode::shared);
  EXPECT_EQ(held->token(), token);
  ASSERT_TRUE(got(first) && got(second));
  EXPECT_EQ(got(first)->mode(), Mode::shared);
  EXPECT_EQ(got(first)->token(), token.with_sub(1));
  EXPECT_FALSE(writer->has_value() || last->has_value());
  EXPECT_EQ(claims(alice), 1u);
  for (const HoldPtr& one : {held, got(first), got(second)}) EXPECT_TRUE(release(alice, one));
  EXPECT_TRUE(got(writer));
}

TEST_F(LocalLockTest, DowngradedLetsNoReaderPassAWriterOfAnotherHouseForLongerThanTheBounds) {
  const House alice = library("alice", {.passes = 64, .time = 1s}), bob = library("bob");
  const HoldPtr held = hold(alice);
  const auto writer = start_acquire(bob);
  const auto reader = start_acquire(alice, reading());
  pass(2s);
  EXPECT_TRUE(downgrade(alice, held));
  pass(0s);
  EXPECT_FALSE(reader->has_value());
  EXPECT_TRUE(release(alice, held));
  ASSERT_TRUE(got(writer));
  EXPECT_TRUE(release(bob, got(writer)));
  EXPECT_TRUE(got(reader));
}

TEST_F(LocalLockTest, DowngradedAfterARequestToReleaseLetsNobodyMoreIn) {
  const House alice = library("alice");
  const HoldPtr held = hold(alice);
  const auto reader = start_acquire(alice, reading());
  revoke(Kind::rw, false);
  EXPECT_TRUE(downgrade(alice, held));
  pass(0s);
  EXPECT_FALSE(reader->has_value());
  EXPECT_TRUE(release(alice, held));
  EXPECT_TRUE(got(reader));
}

TEST_F(LocalLockTest, DowngradedLetsReadersOfAllHousesIn) {
  const House alice = library("alice"), bob = library("bob");
  const HoldPtr held = hold(alice);
  const auto theirs = start_acquire(bob, reading());
  EXPECT_TRUE(downgrade(alice, held));
  pass(0s);
  EXPECT_TRUE(got(theirs));
  EXPECT_TRUE(acquire(alice, reading(0s))) << "and one who comes now";
  EXPECT_EQ(held->state(), HoldState::held);
}

TEST_F(LocalLockTest, DowngradedTwiceIsTheSame) {
  const House alice = library("alice");
  const HoldPtr held = hold(alice);
  EXPECT_TRUE(downgrade(alice, held));
  EXPECT_TRUE(downgrade(alice, held));
  EXPECT_EQ(alice.party.sent(Operation::downgrade), 1u);
  const HoldPtr beside = hold(alice, reading());
  EXPECT_TRUE(downgrade(alice, held)) << "it is not lost, though it is not alone";
  EXPECT_TRUE(downgrade(alice, beside));
}

TEST_F(LocalLockTest, DowngradedAfterItsLossIsLost) {
  const House alice = library("alice");
  const HoldPtr held = hold(alice);
  revoke(Kind::rw, true);
  EXPECT_EQ(downgrade(alice, held).code(), Errc::lost);
  const HoldPtr next = hold(alice);
  EXPECT_EQ(downgrade(alice, held).code(), Errc::lost);
  EXPECT_EQ(next->mode(), Mode::exclusive);
  EXPECT_TRUE(release(alice, next));
  EXPECT_EQ(downgrade(alice, next).code(), Errc::lost);
}

TEST_F(LocalLockTest, DowngradedWithALostReplyIsDowngradedAllTheSame) {
  const House alice = library("alice"), bob = library("bob");
  const HoldPtr held = hold(alice);
  alice.party.faults->lose_next_reply(Operation::downgrade);
  EXPECT_TRUE(downgrade(alice, held));
  EXPECT_EQ(held->mode(), Mode::shared);
  EXPECT_TRUE(acquire(bob, reading(0s)));
}

TEST_F(LocalLockTest, DowngradedByAStoreThatDoesNotAnswerIsAReaderAllTheSame) {
  const House alice = library("alice");
  const HoldPtr held = hold(alice);
  const auto reader = start_acquire(alice, reading());
  alice.party.faults->refuse(true);
  EXPECT_EQ(downgrade(alice, held).code(), Errc::store_unavailable);
  EXPECT_EQ(held->mode(), Mode::shared) << "the answer may only have been lost";
  EXPECT_FALSE(reader->has_value());
  alice.party.faults->refuse(false);
  EXPECT_TRUE(downgrade(alice, held)) << "it can be tried again";
  pass(0s);
  EXPECT_TRUE(got(reader));
}

// A thread that unlocks exclusively and then shared sends both without waiting.
TEST_F(LocalLockTest, DowngradedAndReleasedBeforeTheAnswerIsNotPassedOnToAWriter) {
  const House alice = library("alice"), bob = library("bob");
  const HoldPtr held = hold(alice);
  const auto ours = start_acquire(alice), theirs = start_acquire(bob, reading());
  alice.party.faults->delay_all(100ms);
  const auto done = start_downgrade(alice, held);
  EXPECT_TRUE(held->let_go());
  alice.lock->send_release(held, nullptr);
  pass(1s);
  EXPECT_TRUE(done->has_value());
  EXPECT_TRUE(got(ours) || got(theirs)) << "somebody has it";
  const bool both =
      got(ours) && got(ours)->state() == HoldState::held && got(theirs) && got(theirs)->state() == HoldState::held;
  EXPECT_FALSE(both) << "a writer beside a reader";
}

TEST_F(LocalLockTest, DowngradedWithALostReplyAndReleasedIsNotPassedOnToAWriter) {
  const House alice = library("alice"), bob = library("bob");
  const HoldPtr held = hold(alice);
  const auto ours = start_acquire(alice), theirs = start_acquire(bob, reading());
  alice.party.faults->lose_next_reply(Operation::downgrade);
  const auto done = start_downgrade(alice, held);
  EXPECT_TRUE(held->let_go());
  alice.lock->send_release(held, nullptr);
  pass(10s);
  EXPECT_TRUE(got(ours) || got(theirs)) << "somebody has it";
  const bool both =
      got(ours) && got(ours)->state() == HoldState::held && got(theirs) && got(theirs)->state() == HoldState::held;
  EXPECT_FALSE(both) << "a writer beside a reader";
}

TEST_F(LocalLockTest, DowngradedOrNotAnUnknownOutcomeIsNotPassedOnToAWriter) {
  const House alice = library("alice", {.passes = 64, .time = 1h}), bob = library("bob");
  const HoldPtr held = hold(alice);
  const auto ours = start_acquire(alice), theirs = start_acquire(bob, reading());
  for (int i = 0; i < 100; ++i) alice.party.faults->lose_next_reply(Operation::downgrade);
  EXPECT_EQ(downgrade(alice, held).code(), Errc::outcome_unknown);
  EXPECT_TRUE(got(theirs)) << "the store has done it";
  EXPECT_TRUE(release(alice, held));
  pass(0s);
  EXPECT_FALSE(got(ours)) << "a writer beside a reader";
  EXPECT_TRUE(release(bob, got(theirs)));
  EXPECT_TRUE(until([&] { return got(ours) != nullptr; }, lease));
}

// permits

TEST_F(LocalLockTest, PermitsKeepTheirSlotsWhenTheyArePassedOn) {
  const House alice = house("alice", {}, Kind::permits), bob = house("bob", {}, Kind::permits);
  Request two = wish();
  two.terms.permits = {2, 5};
  const HoldPtr other = hold(bob, two), held = hold(alice, two);
  EXPECT_EQ(held->slots(), (std::vector<std::uint32_t>{2, 3}));
  const auto next = start_acquire(alice, two);
  EXPECT_TRUE(release(alice, held));
  ASSERT_TRUE(got(next));
  EXPECT_EQ(got(next)->slots(), held->slots());
  EXPECT_GT(got(next)->token(), held->token());
  EXPECT_TRUE(release(bob, other));
  EXPECT_TRUE(release(alice, got(next)));
  EXPECT_EQ(hold(alice, two)->slots(), (std::vector<std::uint32_t>{0, 1})) << "a new claim has slots of its own";
}

TEST_F(LocalLockTest, PermitsOfAnotherNumberQueueUpForAClaimOfTheirOwn) {
  const House alice = house("alice", {}, Kind::permits);
  Request one = wish(), two = wish();
  one.terms.permits = {1, 5};
  two.terms.permits = {2, 5};
  const HoldPtr held = hold(alice, one);
  const auto next = start_acquire(alice, two);
  EXPECT_TRUE(release(alice, held));
  ASSERT_TRUE(got(next));
  EXPECT_EQ(got(next)->slots(), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_GT(got(next)->token().counter(), held->token().counter());
}

TEST_F(LocalLockTest, ACandidateShowsItsOwnValue) {
  const House alice = house("alice", {.passes = 0}, Kind::election);
  Request first = wish(), second = wish();
  first.value = "one:80";
  second.value = "two:80";
  const HoldPtr held = hold(alice, first);
  const auto next = start_acquire(alice, second);
  EXPECT_EQ(view(Kind::election).holders.at(0).value, "one:80");
  EXPECT_TRUE(release(alice, held));
  ASSERT_TRUE(got(next));
  EXPECT_EQ(view(Kind::election).holders.at(0).value, "two:80");
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

TEST_F(LocalLockTest, CloseThatOvertakesAReleaseDoesNotMakeItALoss) {
  const House alice = house("alice"), bob = house("bob");
  const HoldPtr held = hold(alice);
  EXPECT_TRUE(held->let_go());
  alice.lock->close();
  alice.lock->close();  // by the last handle, after the user's own
  EXPECT_TRUE(run(alice.party, alice.lock->release(held)));
  EXPECT_TRUE(acquire(bob, wish(0s)));
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
