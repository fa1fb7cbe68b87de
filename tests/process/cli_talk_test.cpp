#include "tests/process/cli.hpp"

#include <signal.h>

#include <algorithm>
#include <regex>
#include <string>

/// What a person sees of a run, and what a log gets.
namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

class CliTalk : public CliTest {
 protected:
  Words environment() const { return {"PATH=/usr/bin:/bin", "PAWL_STORE=" + store()}; }
};

TEST_F(CliTalk, OnATerminalALineSaysWhoHoldsTheLockAndHowLongIsLeft) {
  Process alice = holder("job", {"--label", "alice's"});
  const Process bob = start({"run", "job", "--", "true"});
  ASSERT_TRUE(queued("job", 1));
  Terminal terminal({PAWL_CLI, "run", "--wait", "10m", "job", "--", "echo", "my turn"}, environment());
  ASSERT_TRUE(terminal.says("; 2 of 2 in line; 9m "));
  ASSERT_TRUE(terminal.says("by "));
  ASSERT_TRUE(terminal.says("pid " + std::to_string(alice.pid())));
  // It is written anew, on the same line.
  ASSERT_TRUE(eventually([&] {
    const std::string& screen = terminal.screen();
    return screen.find("\rpawl: waiting for \"job\"", screen.find("\rpawl: waiting for \"job\"") + 1) !=
           std::string::npos;
  }));
  EXPECT_EQ(terminal.screen().find('\n'), std::string::npos);
  alice.signal(SIGTERM);
  EXPECT_TRUE(terminal.says("\r\x1b[Kmy turn"));
}

TEST_F(CliTalk, ALineThatIsTooLongForTheTerminalIsCutBetweenCharacters) {
  std::string label;
  for (int i = 0; i < 100; ++i) label += "\xc3\xa4";  // ä
  const Process alice = holder("job", {"--label", label});
  for (const std::string columns : {"60", "61", "4"}) {
    Terminal terminal({"sh", "-c", "stty cols " + columns + "; exec " PAWL_CLI " run job -- true"}, environment());
    ASSERT_TRUE(terminal.says("...\x1b[K")) << columns;
    if (columns.size() < 2) continue;
    const std::string& screen = terminal.screen();
    const std::size_t begin = screen.find("\rpawl: ") + 1;
    const std::string line = screen.substr(begin, screen.find("\x1b[K", begin) - begin);
    EXPECT_THAT(line, testing::EndsWith("..."));
    EXPECT_LT(static_cast<int>(line.size()) - static_cast<int>(std::count(line.begin(), line.end(), '\xa4')),
              std::stoi(columns));
    EXPECT_EQ(std::count(line.begin(), line.end(), '\xc3'), std::count(line.begin(), line.end(), '\xa4'));
  }
}

TEST_F(CliTalk, InALogALineSaysThatItWaitsAndOneThatItIsOver) {
  Process alice = holder("job", {"--label", "alice's"});
  Process bob = start({"run", "job", "--", "echo", "my turn"});
  ASSERT_TRUE(bob.says("waiting for \"job\""));
  const std::string pid = std::to_string(alice.pid());
  alice.signal(SIGTERM);
  const Ended ended = bob.wait();
  EXPECT_THAT(ended.err, MatchesRegex("pawl: waiting for \"job\"; 1 of 1 in line; held for [^\n]* by [^\n]*, pid " +
                                      pid + ": alice's\npawl: granted after [^\n]*\n"));
}

TEST_F(CliTalk, QuietAndTheChosenCodeSayNothing) {
  const Process alice = holder("job");
  const Ended quiet = pawl({"run", "--quiet", "--wait", "2s", "job", "--", "true"});
  EXPECT_EQ(quiet.code, 124);
  EXPECT_THAT(quiet.err, StartsWith("pawl: \"job\" was not granted within 2s"));
  for (const Words& words : {Words{"run", "--no-wait", "-E", "0", "job", "--", "true"},
                             Words{"run", "--wait", "2s", "-E", "0", "job", "--", "true"}}) {
    const Ended silent = pawl(words);
    EXPECT_EQ(silent.code, 0);
    EXPECT_EQ(silent.err, "");
    EXPECT_EQ(silent.out, "");
  }
  EXPECT_EQ(pawl({"run", "--quiet", "--verbose", "job", "--", "true"}).code, 125);
}

TEST_F(CliTalk, VerboseNamesTheStoreAndTheToken) {
  const Ended ended = pawl({"run", "--verbose", "job", "--", "sh", "-c", "echo $PAWL_TOKEN"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("pawl: the store is " + store() + "\n"), HasSubstr("pawl: granted, token " + ended.out)));
}

TEST_F(CliTalk, ALockDelayIsToldFromAHolder) {
  Process alice = holder("job", {"--lock-delay", "50s"});
  ::kill(keeper_of(alice.pid()), SIGKILL);
  alice.wait();
  const Ended ended = pawl({"run", "--no-wait", "job", "--", "true"});
  EXPECT_EQ(ended.code, 124);
  EXPECT_THAT(ended.err,
              MatchesRegex("pawl: \"job\" is shut for another [0-9]+s: its last holder has failed, and had a "
                           "lock-delay\n"));
  const Process bob = start({"run", "job", "--", "true"});
  EXPECT_TRUE(bob.says("(lock-delay)"));
}

TEST_F(CliTalk, TheLogHasALineForEverythingThatHappens) {
  const std::string log = folder_ / "log";
  const auto events = [&] {
    std::string found;
    const std::string text = read_file(log);
    const std::regex event("\"event\": \"([a-z]+)\"");
    for (std::sregex_iterator at(text.begin(), text.end(), event); at != std::sregex_iterator(); ++at) {
      found += at->str(1) + " ";
    }
    return found;
  };
  EXPECT_EQ(pawl({"run", "--log", log, "--also", "b", "a", "--", "sh", "-c", "exit 3"}).code, 3);
  EXPECT_EQ(events(), "asked granted released ");
  EXPECT_THAT(read_file(log), AllOf(HasSubstr("\"locks\": [\"a\", \"b\"]"), HasSubstr("\"exit_code\": 3"),
                                    testing::ContainsRegex("\"token\": \"[0-9a-f]{32}\"")));
  const Process alice = holder("job", {"--log", log});
  EXPECT_EQ(pawl({"run", "--log", log, "--no-wait", "job", "--", "true"}).code, 124);
  EXPECT_EQ(pawl({"revoke", "--now", "job"}).code, 0);
  EXPECT_TRUE(eventually([&] { return events() == "asked granted released asked granted asked refused lost "; }))
      << read_file(log);
  EXPECT_THAT(read_file(log),
              AllOf(HasSubstr("\"reason\": \"the lock \\\"job\\\" is lost: "), HasSubstr("is held by")));
  EXPECT_EQ(pawl({"run", "--log", folder_.path(), "job", "--", "true"}).code, 125);
}

}  // namespace
}  // namespace pawl::test
