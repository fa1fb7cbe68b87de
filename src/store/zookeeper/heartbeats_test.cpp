#include "store/zookeeper/heartbeats.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace pawl::store::zookeeper {
namespace {

using namespace std::chrono_literals;
using base::Time;

constexpr Duration session = 12s;  // a quarter of it: 3 s

class HeartbeatsTest : public ::testing::Test {
 protected:
  static Time at(Duration since) { return Time(100s) + since; }
  /// Answered at once.
  void beat(Duration since) {
    heartbeats_.sent(at(since));
    heartbeats_.confirmed(at(since), at(since));
  }
  Heartbeats heartbeats_{session, at(0s)};
};

TEST_F(HeartbeatsTest, AnOpenedSessionCountsFromItsOpening) { EXPECT_EQ(heartbeats_.counts_from(), at(0s)); }

TEST_F(HeartbeatsTest, AConfirmedOneDoesNotCountItself) {
  beat(5s);
  EXPECT_EQ(heartbeats_.counts_from(), at(0s)) << "a follower may have kept it to itself";
}

TEST_F(HeartbeatsTest, OneCountsWhenAnotherOfAQuarterLaterIsConfirmed) {
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
  heartbeats_.attached(at(9s));
  EXPECT_EQ(heartbeats_.counts_from(), at(0s)) << "whoever has accepted it may have been replaced";
  beat(10s);
  EXPECT_EQ(heartbeats_.counts_from(), at(9s)) << "what the last connection has sent does not count any more";
}

TEST_F(HeartbeatsTest, AConnectionWithoutAnAnswerIsForgottenForTheNext) {
  heartbeats_.attached(at(5s));
  heartbeats_.attached(at(8s));
  beat(9s);
  EXPECT_EQ(heartbeats_.counts_from(), at(8s));
}

}  // namespace
}  // namespace pawl::store::zookeeper
