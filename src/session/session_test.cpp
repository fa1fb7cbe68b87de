#include "session/session.hpp"

#include "tests/support/client_scene.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pawl::session {
namespace {

using namespace test;

constexpr Duration lease = 30s;
constexpr Duration certain = lease - (lease / 100 + 2ms);

/// A claim that writes down what it hears.
struct Fellow final : Member {
  explicit Fellow(std::vector<std::string>& diary, std::string who = "") : said(diary), name(std::move(who)) {}
  void session_lost() override { said.push_back(name + "lost"); }
  void session_changed() override { said.push_back(name + "changed"); }
  void claim_unconfirmed() override {
    said.push_back(name + "unconfirmed");
    if (session != nullptr) left_then = session->validity()->remaining();
  }
  const Session* session = nullptr;
  Duration left_then{};  // of the session, when it was not confirmed
  std::vector<std::string>& said;
  std::string name;
};

class SessionTest : public ClientScene {
 protected:
  std::shared_ptr<Session> open(Duration length = lease) {
    store::SessionRequest request;
    request.lease = length;
    const Time sent = now();
    Result<store::SessionGrant> grant = run(alice_, alice_.store->open_session(request, soon()));
    auto session = std::make_shared<Session>(alice_.context, grant.value());
    session->start(sent, [this] { ++over_; });
    return session;
  }
  store::Claim claim_of(const Session& session, std::string_view name) {
    store::Claim claim{alice_.process.make_id<store::ClaimId>(), session.id(), lock_key(name)};
    EXPECT_TRUE(run(alice_, alice_.scheme().claim(claim, soon())));
    return claim;
  }
  void revoke(const store::Claim& claim) {
    ASSERT_TRUE(run(alice_, alice_.scheme().revoke(claim.key, claim.id, false, soon())).value());
  }
  std::size_t renewals() const { return alice_.sent(Operation::renew); }
  std::size_t closings() const { return alice_.sent(Operation::close_session); }

