// Promise: a wait ends when it should (granted, timed out, cancelled), and whoever gives up leaves nothing behind.

#include "tests/contract/contract.hpp"

#include <algorithm>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>

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
  StartedHold second = start_acquire_in_order(bob, bob.mutex("job"));
  await(bob, nothing());  // it has begun
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
  const Actor alice = world().client(), bob = world().impatient_client({.lease = 10s}), carol = world().client();
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

namespace {

/// What a client does at the port, without the layers above it: they would make good for what is lost.
class Bare {
 public:
  explicit Bare(const Actor& actor, Duration lease) : actor_(actor) {
    store::SessionRequest request;
    request.lease = lease;
    session_ = await(actor_, actor_.store().open_session(request, soon())).value().id;
  }
  ~Bare() { EXPECT_TRUE(await(actor_, actor_.store().close_session(session_, soon()))); }

  store::Claim wish(std::string_view name, Duration lease) const {
    const store::LockKey key{Kind::mutex, store::LockName::make(name).value()};
    store::Claim claim{actor_.runtime().make_id<store::ClaimId>(), session_, key};
    claim.lease = lease;
    return claim;
  }
  store::ClaimState claim(const store::Claim& claim) const {
    return await(actor_, scheme().claim(claim, soon())).value();
  }
  bool granted(const store::Claim& wish) const { return std::holds_alternative<store::Granted>(claim(wish)); }
  Result<store::Withdrawn> withdraw(const store::Claim& claim) const {
    return await(actor_, scheme().withdraw(claim, {}, soon()));
  }
  store::Renewal renew() const { return await(actor_, actor_.store().renew(session_, soon())).value(); }

 private:
  store::Scheme& scheme() const { return *actor_.store().scheme(actor_.world().scheme()); }
  base::Deadline soon() const { return base::Deadline::in(actor_.runtime().now(), actor_.world().hang() / 4); }

  const Actor actor_;
  store::SessionId session_;
};

bool names(const store::Renewal& renewal, const store::Claim& claim) {
  return std::find(renewal.changed->begin(), renewal.changed->end(), claim.id) != renewal.changed->end();
}

}  // namespace

// Scenario: nobody watches, so every notice is lost. Either a waiter comes back within 5 s by itself, or its session's
// renewal, which comes that often, tells of what it missed, until it has asked.
TEST_P(Waiting, ALostGrantIsFoundWithinFiveSecondsWhateverTheLease) {
  const Duration lease = std::min<Duration>(can().longest_lease, 10min);
  const Bare alice(world().client(), lease), bob(world().client(), lease);
  const store::Claim hers = alice.wish("job", lease), other = alice.wish("other", lease);
  const store::Claim his = bob.wish("job", lease), behind = bob.wish("other", lease);
  ASSERT_TRUE(alice.granted(hers) && alice.granted(other));
  const store::ClaimState waits = bob.claim(his);
  ASSERT_FALSE(bob.granted(behind));
  ASSERT_TRUE(std::holds_alternative<store::Waiting>(waits));
  const store::Renewal before = bob.renew();
  EXPECT_EQ(alice.withdraw(hers).value(), store::Withdrawn::done);
  if (std::get<store::Waiting>(waits).look_again_in > 5s) {
    const store::Renewal renewal = bob.renew();
    EXPECT_NE(renewal.changes, before.changes);
    EXPECT_TRUE(!renewal.changed || (names(renewal, his) && !names(renewal, behind)));
    EXPECT_TRUE(!renewal.changed || names(bob.renew(), his)) << "an answer may be lost";
  }
  // Where a connection of his own waits, its answer may be on its way.
  EXPECT_TRUE(world().ask_until([&] { return bob.granted(his); }));
  const store::Renewal after = bob.renew();
  EXPECT_TRUE(!after.changed || !names(after, his)) << "it has asked";
  for (const store::Claim& claim : {hers, other}) EXPECT_TRUE(alice.withdraw(claim));
  for (const store::Claim& claim : {his, behind}) EXPECT_TRUE(bob.withdraw(claim));
}

}  // namespace pawl::contract
