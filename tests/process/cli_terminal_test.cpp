#include "tests/process/cli_servers.hpp"
#include "tests/support/skip.hpp"

#include <signal.h>
#include <unistd.h>

#include <string>

namespace pawl::test {
namespace {

INSTANTIATE_TEST_SUITE_P(File, CliTerminal, testing::Values(served_folder()), testing::PrintToStringParamName());

TEST_P(CliTerminal, AnEditorIsStoppedContinuedAndSavesItsFile) {
  if (::access("/usr/bin/vi", X_OK) != 0) PAWL_SKIP_WITHOUT("there is no vi");
  const std::string file = folder_ / "text";
  Terminal terminal(shell, environment());
  ASSERT_TRUE(terminal.says("> "));
  terminal.type(PAWL_CLI " run job -- vi -u NONE -N " + file + "\n");
  ASSERT_TRUE(terminal.says("~"));
  terminal.type("ione\x1b");
  ASSERT_TRUE(terminal.says("one"));
  terminal.type("\x1a");
  ASSERT_TRUE(terminal.says("Stopped"));
  terminal.type("echo in the sh$((0))ll\n");
  ASSERT_TRUE(terminal.says("in the sh0ll"));
  EXPECT_EQ(pawl({"run", "--no-wait", "job", "--", "true"}).code, 124) << "it keeps the lock meanwhile";
  terminal.type("fg\n");
  terminal.type("atwo\x1b");
  ASSERT_TRUE(terminal.says("two"));
  terminal.type(":wq\n");
  ASSERT_TRUE(nothing_left());
  EXPECT_EQ(read_file(file), "onetwo\n");
  terminal.type("echo code=$?\n");
  EXPECT_TRUE(terminal.says("code=0"));
  terminal.type("exit\n");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST_P(CliTerminal, AShellHasItsOwnJobs) {
  Terminal terminal(shell, environment());
  ASSERT_TRUE(terminal.says("> "));
  terminal.type("PS1='inner> ' " PAWL_CLI " run job -- bash --norc --noprofile --noediting -i\n");
  ASSERT_TRUE(terminal.says("inner> "));
  terminal.type("sleep 1000\n");
  // Until it has the terminal: before that Ctrl-Z would be the shell's, which ignores it.
  ASSERT_TRUE(eventually([&] { return terminal.foreground() == "sleep"; }));
  terminal.type("\x1a");
  ASSERT_TRUE(terminal.says("Stopped"));
  terminal.type("fg\n");
  ASSERT_TRUE(eventually([&] { return terminal.foreground() == "sleep"; }));
  terminal.type("\x03");
  ASSERT_TRUE(eventually([&] { return terminal.foreground() == "bash"; }));
  terminal.type("echo code=$?\n");
  ASSERT_TRUE(terminal.says("code=130"));
  EXPECT_EQ(pawl({"run", "--no-wait", "job", "--", "true"}).code, 124);
  terminal.type("exit 7\n");
  ASSERT_TRUE(nothing_left());
  terminal.type("echo outer=$?\n");
  EXPECT_TRUE(terminal.says("outer=7"));
  terminal.type("exit\n");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST_P(CliTerminal, AJobThatStaysStoppedLosesItsLockAfterALease) {
  Terminal terminal(shell, environment());
  ASSERT_TRUE(terminal.says("> "));
  terminal.type(PAWL_CLI " run --lease 1s job -- sh -c 'echo be$((0))gun; exec sleep 1000'\n");
  ASSERT_TRUE(terminal.says("be0gun"));
  terminal.type("\x1a");
  ASSERT_TRUE(terminal.says("Stopped"));
  ASSERT_TRUE(terminal.says("pawl was stopped for longer than a lease: the command was killed"));
  EXPECT_TRUE(nothing_left());
  terminal.type("fg\n");
  terminal.type("echo code=$?\n");
  EXPECT_TRUE(terminal.says("code=122"));
}

TEST_P(CliTerminal, CtrlZWhileItWaitsStopsTheJobAndFgWaitsOn) {
  Process alice = holder("job");
  Terminal terminal(shell, environment());
  ASSERT_TRUE(terminal.says("> "));
  terminal.type(PAWL_CLI " run job -- echo my tu$((0))rn\n");
  ASSERT_TRUE(queued("job"));
  terminal.type("\x1a");
  ASSERT_TRUE(terminal.says("Stopped"));
  terminal.type("fg\n");
  alice.signal(SIGTERM);
  alice.wait();
  EXPECT_TRUE(terminal.says("my tu0rn"));
  EXPECT_TRUE(nothing_left());
}

TEST_P(CliTerminal, AJobThatWasStoppedWhileItWaitedDoesNotBeginBeforeItIsContinued) {
  Process alice = holder("job");
  Terminal terminal(shell, environment());
  ASSERT_TRUE(terminal.says("> "));
  terminal.type(PAWL_CLI " run job -- echo my tu$((0))rn\n");
  ASSERT_TRUE(queued("job"));
  terminal.type("\x1a");
  ASSERT_TRUE(terminal.says("Stopped"));
  alice.signal(SIGTERM);
  alice.wait();
  ASSERT_TRUE(eventually([&] { return pawl({"show", "job"}).out.find("held for") != std::string::npos; }));
  terminal.type("echo still in the sh$((0))ll\n");
  ASSERT_TRUE(terminal.says("still in the sh0ll"));
  EXPECT_EQ(terminal.screen().find("my tu0rn"), std::string::npos);
  terminal.type("fg\n");
  EXPECT_TRUE(terminal.says("my tu0rn"));
}

TEST_P(CliTerminal, CtrlCWhileItWaitsEndsTheWait) {
  const Process alice = holder("job");
  Terminal terminal({PAWL_CLI, "run", "job", "--", "true"}, environment());
  ASSERT_TRUE(queued("job"));
  terminal.type("\x03");
  EXPECT_EQ(terminal.wait(), 130);
  EXPECT_TRUE(eventually([&] { return pawl({"show", "job"}).out.find("nobody waits") != std::string::npos; }));
}

}  // namespace
}  // namespace pawl::test
