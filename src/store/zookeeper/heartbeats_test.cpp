#include "store/zookeeper/heartbeats.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace pawl::store::zookeeper {
namespace {

using namespace std::chrono_literals;
using base::Time;

constexpr Duration gap = 3s;

class HeartbeatsTest : public ::testing::Test {
 protected:
  static Time at(Duration since) { return Time(100s) + since; }
  /// Answered at once.
  void beat(Duration since) {
    heartbeats_.sent(at(since));
    heartbeats_.confirmed(at(since), at(since));
  }
  Heartbeats heartbeats_{gap, at(0s)};
};

TEST_F(HeartbeatsTest, AnOpenedSessionCountsFromItsOpening) { EXPECT_EQ(heartbeats_.counts_from(), at(0s)); }

TEST_F(HeartbeatsTest, AConfirmedOneDoesNotCountItself) {
  beat(5s);
  EXPECT_EQ(heartbeats_.counts_from(), at(0s)) << "a follower may have kept it to itself";
}

TEST_F(HeartbeatsTest, OneCountsWhenAnotherIsConfirmedThatWasSentLongEnoughLater) {
  for (const Duration since : {2s, 4s, 5s}) beat(since);
  EXPECT_EQ(heartbeats_.counts_from(), at(2s));
  beat(7s);
  EXPECT_EQ(heartbeats_.counts_from(), at(4s));
}

TEST_F(HeartbeatsTest, WithoutAnAnswerNothingCounts) {
  for (const Duration since : {2s, 4s, 6s, 8s}) heartbeats_.sent(at(since));
  EXPECT_EQ(heartbeats_.counts_from(), at(0s));
}

TEST_F(HeartbeatsTest, OneThatMayHaveArrivedLateDoesNotCountForOneSentSoonAfterThat) {
  heartbeats_.sent(at(2s));
  heartbeats_.sent(at(5s));
  heartbeats_.confirmed(at(2s), at(4s));
  heartbeats_.confirmed(at(5s), at(5s));
  EXPECT_EQ(heartbeats_.counts_from(), at(0s)) << "the leader may have asked the follower before it arrived";
  beat(7s);
  EXPECT_EQ(heartbeats_.counts_from(), at(2s));
}

TEST_F(HeartbeatsTest, OneThatWasAnsweredWithALaterOneHasArrivedByThen) {
  heartbeats_.sent(at(2s));
  heartbeats_.sent(at(3s));
  heartbeats_.confirmed(at(3s), at(4s));
  beat(7s);
  EXPECT_EQ(heartbeats_.counts_from(), at(3s));
}

TEST_F(HeartbeatsTest, AnAnswerToAnOlderOneMovesNothingBack) {
  for (const Duration since : {2s, 6s}) beat(since);
  heartbeats_.confirmed(at(2s), at(7s));
  EXPECT_EQ(heartbeats_.counts_from(), at(2s));
}

TEST_F(HeartbeatsTest, AnotherConnectionCountsWithItsFirstAnswer) {
  heartbeats_.sent(at(5s));
  heartbeats_.attached(at(9s), gap);
  EXPECT_EQ(heartbeats_.counts_from(), at(0s)) << "whoever has accepted it may have been replaced";
  beat(10s);
  EXPECT_EQ(heartbeats_.counts_from(), at(9s)) << "what the last connection has sent does not count any more";
}

TEST_F(HeartbeatsTest, AConnectionWithoutAnAnswerIsForgottenForTheNext) {
  heartbeats_.attached(at(5s), gap);
  heartbeats_.attached(at(8s), gap);
  beat(9s);
  EXPECT_EQ(heartbeats_.counts_from(), at(8s));
}

TEST_F(HeartbeatsTest, AnotherConnectionMayHaveALongerGap) {
  heartbeats_.attached(at(5s), 4s);
  for (const Duration since : {6s, 9s}) beat(since);
  EXPECT_EQ(heartbeats_.counts_from(), at(5s));
  beat(10s);
  EXPECT_EQ(heartbeats_.counts_from(), at(6s));
}

TEST(HeartbeatsMargin, IsThatOfTheWholeSessionAlsoWhereTheLeaseIsShort) {
  for (const Duration lease : {Duration(100ms), Duration(2s), Duration(20s)}) {
    const Duration session = std::max<Duration>(lease * 3 / 2, 4s);
    const Duration trusted = Heartbeats::beyond(lease, session) + lease - base::drift(lease);
    EXPECT_LE(trusted, session - base::drift(session)) << lease / 1ms;
    EXPECT_GE(trusted, session - base::drift(session) - 1ms) << lease / 1ms;
  }
}

/// A session whose signs of life go to a server that tells the leader through `hops` others; each asks the one below it
/// every half tick. They are answered after `answer`.
struct Ensemble {
  Duration tick;
  int hops;
  Duration asked;
  Duration agreed;
  Duration answer;

