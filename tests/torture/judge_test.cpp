#include "apps/cli/torture/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

/// Every oracle, on a history made up to break its promise, and on one beside it that does not.
namespace pawl::torture {

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> oracles(const History& history, const Expected& expected = {}) {
  std::vector<std::string> names;
  for (const Complaint& complaint : judge(history, expected)) names.push_back(complaint.oracle);
  return names;
}

/// Granted right after it was asked for, and believed in from then on.
Turn held(const std::string& actor, Nanoseconds from, Nanoseconds to, const std::string& token,
          Mode mode = Mode::exclusive) {
  Turn turn{.actor = actor, .lock = "job", .mode = mode, .asked = from, .granted = from + 1, .token = token};
  turn.first_valid = from + 2;
  turn.last_valid = to;
  return turn;
}

Call call(Operation operation, const std::string& token, Nanoseconds at, const std::string& outcome = "ok",
          Mode mode = Mode::exclusive) {
  return {.actor = "w/0",
          .fence = "job.-",
          .operation = operation,
          .mode = mode,
          .token = token,
          .value = "v",
          .called = at,
          .done = at + 1,
          .outcome = outcome};
}

}  // namespace

TEST(TortureJudge, FindsNothingInAGoodHistory) {
  History good;
  good.turns = {held("a/0", 10, 20, "01"), held("b/0", 21, 30, "02"), held("a/0", 31, 40, "03", Mode::shared),
                held("b/0", 32, 45, "03", Mode::shared)};
  good.calls = {call(Operation::mark, "01", 12), call(Operation::write, "01", 14), call(Operation::mark, "02", 23)};
  good.resources["job.-"] = {{"v", "nothing", "01"}, {"x", "v", "02"}};
  good.again = {{"a/0", {"job"}}, {"b/0", {"job"}}};
  good.ended = {"a", "b"};
  EXPECT_THAT(oracles(good, {{"job"}, {"a", "b"}}), IsEmpty());
}

TEST(TortureJudge, SeesTwoBeliefsAtOneMoment) {
  EXPECT_THAT(oracles({.turns = {held("a/0", 10, 30, "01"), held("b/0", 21, 40, "02")}}), ElementsAre("overlap"));
}

TEST(TortureJudge, SeesAnOverlapWithALongHoldThatBeganBeforeAShortOne) {
  const History history{.turns = {held("a/0", 10, 100, "01"), held("b/0", 120, 130, "02"), held("c/0", 40, 50, "03")}};
  EXPECT_THAT(oracles(history), Contains("overlap"));
}

TEST(TortureJudge, SeesAWriterAmongReaders) {
  History history{.turns = {held("a/0", 10, 30, "01", Mode::shared), held("b/0", 12, 40, "01", Mode::shared)}};
  EXPECT_THAT(oracles(history), IsEmpty());
  history.turns.push_back(held("c/0", 35, 50, "02"));
  EXPECT_THAT(oracles(history), ElementsAre("overlap"));
}

TEST(TortureJudge, SeesTwoHoldersOfOneSlot) {
  History history{.turns = {held("a/0", 10, 30, "01"), held("b/0", 12, 40, "02")}};
  history.turns[0].slot = "0";
  history.turns[1].slot = "1";
  EXPECT_THAT(oracles(history), IsEmpty());
  history.turns[1].slot = "0";
  EXPECT_THAT(oracles(history), ElementsAre("overlap"));
}

TEST(TortureJudge, SeesATokenThatDoesNotGrowFromBeliefToBelief) {
  // Asked for before the first one was granted, so that only the beliefs tell which was first.
  Turn second = held("b/0", 10, 40, "01");
  second.first_valid = 21;
  EXPECT_THAT(oracles({.turns = {held("a/0", 10, 20, "01"), second}}), ElementsAre("order"));
}

TEST(TortureJudge, SeesATokenThatDoesNotGrowWhereNobodyBelieved) {
  Turn first = held("a/0", 10, 20, "05"), second = held("b/0", 30, 40, "04");
  first.first_valid = first.last_valid = second.first_valid = second.last_valid = std::nullopt;
  EXPECT_THAT(oracles({.turns = {first, second}}), ElementsAre("order"));
}

TEST(TortureJudge, SeesAReaderWhoseTokenIsNotAboveTheWritersBeforeIt) {
  EXPECT_THAT(oracles({.turns = {held("a/0", 10, 20, "02"), held("b/0", 30, 40, "02", Mode::shared)}}),
              Contains("order"));
}

