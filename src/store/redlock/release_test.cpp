#include "store/redlock/release.hpp"

#include "store/redlock/attempt.hpp"

#include <gtest/gtest.h>

namespace pawl::store::redlock {
namespace {

Reply text(const std::string& words) {
  Reply reply;
  reply.type = Reply::Type::text;
  reply.text = words;
  return reply;
}

Reply list(std::vector<Reply> items) {
  Reply reply;
  reply.type = Reply::Type::array;
  reply.items = std::move(items);
  return reply;
}

const Error no_answer{Errc::outcome_unknown, "the server did not answer in time"};
const Error not_sent{Errc::store_unavailable, "not connected"};

TEST(Unsettled, WhatWasSentOverTheSameConnectionArrivesFirst) {
  Unsettled unsettled;
  EXPECT_FALSE(unsettled.may_arrive_behind(1)) << "nothing was sent";
  unsettled.add(1);
  EXPECT_FALSE(unsettled.may_arrive_behind(1));
  EXPECT_TRUE(unsettled.may_arrive_behind(2));
  unsettled.add(1);
  EXPECT_FALSE(unsettled.may_arrive_behind(1));
  unsettled.add(2);
  EXPECT_TRUE(unsettled.may_arrive_behind(1));
  EXPECT_TRUE(unsettled.may_arrive_behind(2)) << "the one over the first connection";
  EXPECT_TRUE(Unsettled::over_any_link().may_arrive_behind(1));
}

TEST(Unsettled, OfTwoReleasesBothCount) {
  Release older, newer;
  older.unsettled.add(1);
  older.up_to_try = 3;
  newer.unsettled.add(2);
  newer.up_to_try = 2;
  newer.goes_on_waiting = true;
  older.merge(newer);
  EXPECT_TRUE(older.unsettled.may_arrive_behind(2));
  EXPECT_EQ(older.up_to_try, 3U);
  EXPECT_TRUE(older.goes_on_waiting) << "the newer one knows";
}

TEST(Trace, IsWhatTheAnswersSay) {
  Trace trace;
  EXPECT_EQ(trace.left(), Trace::Left::nothing);
  trace.ask(1);
  EXPECT_EQ(trace.left(), Trace::Left::vote) << "it is not known";
  trace.answer(list({text("busy"), text("bob"), text("9")}), true);
  EXPECT_EQ(trace.left(), Trace::Left::place);
  trace.ask(1);
  trace.answer(not_sent, true);
  EXPECT_EQ(trace.left(), Trace::Left::place) << "as before";
  trace.ask(1);
  trace.answer(list({text("taken"), text("7")}), true);
  EXPECT_EQ(trace.left(), Trace::Left::vote);
  trace.leave(false);
  EXPECT_EQ(trace.left(), Trace::Left::nothing);
  trace.ask(1);
  trace.answer(list({text("busy"), text("bob"), text("9")}), false);
  EXPECT_EQ(trace.left(), Trace::Left::nothing) << "a try leaves nothing where the lock is taken";
}

// A node that hangs, and is topped up over its next connection: the first request may still arrive.
TEST(Trace, ARequestWithoutAnAnswerStaysUnsettledWhateverIsSentBehindIt) {
  Trace trace;
  trace.ask(1);
  trace.answer(no_answer, true);
  trace.ask(2);
  trace.answer(list({text("taken"), text("7")}), true);
  EXPECT_TRUE(trace.unsettled().may_arrive_behind(2));
  trace.leave(false);
  EXPECT_EQ(trace.left(), Trace::Left::vote);
}

}  // namespace
}  // namespace pawl::store::redlock
