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
  session->join(fellow);
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

TEST_F(SessionTest, LiveTriesSoonerAfterARenewalThatFailed) {
  const auto session = open();
  Fellow fellow(said_);
  session->join(fellow);
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
  session->join(fellow);
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
  session->join(fellow);
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
  const Session::Membership membership = session->join(fellow);
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
  session->join(fellow);
  session->end();
  session->end();
  EXPECT_FALSE(session->live());
  EXPECT_FALSE(session->validity()->valid());
  pass(0s);
  EXPECT_EQ(said_, (Said{"lost"}));
  EXPECT_EQ(over_, 1);
  EXPECT_EQ(census().sessions, 0u);
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
  session->join(fellow);
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
  session->end();
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
  session->end();
  pass(timeout + lease / 12);
  EXPECT_EQ(closings(), 2u);
  EXPECT_EQ(over_, 1);
}

TEST_F(SessionTest, EndedIsGivenUpWhenItsLeaseIsOverAtTheStoreAsWell) {
  const auto session = open();
  alice_.faults->cut();
  session->end();
  EXPECT_TRUE(until([&] { return over_ == 1; }, 4 * lease));
  EXPECT_EQ(census().sessions, 0u);
}

TEST_F(SessionTest, EndedHearsNothingMore) {
  const auto session = open();
  session->end();
  pass(0s);
  Fellow fellow(said_);
  session->join(fellow);
  pass(10 * lease);
  EXPECT_TRUE(said_.empty());
}

// Members.

TEST_F(SessionTest, AChangeNumberThatMovedIsToldToAllMembersOnce) {
  const auto session = open();
  Fellow first(said_, "first "), second(said_, "second "), third(said_, "third ");
  session->join(first);
  const Session::Membership gone = session->join(second);
  session->join(third);
  session->leave(gone);
  store::Claim claim{alice_.process.make_id<store::ClaimId>(), session->id(), lock_key("job")};
  ASSERT_TRUE(run(alice_, alice_.scheme().claim(claim, soon())));
  ASSERT_TRUE(run(alice_, alice_.scheme().revoke(claim.key, claim.id, false, soon())).value());
  EXPECT_TRUE(said_.empty()) << "nobody watches this claim: its notice is lost";
  pass(lease / 3);
  EXPECT_EQ(said_, (Said{"first changed", "third changed"}));
  pass(lease);
  EXPECT_EQ(said_.size(), 2u);
}

TEST_F(SessionTest, MembersHearOfTheLossInTheOrderInWhichTheyJoined) {
  const auto session = open();
  std::vector<std::unique_ptr<Fellow>> fellows;
  for (const char* name : {"a ", "b ", "c "}) {
    fellows.push_back(std::make_unique<Fellow>(said_, name));
    session->join(*fellows.back());
  }
  session->end();
  pass(0s);
  EXPECT_EQ(said_, (Said{"a lost", "b lost", "c lost"}));
}

}  // namespace
}  // namespace pawl::session
