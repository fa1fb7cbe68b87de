#include "apps/cli/torture/history.hpp"
#include "tests/torture/porcupine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace pawl::torture {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

History of(const std::string& diary) {
  std::istringstream in(diary);
  History history;
  read_diary("w1.1", in, history);
  return history;
}

}  // namespace

TEST(TortureHistory, PutsATurnTogether) {
  const History history =
      of("10 0.1 ask job exclusive\n12 0.1 granted 0a -\n13 0.1 valid\n15 0.1 valid\n"
         "16 0.1 release\n17 0.1 released ok\n18 0.1 again job\n19 - end\n");
  ASSERT_THAT(history.turns, SizeIs(1));
  const Turn& turn = history.turns[0];
  EXPECT_EQ(turn.actor, "w1.1/0");
  EXPECT_EQ(turn.resource(), "job.-");
  EXPECT_EQ(turn.asked, 10);
  EXPECT_EQ(turn.granted, 12);
  EXPECT_EQ(turn.token, "0a");
  EXPECT_EQ(turn.first_valid, 13);
  EXPECT_EQ(turn.last_valid, 15);
  EXPECT_EQ(turn.released, "ok");
  EXPECT_THAT(history.again.at("w1.1/0"), ElementsAre("job"));
  EXPECT_THAT(history.ended, ElementsAre("w1.1"));
  EXPECT_THAT(history.unreadable, IsEmpty());
}

TEST(TortureHistory, KeepsWhatAKilledWorkerHasLoggedAndIgnoresItsLastHalfLine) {
  const History history =
      of("10 0.1 ask job shared\n12 0.1 granted 0a -\n13 0.1 valid\n14 0.1 call -/1 write - x\n15 0.1 va");
  ASSERT_THAT(history.turns, SizeIs(1));
  EXPECT_EQ(history.turns[0].last_valid, 13);
  EXPECT_EQ(history.turns[0].mode, Mode::shared);
  ASSERT_THAT(history.calls, SizeIs(1));
  EXPECT_FALSE(history.calls[0].done);
  EXPECT_THAT(history.ended, IsEmpty());
  EXPECT_THAT(history.unreadable, IsEmpty());
}

TEST(TortureHistory, MakesATurnOfEachSlot) {
  const History history = of("10 0.1 ask job exclusive\n12 0.1 granted 0a 0,2\n13 0.1 valid\n");
  ASSERT_THAT(history.turns, SizeIs(2));
  EXPECT_EQ(history.turns[0].resource(), "job.0");
  EXPECT_EQ(history.turns[1].resource(), "job.2");
}

TEST(TortureHistory, TellsThreadsApart) {
  const History history =
      of("10 0.1 ask a exclusive\n11 1.1 ask b exclusive\n12 0.1 failed busy\n13 1.1 granted 01 -\n");
  ASSERT_THAT(history.turns, SizeIs(2));
  EXPECT_EQ(history.turns[0].failed, "busy");
  EXPECT_EQ(history.turns[1].token, "01");
}

TEST(TortureHistory, NoticesAHoldThatIsValidAgain) {
  EXPECT_TRUE(of("1 0.1 ask a exclusive\n2 0.1 granted 01 -\n3 0.1 invalid\n4 0.1 valid\n").turns.at(0).valid_again);
  EXPECT_FALSE(of("1 0.1 ask a exclusive\n2 0.1 granted 01 -\n3 0.1 valid\n4 0.1 invalid\n").turns.at(0).valid_again);
}

TEST(TortureHistory, KeepsLinesThatMeanNothing) {
  EXPECT_THAT(of("1 0.1 ask a exclusive\n2 0.1 sings\n3 0.2 valid\nnonsense\n").unreadable, SizeIs(3));
}

TEST(TortureHistory, TellsPorcupineWhatWasReadAndWhatWasNeverAnswered) {
  const History history =
      of("1 0.1 ask a exclusive\n2 0.1 granted 01 -\n3 0.1 call -/1 read - -\n4 0.1 done -/1 ok x\n"
         "5 0.1 call -/2 write - y\n");
  std::ostringstream out;
  write_operations(history, out);
  EXPECT_EQ(out.str(), "a.-\t3\t4\tread\texclusive\t01\tx\tok\na.-\t5\t-\twrite\texclusive\t01\ty\tpending\n");
}

}  // namespace pawl::torture