TEST(TortureJudge, SeesAnOvertakenWriteInTheResource) {
  History history;
  history.resources["job.-"] = {{"x", "nothing", "02"}, {"y", "x", "01"}};
  EXPECT_THAT(oracles(history), ElementsAre("overtaken"));
}

TEST(TortureJudge, SeesAWriteThatWasAdmittedAfterALargerMark) {
  History history;
  history.resources["job.-"] = {{"v", "nothing", "01"}};
  history.calls = {call(Operation::mark, "02", 10), call(Operation::write, "01", 20)};
  EXPECT_THAT(oracles(history), ElementsAre("overtaken"));
  history.calls = {call(Operation::mark, "02", 10, "ok", Mode::shared), call(Operation::write, "02", 20)};
  EXPECT_THAT(oracles(history), ElementsAre("overtaken"));
  history.calls = {call(Operation::mark, "02", 20), call(Operation::write, "01", 20)};
  EXPECT_THAT(oracles(history), IsEmpty()) << "the two were under way together";
}

TEST(TortureJudge, AllowsAStoreThatForgetsTwoBeliefsAndNothingElse) {
  History history{.turns = {held("a/0", 10, 30, "01"), held("b/0", 21, 40, "02")}};
  history.calls = {call(Operation::mark, "01", 30, "other_store")};
  EXPECT_THAT(oracles(history, {.forgets = true}), IsEmpty());
  history.turns.push_back(held("c/0", 50, 60, "01"));
  EXPECT_THAT(oracles(history, {.forgets = true}), ElementsAre("order"));
}

TEST(TortureJudge, SeesALostUpdate) {
  History history;
  history.resources["job.-"] = {{"x", "nothing", "01"}, {"y", "nothing", "02"}};
  EXPECT_THAT(oracles(history), ElementsAre("update"));
}

TEST(TortureJudge, SeesAConfirmedWriteThatIsMissingAndARefusedOneThatIsThere) {
  History history;
  history.calls = {call(Operation::write, "01", 10)};
  EXPECT_THAT(oracles(history), ElementsAre("written"));
  history.resources["job.-"] = {{"v", "nothing", "01"}};
  EXPECT_THAT(oracles(history), IsEmpty());
  history.calls = {call(Operation::write, "01", 10, "overtaken")};
  EXPECT_THAT(oracles(history), ElementsAre("written"));
}

TEST(TortureJudge, SeesAHoldThatIsValidAgain) {
  Turn turn = held("a/0", 10, 20, "01");
  turn.valid_again = true;
  EXPECT_THAT(oracles({.turns = {turn}}), ElementsAre("resurrected"));
}

TEST(TortureJudge, SeesErrorsThatNoFaultExplains) {
  Turn turn{.actor = "a/0", .lock = "job", .asked = 1, .failed = "store_unavailable"};
  EXPECT_THAT(oracles({.turns = {turn}}), IsEmpty());
  turn.failed = "would_deadlock";
  EXPECT_THAT(oracles({.turns = {turn}}), ElementsAre("error"));
  turn = held("a/0", 10, 20, "01");
  turn.released = "not_owner";
  EXPECT_THAT(oracles({.turns = {turn}}), ElementsAre("error"));
  EXPECT_THAT(oracles({.calls = {call(Operation::mark, "01", 10, "other_store")}}), ElementsAre("error"));
}

TEST(TortureJudge, SeesWhoDidNotGetTheLockAgainOrDidNotEnd) {
  History history{.turns = {held("a/0", 10, 20, "01")}, .again = {{"a/0", {"job"}}}, .ended = {"a"}};
  EXPECT_THAT(oracles(history, {{"job"}, {"a"}}), IsEmpty());
  EXPECT_THAT(oracles(history, {{"job", "other"}, {"a"}}), ElementsAre("again"));
  history.ended.clear();
  EXPECT_THAT(oracles(history, {{"job"}, {"a"}}), ElementsAre("again"));
  EXPECT_THAT(oracles({.ended = {"b"}}, {{"job"}, {"b"}}), ElementsAre("again")) << "it did nothing";
}

TEST(TortureJudge, SeesALineThatMeansNothing) {
  EXPECT_THAT(oracles({.unreadable = {"a: what?"}}), ElementsAre("log"));
}

}  // namespace pawl::torture
