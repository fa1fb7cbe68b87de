#include "tests/process/cli_servers.hpp"

#include <signal.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace pawl::test {

Process CliKeeper::family(const std::string& script, Words options) const {
  const std::string begin = "PIDS=" + pids() + "; note() { echo $1 >> $PIDS; }; note $$; ";
  std::ofstream(pids()) << "";
  options.insert(options.begin(), {"run", "--lease", "2s"});
  options.insert(options.end(), {"job", "--", "bash", "-c", begin + script});
  Process process = start(std::move(options));
  EXPECT_TRUE(process.says("started")) << process.err();
  return process;
}

Process CliKeeper::next(int noted) const {
  // A zombie is none, and a number may have been given to another process.
  const std::string look =
      "test $(wc -l < " + pids() + ") -eq " + std::to_string(noted) + " || { echo \"noted: $(cat " + pids() +
      ")\"; exit 8; }; "
      "for pid in $(cat " +
      pids() +
      "); do grep -qs '^State:.[RSDTt]' /proc/$pid/status && "
      "grep -aqsE 'sleep|bash' /proc/$pid/cmdline && echo \"$pid is alive\" && exit 9; done; exit 0";
  return start({"run", "job", "--", "sh", "-c", look});
}

namespace {

using testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(File, CliKeeper, testing::Values(served_folder()), testing::PrintToStringParamName());

struct Family {
  std::string name;
  std::string script;
  int processes = 2;
};

/// How a command can have descendants. Each says "started" when all of them are there.
const std::vector<Family> families = {
    {"grandchild", "bash -c 'sleep 1000 & echo $! >&3; wait' 3>>$PIDS & sleep 0.2; echo started; wait"},
    {"setsid", "setsid sleep 1000 & note $!; sleep 0.1; echo started; wait"},
    {"double fork", "(setsid bash -c 'echo $$ >&3; exec sleep 1000' 3>>$PIDS &) ; sleep 0.2; echo started; sleep 1000"},
    {"nested run",
     PAWL_CLI " run inner -- bash -c 'echo $$ >&3; setsid sleep 1000 & echo $! >&3; sleep 0.1; "
              "echo started; wait' 3>>$PIDS",
     3},
    {"ignores TERM", "trap '' TERM HUP INT; sleep 1000 & note $!; echo started; wait"},
};

}  // namespace

TEST_P(CliKeeper, WhenTheFrontIsKilledTheTreeEndsBeforeTheNextRun) {
  for (const auto& [name, script, processes] : families) {
    Process alice = family(script);
    Process bob = next(processes);
    ASSERT_TRUE(queued("job"));
    alice.signal(SIGKILL);
    const Ended ended = bob.wait();
    EXPECT_EQ(ended.code, 0) << name << ": " << ended.out << ended.err;
    EXPECT_EQ(alice.wait().code, died_of + SIGKILL);
  }
}

TEST_P(CliKeeper, WhenTheKeeperIsKilledTheTreeEndsBeforeTheNextRun) {
  for (const auto& [name, script, processes] : families) {
    Process alice = family(script);
    Process bob = next(processes);
    ASSERT_TRUE(queued("job"));
    ::kill(keeper_of(alice.pid()), SIGKILL);
    const Ended ended = bob.wait();
    EXPECT_EQ(ended.code, 0) << name << ": " << ended.out << ended.err;
    const Ended lost = alice.wait();
    EXPECT_EQ(lost.code, 122) << name;
    EXPECT_THAT(lost.err, HasSubstr("was ended by SIGKILL: the command was killed"));
  }
}

TEST_P(CliKeeper, WhenTheFrontIsStoppedForALeaseTheTreeEndsBeforeTheNextRun) {
  for (const auto& [name, script, processes] : families) {
    Process alice = family(script);
    Process bob = next(processes);
    ASSERT_TRUE(queued("job"));
    alice.signal(SIGSTOP);
    const Ended ended = bob.wait();
    EXPECT_EQ(ended.code, 0) << name << ": " << ended.out << ended.err;
    alice.signal(SIGCONT);
    const Ended lost = alice.wait();
    EXPECT_EQ(lost.code, 122) << name;
    EXPECT_THAT(lost.err, HasSubstr("pawl was stopped for longer than a lease: the command was killed"));
  }
}

TEST_P(CliKeeper, AStoppedKeeperIsContinuedByTheFrontAndTheLockIsKept) {
  Process alice = family("echo started; sleep 1000");
  const pid_t keeper = keeper_of(alice.pid());
  for (int times = 0; times < 3; ++times) {
    ::kill(keeper, SIGSTOP);
    ASSERT_TRUE(eventually(
        [&] { return read_file("/proc/" + std::to_string(keeper) + "/stat").find(") S ") != std::string::npos; }));
  }
  EXPECT_EQ(pawl({"run", "--wait", "4s", "job", "--", "true"}).code, 124) << "twice the lease";
  EXPECT_TRUE(alice.running());
}

TEST_P(CliKeeper, WhenBothAreKilledTheCommandDies) {
  Process alice = family("echo started; exec sleep 1000");
  const pid_t command = command_of(alice.pid());
  const pid_t keeper = keeper_of(alice.pid());
  alice.signal(SIGSTOP);  // so that it cannot see what becomes of the keeper
  ::kill(keeper, SIGKILL);
  alice.signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return !alive(command); }));
  EXPECT_EQ(next(1).wait().code, 0);
}

