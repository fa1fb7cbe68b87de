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
  Heartbeats heartbeats_{session, at(0s)};
};

TEST_F(HeartbeatsTest, AnOpenedSessionCountsFromItsOpening) { EXPECT_EQ(heartbeats_.counts_from(), at(0s)); }

TEST_F(HeartbeatsTest, AConfirmedOneDoesNotCountItself) {
  heartbeats_.sent(at(5s));
  heartbeats_.confirmed(at(5s));
  EXPECT_EQ(heartbeats_.counts_from(), at(0s)) << "a follower may have kept it to itself";
}

TEST_F(HeartbeatsTest, OneCountsWhenAnotherOfAQuarterLaterIsConfirmed) {
  heartbeats_.sent(at(2s));
  heartbeats_.sent(at(4s));
  heartbeats_.sent(at(5s));
  heartbeats_.confirmed(at(5s));
  EXPECT_EQ(heartbeats_.counts_from(), at(2s));
  heartbeats_.sent(at(7s));
  heartbeats_.confirmed(at(7s));
  EXPECT_EQ(heartbeats_.counts_from(), at(4s));
}

TEST_F(HeartbeatsTest, WithoutAnAnswerNothingCounts) {
  for (const Duration since : {2s, 4s, 6s, 8s}) heartbeats_.sent(at(since));
  EXPECT_EQ(heartbeats_.counts_from(), at(0s));
}

TEST_F(HeartbeatsTest, AnAnswerToAnOlderOneMovesNothingBack) {
  heartbeats_.sent(at(2s));
  heartbeats_.sent(at(6s));
  heartbeats_.confirmed(at(6s));
  heartbeats_.confirmed(at(2s));
  EXPECT_EQ(heartbeats_.counts_from(), at(2s));
}

TEST_F(HeartbeatsTest, AnotherConnectionCountsWithItsFirstAnswer) {
  heartbeats_.sent(at(5s));
  heartbeats_.attached(at(9s));
  EXPECT_EQ(heartbeats_.counts_from(), at(0s)) << "whoever has accepted it may have been replaced";
  heartbeats_.sent(at(10s));
  heartbeats_.confirmed(at(10s));
  EXPECT_EQ(heartbeats_.counts_from(), at(9s)) << "what the last connection has sent does not count any more";
}

TEST_F(HeartbeatsTest, AConnectionWithoutAnAnswerIsForgottenForTheNext) {
  heartbeats_.attached(at(5s));
  heartbeats_.attached(at(8s));
  heartbeats_.sent(at(9s));
  heartbeats_.confirmed(at(9s));
  EXPECT_EQ(heartbeats_.counts_from(), at(8s));
}

}  // namespace
}  // namespace pawl::store::zookeeper
