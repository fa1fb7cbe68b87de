#include "store/redlock/vote.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>

namespace pawl::store::redlock {
namespace {

using namespace std::chrono_literals;
using Step = Vote::Step;
using Why = Vote::Why;

constexpr base::Time sent{1h};
constexpr base::Time soon = sent + 5ms;

Vote vote_of(std::size_t nodes) { return {nodes, sent, 10s, 100ms}; }

bool in_mask(std::size_t mask, std::size_t node) { return ((mask >> node) & 1) != 0; }

std::size_t size_of(std::size_t mask, std::size_t nodes) {
  std::size_t size = 0;
  for (std::size_t node = 0; node < nodes; ++node) size += in_mask(mask, node) ? 1 : 0;
  return size;
}

TEST(Poll, EveryMaskOfYesAndNoIsDecidedByTheMajority) {
  for (std::size_t nodes = 1; nodes <= 7; ++nodes) {
    for (std::size_t mask = 0; mask < (1U << nodes); ++mask) {
      Poll poll(nodes);
      for (std::size_t node = 0; node < nodes; ++node) in_mask(mask, node) ? poll.yes() : poll.no();
      const bool majority = 2 * size_of(mask, nodes) > nodes;
      EXPECT_EQ(poll.verdict(), majority ? Poll::Verdict::yes : Poll::Verdict::no) << nodes << " nodes, " << mask;
    }
  }
}

TEST(Poll, EveryMaskOfSilentNodesIsSilenceWithoutAMajority) {
  for (std::size_t nodes = 1; nodes <= 7; ++nodes) {
    for (std::size_t mask = 0; mask < (1U << nodes); ++mask) {
      Poll poll(nodes);
      for (std::size_t node = 0; node < nodes; ++node) in_mask(mask, node) ? poll.yes() : poll.failed();
      const bool majority = 2 * size_of(mask, nodes) > nodes;
      EXPECT_EQ(poll.verdict(), majority ? Poll::Verdict::yes : Poll::Verdict::silence) << nodes << " nodes, " << mask;
    }
  }
}

TEST(Poll, IsDecidedBeforeTheLastNodeHasAnswered) {
  Poll poll(5);
  poll.yes();
  poll.yes();
  EXPECT_EQ(poll.verdict(), Poll::Verdict::open);
  poll.yes();
  EXPECT_EQ(poll.verdict(), Poll::Verdict::yes);
  EXPECT_EQ(poll.pending(), 2U);
}

// A claim on {1,2,4,5} while 4 and 5 hang: they may have renewed it.
TEST(Poll, OneNoIsNoMajorityOfThemWhereTheOthersAreSilent) {
  Poll poll(5);
  poll.yes();
  poll.yes();
  poll.no();
  poll.failed();
  EXPECT_EQ(poll.verdict(), Poll::Verdict::open);
  poll.failed();
  EXPECT_EQ(poll.verdict(), Poll::Verdict::silence);
  Poll gone(5);
  for (int i = 0; i < 3; ++i) gone.no();
  EXPECT_EQ(gone.verdict(), Poll::Verdict::no) << "whatever the others would say";
}

TEST(Vote, EveryMaskOfDeadNodesIsGrantedExactlyWithAMajority) {
  for (std::size_t nodes = 1; nodes <= 7; ++nodes) {
    for (std::size_t dead = 0; dead < (1U << nodes); ++dead) {
      Vote vote = vote_of(nodes);
      for (std::size_t node = 0; node < nodes; ++node) in_mask(dead, node) ? vote.failed(node) : vote.taken(node, 7);
      const bool majority = 2 * (nodes - size_of(dead, nodes)) > nodes;
      ASSERT_EQ(vote.next(soon), majority ? Step::granted : Step::refused) << nodes << " nodes, dead: " << dead;
      if (majority) {
        EXPECT_EQ(vote.token(), 7U);
      } else {
        EXPECT_EQ(vote.why(soon), Why::unreachable);
      }
    }
  }
}

TEST(Vote, EveryMaskOfHangingNodesIsGrantedAsSoonAsTheOthersHaveAnswered) {
  for (std::size_t nodes = 1; nodes <= 7; ++nodes) {
    for (std::size_t hanging = 0; hanging < (1U << nodes); ++hanging) {
      Vote vote = vote_of(nodes);
      for (std::size_t node = 0; node < nodes; ++node) {
        if (!in_mask(hanging, node)) vote.taken(node, 7);
      }
      const bool majority = 2 * (nodes - size_of(hanging, nodes)) > nodes;
      ASSERT_EQ(vote.next(soon), majority ? Step::granted : Step::wait) << nodes << " nodes, hanging: " << hanging;
    }
  }
}

TEST(Vote, EveryMaskOfBusyNodesIsRefusedWithoutWaitingForTheRest) {
  for (std::size_t nodes = 1; nodes <= 7; ++nodes) {
    for (std::size_t taken = 0; taken < (1U << nodes); ++taken) {
      Vote vote = vote_of(nodes);
      for (std::size_t node = 0; node < nodes; ++node) {
        if (!in_mask(taken, node)) vote.busy(node, "other");
      }
      // Those that would say yes have not answered yet.
      const bool hope = 2 * size_of(taken, nodes) > nodes;
      ASSERT_EQ(vote.next(soon), hope ? Step::wait : Step::refused) << nodes << " nodes, " << taken;
    }
  }
}

TEST(Vote, ATieOfAnEvenNumberIsRefusedAtOnce) {
  Vote vote = vote_of(4);
  vote.taken(0, 1);
  vote.taken(1, 1);
  vote.busy(2, "other");
  EXPECT_EQ(vote.next(soon), Step::wait);
  vote.busy(3, "other");
  EXPECT_EQ(vote.next(soon), Step::refused);
  EXPECT_EQ(vote.why(soon), Why::split);
}

TEST(Vote, AnotherClaimWithAMajorityHoldsIt) {
  Vote vote = vote_of(5);
  for (const std::size_t node : {0U, 1U, 2U}) vote.busy(node, "other");
  EXPECT_EQ(vote.next(soon), Step::refused);
  EXPECT_EQ(vote.why(soon), Why::held);
}

TEST(Vote, SeveralOthersWithoutAMajoritySplitIt) {
  Vote vote = vote_of(5);
  vote.busy(0, "one");
  vote.busy(1, "one");
  vote.busy(2, "two");
  EXPECT_EQ(vote.next(soon), Step::refused);
  EXPECT_EQ(vote.why(soon), Why::split);
}

// Otherwise the nodes would remember another token than the holder's.
TEST(Vote, NoTokenIsGrantedPastWhichNodesAreRaisedAlready) {
  Vote vote = vote_of(5);
  vote.taken(0, 2);
  vote.taken(3, 3);
  vote.taken(1, 2);
  ASSERT_EQ(vote.next(soon), Step::raise);
  EXPECT_EQ(vote.to_raise().size(), 2U);
  vote.taken(2, 2);
  EXPECT_EQ(vote.next(soon), Step::raise) << "three nodes have voted for 2, and two of them are on their way to 3";
  EXPECT_EQ(vote.to_raise().size(), 1U);
  vote.risen(0, 3);
  EXPECT_EQ(vote.next(soon), Step::wait);
  vote.risen(2, 3);
  EXPECT_EQ(vote.next(soon), Step::granted);
  EXPECT_EQ(vote.token(), 3U);
}

TEST(Vote, NodesThatAgreeNeedNoWriteBack) {
  Vote vote = vote_of(5);
  vote.taken(3, 8);
  vote.taken(1, 8);
  EXPECT_EQ(vote.next(soon), Step::wait);
  vote.taken(4, 8);
  EXPECT_EQ(vote.next(soon), Step::granted);
  EXPECT_EQ(vote.token(), 8U);
}

TEST(Vote, NodesThatAreBehindAreRaisedToTheHighest) {
  Vote vote = vote_of(5);
  vote.taken(0, 4);
  vote.taken(1, 9);
  vote.taken(2, 6);
  ASSERT_EQ(vote.next(soon), Step::raise);
  EXPECT_EQ(vote.target(), 9U);
  EXPECT_EQ(vote.to_raise(), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(vote.next(soon), Step::wait);
  vote.risen(2, 9);
  EXPECT_EQ(vote.next(soon), Step::wait);
  vote.risen(0, 9);
  EXPECT_EQ(vote.next(soon), Step::granted);
  EXPECT_EQ(vote.token(), 9U);
}

TEST(Vote, ANodeThatDidNotRiseIsNoVote) {
  Vote vote = vote_of(3);
  vote.taken(0, 4);
  vote.taken(1, 5);
  vote.failed(2);
  ASSERT_EQ(vote.next(soon), Step::raise);
  EXPECT_EQ(vote.to_raise(), std::vector<std::size_t>{0});
  vote.not_risen(0, 5);  // another lock of the same counter was there first
  ASSERT_EQ(vote.next(soon), Step::raise);
  EXPECT_EQ(vote.target(), 6U);
  EXPECT_EQ(vote.to_raise(), (std::vector<std::size_t>{0, 1}));
  vote.risen(0, 6);
  vote.risen(1, 6);
  EXPECT_EQ(vote.next(soon), Step::granted);
  EXPECT_EQ(vote.token(), 6U);
}

TEST(Vote, ANodeWhereTheLockWasLostIsNoVote) {
  Vote vote = vote_of(3);
  vote.taken(0, 4);
  vote.taken(1, 5);
  vote.busy(2, "other");
  vote.to_raise();
  vote.lost(0);
  EXPECT_EQ(vote.next(soon), Step::refused);
  EXPECT_EQ(vote.why(soon), Why::split);
}

TEST(Vote, ALateNodeIsRaisedWithTheOthers) {
  Vote vote = vote_of(5);
  vote.taken(0, 4);
  vote.taken(1, 4);
  vote.taken(2, 5);
  EXPECT_EQ(vote.to_raise(), (std::vector<std::size_t>{0, 1}));
  vote.taken(3, 5);
  vote.failed(0);
  EXPECT_EQ(vote.next(soon), Step::wait);
  vote.taken(4, 5);
  EXPECT_EQ(vote.next(soon), Step::granted) << "5 has the votes of three without those that are raised";
}

TEST(Vote, ValidityCountsFromBeforeTheFirstRequestWithoutTheMargin) {
  Vote vote = vote_of(1);
  vote.taken(0, 1);
  EXPECT_EQ(vote.remaining(sent + 1s), 10s - 1s - 100ms);
  EXPECT_EQ(vote.next(sent + 10s - 101ms), Step::granted);
  EXPECT_EQ(vote.next(sent + 10s - 100ms), Step::refused);
  EXPECT_EQ(vote.why(sent + 10s - 100ms), Why::too_late);
}

}  // namespace
}  // namespace pawl::store::redlock
