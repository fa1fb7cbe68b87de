#include "tests/process/cli.hpp"

#include <signal.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace pawl::test {
namespace {

using testing::HasSubstr;

class CliSignals : public CliTest {
 protected:
  /// A command that says which of these signals it gets, and ends after TERM.
  Process listener() const {
    const std::string script =
        "for s in HUP INT QUIT USR1 USR2 ALRM WINCH; do trap \"echo got $s\" $s; done; "
        "trap 'echo got TERM; exit 3' TERM; echo started; while :; do sleep 0.01; done";
    Process process = start({"run", "job", "--", "sh", "-c", script});
    EXPECT_TRUE(process.says("started")) << process.err();
    return process;
  }
};

TEST_F(CliSignals, WhatPawlGetsTheCommandGets) {
  Process process = listener();
  for (const auto& [number, name] : std::initializer_list<std::pair<int, std::string>>{{SIGHUP, "HUP"},
                                                                                       {SIGINT, "INT"},
                                                                                       {SIGQUIT, "QUIT"},
                                                                                       {SIGUSR1, "USR1"},
                                                                                       {SIGUSR2, "USR2"},
                                                                                       {SIGALRM, "ALRM"}}) {
    process.signal(number);
    EXPECT_TRUE(process.says("got " + name)) << name;
  }
  process.signal(SIGTERM);
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.out, HasSubstr("got TERM"));
  EXPECT_TRUE(nothing_left());
}

TEST_F(CliSignals, KilledWithNinePawlTakesItsCommandAlong) {
  Process pawl_run = holder("job");
  const pid_t command = command_of(pawl_run.pid());
  ASSERT_TRUE(alive(command));
  Process bob = start({"run", "job", "--", "true"});
  ASSERT_TRUE(queued("job", 1));
  pawl_run.signal(SIGKILL);
  EXPECT_EQ(pawl_run.wait().code, died_of + SIGKILL);
  EXPECT_TRUE(eventually([&] { return !alive(command); }));
  EXPECT_EQ(bob.wait().code, 0);  // long before the lease of 30 s: a dead process frees its locks at once
}

TEST_F(CliSignals, ASignalEndsTheWaitAndLeavesNothingInTheQueue) {
  const Process alice = holder("job");
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    Process bob = start({"run", "job", "--", "true"});
    ASSERT_TRUE(queued("job", 1));
    bob.signal(number);
    const Ended ended = bob.wait();
    EXPECT_EQ(ended.code, 128 + number);
    EXPECT_THAT(ended.err, HasSubstr(" while waiting for the lock\n"));
    EXPECT_THAT(pawl({"show", "job"}).out, HasSubstr("nobody waits"));
  }
}

TEST_F(CliSignals, UnderNohupAHangupDoesNotEndTheWait) {
  Process alice = holder("job");
  Process bob({"sh", "-c", "trap '' HUP; exec " PAWL_CLI " run job -- true"},
              {"PATH=/usr/bin:/bin", "PAWL_STORE=" + store()}, folder_.path());
  ASSERT_TRUE(queued("job", 1));
  bob.signal(SIGHUP);
  alice.signal(SIGTERM);
  EXPECT_EQ(bob.wait().code, 0);
}

TEST_F(CliSignals, AStoppedCommandKeepsItsLock) {
  const Process process = holder("job", {"--lease", "2s"});
  const pid_t child = command_of(process.pid());
  ::kill(child, SIGSTOP);
  EXPECT_EQ(pawl({"run", "--wait", "5s", "job", "--", "true"}).code, 124);
  EXPECT_TRUE(process.running());
}

TEST_F(CliSignals, CtrlCReachesTheCommandOnce) {
  const std::string script =
      "trap 'n=$((n+1)); echo \"INT $n\"' INT; trap 'echo \"all: $n\"; exit 3' TERM; echo started; "
      "while :; do sleep 0.01; done";
  Terminal terminal({PAWL_CLI, "run", "job", "--", "sh", "-c", script},
                    {"PATH=/usr/bin:/bin", "PAWL_STORE=" + store()});
  ASSERT_TRUE(terminal.says("started"));
  terminal.type("\x03");
  ASSERT_TRUE(terminal.says("INT 1"));
  // pawl answers signals in turn: when it passes on the TERM, it is done with the INT.
  ::kill(terminal.pid(), SIGTERM);
  EXPECT_TRUE(terminal.says("all: 1"));
  EXPECT_EQ(terminal.wait(), 3);
}

TEST_F(CliSignals, CtrlZGivesTheTerminalBackAndFgGoesOn) {
  Terminal shell({"bash", "--norc", "--noprofile", "--noediting", "-i"},
                 {"PATH=/usr/bin:/bin", "PS1=> ", "PAWL_STORE=" + store()});
  ASSERT_TRUE(shell.says("> "));
  // It starts no programs: a shell that is just doing so waits for the program to begin, which is stopped itself.
  shell.type(PAWL_CLI " run job -- sh -c 'trap \"echo went on\" CONT; echo be$((0))gun; while :; do :; done'\n");
  ASSERT_TRUE(shell.says("be0gun"));
  shell.type("\x1a");
  ASSERT_TRUE(shell.says("Stopped"));
  shell.type("echo back in the sh$((0))ll\n");
  ASSERT_TRUE(shell.says("sh0ll"));
  shell.type("fg\n");
  ASSERT_TRUE(shell.says("went on\r\n"));  // a key that comes before would be the shell's
  shell.type("\x03");
  ASSERT_TRUE(nothing_left());
  shell.type("echo code=$?\n");
  EXPECT_TRUE(shell.says("code=130"));
  shell.type("exit\n");
  EXPECT_EQ(shell.wait(), 0);
}

}  // namespace
}  // namespace pawl::test
