#include "tests/process/cli.hpp"

#include <signal.h>

#include <fstream>
#include <string>

/// `pawl hold`: a lock inside a script.
namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class CliHold : public CliTest {
 protected:
  Words environment() const {
    const std::string pawl = PAWL_CLI;
    return {"PATH=" + pawl.substr(0, pawl.rfind('/')) + ":/usr/bin:/bin", "PAWL_STORE=" + store()};
  }
  Process script(const std::string& text) const { return {{"bash", "-c", text}, environment(), folder_.path()}; }
  bool free(const std::string& name) const {
    return eventually([&] { return pawl({"run", "--no-wait", name, "--", "true"}).code == 0; });
  }
  bool taken(const std::string& name) const { return pawl({"run", "--no-wait", name, "--", "true"}).code == 124; }

  /// As the help has it; says "held" when it has the lock.
  const std::string take = "exec 9< <(pawl hold job); read -ru 9 PAWL_SEQUENCER || exit\nholder=$!; echo held\n";
  /// Until the test says so.
  const std::string go = folder_ / "go";
  const std::string wait_for_go = "until test -e " + go + "; do sleep 0.02; done\n";
};

TEST_F(CliHold, TheDocumentedLineHoldsTheLockUntilTheDescriptorIsClosed) {
  EXPECT_THAT(pawl({"hold", "--help"}).out, HasSubstr("exec 9< <(pawl hold job); read -ru 9 PAWL_SEQUENCER || exit"));
  Process alice = script(take +
                         "pawl check \"$PAWL_SEQUENCER\" && echo \"it stands: $PAWL_SEQUENCER\"\n"
                         "until test -e " +
                         go + "; do sleep 0.02; done\nexec 9<&-; wait $holder; echo code=$?; sleep 1000");
  ASSERT_TRUE(alice.says("it stands: ")) << alice.err();
  EXPECT_THAT(alice.out(), HasSubstr(".job\n"));
  EXPECT_TRUE(taken("job"));
  EXPECT_THAT(pawl({"show", "job"}).out, HasSubstr(": pawl hold\n"));
  std::ofstream(go) << "";
  EXPECT_TRUE(alice.says("code=0"));
  EXPECT_TRUE(free("job"));
  EXPECT_EQ(alice.err(), "");
}

TEST_F(CliHold, TheEndOfTheScriptAndOfItsChildrenLetsGo) {
  Process alice = script(take + "sleep 1000 & echo \"reader $!.\"; wait");
  ASSERT_TRUE(alice.says("reader "));
  const std::string out = alice.out();
  const pid_t reader = std::stoi(out.substr(out.find("reader ") + 7));
  alice.signal(SIGKILL);
  EXPECT_EQ(alice.wait().code, died_of + SIGKILL);
  EXPECT_TRUE(taken("job")) << "sleep has inherited the descriptor";
  ::kill(reader, SIGKILL);
  EXPECT_TRUE(free("job"));
}

TEST_F(CliHold, TheLockIsHeldUntilTheLastReaderHasClosedTheDescriptor) {
  Process alice =
      script(take + "sleep 1000 & echo \"reader $!.\"; exec 9<&-; echo closed; " + wait_for_go + "kill $!; sleep 1000");
  ASSERT_TRUE(alice.says("closed"));
  EXPECT_TRUE(taken("job")) << "sleep has inherited it";
  std::ofstream(go) << "";
  EXPECT_TRUE(free("job"));
  EXPECT_TRUE(alice.running());
}

TEST_F(CliHold, OneLockIsLetGoThoughTheNextIsStillHeld) {
  Process alice = script(
      "exec 8< <(pawl hold a); read -ru 8 first || exit\n"
      "exec 9< <(pawl hold b); read -ru 9 second || exit\n"
      "exec 8<&-; echo closed; read -ru 9 end");
  ASSERT_TRUE(alice.says("closed"));
  EXPECT_TRUE(free("a"));
  EXPECT_TRUE(taken("b"));
  EXPECT_TRUE(alice.running());
}

TEST_F(CliHold, TakenAwayTheScriptReadsTheEndOfTheFile) {
  Process alice = script(take + "read -ru 9 more || echo lost; wait $holder; echo code=$?");
  ASSERT_TRUE(alice.says("held"));
  EXPECT_EQ(pawl({"revoke", "--now", "job"}).code, 0);
  const Ended ended = alice.wait();
  EXPECT_EQ(ended.out, "held\nlost\ncode=122\n");
  EXPECT_THAT(ended.err, HasSubstr("pawl: the lock \"job\" is lost"));
}

