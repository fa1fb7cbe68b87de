#include "claim/remote_claim.hpp"

#include "tests/support/client_scene.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace pawl::claim {
namespace {

using namespace test;
using store::Ending;

using Heard = std::vector<std::string>;

/// Writes down what becomes of its claim.
struct Ear final : Listener {
  void claim_granted(const store::Granted& granted, std::shared_ptr<session::Validity> by) override {
    token = granted.token;
    slots = granted.slots;
    validity = std::move(by);
    heard.emplace_back(granted.contended ? "granted, contended" : "granted");
  }
  void claim_failed(Error why) override {
    error = std::move(why);
    heard.emplace_back("failed");
  }
  void claim_contended() override { heard.emplace_back("contended"); }
  void claim_release_requested() override { heard.emplace_back("release requested"); }
  void claim_lost(const char* why) override {
    heard.emplace_back("lost");
    reason = why;
  }

  Heard heard;
  std::string reason;  // of the loss
  Token token;
  std::vector<std::uint32_t> slots;
  std::shared_ptr<session::Validity> validity;
  Error error;
};

/// A claim and whoever listens to it.
struct Wanted {
  std::shared_ptr<Ear> ear = std::make_shared<Ear>();
  std::shared_ptr<RemoteClaim> claim = {};

  const Heard& heard() const { return ear->heard; }
  bool held() const { return !heard().empty() && heard().front().starts_with("granted"); }
};

class RemoteClaimTest : public ClientScene {
 protected:
  static constexpr Duration lease = 30s;
  static constexpr Duration attempt = 5s;  // the shorter one of the timeout and a third of the lease

  Wanted want(const Party& who, bool may_queue = true, Duration lock_delay = 0s, std::string label = "") {
    RemoteClaim::Wish wish{lock_key("job"), {lease, lock_delay}};
    wish.may_queue = may_queue;
    wish.label = std::move(label);
    return want(who, std::move(wish));
  }
  Wanted want(const Party& who, RemoteClaim::Wish wish) {
    Wanted wanted;
    wanted.claim = std::make_shared<RemoteClaim>(who.context, who.keeper, who.scheme(), std::move(wish), *wanted.ear);
    wanted.claim->start();
    pass(0s);
    return wanted;
  }
  Wanted hold(const Party& who, Duration lock_delay = 0s) {
    Wanted wanted = want(who, true, lock_delay);
    EXPECT_EQ(wanted.heard(), (Heard{"granted"}));
    return wanted;
  }
  static LockKey key_of(Kind kind) { return {kind, store::LockName::make("job").value()}; }
  Wanted want_to_write(const Party& who, Duration lock_delay = 0s) {
    return want(who, RemoteClaim::Wish{key_of(Kind::rw), {lease, lock_delay}});
  }
  Wanted want_to_read(const Party& who) {
    return want(who, RemoteClaim::Wish{key_of(Kind::rw), {lease, 0s, Mode::shared}});
  }
  Wanted want_permits(const Party& who, std::uint32_t wanted, std::uint32_t of) {
    return want(who, RemoteClaim::Wish{key_of(Kind::permits), {lease, 0s, Mode::exclusive, {wanted, of}}});
  }
  Started<Result<void>> start_downgrade(const Party& who, const Wanted& wanted, Duration within = 2 * lease) {
    return start<Result<void>>(who, wanted.claim->downgrade(Deadline::in(now(), within)));
  }
  Result<void> downgrade(const Party& who, const Wanted& wanted, Duration within = 2 * lease) {
    return await<Result<void>>(start_downgrade(who, wanted, within));
  }
  LockView view_of(Kind kind) { return run(bystander_, bystander_.scheme().inspect(key_of(kind), soon())).value(); }
  std::shared_ptr<Settlement> let_go(const Party& who, const Wanted& wanted, Ending ending = Ending::clean) {
    auto settlement = std::make_shared<Settlement>(who.process);
    wanted.claim->let_go(ending, settlement);
    pass(0s);
    return settlement;
  }
  LockView view(std::string_view name = "job") {
    return run(bystander_, bystander_.scheme().inspect(lock_key(name), soon())).value();
  }
  /// Revokes the holder, or the first one who waits.
  void revoke(bool now, bool waiter = false, Kind kind = Kind::mutex) {
    const LockView seen = view_of(kind);
    store::ClaimId id;
    ASSERT_TRUE(base::parse_hex((waiter ? seen.waiters : seen.holders).at(0).claim, id.high, id.low));
    ASSERT_TRUE(run(bystander_, bystander_.scheme().revoke(key_of(kind), id, now, soon())).value());
    pass(0s);
  }
  void expire(const Party& who) {
    run(who, [](std::shared_ptr<FaultyStore> store) -> awaitable<bool> {
      co_await store->expire_sessions();
      co_return true;
    }(who.store));
  }
  std::size_t tasks(const Party& who) const { return who.context->tasks; }