  /// When the leader is told of a sign that was sent then. `phase`: of when each asks.
  Time told(Time sent, Duration phase) const {
    Time arrived = sent + answer;
    for (int i = 0; i < hops; ++i) {
      const Duration since = arrived.time_since_epoch() - phase * (i + 1);
      arrived += (tick / 2) - since % (tick / 2);
    }
    return arrived;
  }

  /// Many sessions. The leader must have been told of what counts. Answers how old that is, at the most.
  Duration run(Duration between) const {
    Duration oldest{};
    for (Duration phase{}; phase < tick; phase += tick / 97) {
      Heartbeats heartbeats(Heartbeats::gap(asked, agreed), Time(100s));
      Time counted = heartbeats.counts_from();
      for (Time sent = Time(100s) + between; sent < Time(100s) + 5 * agreed; sent += between) {
        if (sent > Time(100s) + agreed) oldest = std::max(oldest, sent + answer - heartbeats.counts_from());
        heartbeats.sent(sent);
        heartbeats.confirmed(sent, sent + answer);
        if (std::exchange(counted, heartbeats.counts_from()) == heartbeats.counts_from()) continue;
        EXPECT_LE(told(counted, phase), sent + answer) << "phase " << phase / 1ms << " ms";
      }
    }
    return oldest;
  }
  Duration oldest() const {
    run(agreed / 101);  // signs come more often where answers were lost
    return run(agreed / Heartbeats::per_session);
  }
};

constexpr Duration quick = 20ms;

/// A server falls silent right after an answer: what is left of the session when it is given up.
TEST(HeartbeatsSilence, LeavesASixthOfTheSessionToFindAnotherServer) {
  for (const Duration asked : {Duration(150ms), Duration(900ms), Duration(2s), Duration(4s), Duration(30s)}) {
    const Duration agreed = std::max<Duration>(asked, 4s);
    const Ensemble ensemble{.tick = 2s, .hops = 1, .asked = asked, .agreed = agreed, .answer = quick};
    // How old what counts is when the next heartbeat should be answered, and is not.
    const Duration given_up = ensemble.oldest() + Heartbeats::silence(asked, agreed);
    EXPECT_GE(agreed - base::drift(agreed) - given_up, agreed / 6) << asked / 1ms;
  }
}

TEST(HeartbeatsEnsemble, AFollowerHasReportedWhatCounts) {
  for (const Duration session : {4s, 5s, 8s, 30s}) {
    const Ensemble ensemble{.tick = 2s, .hops = 1, .asked = session, .agreed = session, .answer = quick};
    EXPECT_LE(ensemble.oldest(), session / 2) << session / 1s;
  }
}

TEST(HeartbeatsEnsemble, AFollowerThatIsAskedLateHasReportedWhatCounts) {
  const Ensemble ensemble{.tick = 2200ms, .hops = 1, .asked = 4s, .agreed = 4s, .answer = quick};
  EXPECT_LE(ensemble.oldest(), 2s);
}

TEST(HeartbeatsEnsemble, AnObserverBehindAFollowerHasReportedWhatCountsInASessionOfFourTicks) {
  for (const Duration session : {8s, 30s}) {
    const Ensemble ensemble{.tick = 2s, .hops = 2, .asked = session, .agreed = session, .answer = quick};
    EXPECT_LE(ensemble.oldest(), session / 2) << session / 1s;
  }
}

TEST(HeartbeatsEnsemble, AnObserverBehindAFollowerHasReportedWhatCountsInAShortLease) {
  const Ensemble ensemble{.tick = 2s, .hops = 2, .asked = 150ms, .agreed = 4s, .answer = quick};
  EXPECT_LE(ensemble.oldest(), 4s * 3 / 4) << "so there is a second left, of which the lease is a tenth";
}

}  // namespace
}  // namespace pawl::store::zookeeper
