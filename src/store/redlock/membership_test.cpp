#include "store/redlock/membership.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace pawl::store::redlock {
namespace {

using namespace std::chrono_literals;
using State = Assessment::State;

NodeRecord member(std::uint64_t epoch, bool used = true) {
  return {.reached = true, .nonce = "n", .epoch = epoch, .of_this_life = true, .used = used};
}
NodeRecord restarted(std::uint64_t epoch) {
  return {.reached = true, .nonce = "n", .epoch = epoch, .of_this_life = false, .used = true};
}
NodeRecord blank() { return {.reached = true, .nonce = "n"}; }
NodeRecord dead() { return {}; }

TEST(Membership, NewNodesAreFoundedWhenAllOfThemAnswer) {
  EXPECT_EQ(assess({blank(), blank(), blank(), blank(), blank()}).state, State::found);
  EXPECT_EQ(assess({blank(), blank(), dead(), dead(), dead()}).state, State::unreachable);
}

TEST(Membership, NodesThatHaveForgottenAllAreNotFoundedBehindTheBackOfOneThatMayKnow) {
  EXPECT_EQ(assess({blank(), blank(), blank(), blank(), dead()}).state, State::incomplete);
  EXPECT_EQ(assess({member(7, false), member(7, false), blank(), blank(), dead()}).state, State::incomplete);
}

TEST(Membership, AMajorityOfMembersIsReadyAndTheOthersAreOutsiders) {
  const Assessment seen = assess({member(7), blank(), member(7), restarted(7), member(7)});
  EXPECT_EQ(seen.state, State::ready);
  EXPECT_EQ(seen.epoch, 7U);
  EXPECT_EQ(seen.members, (std::vector<std::size_t>{0, 2, 4}));
  EXPECT_EQ(seen.outsiders, (std::vector<std::size_t>{1, 3}));
}

TEST(Membership, FirstClientsThatSplitTheNodesAgreeOnTheHighestEpoch) {
  const Assessment seen =
      assess({member(5, false), member(5, false), member(6, false), member(6, false), member(7, false)});
  EXPECT_EQ(seen.state, State::adopt);
  EXPECT_EQ(seen.epoch, 7U);
  EXPECT_EQ(seen.members, std::vector<std::size_t>{4});
  EXPECT_EQ(seen.lagging, (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(Membership, AUsedClusterThatHasLostAMajorityIsNotFoundedAgainByItself) {
  EXPECT_EQ(assess({member(7), member(7), blank(), blank(), blank()}).state, State::forgotten);
  EXPECT_EQ(assess({restarted(7), restarted(7), restarted(7), restarted(7), restarted(7)}).state, State::forgotten);
  EXPECT_EQ(assess({member(7), blank(), blank(), blank(), dead()}).state, State::forgotten);
}

TEST(Membership, NodesThatDoNotAnswerMayBeTheMembers) {
  EXPECT_EQ(assess({member(7), member(7), blank(), blank(), dead()}).state, State::unreachable);
  EXPECT_EQ(assess({member(7), blank(), blank(), dead(), dead()}).state, State::unreachable);
}

TEST(Membership, AnEpochThatWasBegunOnAFewNodesIsAdoptedByTheRest) {
  const Assessment seen = assess({member(9), member(7), member(7), blank(), dead()});
  EXPECT_EQ(seen.state, State::adopt);
  EXPECT_EQ(seen.epoch, 9U);
}

TEST(Membership, ANewEpochIsLargerThanWhateverWasSeen) {
  EXPECT_EQ(next_epoch({member(9), blank()}, 3, 5), 10U);
  EXPECT_EQ(next_epoch({member(9), blank()}, 30, 5), 31U);
  EXPECT_EQ(next_epoch({member(9), blank()}, 3, 500), 500U);
}

Voucher voucher(Duration known_for, Duration longest, std::uint64_t counter) {
  return {.known_for = known_for, .longest = longest, .counters = {{1, counter}}};
}

TEST(Membership, AnOutsiderWaitsForTheLongestLeaseByEachClock) {
  const Duration needed = 10s + base::drift(10s) + 50ms;
  EXPECT_TRUE(admit(5, {voucher(needed, 10s, 3), voucher(needed, 1s, 8), voucher(needed, 1s, 4)}, 50ms).granted);
  const Admission early = admit(5, {voucher(1h, 10s, 3), voucher(1h, 1s, 8), voucher(needed - 1ms, 1s, 4)}, 50ms);
  EXPECT_FALSE(early.granted) << "one clock may have jumped";
  EXPECT_EQ(early.wait, 1ms);
}

TEST(Membership, AMajorityOfAllMustVouch) {
  EXPECT_FALSE(admit(5, {voucher(1h, 1s, 3), voucher(1h, 1s, 8)}, 50ms).granted);
  EXPECT_FALSE(admit(3, {voucher(1h, 1s, 3)}, 50ms).granted);
  EXPECT_TRUE(admit(3, {voucher(1h, 1s, 3), voucher(1h, 1s, 8)}, 50ms).granted);
}

TEST(Membership, AnOutsiderTakesTheHighestCounterOfEachBucket) {
  Voucher one = voucher(1h, 1s, 3), other = voucher(1h, 2s, 8);
  one.counters[2] = 40;
  const Admission admission = admit(3, {one, other}, 50ms);
  EXPECT_EQ(admission.counters, (std::map<std::uint32_t, std::uint64_t>{{1, 8}, {2, 40}}));
  EXPECT_EQ(admission.longest, 2s);
}

}  // namespace
}  // namespace pawl::store::redlock