  Party alice_ = party();
  std::vector<std::string> said_;
  int over_ = 0;
};

using Said = std::vector<std::string>;

// live

TEST_F(SessionTest, LiveIsRenewedAtEveryThirdOfTheLease) {
  const auto session = open();
  Fellow fellow(said_);
  session->join(fellow, {});
  pass(lease / 3 - 1ns);
  EXPECT_EQ(renewals(), 0u);
  pass(1ns);
  EXPECT_EQ(renewals(), 1u);
  EXPECT_EQ(session->validity()->remaining(), certain);
  pass(10 * lease);
  EXPECT_EQ(renewals(), 31u);
  EXPECT_TRUE(session->live());
  EXPECT_EQ(census().sessions, 1u);
  EXPECT_TRUE(said_.empty());
}

TEST_F(SessionTest, LiveIsValidFromBeforeTheOpeningWasSent) {
  alice_.faults->delay_all(1s);
  const auto session = open();
  EXPECT_EQ(session->validity()->remaining(), certain - 1s);
}

// The answer under way may be older than the doubt.
TEST_F(SessionTest, LiveIsRenewedAgainWhenADoubtComesDuringARenewal) {
  const auto session = open();
  Fellow fellow(said_);
  session->join(fellow, {});
  alice_.faults->delay_all(100ms);
  pass(lease / 3 + 50ms);
  EXPECT_EQ(renewals(), 1u);
  session->renew_now();
  pass(50ms);
  EXPECT_EQ(renewals(), 2u);
  pass(lease / 3 - 1ms);
  EXPECT_EQ(renewals(), 2u) << "and then as usual";
}

TEST_F(SessionTest, LiveTriesSoonerAfterARenewalThatFailed) {
  const auto session = open();
  Fellow fellow(said_);
  session->join(fellow, {});
  alice_.faults->refuse(true);
  pass(lease / 3);
  EXPECT_EQ(renewals(), 1u);
  pass(lease / 12 - 1ns);
  EXPECT_EQ(renewals(), 1u);
  pass(1ns);
  EXPECT_EQ(renewals(), 2u);
  alice_.faults->refuse(false);
  pass(lease / 12);
  EXPECT_EQ(renewals(), 3u);
  EXPECT_EQ(session->validity()->remaining(), certain);
  EXPECT_EQ(alice_.context->telemetry.renewal_failures, 2u);
  EXPECT_EQ(alice_.context->telemetry.renewals, 1u);
  pass(lease / 3);
  EXPECT_EQ(renewals(), 4u) << "and then at a third again";
}

TEST_F(SessionTest, LiveEndsWhenTheStoreSaysLostAndTheMembersAreTold) {
  const auto session = open();
  Fellow fellow(said_);
  session->join(fellow, {});
  run(alice_, [](std::shared_ptr<FaultyStore> store) -> awaitable<bool> {
    co_await store->expire_sessions();
    co_return true;
  }(alice_.store));
  EXPECT_TRUE(session->live()) << "nobody has told us";
  pass(lease / 3);
  EXPECT_FALSE(session->live());
  EXPECT_EQ(said_, (Said{"lost"}));
  EXPECT_EQ(over_, 1);
}

TEST_F(SessionTest, LiveEndsAtTheDeadlineAndTheMembersAreTold) {
  const auto session = open();
  Fellow fellow(said_);
  session->join(fellow, {});
  alice_.faults->cut();
  pass(certain - 1ns);
  EXPECT_TRUE(session->live());
  EXPECT_TRUE(said_.empty());
  pass(1ns);
  EXPECT_FALSE(session->live());
  EXPECT_EQ(said_, (Said{"lost"}));
}

TEST_F(SessionTest, LiveEndsWhenIdleForOneLeaseAndIsClosedAtTheStore) {
  const auto session = open();
  Fellow fellow(said_);
  const Session::Membership membership = session->join(fellow, {});
  pass(lease + 1s);
  session->leave(membership);
  pass(lease - 1s);
  EXPECT_TRUE(session->live());
  EXPECT_EQ(closings(), 0u);
  pass(lease / 3 + 1s);
  EXPECT_FALSE(session->live());
  EXPECT_EQ(closings(), 1u);
  EXPECT_EQ(over_, 1);
  EXPECT_EQ(census().sessions, 0u);
  EXPECT_TRUE(said_.empty()) << "whoever left hears nothing";
}

TEST_F(SessionTest, LiveThatNobodyEverJoinedIsIdleFromItsBeginning) {
  open();
  pass(lease + lease / 3);
  EXPECT_EQ(over_, 1);
}

TEST_F(SessionTest, LiveEndTellsTheMembersAndClosesAtOnce) {
  const auto session = open();
  Fellow fellow(said_);
  session->join(fellow, {});
  session->end(loss::client_closed);
  session->end(loss::client_closed);
  EXPECT_FALSE(session->live());
  EXPECT_FALSE(session->validity()->valid());
  pass(0s);
  EXPECT_EQ(said_, (Said{"lost"}));
  EXPECT_EQ(over_, 1);
  EXPECT_EQ(census().sessions, 0u);
}

TEST_F(SessionTest, LiveTellsAMemberThatWasNotConfirmedBeforeTheDeadlineMovesOn) {
  const auto session = open();
  Fellow alice(said_, "alice "), bob(said_, "bob ");
  alice.session = session.get();
  const store::ClaimId alices{1, 1}, bobs{2, 2};
  session->join(alice, alices);
  session->join(bob, bobs);
  alice_.faults->leave_out_of_next_renewal(alices);
  pass(lease / 3);
  EXPECT_EQ(said_, Said{"alice unconfirmed"});
  EXPECT_EQ(alice.left_then, certain - lease / 3) << "by the old deadline";
  EXPECT_EQ(session->validity()->remaining(), certain) << "the others live on";
}

// ended

TEST_F(SessionTest, EndedIsNeverRenewed) {
  const auto session = open();
  alice_.faults->cut();
  pass(certain);
  const std::size_t before = renewals();
  alice_.faults->heal();
  pass(10 * lease);
  EXPECT_EQ(renewals(), before);
}

// The store may still believe in it: drift is on our side.
TEST_F(SessionTest, EndedByAPauseIsNotRenewedWhenTheProcessGoesOn) {
  const auto session = open();
  Fellow fellow(said_);
  session->join(fellow, {});
  alice_.process.pause();
  pass(certain + 1ms);
  alice_.process.resume();
  pass(lease);
  EXPECT_EQ(renewals(), 0u);
  EXPECT_EQ(said_, (Said{"lost"}));
  EXPECT_EQ(census().sessions, 0u);
}

TEST_F(SessionTest, EndedByAnAnswerThatCameTooLateIsNotRenewedAgain) {
  const auto session = open();
  pass(lease / 3);
  // The second renewal is answered while we are stopped, past the deadline.
  alice_.faults->delay_all(1s);
  pass(lease / 3);
  const std::size_t before = renewals();
  alice_.process.pause();
  pass(lease);
  alice_.process.resume();
  pass(lease);
  EXPECT_EQ(renewals(), before);
  EXPECT_FALSE(session->live());
}

TEST_F(SessionTest, EndedIsClosedAgainAndAgainUntilTheStoreConfirms) {
  const auto session = open();
  alice_.faults->refuse(true);
  session->end(loss::client_closed);
  pass(lease);
  EXPECT_GE(closings(), 3u);
  EXPECT_EQ(over_, 0);
  alice_.faults->refuse(false);
  pass(lease);
  EXPECT_EQ(over_, 1);
  const std::size_t before = closings();
  pass(10 * lease);
  EXPECT_EQ(closings(), before);
}

TEST_F(SessionTest, EndedIsClosedAgainWhenTheReplyWasLost) {
  const auto session = open();
  alice_.faults->lose_next_reply(Operation::close_session);
  session->end(loss::client_closed);
  pass(timeout + lease / 12);
  EXPECT_EQ(closings(), 2u);
  EXPECT_EQ(over_, 1);
}

TEST_F(SessionTest, EndedIsGivenUpWhenItsLeaseIsOverAtTheStoreAsWell) {
  const auto session = open();
  alice_.faults->cut();
  session->end(loss::client_closed);
  EXPECT_TRUE(until([&] { return over_ == 1; }, 4 * lease));
  EXPECT_EQ(census().sessions, 0u);
}

TEST_F(SessionTest, EndedHearsNothingMore) {
  const auto session = open();
  session->end(loss::client_closed);
  pass(0s);
  Fellow fellow(said_);
  session->join(fellow, {});
  pass(10 * lease);
  EXPECT_TRUE(said_.empty());
}

// Members.

// Nobody watches the claims of these scenes: all notices are lost.

TEST_F(SessionTest, ARenewalThatNamesAClaimIsToldToItsMemberAlone) {
  const auto session = open();
  const store::Claim revoked = claim_of(*session, "job"), other = claim_of(*session, "other");
  Fellow first(said_, "first "), second(said_, "second ");
  session->join(first, other.id);
  session->join(second, revoked.id);
  revoke(revoked);
  EXPECT_TRUE(said_.empty());
  pass(lease / 3);
  EXPECT_EQ(said_, (Said{"second changed"}));
  ASSERT_TRUE(run(alice_, alice_.scheme().look(revoked, soon())));
  pass(lease);
  EXPECT_EQ(said_.size(), 1u);
}

TEST_F(SessionTest, ARenewalWhoseAnswerIsLostIsRepeatedWithTheSameNames) {
  const auto session = open();
  const store::Claim revoked = claim_of(*session, "job");
  Fellow fellow(said_);
  session->join(fellow, revoked.id);
  revoke(revoked);
  alice_.faults->lose_next_reply(Operation::renew);
  pass(lease / 3 + timeout + lease / 12);
  EXPECT_EQ(renewals(), 2u);
  EXPECT_EQ(said_, (Said{"changed"}));
}

TEST_F(SessionTest, AChangeNumberThatMovedWithoutNamesIsToldToAllMembersOnce) {
  const auto session = open();
  Fellow first(said_, "first "), second(said_, "second "), third(said_, "third ");
  session->join(first, {});
  const Session::Membership gone = session->join(second, {});
  session->join(third, {});
  session->leave(gone);
  std::vector<store::Claim> claims;
  for (std::size_t i = 0; i <= store::most_named; ++i) claims.push_back(claim_of(*session, "job " + std::to_string(i)));
  for (const store::Claim& claim : claims) revoke(claim);
  pass(lease / 3);
  EXPECT_EQ(said_, (Said{"first changed", "third changed"}));
  for (const store::Claim& claim : claims) ASSERT_TRUE(run(alice_, alice_.scheme().look(claim, soon())));
  pass(lease);
  EXPECT_EQ(said_.size(), 2u);
}

TEST_F(SessionTest, WhileAMemberWaitsForNewsItIsRenewedEveryFiveSeconds) {
  constexpr Duration long_lease = 10min;
  const auto session = open(long_lease);
  Fellow first(said_), second(said_);
  const Session::Membership one = session->join(first, {}), other = session->join(second, {});
  pass(1min);
  EXPECT_EQ(renewals(), 0u);
  session->wait_for_news(one, true);
  session->wait_for_news(other, true);
  pass(5s - 1ns);
  EXPECT_EQ(renewals(), 0u);
  pass(1ns);
  EXPECT_EQ(renewals(), 1u);
  pass(1min);
  EXPECT_EQ(renewals(), 13u) << "one request for both of them";
  session->wait_for_news(one, false);
  pass(5s);
  EXPECT_EQ(renewals(), 14u) << "the other one still waits";
  session->leave(other);
  pass(5s);
  EXPECT_EQ(renewals(), 15u) << "which was planned already";
  pass(long_lease / 3 - 1ns);
  EXPECT_EQ(renewals(), 15u);
  pass(1ns);
  EXPECT_EQ(renewals(), 16u);
}

TEST_F(SessionTest, AShortLeaseIsNotRenewedMoreOftenForAMemberThatWaits) {
  const auto session = open(9s);
  Fellow fellow(said_);
  session->wait_for_news(session->join(fellow, {}), true);
  pass(9s);
  EXPECT_EQ(renewals(), 3u);
}

TEST_F(SessionTest, MembersHearOfTheLossInTheOrderInWhichTheyJoined) {
  const auto session = open();
  std::vector<std::unique_ptr<Fellow>> fellows;
  for (const char* name : {"a ", "b ", "c "}) {
    fellows.push_back(std::make_unique<Fellow>(said_, name));
    session->join(*fellows.back(), {});
  }
  session->end(loss::client_closed);
  pass(0s);
  EXPECT_EQ(said_, (Said{"a lost", "b lost", "c lost"}));
}

}  // namespace
}  // namespace pawl::session
