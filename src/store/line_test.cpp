#include "store/line.hpp"

#include <gtest/gtest.h>

namespace pawl::store {
namespace {

using Step = Line::Step;
using Seen = Line::Seen;

Line line_behind(Line::Keys before, bool all) {
  Line line;
  line.created(std::move(before), all);
  return line;
}

Line line_waiting(Line::Keys before, bool all) {
  Line line = line_behind(std::move(before), all);
  line.watched(Seen::there);
  return line;
}

TEST(Line, BeginsWithoutAKey) {
  const Line line;
  EXPECT_EQ(line.next(), Step::create);
  EXPECT_EQ(line.last(), "");
}

TEST(Line, AloneItIsFirst) { EXPECT_EQ(line_behind({}, true).next(), Step::take); }

TEST(Line, BehindAnUnknownOneItLists) { EXPECT_EQ(line_behind({}, false).next(), Step::list); }

TEST(Line, BehindAKnownOneItWatchesThatAndWaits) {
  Line line = line_behind({"a"}, false);
  EXPECT_EQ(line.next(), Step::watch);
  EXPECT_EQ(line.last(), "a");
  EXPECT_FALSE(line.waited());
  line.watched(Seen::there);
  EXPECT_EQ(line.next(), Step::wait);
  EXPECT_TRUE(line.waited());
}

TEST(Line, ALostCreationIsLookedFor) {
  Line line;
  line.creation_unknown();
  EXPECT_EQ(line.next(), Step::find);
  Line other = line;
  line.found(true);
  EXPECT_EQ(line.next(), Step::list);
  other.found(false);
  EXPECT_EQ(other.next(), Step::create);
}

TEST(Line, AfterAHolderItIsFirstWithoutAList) {
  Line line = line_waiting({"a"}, false);
  line.left(true);
  EXPECT_EQ(line.next(), Step::take);
}

TEST(Line, AfterAKeyThatWasSeenToHoldItIsFirstHoweverThatEnded) {
  Line line = line_behind({"a"}, false);
  line.watched(Seen::holding);
  EXPECT_EQ(line.next(), Step::wait);
  line.left(false);
  EXPECT_EQ(line.next(), Step::take);
}

TEST(Line, AfterAWaiterThatLeftItLists) {
  Line line = line_waiting({"a"}, false);
  line.left(false);
  EXPECT_EQ(line.next(), Step::list);
  EXPECT_EQ(line.last(), "");
}

TEST(Line, ThePredecessorThatVanishesBetweenListAndWatchIsSeen) {
  Line line = line_behind({"a"}, false);
  line.watched(Seen::gone);
  EXPECT_EQ(line.next(), Step::list);
  line.listed({});
  EXPECT_EQ(line.next(), Step::take);
}

TEST(Line, KnownKeysAreWaitedForOneByOne) {
  Line line = line_waiting({"a", "b"}, true);
  EXPECT_EQ(line.last(), "b");
  line.left(false);
  EXPECT_EQ(line.next(), Step::watch);
  EXPECT_EQ(line.last(), "a");
  line.watched(Seen::gone);
  EXPECT_EQ(line.next(), Step::take);
}

TEST(Line, ManyKnownKeysAreListedAgainBecauseMostWillBeGone) {
  Line line = line_waiting({"a", "b", "c", "d"}, true);
  line.left(false);
  EXPECT_EQ(line.next(), Step::list);
}

TEST(Line, AHolderAmongSeveralLeavesNoneBeforeIt) {
  Line line = line_behind({"a", "b"}, true);
  line.watched(Seen::holding);
  line.left(false);
  EXPECT_EQ(line.next(), Step::take);
}

TEST(Line, AFirstOneThatMustNotTakeYetListsAgain) {
  Line line = line_behind({}, true);
  EXPECT_FALSE(line.waited());
  line.postponed();
  EXPECT_EQ(line.next(), Step::list);
  EXPECT_TRUE(line.waited());
}

TEST(Line, OnlyAFirstOneIsPostponed) {
  Line line = line_behind({"a"}, false);
  line.postponed();
  EXPECT_EQ(line.next(), Step::watch);
  EXPECT_FALSE(line.waited());
}

TEST(Line, OneThatWasNotAloneHasWaited) {
  Line line = line_behind({}, true);
  line.was_not_alone();
  EXPECT_EQ(line.next(), Step::take);
  EXPECT_TRUE(line.waited());
}

TEST(Line, ADoubtfulWatchIsSetAgain) {
  Line line = line_waiting({"a"}, false);
  line.look_again();
  EXPECT_EQ(line.next(), Step::watch);
  EXPECT_EQ(line.last(), "a");
}

TEST(Line, WhatItHoldsIsKeptWhateverIsSeenOfOthers) {
  Line line = line_behind({}, true);
  line.taken();
  line.left(true);
  line.look_again();
  line.watched(Seen::gone);
  EXPECT_EQ(line.next(), Step::keep);
}

TEST(Line, ALateEventAboutTheOneBeforeChangesNothingForAFirstOne) {
  Line line = line_waiting({"a"}, false);
  line.left(true);
  line.left(false);
  EXPECT_EQ(line.next(), Step::take);
}

TEST(Line, AKeyThatWasTakenAwayStaysAway) {
  Line line = line_waiting({"a"}, false);
  line.taken_away();
  EXPECT_EQ(line.next(), Step::stop);
  line.left(true);
  EXPECT_EQ(line.next(), Step::stop);
}

TEST(Line, AWithdrawnOneMayBeginAgain) {
  Line line = line_waiting({"a"}, false);
  line.withdrawn();
  EXPECT_EQ(line.next(), Step::create);
  EXPECT_FALSE(line.waited());
}

}  // namespace
}  // namespace pawl::store
