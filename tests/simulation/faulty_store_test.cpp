#include "tests/support/faulty_store.hpp"

#include "base/wakeup.hpp"
#include "tests/support/actor.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::test {
namespace {

using base::Time;
using Place = Standing::Place;

/// Alice behind a bad network, bob beside the store.
class FaultyStoreTest : public StoreScene {
 protected:
  std::shared_ptr<FaultyStore> behind(std::shared_ptr<FaultPlan> plan) {
    return std::make_shared<FaultyStore>(std::make_shared<MemoryStore>(state_, home_), home_, std::move(plan),
                                         network_);
  }

  /// Starts it and lets nobody wait for it.
  template <class T>
  std::shared_ptr<std::optional<Result<T>>> start(awaitable<Result<T>> work) {
    auto result = std::make_shared<std::optional<Result<T>>>();
    base::spawn(home_, keep(std::move(work), result));
    return result;
  }
  template <class T>
  static awaitable<void> keep(awaitable<Result<T>> work, std::shared_ptr<std::optional<Result<T>>> out) {
    Result<T> result = co_await std::move(work);
    out->emplace(std::move(result));
  }

  Time now() const { return world_.now(); }

  SimProcess& network_ = world_.add_process();
  SimProcess& home_ = world_.add_process();
  std::shared_ptr<ScriptedFaults> faults_ = std::make_shared<ScriptedFaults>();
  std::shared_ptr<FaultyStore> store_ = behind(faults_);
  Actor alice_{world_, home_, store_, "alice", 60s};
  Actor bob_ = actor("bob", 60s);
};

TEST_F(FaultyStoreTest, WithoutFaultsItIsTheStoreItself) {
  const Claim held = alice_.wish("job"), next = bob_.wish("job");
  EXPECT_TRUE(granted(alice_.claim(held)));
  bob_.claim(next).value();
  ASSERT_EQ(alice_.told.size(), 1u);
  EXPECT_EQ(alice_.told[0].what, Notice::What::contended);
  EXPECT_EQ(alice_.withdraw(held), Withdrawn::done);
  EXPECT_EQ(store_->id(), state_->id());
  EXPECT_EQ(&alice_.scheme().capabilities(), store_->schemes().at(0));
  EXPECT_EQ(store_->scheme("nonsense"), nullptr);
  EXPECT_EQ(faults_->count(Operation::claim), 1u);
}

TEST_F(FaultyStoreTest, ALostRequestIsUnknownAtTheDeadlineAndNeverApplied) {
  faults_->lose_next_request(Operation::claim);
  const Time before = now();
  const Claim claim = alice_.wish("job");
  EXPECT_EQ(alice_.claim(claim).code(), Errc::outcome_unknown);
  EXPECT_EQ(now() - before, 5s);
  pass(1h);
  EXPECT_EQ(census().claims, 0u);
}

TEST_F(FaultyStoreTest, ALostReplyIsUnknownAtTheDeadlineAndWasAppliedAtOnce) {
  faults_->lose_next_reply(Operation::claim);
  const Claim claim = alice_.wish("job");
  const auto answer = start(alice_.scheme().claim(claim, alice_.soon()));
  pass(1ms);
  EXPECT_EQ(census().claims, 1u);
  EXPECT_FALSE(*answer);
  pass(5s);
  ASSERT_TRUE(*answer);
  EXPECT_EQ((*answer)->code(), Errc::outcome_unknown);
  EXPECT_TRUE(granted(alice_.claim(claim))) << "only the next one was to be lost";
}

TEST_F(FaultyStoreTest, ARefusalIsImmediateAndNotApplied) {
  faults_->refuse(true);
  const Time before = now();
  EXPECT_EQ(alice_.claim(alice_.wish("job")).code(), Errc::store_unavailable);
  EXPECT_EQ(now(), before);
  EXPECT_EQ(census().claims, 0u);
}

TEST_F(FaultyStoreTest, ACutLosesRequestsAndNoticesUntilItHeals) {
  const Claim held = alice_.wish("job");
  alice_.claim(held).value();
  faults_->cut();
  bob_.claim(bob_.wish("job")).value();
  EXPECT_EQ(alice_.renew().code(), Errc::outcome_unknown);
  EXPECT_TRUE(alice_.told.empty());
  faults_->heal();
  EXPECT_EQ(alice_.changes(), 1u) << "what was missed is found by asking";
}

TEST_F(FaultyStoreTest, ADelayIsWaitedFor) {
  faults_->delay_all(2s);
  const Time before = now();
  EXPECT_TRUE(granted(alice_.claim(alice_.wish("job"))));
  EXPECT_EQ(now() - before, 2s);
}

TEST_F(FaultyStoreTest, ARequestDelayedPastTheDeadlineIsAppliedAllTheSame) {
  faults_->delay_all(8s);
  const Claim claim = alice_.wish("job");
  const Time before = now();
  EXPECT_EQ(alice_.claim(claim).code(), Errc::outcome_unknown);
  EXPECT_EQ(now() - before, 5s);
  EXPECT_EQ(census().claims, 0u);
  pass(3s);
  EXPECT_EQ(census().claims, 1u);
}

TEST_F(FaultyStoreTest, AWithdrawalCanOvertakeItsClaim) {
  faults_->delay_all(8s);
  const Claim claim = alice_.wish("job");
  EXPECT_EQ(alice_.claim(claim).code(), Errc::outcome_unknown);
  faults_->delay_all(0s);
  EXPECT_EQ(alice_.withdraw(claim, {.unsettled = true}), Withdrawn::not_there);
  pass(10s);
  EXPECT_EQ(census().claims, 0u) << "the late claim found the tombstone";
}

TEST_F(FaultyStoreTest, ADuplicateIsAppliedTwiceAndAWithdrawalGetsTheAnswerOfTheFirst) {
  faults_->duplicate(true);
  const Claim claim = alice_.wish("job");
  EXPECT_TRUE(granted(alice_.claim(claim)));
  EXPECT_EQ(census().claims, 1u);
  EXPECT_EQ(alice_.withdraw(claim), Withdrawn::done);
  EXPECT_EQ(census().claims, 0u);
}

TEST_F(FaultyStoreTest, ACallThatThrowsMayHaveBeenApplied) {
  for (const bool applied : {false, true}) {
    faults_->throw_next(Operation::claim, applied);
    const Claim claim = alice_.wish("job");
    EXPECT_EQ(alice_.claim(claim).code(), Errc::overloaded);
    EXPECT_EQ(census().claims, applied ? 1u : 0u);
  }
}

TEST_F(FaultyStoreTest, WhatWasSentArrivesThoughTheSenderIsPaused) {
  faults_->delay_all(1s);
  const auto answer = start(alice_.scheme().claim(alice_.wish("job"), alice_.soon()));
  pass(1ms);
  home_.pause();
  pass(10s);
  EXPECT_EQ(census().claims, 1u);
  EXPECT_FALSE(*answer);
  home_.resume();
  pass(1ms);
  EXPECT_TRUE(*answer);
}

TEST_F(FaultyStoreTest, WhatWasSentArrivesThoughTheSenderHasCrashed) {
  faults_->delay_all(1s);
  start(alice_.scheme().claim(alice_.wish("job"), alice_.soon()));
  pass(1ms);
  home_.crash();
  pass(1s);
  EXPECT_EQ(census().claims, 1u);
}

TEST_F(FaultyStoreTest, WhatWasSentArrivesThoughTheConnectionHasGone) {
  SimProcess& process = world_.add_process();
  auto inner = std::make_shared<MemoryStore>(state_, process);
  auto store = std::make_shared<FaultyStore>(inner, process, faults_, network_);
  faults_->delay_all(1s);
  const Claim claim{.id = {7, 7}, .session = bob_.session, .key = key("job"), .lease = 60s};
  start(store->scheme("")->claim(claim, alice_.soon()));
  pass(1ms);
  inner.reset();
  store.reset();
  pass(1s);
  EXPECT_EQ(census().claims, 1u);
}

TEST_F(FaultyStoreTest, SessionsCanBeExpiredBehindTheClientsBack) {
  const Claim held = alice_.wish("job");
  alice_.claim(held).value();
  EXPECT_EQ(store_->sessions(), std::vector{alice_.session});
  base::spawn(network_, store_->expire_sessions());
  pass(1ms);
  EXPECT_TRUE(store_->sessions().empty());
  EXPECT_EQ(alice_.renew().code(), Errc::lost);
  EXPECT_EQ(bob_.look(held).place, Place::gone);
}

TEST_F(FaultyStoreTest, ASessionIsListedThoughItsReplyWasLostAndNotWhenItIsOver) {
  faults_->lose_next_reply(Operation::open_session);
  store::SessionRequest request{.lease = 10s};
  EXPECT_EQ(alice_.run(store_->open_session(request, alice_.soon())).code(), Errc::outcome_unknown);
  EXPECT_EQ(store_->sessions().size(), 2u);
  alice_.close();
  EXPECT_EQ(store_->sessions().size(), 1u);
}

TEST_F(FaultyStoreTest, NoticesAreDroppedDelayedOrRepeatedAndNeverComeAfterUnwatch) {
  const auto random = std::make_shared<RandomFaults>(home_, FaultRates{});
  Actor carol(world_, home_, behind(random), "carol", 600s);
  Actor dave = actor("dave", 600s);
  // How many notices of contention come at once, how many in the end, and how many if nobody watches any more.
  const auto contend = [&](FaultRates rates) {
    random->change(rates);
    carol.told.clear();
    const Claim held = carol.wish("other"), next = dave.wish("other");
    carol.claim(held).value();
    dave.claim(next).value();
    dave.withdraw(next);
    std::vector<std::size_t> counts{carol.told.size()};
    pass(10s);
    counts.push_back(carol.told.size());
    carol.told.clear();
    dave.claim(next).value();
    carol.scheme().unwatch(held.id);
    pass(10s);
    counts.push_back(carol.told.size());
    carol.withdraw(held);
    dave.withdraw(next);
    return counts;
  };
  EXPECT_EQ(contend({}), (std::vector<std::size_t>{1, 1, 1}));
  EXPECT_EQ(contend({.drop_notice = 1}), (std::vector<std::size_t>{0, 0, 0}));
  EXPECT_EQ(contend({.delay_notice = 1}), (std::vector<std::size_t>{0, 1, 0}));
  EXPECT_EQ(contend({.repeat_notice = 1}), (std::vector<std::size_t>{1, 2, 1}));
}

/// Many requests at once, everything going wrong; what every one of them saw.
std::string storm(std::uint64_t seed) {
  SimWorld world(seed);
  SimProcess& network = world.add_process();
  SimProcess& process = world.add_process();
  const auto state = std::make_shared<MemoryState>([&] { return world.now(); }, [&] { return world.random(); }, 1);
  const FaultRates rates{.refuse = 0.1,
                         .drop_request = 0.1,
                         .drop_reply = 0.1,
                         .request_delay = 0.3,
                         .reply_delay = 0.3,
                         .duplicate = 0.2};
  const auto plan = std::make_shared<RandomFaults>(network, FaultRates{});
  auto store = std::make_shared<FaultyStore>(std::make_shared<MemoryStore>(state, process), process, plan, network);
  Actor alice(world, process, store, "alice", 24h);
  plan->change(rates);

  std::vector<std::optional<Result<ClaimState>>> answers(300);
  for (auto& answer : answers) {
    base::spawn(process, base::store_result(alice.scheme().claim(alice.wish("job"), alice.soon()), answer));
  }
  world.run_for(60s);
  std::string seen;
  for (const auto& answer : answers) {
    EXPECT_TRUE(answer) << "every call ends by its deadline";
    if (answer)
      seen += *answer ? (granted(*answer) ? "granted " : "waiting ") : std::string(to_string(answer->code())) + " ";
  }
  return seen + std::to_string(state->census().claims);
}

TEST(FaultyStoreStorm, EveryCallEndsAndTheSameSeedGivesTheSameRun) {
  const std::string once = storm(5);
  EXPECT_EQ(once, storm(5));
  EXPECT_NE(once, storm(6));
  EXPECT_NE(once.find("outcome_unknown"), std::string::npos);
  EXPECT_NE(once.find("store_unavailable"), std::string::npos);
  EXPECT_NE(once.find("waiting"), std::string::npos);
}

}  // namespace
}  // namespace pawl::test