TEST_F(CliHold, AskedToLetGoItSaysSoAndKeepsTheLock) {
  const Process alice = script(take + "read -ru 9 more");
  ASSERT_TRUE(alice.says("held"));
  EXPECT_EQ(pawl({"revoke", "job"}).code, 0);
  EXPECT_TRUE(alice.says("somebody asks for the lock \"job\" (pawl revoke)"));
  EXPECT_TRUE(taken("job"));
}

TEST_F(CliHold, RefusedTheScriptReadsTheEndOfTheFile) {
  const Process alice = holder("job");
  const Ended ended = script(
                          "exec 9< <(pawl hold --no-wait job); holder=$!\n"
                          "read -ru 9 PAWL_SEQUENCER || { wait $holder; echo code=$?; exit 3; }")
                          .wait();
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.out, "code=124\n");
  EXPECT_THAT(ended.err, HasSubstr("\"job\" is held by "));
}

TEST_F(CliHold, TermLetsGoAndTheScriptReadsTheEndOfTheFile) {
  Process alice = script(take + "kill -TERM $holder; read -ru 9 more || echo end; wait $holder; echo code=$?");
  EXPECT_EQ(alice.wait().out, "held\nend\ncode=143\n");
  EXPECT_TRUE(free("job"));
}

TEST_F(CliHold, AScriptThatEndsWhileItWaitsLeavesNothingInTheQueue) {
  const Process alice = holder("job");
  Process bob = script("exec 9< <(pawl hold job); " + wait_for_go + "exec 9<&-; echo closed; sleep 1000");
  ASSERT_TRUE(queued("job", 1));
  std::ofstream(go) << "";
  ASSERT_TRUE(bob.says("closed"));
  EXPECT_TRUE(eventually([&] { return pawl({"show", "job"}).out.find("nobody waits") != std::string::npos; }));
}

TEST_F(CliHold, ALineForEachLockAndPermit) {
  Process alice =
      script("pawl hold --permits 2/3 --also other job | { read -r a; read -r b; read -r c; echo \"$a $b $c.\"; }");
  EXPECT_THAT(alice.wait().out, MatchesRegex("[^ ]+\\.job [^ ]+\\.job [^ ]+\\.other\\.\n"));
}

TEST_F(CliHold, OnATerminalItEndsWithCtrlC) {
  Terminal terminal({PAWL_CLI, "hold", "job"}, environment());
  ASSERT_TRUE(terminal.says(".job\r\n"));
  EXPECT_TRUE(taken("job"));
  terminal.type("\x03");
  EXPECT_EQ(terminal.wait(), 130);
  EXPECT_TRUE(free("job"));
}

TEST_F(CliHold, AFileOrDevNullIsRefusedForTheyHaveNoReaders) {
  const Ended file = pawl({"hold", "job"});
  EXPECT_EQ(file.code, 125);
  EXPECT_THAT(file.err, HasSubstr("it must go to a pipe, as in exec 9< <(pawl hold NAME), or to a terminal"));
  EXPECT_EQ(script("pawl hold job > /dev/null").wait().code, 125);
  EXPECT_TRUE(free("job"));
}

TEST_F(CliHold, ItsHelpSpeaksOfNoCommandAndMemoryIsWarnedOf) {
  const std::string help = pawl({"hold", "--help"}).out;
  EXPECT_THAT(help, AllOf(Not(HasSubstr("End the command")), Not(HasSubstr("the command's name")),
                          HasSubstr("default: pawl hold"), HasSubstr("Let go when we have had the lock")));
  EXPECT_THAT(script("pawl --store memory:x hold job | head -n 1").wait().err,
              HasSubstr("a memory: store is seen by this process alone"));
}

TEST_F(CliHold, AfterMaxHoldTheScriptReadsTheEndOfTheFile) {
  Process alice = script(
      "exec 9< <(pawl hold --max-hold 300ms job); holder=$!; read -ru 9 a; read -ru 9 b || echo end; wait $holder; "
      "echo code=$?");
  EXPECT_EQ(alice.wait().out, "end\ncode=122\n");
  EXPECT_TRUE(free("job"));
}

}  // namespace
}  // namespace pawl::test
