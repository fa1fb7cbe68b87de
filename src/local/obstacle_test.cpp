#include "local/obstacle.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace pawl::local {
namespace {

using namespace std::chrono_literals;

store::Waiting behind(Owner owner) {
  store::Waiting seen{1s};
  seen.holder = std::move(owner);
  return seen;
}

store::Waiting shut_for(Duration left) {
  store::Waiting seen{1s};
  seen.shut_for = left;
  return seen;
}

store::Waiting with_permits(std::uint32_t taken, std::uint32_t in_lock_delay) {
  store::Waiting seen{1s};
  seen.permits = {taken, in_lock_delay};
  return seen;
}

TEST(ObstacleTest, AHolderIsNamedAsFarAsItIsKnown) {
  const auto mutex = [](const store::Waiting& seen) { return describe_obstacle(Kind::mutex, 0, seen); };
  EXPECT_EQ(mutex(behind({.host = "web1", .pid = 4711})), "is held by web1 (pid 4711)");
  EXPECT_EQ(mutex(behind({.host = "web1", .pid = 4711, .label = "backup\n"})), "is held by web1 (pid 4711), backup\\n");
  EXPECT_EQ(mutex(behind({})), "is held by an anonymous client");
  EXPECT_EQ(mutex(behind({.foreign = true})), "is held by a client of another library");
  EXPECT_EQ(mutex({1s}), "is held by another client");
}

TEST(ObstacleTest, AnElectionIsLed) {
  EXPECT_EQ(describe_obstacle(Kind::election, 0, behind({.host = "web1", .pid = 1})), "is led by web1 (pid 1)");
  EXPECT_EQ(describe_obstacle(Kind::election, 0, {1s}), "is led by another client");
  EXPECT_EQ(describe_own_hold(Kind::election), "is led by this client already");
  EXPECT_EQ(describe_own_hold(Kind::rw), "is held by this client already");
}

TEST(ObstacleTest, ALockDelayIsToldInRoundNumbersUnlessSomebodyHoldsTheLock) {
  EXPECT_EQ(describe_obstacle(Kind::mutex, 0, shut_for(2'001ms)), "is in lock-delay for 3s: its last holder failed");
  EXPECT_EQ(describe_obstacle(Kind::election, 0, shut_for(1'500us)),
            "is in lock-delay for 2ms: its last holder failed");
  store::Waiting both = shut_for(5s);
  both.holder = Owner{.host = "web1", .pid = 1};
  EXPECT_EQ(describe_obstacle(Kind::rw, 0, both), "is held by web1 (pid 1)");
}

TEST(ObstacleTest, PermitsAreCountedWhereTheStoreHasCountedThem) {
  const auto semaphore = [](const store::Waiting& seen) { return describe_obstacle(Kind::permits, 4, seen); };
  EXPECT_EQ(semaphore(with_permits(4, 0)), "has 4 of 4 permits taken");
  EXPECT_EQ(semaphore(with_permits(3, 1)), "has 3 of 4 permits taken and 1 in lock-delay");
  EXPECT_EQ(semaphore(with_permits(0, 4)), "has 4 of 4 permits in lock-delay");
  EXPECT_EQ(semaphore(with_permits(0, 0)), "has all permits free, but other clients are first");
  EXPECT_EQ(semaphore(behind({.host = "web1", .pid = 1})), "has too few free permits, or other clients are first");
}

}  // namespace
}  // namespace pawl::local
