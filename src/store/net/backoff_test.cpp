#include "store/net/backoff.hpp"

#include "base/real_runtime.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

namespace pawl::store::net {
namespace {

using namespace std::chrono_literals;

class BackoffTest : public testing::Test {
 protected:
  static void expect_about(Duration pause, Duration whole) {
    EXPECT_GE(pause, whole / 2);
    EXPECT_LE(pause, whole);
  }

  base::RealRuntime runtime_;
  Backoff backoff_{runtime_, 10ms, 1s};
};

TEST_F(BackoffTest, EachPauseIsTwiceAsLongUpToTheLongest) {
  for (const Duration whole : {10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1000ms, 1000ms}) {
    expect_about(backoff_.next(), whole);
  }
}

TEST_F(BackoffTest, AfterASuccessItBeginsAgain) {
  for (int i = 0; i < 5; ++i) backoff_.next();
  backoff_.reset();
  expect_about(backoff_.next(), 10ms);
}

TEST_F(BackoffTest, TwoClientsDoNotComeAtTheSameTime) {
  std::set<Duration> pauses;
  for (int i = 0; i < 20; ++i) {
    backoff_.reset();
    pauses.insert(backoff_.next());
  }
  EXPECT_GT(pauses.size(), 1u) << "one in some millions each";
}

}  // namespace
}  // namespace pawl::store::net
