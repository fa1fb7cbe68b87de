#include "tests/process/cli.hpp"

#include <signal.h>

#include <chrono>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

/// What is typed: help, a missing --, -c; and --at-least.
namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using CliWords = CliTest;

TEST_F(CliWords, HelpIsTheSameInEachForm) {
  EXPECT_THAT(pawl({"help"}).out, HasSubstr("Usage: pawl [--store URL] SUBCOMMAND"));
  EXPECT_EQ(pawl({"help"}).out, pawl({"--help"}).out);
  EXPECT_EQ(pawl({"--store", store(), "help"}).out, pawl({"--help"}).out);
  EXPECT_EQ(pawl({"help", "run"}).out, pawl({"run", "--help"}).out);
  EXPECT_EQ(pawl({"--store=" + store(), "help", "hold"}).out, pawl({"hold", "--help"}).out);
}

TEST_F(CliWords, HelpOfWhatThereIsNotIsAnError) {
  const Ended ended = pawl({"help", "nonsense"});
  EXPECT_EQ(ended.code, 125);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err, "pawl: there is no subcommand \"nonsense\"; \"pawl help\" lists them\n");
  EXPECT_EQ(pawl({"help", "run", "hold"}).code, 125);
}

TEST_F(CliWords, AMissingMarkIsExplainedWhateverTheCommandsOptionsAre) {
  const std::vector<std::pair<Words, std::string>> inputs = {
      {{"run", "job", "sh", "-c", "x"}, "run NAME -- sh"},
      {{"run", "--wait", "1s", "job", "ls", "-v"}, "run NAME -- ls"},
      {{"run", "job", "grep", "-q", "-v", "x"}, "run NAME -- grep"},
      {{"run", "job", "sed", "-E"}, "run NAME -- sed"},
      {{"run", "-E", "3", "job", "make", "-j4"}, "run NAME -- make"},
      {{"--store", store(), "elect", "api", "serve", "--value", "x"}, "elect NAME -- serve"},
  };
  for (const auto& [words, right] : inputs) {
    const Ended ended = pawl(words);
    EXPECT_EQ(ended.code, 125);
    EXPECT_EQ(ended.err, "pawl: -- is missing before the command; write pawl " + right + "\n");
  }
}

TEST_F(CliWords, ALineIsRunByTheShellAndIsLabelledWithItsFirstWord) {
  EXPECT_EQ(pawl({"run", "job", "-c", "echo one && exit 3"}).out, "one\n");
  EXPECT_EQ(pawl({"run", "job", "-c", "echo one && exit 3"}).code, 3);
  EXPECT_EQ(pawl({"run", "job", "-c", "true", "--", "true"}).code, 125);
  EXPECT_EQ(pawl({"run", "-c", "true"}).code, 125) << "no NAME";
  const std::vector<std::pair<std::string, std::string>> labels = {
      {"/bin/sleep 1000; true", "sleep"}, {"PASSWORD='a b' sleep 1000; true", "sh"}, {"(sleep 1000)", "sh"}};
  for (const auto& [line, label] : labels) {
    const Process alice = start({"run", label + line, "-c", line});
    EXPECT_TRUE(eventually([&] {
      return pawl({"show", label + line}).out.find(": " + label + "\n") != std::string::npos;
    })) << pawl({"show", label + line}).out;
  }
}

TEST_F(CliWords, AtLeastKeepsTheLockAfterAShortJobAndOnlyThen) {
  Process alice = start({"run", "--at-least", "1h", "job", "--", "sh", "-c", "echo done; exit 4"});
  ASSERT_TRUE(alice.says("done"));
  ASSERT_TRUE(eventually([&] { return children_of(keeper_of(alice.pid())).empty(); })) << "the command has ended";
  EXPECT_EQ(pawl({"run", "--no-wait", "job", "--", "true"}).code, 124);
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait().code, 4);
  EXPECT_TRUE(nothing_left());

  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(pawl({"run", "--at-least", "1s", "job", "--", "true"}).code, 0);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

TEST_F(CliWords, RevokeEndsAtLeast) {
  Process alice = start({"run", "--at-least", "1h", "job", "--", "sh", "-c", "echo done; exit 4"});
  ASSERT_TRUE(alice.says("done"));
  EXPECT_EQ(pawl({"revoke", "job"}).code, 0);
  EXPECT_EQ(alice.wait().code, 4);
  EXPECT_TRUE(nothing_left());
}

TEST_F(CliWords, ALossDuringAtLeastIsALoss) {
  Process alice = start({"run", "--at-least", "1h", "job", "--", "sh", "-c", "echo done; exit 4"});
  ASSERT_TRUE(alice.says("done"));
  ASSERT_TRUE(eventually([&] { return children_of(keeper_of(alice.pid())).empty(); }));
  EXPECT_EQ(pawl({"revoke", "--now", "job"}).code, 0);
  const Ended ended = alice.wait();
  EXPECT_EQ(ended.code, 122);
  EXPECT_THAT(ended.err, HasSubstr("the lock \"job\" is lost: it was taken away"));
}

TEST_F(CliWords, AtLeastThatIsLongerThanMaxHoldIsRefused) {
  const Ended ended = pawl({"run", "--at-least", "2m", "--max-hold", "1m", "job", "--", "true"});
  EXPECT_EQ(ended.code, 125);
  EXPECT_EQ(ended.err, "pawl: --at-least 2m is longer than --max-hold 1m\n");
}

}  // namespace
}  // namespace pawl::test
