#include "session/keeper.hpp"

#include "tests/support/client_scene.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

namespace pawl::session {
namespace {

using namespace test;

constexpr Duration lease = 30s;
using Opened = Result<std::shared_ptr<Session>>;

struct Quiet final : Member {
  void session_lost() override { lost = true; }
  void session_changed() override {}
  bool lost = false;
};

class KeeperTest : public ClientScene {
 protected:
  Started<Opened> start_session(Duration length = lease, Duration within = timeout) {
    return start<Opened>(alice_, keeper().session(length, Deadline::in(now(), within)));
  }
  std::shared_ptr<Session> session(Duration length = lease) { return await<Opened>(start_session(length)).value(); }
  Started<bool> start_close(Duration within) {
    return start<bool>(alice_, keeper().close(Deadline::in(now(), within)));
  }
  std::size_t openings() const { return alice_.sent(Operation::open_session); }
  Keeper& keeper() { return *alice_.keeper; }

  Party alice_ = party("alice");
};

TEST_F(KeeperTest, OneSessionServesAllWhoAskForTheSameLease) {
  const auto first = session();
  EXPECT_TRUE(session() == first);
  EXPECT_FALSE(session(10s) == first);
  EXPECT_EQ(openings(), 2u);
  EXPECT_EQ(alice_.context->telemetry.sessions_opened, 2u);
}

TEST_F(KeeperTest, ManyWhoAskAtOnceOpenOne) {
  alice_.faults->delay_all(100ms);
  std::vector<Started<Opened>> all;
  for (int i = 0; i < 20; ++i) all.push_back(start_session());
  const auto first = await<Opened>(all.front()).value();
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_TRUE(await<Opened>(all[i]).value() == first);
  EXPECT_EQ(openings(), 1u);
}

TEST_F(KeeperTest, ALostSessionIsReplacedByAnother) {
  const auto first = session();
  Quiet member;
  first->join(member, {});
  alice_.faults->cut();
  pass(lease);
  EXPECT_TRUE(member.lost);
  alice_.faults->heal();
  const auto second = session();
  EXPECT_FALSE(second == first);
  EXPECT_TRUE(second->live());
  second->join(member, {});
  pass(3 * lease);
  EXPECT_TRUE(session() == second) << "the end of the old one does not disturb the new one";
}

TEST_F(KeeperTest, SessionsInDoubtAreRenewedAtOnceAndNotAtTheirNextRenewal) {
  const auto first = session();
  const auto second = session(10s);
  Quiet member, other;
  first->join(member, {});
  second->join(other, {});
  pass(1s);
  ASSERT_EQ(alice_.sent(Operation::renew), 0u);
  keeper().renew_all();
  pass(1ms);
  EXPECT_EQ(alice_.sent(Operation::renew), 2u);
  EXPECT_TRUE(first->live() && second->live());
}

TEST_F(KeeperTest, AnIdleSessionIsClosedAfterOneLeaseAndForgotten) {
  session();
  pass(lease + lease / 3);
  EXPECT_EQ(census().sessions, 0u);
  session();
  EXPECT_EQ(openings(), 2u);
}

TEST_F(KeeperTest, EightLengthsAreKeptAndANinthIsTooMany) {
  std::vector<std::unique_ptr<Quiet>> members;
  for (int i = 1; i <= 8; ++i) {
    members.push_back(std::make_unique<Quiet>());
    session(i * 10s)->join(*members.back(), {});
  }
  EXPECT_EQ(await<Opened>(start_session(90s)).code(), Errc::overloaded);
  EXPECT_TRUE(session(80s)->live()) << "those that are kept are still served";
  EXPECT_EQ(openings(), 8u);
}

TEST_F(KeeperTest, ALengthThatIsNoLongerUsedMakesRoomForAnother) {
  std::vector<std::unique_ptr<Quiet>> members;
  for (int i = 1; i <= 7; ++i) {
    members.push_back(std::make_unique<Quiet>());
    session(i * 100s)->join(*members.back(), {});
  }
  session(10s);
  EXPECT_EQ(await<Opened>(start_session(5s)).code(), Errc::overloaded);
  pass(14s);
  EXPECT_TRUE(session(5s)->live());
}

// A length whose session has ended does not count, also while the store has not confirmed the end: so it must not slip in
// as a ninth afterwards.
TEST_F(KeeperTest, ALengthThatIsBeingClosedHasGivenUpItsPlace) {
  std::vector<std::unique_ptr<Quiet>> members;
  const auto ninth = session(1000s);
  alice_.faults->refuse(true);
  ninth->end();
  pass(1s);
  alice_.faults->refuse(false);
  for (int i = 1; i <= 8; ++i) {
    members.push_back(std::make_unique<Quiet>());
    session(i * 100s)->join(*members.back(), {});
  }
  EXPECT_EQ(await<Opened>(start_session(1000s)).code(), Errc::overloaded);
}

TEST_F(KeeperTest, AnOpeningIsTriedAgainUntilItSucceeds) {
  alice_.faults->refuse(true);
  const auto opening = start_session();
  pass(1s);
  EXPECT_GT(openings(), 2u);
  EXPECT_FALSE(opening->has_value());
  alice_.faults->refuse(false);
  EXPECT_TRUE(await<Opened>(opening).value()->live());
}

TEST_F(KeeperTest, AnOpeningThatNeverSucceedsEndsAtTheDeadline) {
  const Time began = now();
  alice_.faults->cut();
  const Opened opened = await<Opened>(start_session(lease, 3s));
  EXPECT_EQ(opened.code(), Errc::store_unavailable) << "an unknown session has no claims: nothing needs undoing";
  EXPECT_EQ(now(), began + 3s);
  alice_.faults->heal();
  EXPECT_TRUE(session()->live());
}

TEST_F(KeeperTest, AnOpeningWhoseReplyWasLostIsRepeatedAndTheUnknownOneRunsOut) {
  alice_.faults->lose_next_reply(Operation::open_session);
  const auto opening = start_session(lease, 20s);
  const auto opened = await<Opened>(opening).value();
  Quiet member;
  opened->join(member, {});
  EXPECT_EQ(census().sessions, 2u);
  pass(lease);
  EXPECT_EQ(census().sessions, 1u);
  EXPECT_TRUE(opened->live());
}

TEST_F(KeeperTest, WhoeverWaitsForAnOpeningThatFailsTriesForItself) {
  alice_.faults->cut();
  const auto hasty = start_session(lease, 1s);
  const auto patient = start_session(lease, 10s);
  const auto brief = start_session(lease, 500ms);
  EXPECT_EQ(await<Opened>(brief).code(), Errc::store_unavailable);
  EXPECT_EQ(await<Opened>(hasty).code(), Errc::store_unavailable);
  alice_.faults->heal();
  EXPECT_TRUE(await<Opened>(patient).value()->live());
}

TEST_F(KeeperTest, AnAnswerThatComesTooLateIsOfNoUseAndAnotherIsAskedFor) {
  const auto opening = start_session(1s, 10s);
  ASSERT_TRUE(opening->has_value());
  // 1 s of lease is certain for 988 ms; the answer is there after 990.
  alice_.faults->delay_all(990ms);
  const auto late = start_session(990ms, 10s);
  pass(3s);
  EXPECT_FALSE(late->has_value());
  EXPECT_GE(openings(), 3u);
  alice_.faults->delay_all(0s);
  EXPECT_TRUE(await<Opened>(late).value()->live());
}

TEST_F(KeeperTest, CloseEndsAllSessionsAndWaitsForTheStore) {
  Quiet member;
  session(10s)->join(member, {});
  session(20s);
  alice_.faults->delay_all(100ms);
  const Time began = now();
  EXPECT_TRUE(await<bool>(start_close(5s)));
  EXPECT_EQ(now(), began + 100ms);
  EXPECT_TRUE(member.lost);
  EXPECT_EQ(census().sessions, 0u);
  EXPECT_EQ(await<Opened>(start_session()).code(), Errc::closed);
}

TEST_F(KeeperTest, CloseSaysFalseWhenTheDeadlineComesFirstAndGoesOn) {
  session();
  alice_.faults->refuse(true);
  const Time began = now();
  EXPECT_FALSE(await<bool>(start_close(1s)));
  EXPECT_EQ(now(), began + 1s);
  alice_.faults->refuse(false);
  EXPECT_TRUE(until([&] { return census().sessions == 0; }, lease));
}

TEST_F(KeeperTest, CloseWithoutSessionsIsDoneAtOnce) { EXPECT_TRUE(await<bool>(start_close(0s))); }

TEST_F(KeeperTest, TwoWhoCloseAtOnceAreBothAnswered) {
  session();
  alice_.faults->delay_all(100ms);
  const auto first = start_close(5s), second = start_close(5s);
  EXPECT_TRUE(await<bool>(second));
  EXPECT_TRUE(await<bool>(first));
}

TEST_F(KeeperTest, ASessionThatOpensDuringTheCloseIsEndedAtOnce) {
  alice_.faults->delay_all(100ms);
  const auto opening = start_session();
  EXPECT_TRUE(await<bool>(start_close(5s)));
  EXPECT_TRUE(until([&] { return opening->has_value(); }));
  EXPECT_TRUE(until([&] { return census().sessions == 0; }, lease));
}

}  // namespace
}  // namespace pawl::session
