#include "lock/other_kinds.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace pawl::lock {
namespace {

using namespace std::chrono_literals;

TEST(OtherKindsTest, AreListedInASentence) {
  const store::LockKey key{Kind::mutex, store::LockName::make("a").value()};
  std::vector<LockView> others{{.kind = Kind::rw}};
  EXPECT_EQ(describe_other_kinds(key, others), "\"a\" is also in use as a rw lock: a mutex does not exclude it");
  others.push_back({.kind = Kind::permits});
  others.push_back({.kind = Kind::election});
  EXPECT_EQ(describe_other_kinds(key, others),
            "\"a\" is also in use as a rw lock, a semaphore and an election: a mutex does not exclude them");
}

TEST(LookAllowanceTest, GivesSomeAtOnceAndThenOneInEveryInterval) {
  LookAllowance allowance;
  base::Time now{};
  const auto taken = [&] {
    int count = 0;
    for (int i = 0; i < 100; ++i) count += allowance.take(now) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(taken(), LookAllowance::at_once);
  EXPECT_EQ(taken(), 0);
  now += LookAllowance::interval - 1ns;
  EXPECT_EQ(taken(), 0);
  now += 1ns;
  EXPECT_EQ(taken(), 1);
  now += 3 * LookAllowance::interval;
  EXPECT_EQ(taken(), 3);
  now += 1h;
  EXPECT_EQ(taken(), LookAllowance::at_once);
}

}  // namespace
}  // namespace pawl::lock