  Party bystander_ = party("bystander");
  Party alice_ = party("alice");
  Party bob_ = party("bob");
};

// asking

TEST_F(RemoteClaimTest, AskingIsGrantedAFreeLockAtOnce) {
  const Wanted alice = hold(alice_);
  EXPECT_GT(alice.ear->token, Token());
  EXPECT_TRUE(alice.ear->validity->valid());
  EXPECT_EQ(alice_.sent(Operation::claim), 1u);
}

TEST_F(RemoteClaimTest, AskingWaitsBehindTheHolderAndIsGrantedByAPush) {
  const Wanted alice = hold(alice_);
  const Wanted bob = want(bob_);
  EXPECT_TRUE(bob.heard().empty());
  EXPECT_EQ(bob.claim->seen().holder->host, "alice");
  EXPECT_EQ(bob_.count(EventType::waiting), 1u);
  EXPECT_EQ(alice.heard(), (Heard{"granted", "contended"}));
  let_go(alice_, alice);
  EXPECT_EQ(bob.heard(), (Heard{"granted"}));
  EXPECT_EQ(bob_.sent(Operation::claim), 1u) << "the push was enough";
  EXPECT_GT(bob.ear->token, alice.ear->token);
}

TEST_F(RemoteClaimTest, AskingFindsTheGrantByItselfWhenThePushIsLost) {
  const Wanted alice = hold(alice_);
  const Wanted bob = want(bob_);
  bob_.faults->drop_notices(true);
  let_go(alice_, alice);
  EXPECT_TRUE(bob.heard().empty());
  EXPECT_TRUE(until([&] { return bob.held(); }, lease));
  EXPECT_GT(bob_.sent(Operation::claim), 1u);
}

TEST_F(RemoteClaimTest, AskingIsGrantedOnceWhenThePushComesBeforeTheAnswer) {
  const Wanted alice = hold(alice_);
  bob_.faults->delay_all(100ms);
  const Wanted bob = want(bob_);
  pass(250ms);  // a session and a claim have gone there
  let_go(alice_, alice);
  pass(10s);
  EXPECT_EQ(bob.heard(), (Heard{"granted"}));
}

TEST_F(RemoteClaimTest, AskingIsGrantedByThePushThoughTheAnswerIsLost) {
  const Wanted alice = hold(alice_);
  const Wanted first = want(bob_);  // opens bob's session
  first.claim->give_up();
  pass(0s);
  bob_.faults->lose_next_reply(Operation::claim);
  const Wanted bob = want(bob_);
  let_go(alice_, alice);
  EXPECT_TRUE(bob.heard().empty()) << "its task waits for the answer";
  pass(attempt);
  EXPECT_EQ(bob.heard(), (Heard{"granted"}));
  EXPECT_TRUE(bob.claim->unsettled()) << "the first request may still arrive";
}

TEST_F(RemoteClaimTest, AskingKeepsItsPlaceThroughAnOutage) {
  const Wanted alice = hold(alice_);
  const Wanted bob = want(bob_);
  bob_.faults->cut();
  pass(lease / 2);
  bob_.faults->heal();
  const Party carol_ = party("carol");
  const Wanted carol = want(carol_);
  let_go(alice_, alice);
  EXPECT_TRUE(until([&] { return bob.held(); }, lease));
  EXPECT_FALSE(carol.held());
}

TEST_F(RemoteClaimTest, AskingRepeatsARequestWhoseOutcomeIsUnknownWithTheSameId) {
  alice_.faults->lose_next_reply(Operation::claim);
  const Wanted alice = want(alice_);
  EXPECT_EQ(census().claims, 1u);
  EXPECT_TRUE(until([&] { return alice.held(); }, 2 * attempt));
  EXPECT_EQ(census().claims, 1u);
  EXPECT_EQ(alice_.context->telemetry.store_claims, 1u);
}

TEST_F(RemoteClaimTest, AskingGiveUpLeavesTheQueue) {
  const Wanted alice = hold(alice_);
  const Wanted bob = want(bob_);
  EXPECT_EQ(view().waiters.size(), 1u);
  bob.claim->give_up();
  pass(0s);
  EXPECT_EQ(view().waiters.size(), 0u);
  EXPECT_EQ(tasks(bob_), 0u);
  let_go(alice_, alice);
  pass(lease);
  EXPECT_TRUE(bob.heard().empty());
  EXPECT_EQ(census().tombstones, 0u) << "every request was answered: nothing can come late";
}

TEST_F(RemoteClaimTest, AskingLetGoIsAsGiveUp) {
  const Wanted alice = hold(alice_);
  const Wanted bob = want(bob_);
  let_go(bob_, bob);
  EXPECT_EQ(view().waiters.size(), 0u);
  EXPECT_EQ(tasks(bob_), 0u);
}

TEST_F(RemoteClaimTest, AskingGiveUpBeforeASessionIsThereLeavesNothing) {
  alice_.faults->delay_all(1s);
  const Wanted alice = want(alice_);
  alice.claim->give_up();
  pass(10s);
  EXPECT_EQ(alice_.sent(Operation::claim), 0u);
  EXPECT_EQ(tasks(alice_), 0u);
  EXPECT_TRUE(alice.heard().empty());
}

// The request may be under way when its caller gives up: the store refuses it when it comes.
TEST_F(RemoteClaimTest, AskingGiveUpWithAnUnsettledRequestLeavesATombstone) {
  hold(bob_).claim->give_up();
  pass(0s);
  const Wanted first = hold(alice_);  // opens alice's session
  let_go(alice_, first);
  alice_.faults->lose_next_reply(Operation::claim);
  const Wanted alice = want(alice_);
  EXPECT_EQ(census().claims, 1u) << "granted, unknown to her";
  alice.claim->give_up();
  pass(2 * attempt);
  EXPECT_EQ(census().claims, 0u);
  EXPECT_EQ(census().tombstones, 1u);
  EXPECT_EQ(tasks(alice_), 0u);
  EXPECT_EQ(alice_.context->telemetry.undone, 1u);
  EXPECT_EQ(alice_.count(EventType::undone), 1u);
  EXPECT_TRUE(alice.heard().empty());
}

TEST_F(RemoteClaimTest, AClaimThatArrivesAfterItsUndoIsRefused) {
  const Wanted first = hold(alice_);
  let_go(alice_, first);
  alice_.faults->delay_all(attempt + 5s);  // longer than she listens
  const Wanted alice = want(alice_);
  alice_.faults->delay_all(0s);
  alice.claim->give_up();
  pass(attempt + 1s);
  EXPECT_EQ(tasks(alice_), 0u) << "withdrawn before it arrived";
  EXPECT_EQ(census().claims, 0u);
  pass(lease);
  EXPECT_EQ(census().claims, 0u);
  const Wanted bob = hold(bob_);
}

TEST_F(RemoteClaimTest, AskingWhoseSessionIsLostAsksAgainInANewOneWithANewId) {
  const Wanted alice = hold(alice_);
  const Wanted bob = want(bob_);
  const std::string before = view().waiters.at(0).claim;
  bob_.faults->cut();
  pass(lease);
  EXPECT_TRUE(view().waiters.empty());
  bob_.faults->heal();
  ASSERT_TRUE(until([&] { return bob_.sent(Operation::open_session) > 1 && view().waiters.size() == 1; }, 2 * lease));
  EXPECT_NE(view().waiters.at(0).claim, before);
  EXPECT_TRUE(bob.heard().empty()) << "nobody needs to know";
  let_go(alice_, alice);
  EXPECT_EQ(bob.heard(), (Heard{"granted"}));
}

TEST_F(RemoteClaimTest, AskingThatIsToldLostByTheStoreAsksAgainAtOnce) {
  const Wanted alice = hold(alice_);
  const Wanted bob = want(bob_);
  expire(bob_);
  ASSERT_TRUE(until([&] { return view().waiters.size() == 1; }, lease));
  let_go(alice_, alice);
  EXPECT_TRUE(until([&] { return bob.held(); }, lease));
}

// The store has granted it to a session that we have given up meanwhile. A hold of that session would be lost before the
// caller had it (LocalHold::start sees to that), and the wait would go on behind all other local waiters. Mutant D9.
TEST_F(RemoteClaimTest, AskingThatIsGrantedToASessionThatIsOverAsksAgainInANewOne) {
  let_go(alice_, hold(alice_));
  alice_.faults->delay_all(1s);
  const Wanted alice = want(alice_);
  alice_.keeper->live(lease)->end(session::loss::session_unknown);
  pass(1s);
  EXPECT_TRUE(alice.heard().empty());
  EXPECT_TRUE(until([&] { return alice.held(); }, lease));
  EXPECT_TRUE(alice.ear->validity->valid());
  EXPECT_EQ(alice.heard(), (Heard{"granted"}));
}

TEST_F(RemoteClaimTest, AskingFailsWhenNoSessionCanBeOpened) {
  alice_.faults->cut();
  const Wanted alice = want(alice_);
  EXPECT_TRUE(until([&] { return !alice.heard().empty(); }, 3 * timeout));
  EXPECT_EQ(alice.heard(), (Heard{"failed"}));
  EXPECT_EQ(alice.ear->error.code, Errc::store_unavailable);
  EXPECT_EQ(tasks(alice_), 0u);
}

TEST_F(RemoteClaimTest, AskingThatIsTakenAwayIsOverAndToldSo) {
  const Wanted alice = hold(alice_);
  const Wanted bob = want(bob_);
  revoke(true, true);
  EXPECT_EQ(bob.heard(), (Heard{"failed"}));
  EXPECT_EQ(bob.ear->error.code, Errc::lost);
  EXPECT_EQ(tasks(bob_), 0u);
}

TEST_F(RemoteClaimTest, AskingThatIsTakenAwayFindsOutThoughTheNoticeIsLost) {
  const Wanted alice = hold(alice_);
  const Wanted bob = want(bob_);
  bob_.faults->drop_notices(true);
  revoke(true, true);
  EXPECT_TRUE(until([&] { return !bob.heard().empty(); }, lease));
  EXPECT_EQ(bob.ear->error.code, Errc::lost);
  EXPECT_EQ(census().claims, 1u);
}

// a try

TEST_F(RemoteClaimTest, ATryThatFindsTheLockTakenIsBusyAndLeavesNothing) {
  const Wanted alice = hold(alice_);
  const Wanted bob = want(bob_, false);
  EXPECT_EQ(bob.heard(), (Heard{"failed"}));
  EXPECT_EQ(bob.ear->error.code, Errc::busy);
  EXPECT_EQ(census().claims, 1u);
  EXPECT_EQ(census().tombstones, 0u);
  EXPECT_EQ(bob_.sent(Operation::withdraw), 0u) << "there is nothing to withdraw";
}

TEST_F(RemoteClaimTest, ATryThatIsBusyAfterALostAnswerRefusesWhatMayStillArrive) {
  const Wanted alice = hold(alice_);
  bob_.faults->lose_next_reply(Operation::claim);
  const Wanted bob = want(bob_, false);
  EXPECT_TRUE(until([&] { return !bob.heard().empty(); }, 2 * attempt));
  EXPECT_EQ(bob.ear->error.code, Errc::busy);
  EXPECT_EQ(bob_.sent(Operation::withdraw), 1u);
  EXPECT_EQ(census().tombstones, 1u);
}

TEST_F(RemoteClaimTest, ATryAsksAgainWhenAnAnswerWasLost) {
  alice_.faults->lose_next_reply(Operation::claim);
  const Wanted alice = want(alice_, false);
  EXPECT_TRUE(until([&] { return alice.held(); }, 2 * attempt));
}

TEST_F(RemoteClaimTest, ATryIsNotPatientForEver) {
  hold(alice_).claim->give_up();
  pass(0s);
  alice_.faults->refuse(true);
  const Time began = now();
  const Wanted alice = want(alice_, false);
  EXPECT_TRUE(until([&] { return !alice.heard().empty(); }, 10 * timeout));
  EXPECT_EQ(alice.ear->error.code, Errc::store_unavailable);
  EXPECT_LE(now() - began, 3 * timeout);
}

// held

TEST_F(RemoteClaimTest, HeldLetGoWithdrawsAndSettles) {
  const Wanted alice = hold(alice_);
  const auto settled = let_go(alice_, alice);
  EXPECT_TRUE(settled->outcome.value());
  EXPECT_EQ(census().claims, 0u);
  EXPECT_EQ(tasks(alice_), 0u);
  EXPECT_EQ(alice.heard(), (Heard{"granted"}));
}

TEST_F(RemoteClaimTest, HeldLetGoAsFailedKeepsTheLockShut) {
  const Wanted alice = hold(alice_, 10s);
  let_go(alice_, alice, Ending::failed);
  const Wanted bob = want(bob_);
  pass(10s - 1ns);
  EXPECT_FALSE(bob.held());
  EXPECT_TRUE(until([&] { return bob.held(); }, 2s));
}

TEST_F(RemoteClaimTest, HeldLetGoCleanlyDoesNotKeepTheLockShut) {
  const Wanted alice = hold(alice_, 10s);
  let_go(alice_, alice);
  EXPECT_TRUE(want(bob_).held());
}

TEST_F(RemoteClaimTest, HeldWhoseSessionIsLostIsOverAndToldSoAtTheDeadline) {
  const Wanted alice = hold(alice_);
  alice_.faults->cut();
  const Duration certain = alice.ear->validity->remaining();
  pass(certain - 1ns);
  EXPECT_EQ(alice.heard(), (Heard{"granted"}));
  pass(1ns);
  EXPECT_EQ(alice.heard(), (Heard{"granted", "lost"}));
  alice_.faults->heal();
  pass(lease);
  EXPECT_EQ(tasks(alice_), 0u);
  EXPECT_EQ(alice.heard().size(), 2u);
  EXPECT_EQ(census().claims, 0u);
}

TEST_F(RemoteClaimTest, HeldThatIsTakenAwayIsToldAtOnce) {
  const Wanted alice = hold(alice_);
  revoke(true);
  EXPECT_EQ(alice.heard(), (Heard{"granted", "lost"}));
  EXPECT_EQ(alice.ear->reason, "it was taken away, as by pawl revoke --now");
  EXPECT_EQ(tasks(alice_), 0u);
}

TEST_F(RemoteClaimTest, HeldThatIsTakenAwayFindsOutByTheNextRenewalThoughTheNoticeIsLost) {
  const Wanted alice = hold(alice_);
  alice_.faults->drop_notices(true);
  revoke(true);
  EXPECT_EQ(alice.heard(), (Heard{"granted"}));
  pass(lease / 3);
  EXPECT_EQ(alice.heard(), (Heard{"granted", "lost"}));
}

TEST_F(RemoteClaimTest, HeldThatARenewalDoesNotConfirmIsLostAndWithdrawnAndTheOthersLiveOn) {
  const Wanted alice = hold(alice_);
  const Wanted other = want(alice_, RemoteClaim::Wish{lock_key("other"), {lease, 0s}});
  store::ClaimId claim;
  ASSERT_TRUE(base::parse_hex(view().holders.at(0).claim, claim.high, claim.low));
  alice_.faults->leave_out_of_next_renewal(claim);
  pass(lease / 3);
  EXPECT_EQ(alice.heard(), (Heard{"granted", "lost"}));
  EXPECT_EQ(alice.ear->reason, "the store has renewed the session without it");
  EXPECT_EQ(other.heard(), (Heard{"granted"}));
  EXPECT_TRUE(view().holders.empty());
  pass(2 * lease);
  EXPECT_EQ(other.heard(), (Heard{"granted"}));
}

TEST_F(RemoteClaimTest, HeldHearsOfContentionAndRevocationByANotice) {
  const Wanted alice = hold(alice_);
  const Wanted bob = want(bob_);
  revoke(false);
  EXPECT_EQ(alice.heard(), (Heard{"granted", "contended", "release requested"}));
}

TEST_F(RemoteClaimTest, HeldHearsOfContentionAndRevocationByTheNextRenewalThoughTheNoticeIsLost) {
  const Wanted alice = hold(alice_);
  alice_.faults->drop_notices(true);
  const Wanted bob = want(bob_);
  revoke(false);
  EXPECT_EQ(alice.heard(), (Heard{"granted"}));
  pass(lease / 3);
  EXPECT_EQ(alice.heard(), (Heard{"granted", "contended", "release requested"}));
}

// review R7: a lost hand-over notice cost a third of the lease, without a cap.
TEST_F(RemoteClaimTest, AskingFindsALostGrantWithinFiveSecondsWhateverTheLease) {
  constexpr Duration long_lease = 10min;
  const Party alice = party(), bob = party();
  const RemoteClaim::Wish wish{lock_key("job"), {long_lease, 0s}};
  const Wanted hers = want(alice, wish), his = want(bob, wish);
  std::vector<Wanted> others;
  std::vector<Wanted> behind;
  for (int i = 0; i < 20; ++i) {
    const RemoteClaim::Wish other{lock_key("other " + std::to_string(i)), {long_lease, 0s}};
    others.push_back(want(alice, other));
    behind.push_back(want(bob, other));
  }
  ASSERT_TRUE(hers.held());
  bob.faults->drop_notices(true);
  pass(1min);
  const std::size_t claims = bob.sent(Operation::claim), renewals = bob.sent(Operation::renew);
  let_go(alice, hers);
  pass(5s);
  EXPECT_TRUE(his.held());
  EXPECT_EQ(bob.sent(Operation::claim), claims + 1) << "those who wait for another lock do not ask";
  EXPECT_EQ(bob.sent(Operation::renew), renewals + 1);
}

TEST_F(RemoteClaimTest, HeldLooksAgainWhenTheLookItselfFails) {
  const Wanted alice = hold(alice_);
  alice_.faults->drop_notices(true);
  revoke(false);
  alice_.faults->lose_next_request(Operation::look);
  EXPECT_TRUE(until([&] { return alice.heard().size() > 1; }, lease)) << "the change number moves only once";
  EXPECT_EQ(alice.heard(), (Heard{"granted", "release requested"}));
}

// The store grants it and is asked to revoke it, while the grant has not reached us yet; and so is the renewal that tells
// of the change.
TEST_F(RemoteClaimTest, HeldHearsOfARevocationThatCameBeforeItsGrant) {
  hold(alice_).claim->give_up();
  pass(lease / 3 - 1s);
  alice_.faults->lose_next_reply(Operation::claim);
  const Wanted alice = want(alice_);
  revoke(false);
  EXPECT_TRUE(alice.heard().empty()) << "she does not know yet that she holds it";
  EXPECT_TRUE(until([&] { return alice.heard().size() == 2; }, lease));
  EXPECT_EQ(alice.heard(), (Heard{"granted", "release requested"}));
}

TEST_F(RemoteClaimTest, HeldHearsOfContentionThatFollowedItsGrantAtOnce) {
  const Wanted alice = hold(alice_);
  const Wanted bob = want(bob_);
  const Party carol_ = party("carol");
  bob_.process.pause();  // so that he hears both in one go
  let_go(alice_, alice);
  const Wanted carol = want(carol_);
  bob_.process.resume();
  pass(0s);
  EXPECT_EQ(bob.heard(), (Heard{"granted", "contended"}));
}

TEST_F(RemoteClaimTest, HeldShowsTheLabelOfWhoeverHasItNow) {
  const Wanted alice = want(alice_, true, 0s, "nightly");
  EXPECT_EQ(view().holders.at(0).owner.label, "nightly");
  alice.claim->relabel("weekly");
  pass(0s);
  EXPECT_EQ(view().holders.at(0).owner.label, "weekly");
  alice.claim->relabel("weekly");
  pass(0s);
  EXPECT_EQ(alice_.sent(Operation::relabel), 1u);
  EXPECT_EQ(alice.heard(), (Heard{"granted"}));
}

TEST_F(RemoteClaimTest, HeldIsNotLostWhenALabelCannotBeShown) {
  const Wanted alice = hold(alice_);
  alice_.faults->lose_next_request(Operation::relabel);
  alice.claim->relabel("weekly");
  pass(lease);
  EXPECT_EQ(alice.heard(), (Heard{"granted"}));
  const auto settled = let_go(alice_, alice);
  EXPECT_TRUE(settled->outcome.value());
}

// held without a task: the second claim of a session that lives already

TEST_F(RemoteClaimTest, RestingWhoseSessionIsLostIsToldSo) {
  const Wanted first = hold(alice_);
  let_go(alice_, first);
  const Wanted second = hold(alice_);
  EXPECT_EQ(tasks(alice_), 0u) << "there is nothing to do";
  expire(alice_);
  EXPECT_TRUE(until([&] { return second.heard().size() == 2; }, 2 * lease));
  EXPECT_EQ(second.heard(), (Heard{"granted", "lost"}));
}

TEST_F(RemoteClaimTest, RestingThatIsTakenAwayIsToldSo) {
  let_go(alice_, hold(alice_));
  const Wanted alice = hold(alice_);
  EXPECT_EQ(tasks(alice_), 0u);
  revoke(true);
  EXPECT_EQ(alice.heard(), (Heard{"granted", "lost"}));
  EXPECT_EQ(census().claims, 0u);
}

TEST_F(RemoteClaimTest, RestingHearsThatOthersWaitAndThatItIsAskedFor) {
  let_go(alice_, hold(alice_));
  const Wanted alice = hold(alice_);
  const Wanted bob = want(bob_);
  EXPECT_EQ(alice.heard(), (Heard{"granted", "contended"}));
  revoke(false);
  EXPECT_EQ(alice.heard(), (Heard{"granted", "contended", "release requested"}));
  const auto settled = let_go(alice_, alice);
  ASSERT_TRUE(settled->outcome);
  EXPECT_TRUE(*settled->outcome);
  EXPECT_EQ(bob.heard(), (Heard{"granted"}));
}

TEST_F(RemoteClaimTest, RestingWhoseReleaseIsLostIsReleasedAllTheSame) {
  let_go(alice_, hold(alice_));
  const Wanted alice = hold(alice_);
  alice_.faults->lose_next_reply(Operation::withdraw);
  const auto settled = let_go(alice_, alice);
  EXPECT_FALSE(settled->outcome);
  EXPECT_EQ(tasks(alice_), 1u);
  EXPECT_TRUE(until([&] { return settled->outcome.has_value(); }, 10s));
  EXPECT_TRUE(*settled->outcome);
  EXPECT_EQ(census().claims, 0u);
}

TEST_F(RemoteClaimTest, RestingThatIsThrownAwayIsForgottenByItsSession) {
  let_go(alice_, hold(alice_));
  Wanted alice = hold(alice_);
  alice.claim.reset();
  expire(alice_);
  pass(2 * lease);  // whoever told it of the loss would crash
  EXPECT_EQ(alice.heard(), (Heard{"granted"}));
}

// held, and downgraded

TEST_F(RemoteClaimTest, DowngradeLetsReadersInAndKeepsTheToken) {
  const Wanted alice = want_to_write(alice_);
  const Wanted bob = want_to_read(bob_);
  EXPECT_FALSE(bob.held());
  EXPECT_TRUE(downgrade(alice_, alice));
  pass(0s);
  EXPECT_TRUE(bob.held());
  EXPECT_EQ(alice.claim->terms().mode, Mode::shared);
  EXPECT_EQ(alice.heard(), (Heard{"granted", "contended"})) << "granted once";
  EXPECT_EQ(view_of(Kind::rw).holders.at(0).token, alice.ear->token);
  EXPECT_EQ(alice_.sent(Operation::downgrade), 1u);
  let_go(alice_, alice);
  let_go(bob_, bob);
  EXPECT_EQ(census().claims, 0u);
}

TEST_F(RemoteClaimTest, DowngradeIsRepeatedWhenItsReplyIsLost) {
  const Wanted alice = want_to_write(alice_);
  alice_.faults->lose_next_reply(Operation::downgrade);
  EXPECT_TRUE(downgrade(alice_, alice));
  EXPECT_EQ(alice_.sent(Operation::downgrade), 2u);
  EXPECT_EQ(alice.claim->terms().mode, Mode::shared);
  EXPECT_EQ(alice.heard(), (Heard{"granted"}));
  EXPECT_TRUE(want_to_read(bob_).held());
}

TEST_F(RemoteClaimTest, DowngradeIsRepeatedWhenTheRequestIsLost) {
  const Wanted alice = want_to_write(alice_);
  alice_.faults->lose_next_request(Operation::downgrade);
  const auto done = start_downgrade(alice_, alice);
  pass(attempt - 1ns);
  EXPECT_FALSE(want_to_read(bob_).held());
  EXPECT_EQ(alice.claim->terms().mode, Mode::exclusive);
  EXPECT_TRUE(await<Result<void>>(done));
  EXPECT_EQ(alice_.sent(Operation::downgrade), 2u);
}

TEST_F(RemoteClaimTest, DowngradeIsRepeatedUntilTheStoreIsBack) {
  const Wanted alice = want_to_write(alice_);
  alice_.faults->refuse(true);
  const auto done = start_downgrade(alice_, alice);
  pass(3s);
  EXPECT_FALSE(done->has_value());
  EXPECT_GT(alice_.sent(Operation::downgrade), 3u);
  EXPECT_LT(alice_.sent(Operation::downgrade), 20u) << "more and more slowly";
  alice_.faults->refuse(false);
  EXPECT_TRUE(await<Result<void>>(done));
}

TEST_F(RemoteClaimTest, DowngradeGivesUpAtItsDeadlineAndTheHoldStays) {
  const Wanted alice = want_to_write(alice_);
  alice_.faults->refuse(true);
  const Time began = now();
  EXPECT_EQ(downgrade(alice_, alice, 4s).code(), Errc::store_unavailable);
  EXPECT_LE(now() - began, 4s + attempt);
  alice_.faults->refuse(false);
  EXPECT_EQ(alice.claim->terms().mode, Mode::exclusive);
  pass(lease);
  EXPECT_EQ(alice.heard(), (Heard{"granted"}));
}

TEST_F(RemoteClaimTest, DowngradeOfALostSessionIsLost) {
  const Wanted alice = want_to_write(alice_);
  expire(alice_);
  EXPECT_TRUE(until([&] { return alice.heard().size() == 2; }, 2 * lease));
  EXPECT_EQ(downgrade(alice_, alice).code(), Errc::lost);
  EXPECT_EQ(alice_.sent(Operation::downgrade), 0u);
}

TEST_F(RemoteClaimTest, DowngradeWhoseSessionIsLostMeanwhileIsLost) {
  const Wanted alice = want_to_write(alice_);
  alice_.faults->cut();
  EXPECT_EQ(downgrade(alice_, alice, 10 * lease).code(), Errc::lost);
  pass(0s);
  EXPECT_EQ(alice.heard(), (Heard{"granted", "lost"}));
}

TEST_F(RemoteClaimTest, DowngradeOfWhatWasTakenAwayIsNotOurs) {
  const Wanted alice = want_to_write(alice_);
  alice_.faults->drop_notices(true);
  revoke(true, false, Kind::rw);
  EXPECT_EQ(downgrade(alice_, alice).code(), Errc::not_owner);
  EXPECT_EQ(alice_.sent(Operation::downgrade), 1u);
}

TEST_F(RemoteClaimTest, DowngradeOfWhatIsNotHeldIsLost) {
  const Wanted alice = want_to_write(alice_);
  const Wanted bob = want_to_write(bob_);
  EXPECT_EQ(downgrade(bob_, bob).code(), Errc::lost) << "it waits";
  let_go(alice_, alice);
  EXPECT_EQ(downgrade(alice_, alice).code(), Errc::lost) << "it is over";
  EXPECT_EQ(alice_.sent(Operation::downgrade) + bob_.sent(Operation::downgrade), 0u);
}

TEST_F(RemoteClaimTest, DowngradeThatIsLetGoMeanwhileIsOver) {
  const Wanted alice = want_to_write(alice_);
  alice_.faults->lose_next_reply(Operation::downgrade);
  const auto done = start_downgrade(alice_, alice);
  const auto settled = let_go(alice_, alice);
  EXPECT_FALSE(settled->outcome) << "the release waits for the downgrade";
  EXPECT_TRUE(until([&] { return settled->outcome.has_value(); }, 2 * attempt));
  EXPECT_TRUE(settled->outcome.value());
  EXPECT_EQ(await<Result<void>>(done).code(), Errc::lost);
  EXPECT_EQ(census().claims, 0u);
}

TEST_F(RemoteClaimTest, DowngradeIsNeverCrossedByItsOwnRelease) {
  const Wanted alice = want_to_write(alice_);
  alice_.faults->delay_all(1s);
  const auto done = start_downgrade(alice_, alice);
  const auto settled = let_go(alice_, alice);
  alice_.faults->delay_all(0s);
  pass(900ms);
  EXPECT_EQ(alice_.sent(Operation::withdraw), 0u);
  pass(200ms);
  EXPECT_TRUE(settled->outcome.value());
  EXPECT_TRUE(await<Result<void>>(done));
  EXPECT_EQ(census().claims, 0u);
}

TEST_F(RemoteClaimTest, DowngradeNeedsNoTask) {
  let_go(alice_, want_to_write(alice_));
  const Wanted alice = want_to_write(alice_);
  EXPECT_EQ(tasks(alice_), 0u) << "it rests";
  EXPECT_TRUE(downgrade(alice_, alice));
  EXPECT_TRUE(want_to_read(bob_).held());
  EXPECT_EQ(tasks(alice_), 0u);
}

TEST_F(RemoteClaimTest, DowngradedThatFailsIsAReadersGhost) {
  const Wanted alice = want_to_write(alice_, 10s);
  EXPECT_TRUE(downgrade(alice_, alice));
  let_go(alice_, alice, Ending::failed);
  const Wanted reads = want_to_read(bob_);
  EXPECT_TRUE(reads.held());
  let_go(bob_, reads);
  const Wanted writes = want_to_write(bob_);
  EXPECT_FALSE(writes.held());
  EXPECT_TRUE(until([&] { return writes.held(); }, 12s));
}

// what a claim carries to the store

TEST_F(RemoteClaimTest, ReadersHoldTogether) {
  const Wanted alice = want_to_read(alice_);
  const Wanted bob = want_to_read(bob_);
  EXPECT_TRUE(alice.held() && bob.held());
  EXPECT_NE(alice.ear->token, bob.ear->token);
  EXPECT_EQ(alice.heard(), (Heard{"granted"}));
}

TEST_F(RemoteClaimTest, PermitsComeWithTheirSlots) {
  const Wanted alice = want_permits(alice_, 2, 3);
  EXPECT_EQ(alice.ear->slots, (std::vector<std::uint32_t>{0, 1}));
  const Wanted bob = want_permits(bob_, 2, 3);
  EXPECT_FALSE(bob.held());
  let_go(alice_, alice);
  EXPECT_TRUE(bob.held()) << "at once: the notice made it ask";
  EXPECT_EQ(bob.ear->slots, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(bob_.sent(Operation::claim), 2u) << "a notice has no room for slots";
}

TEST_F(RemoteClaimTest, PermitsComeWithTheirSlotsThoughTheAnswerWasLost) {
  let_go(alice_, hold(alice_));
  alice_.faults->lose_next_reply(Operation::claim);
  const Wanted alice = want_permits(alice_, 1, 3);
  EXPECT_TRUE(until([&] { return alice.held(); }, 2 * attempt));
  EXPECT_EQ(alice.ear->slots, std::vector<std::uint32_t>{0});
}

TEST_F(RemoteClaimTest, PermitsOfAnotherNumberAreRefused) {
  const Wanted alice = want_permits(alice_, 1, 3);
  const Wanted bob = want_permits(bob_, 1, 4);
  EXPECT_EQ(bob.heard(), (Heard{"failed"}));
  EXPECT_EQ(bob.ear->error.code, Errc::invalid_argument);
  EXPECT_EQ(census().claims, 1u);
}

TEST_F(RemoteClaimTest, ACandidateShowsItsValue) {
  RemoteClaim::Wish wish{key_of(Kind::election), {lease, 0s}};
  wish.value = "alice:80";
  const Wanted alice = want(alice_, wish);
  EXPECT_TRUE(alice.held());
  EXPECT_EQ(view_of(Kind::election).holders.at(0).value, "alice:80");
}

// leaving

TEST_F(RemoteClaimTest, LeavingGoesOnUntilTheStoreConfirms) {
  const Wanted alice = hold(alice_);
  alice_.faults->refuse(true);
  const auto settled = let_go(alice_, alice);
  pass(5s);
  EXPECT_FALSE(settled->outcome);
  EXPECT_EQ(tasks(alice_), 1u);
  EXPECT_GT(alice_.sent(Operation::withdraw), 3u);
  alice_.faults->refuse(false);
  EXPECT_TRUE(until([&] { return settled->outcome.has_value(); }, 10s));
  EXPECT_TRUE(*settled->outcome);
  EXPECT_EQ(tasks(alice_), 0u);
}

TEST_F(RemoteClaimTest, LeavingWhoseReplyWasLostIsRepeatedAndCountsAsDone) {
  const Wanted alice = hold(alice_);
  alice_.faults->lose_next_reply(Operation::withdraw);
  const auto settled = let_go(alice_, alice);
  EXPECT_EQ(census().claims, 0u);
  EXPECT_TRUE(until([&] { return settled->outcome.has_value(); }, 2 * attempt));
  EXPECT_TRUE(*settled->outcome) << "that it was not there any more is our own doing";
}

TEST_F(RemoteClaimTest, LeavingThatFindsNothingThereSaysThatItWasLost) {
  const Wanted alice = hold(alice_);
  alice_.faults->drop_notices(true);
  revoke(true);
  const auto settled = let_go(alice_, alice);
  EXPECT_EQ(settled->outcome.value().code(), Errc::lost);
}

TEST_F(RemoteClaimTest, LeavingIsOverWhenTheSessionEndsFirst) {
  const Wanted alice = hold(alice_);
  alice_.faults->cut();
  const auto settled = let_go(alice_, alice);
  EXPECT_TRUE(until([&] { return settled->outcome.has_value(); }, 2 * lease));
  EXPECT_EQ(settled->outcome->code(), Errc::outcome_unknown);
  EXPECT_TRUE(until([&] { return tasks(alice_) == 0; }, lease));
  pass(lease);
  EXPECT_EQ(census().claims, 0u);
}

TEST_F(RemoteClaimTest, LeavingThatIsTakenAwayIsOver) {
  const Wanted alice = hold(alice_);
  alice_.faults->refuse(true);
  let_go(alice_, alice);
  revoke(true);
  alice_.faults->refuse(false);
  EXPECT_TRUE(until([&] { return tasks(alice_) == 0; }, 10s));
  EXPECT_EQ(alice.heard(), (Heard{"granted"}));
}

TEST_F(RemoteClaimTest, LeavingWhoseSessionIsKnownToHaveEndedSaysThatItWasLost) {
  const Wanted alice = hold(alice_);
  expire(alice_);
  const auto settled = let_go(alice_, alice);
  EXPECT_TRUE(until([&] { return settled->outcome.has_value(); }, lease));
  EXPECT_EQ(settled->outcome->code(), Errc::lost);
}

TEST_F(RemoteClaimTest, LeavingTellsEverybodyWhoAsks) {
  const Wanted alice = hold(alice_);
  alice_.faults->delay_all(1s);
  const auto first = let_go(alice_, alice);
  const auto second = std::make_shared<Settlement>(alice_.process), late = std::make_shared<Settlement>(alice_.process);
  alice.claim->report_release_to(second);
  pass(2s);
  EXPECT_TRUE(first->outcome.value());
  EXPECT_TRUE(second->outcome.value());
  alice.claim->report_release_to(late);
  EXPECT_TRUE(late->outcome.value());
}

// a call of the store that throws: as if its answer were lost

/// Whether the store has done by then what was asked, and whether the call throws that is answered at once.
class RemoteClaimThrown : public RemoteClaimTest, public testing::WithParamInterface<std::tuple<bool, bool>> {
 protected:
  void throw_next(Operation operation) {
    const auto [applied, at_once] = GetParam();
    alice_.faults->throw_next(operation, applied, at_once);
  }
};
INSTANTIATE_TEST_SUITE_P(AppliedAndAtOnce, RemoteClaimThrown, testing::Combine(testing::Bool(), testing::Bool()));

TEST_P(RemoteClaimThrown, ByAClaimIsAskedAgain) {
  hold(alice_).claim->give_up();  // the session is there
  pass(0s);
  throw_next(Operation::claim);
  const Wanted alice = want(alice_);
  EXPECT_TRUE(until([&] { return alice.held(); }, 1s));
  EXPECT_TRUE(let_go(alice_, alice)->outcome.value());
  EXPECT_EQ(census().claims, 0u);
}

TEST_P(RemoteClaimThrown, ByTheOpeningOfASessionIsAskedAgain) {
  throw_next(Operation::open_session);
  const Wanted alice = want(alice_);
  EXPECT_TRUE(until([&] { return alice.held(); }, 1s));
}

TEST_P(RemoteClaimThrown, ByAReleaseIsRepeated) {
  const Wanted alice = hold(alice_);
  throw_next(Operation::withdraw);
  const auto settled = let_go(alice_, alice);
  EXPECT_TRUE(until([&] { return settled->outcome.has_value(); }, 1s));
  EXPECT_TRUE(settled->outcome.value());
  EXPECT_EQ(census().claims, 0u);
  EXPECT_TRUE(hold(bob_).held());
}

TEST_P(RemoteClaimThrown, ByARenewalIsRepeatedInTime) {
  const Wanted alice = hold(alice_);
  throw_next(Operation::renew);
  pass(3 * lease);
  EXPECT_TRUE(alice.ear->validity->valid());
}

TEST_P(RemoteClaimThrown, ByALookOrALabelIsRepeated) {
  const Wanted alice = want(alice_, true, 0s, "first");
  throw_next(Operation::relabel);
  alice.claim->relabel("second");
  throw_next(Operation::look);
  alice_.faults->drop_notices(true);  // so that a renewal tells, and makes it look
  revoke(false);
  pass(lease);
  EXPECT_TRUE(alice.ear->validity->valid());
  EXPECT_EQ(alice.heard(), (Heard{"granted", "release requested"}));
  EXPECT_TRUE(let_go(alice_, alice)->outcome.value());
}

TEST_P(RemoteClaimThrown, ByADowngradeIsRepeated) {
  const Wanted alice = want_to_write(alice_);
  throw_next(Operation::downgrade);
  EXPECT_TRUE(downgrade(alice_, alice));
  EXPECT_TRUE(want_to_read(bob_).held());
}

TEST_P(RemoteClaimThrown, ByTheClosingOfASessionIsRepeated) {
  const Wanted alice = hold(alice_);
  let_go(alice_, alice);
  throw_next(Operation::close_session);
  EXPECT_TRUE(run(alice_, alice_.keeper->close(Deadline::in(now(), 2 * lease))));
}

// Like a script that breaks off half-way for want of a permission.
TEST_F(RemoteClaimTest, AReleaseThatWasAppliedAndAnsweredWithAnErrorIsNoLoss) {
  const Wanted alice = hold(alice_);
  alice_.faults->refuse_after_next(Operation::withdraw);
  const auto settled = let_go(alice_, alice);
  EXPECT_TRUE(until([&] { return settled->outcome.has_value(); }, 1s));
  EXPECT_TRUE(settled->outcome.value());
  EXPECT_TRUE(hold(bob_).held());
}

// The member of a session that has gone without a word was told of its changes all the same.
TEST_F(RemoteClaimTest, ThrownForGoodAClaimLeavesItsSessionWhenItIsGivenUp) {
  const Wanted alice = hold(alice_);
  for (int i = 0; i < 100; ++i) alice_.faults->throw_next(Operation::claim);
  {
    const Wanted other = want(alice_, RemoteClaim::Wish{lock_key("other"), {lease, 0s}});
    pass(1s);
    EXPECT_FALSE(other.held());
    other.claim->give_up();
  }
  pass(attempt);
  revoke(false);
  EXPECT_EQ(alice.heard(), (Heard{"granted", "release requested"}));
}

// over

TEST_F(RemoteClaimTest, OverHearsNothingMore) {
  const Wanted alice = hold(alice_);
  let_go(alice_, alice);
  alice.claim->give_up();
  alice.claim->relabel("late");
  alice.claim->let_go(Ending::clean, nullptr);
  expire(alice_);
  pass(2 * lease);
  EXPECT_EQ(alice.heard(), (Heard{"granted"}));
  EXPECT_EQ(census(), store::memory::Census{});
}

TEST_F(RemoteClaimTest, OverLeavesNoWatchBehind) {
  const Wanted alice = hold(alice_);
  EXPECT_EQ(census().watches, 1u);
  let_go(alice_, alice);
  EXPECT_EQ(census().watches, 0u);
}

}  // namespace
}  // namespace pawl::claim