TEST_P(CliKeeper, WhereBothWereStoppedPastTheLeaseTheTreeIsKilledWhenTheyGoOn) {
  Process alice = family("setsid sleep 1000 & note $!; sleep 0.1; echo started; wait");
  const pid_t command = command_of(alice.pid());
  const pid_t keeper = keeper_of(alice.pid());
  Process bob = start({"run", "job", "--", "sh", "-c", sleeper});
  ASSERT_TRUE(queued("job"));
  alice.signal(SIGSTOP);
  ::kill(keeper, SIGSTOP);
  ASSERT_TRUE(bob.says("started"));
  EXPECT_TRUE(alive(command));
  alice.signal(SIGCONT);  // it continues the keeper
  EXPECT_EQ(alice.wait().code, 122);
  EXPECT_FALSE(alive(command));
  EXPECT_TRUE(bob.running());
  bob.signal(SIGTERM);
  EXPECT_EQ(bob.wait().code, 143);
  EXPECT_EQ(next(2).wait().code, 0);
}

TEST_P(CliKeeper, TakenAwayTheTreeIsKilled) {
  for (const auto& [name, script, processes] : families) {
    Process alice = family(script);
    EXPECT_EQ(pawl({"revoke", "--now", "job"}).code, 0);
    EXPECT_EQ(alice.wait().code, 122) << name;
    EXPECT_EQ(next(processes).wait().code, 0) << name;
  }
}

TEST_P(CliKeeper, AskedToLetGoTheTreeGetsTermAndThenKill) {
  for (const std::string ignoring : {"", "trap '' TERM; "}) {
    Process alice = family("(" + ignoring + "exec setsid sleep 1000) & note $!; trap 'exit 5' TERM; echo started; wait",
                           {"--grace", "100ms"});
    Process bob = next(2);
    ASSERT_TRUE(queued("job"));
    EXPECT_EQ(pawl({"revoke", "job"}).code, 0);
    EXPECT_EQ(bob.wait().code, 0);
    EXPECT_EQ(alice.wait().code, 5);
  }
}

TEST_P(CliKeeper, ATermThatIsPassedOnEndsWhatTheCommandLeavesBehind) {
  for (const std::string ignoring : {"", "trap '' TERM; "}) {
    Process alice = family("(" + ignoring + "exec setsid sleep 1000) & note $!; trap 'exit 3' TERM; echo started; wait",
                           {"--grace", "100ms"});
    Process bob = next(2);
    ASSERT_TRUE(queued("job"));
    alice.signal(SIGTERM);
    EXPECT_EQ(alice.wait().code, 3);
    EXPECT_EQ(bob.wait().code, 0);
  }
}

TEST_P(CliKeeper, TheLockIsHeldUntilTheLastDescendantEnds) {
  const std::string go_on = folder_ / "go-on";
  Process alice = family("(while test ! -e " + go_on + "; do sleep 0.05; done) & note $!; echo started; exit 4");
  ASSERT_TRUE(alice.says("the command has ended, but not bash (pid "));
  EXPECT_THAT(alice.err(), HasSubstr("the lock \"job\" is held until then\n"));
  Process bob = next(2);
  ASSERT_TRUE(queued("job"));
  EXPECT_TRUE(alice.running());
  std::ofstream(go_on) << "";
  EXPECT_EQ(alice.wait().code, 4);
  EXPECT_EQ(bob.wait().code, 0);
}

TEST_P(CliKeeper, WhatIsLeftBehindCanBeKilledOrKept) {
  Process killing = family("setsid sleep 1000 & note $!; echo started; exit 4", {"--kill-children"});
  EXPECT_EQ(killing.wait().code, 4);
  EXPECT_EQ(next(2).wait().code, 0);

  Process keeping = family("setsid sleep 1000 & note $!; echo \"kept $!.\"; echo started; exit 5", {"--keep-children"});
  EXPECT_EQ(keeping.wait().code, 5);
  EXPECT_EQ(next(2).wait().code, 9);
  const std::string out = keeping.out();
  const pid_t kept = std::stoi(out.substr(out.find("kept ") + 5));
  EXPECT_TRUE(alive(kept));
  ::kill(kept, SIGKILL);
}

TEST_P(CliKeeper, ShowNamesTheProcessThatTheUserKnows) {
  const Process alice = family("echo started; exec sleep 1000");
  EXPECT_THAT(pawl({"show", "job"}).out, HasSubstr(", pid " + std::to_string(alice.pid()) + ": bash\n"));
}

TEST_P(CliKeeper, AWaiterWhoseFrontIsKilledLeavesTheQueue) {
  const Process alice = family("echo started; exec sleep 1000");
  Process bob = next(1);
  ASSERT_TRUE(queued("job"));
  bob.signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return pawl({"show", "job"}).out.find("nobody waits") != std::string::npos; }));
}

using CliFamilies = CliTest;

TEST_F(CliFamilies, ChildrenOfTheProgramThatBecamePawlAreLeftAlone) {
  const std::string pid = folder_ / "pid";
  Process alice(
      {"sh", "-c", "sleep 1000 & echo $! > " + pid + "; exec " PAWL_CLI " run job -- sh -c '" + sleeper + "'"},
      {"PATH=/usr/bin:/bin", "PAWL_STORE=" + store()}, folder_.path());
  ASSERT_TRUE(alice.says("started"));
  const pid_t before = std::stoi(read_file(pid));
  for (const pid_t child : children_of(alice.pid())) {
    if (child != before) ::kill(child, SIGKILL);
  }
  EXPECT_EQ(alice.wait().code, 122);
  EXPECT_TRUE(alive(before));
  ::kill(before, SIGKILL);
}

}  // namespace pawl::test
