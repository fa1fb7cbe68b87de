#include "tests/process/cli_servers.hpp"

#include <signal.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

/// `pawl run --no-fork`: the process that the user has started becomes the command.
namespace pawl::test {

using testing::HasSubstr;

Process CliNoFork::run(const std::string& script, Words options) const {
  options.insert(options.begin(), {"run", "--no-fork", "--lease", "2s"});
  options.insert(options.end(), {"job", "--", "sh", "-c", script});
  return start(std::move(options));
}

Process CliNoFork::running(const std::string& script, Words options) const {
  Process process = run("echo started; " + script, std::move(options));
  EXPECT_TRUE(process.says("started")) << process.err();
  return process;
}

bool CliNoFork::is_free() const { return try_run({"job"}) == 0; }

namespace {

const ServedStore file{"file", {"queue"}, {"queue"}, [] {
                         const auto folder = std::make_shared<TemporaryFolder>();
                         return Served{folder, "file://" + (*folder / "store")};
                       }};
INSTANTIATE_TEST_SUITE_P(File, CliNoFork, testing::Values(file), testing::PrintToStringParamName());

/// The pawl that watches that process: it has a pidfd of it. 0 if there is none.
pid_t keeper_beside(pid_t front) {
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    if (read_file(process.path() / "comm") != "pawl\n") continue;
    std::error_code gone;
    for (const auto& descriptor : std::filesystem::directory_iterator(process.path() / "fdinfo", gone)) {
      if (read_file(descriptor.path()).find("\nPid:\t" + std::to_string(front) + "\n") == std::string::npos) continue;
      return std::stoi(process.path().filename());
    }
  }
  return 0;
}

}  // namespace

TEST_P(CliNoFork, TheProcessOfTheUserIsTheCommand) {
  Process alice = run("echo $$; tr '\\0' '\\n' < /proc/$$/cmdline | head -1; exit 7");
  const pid_t pid = alice.pid();
  const Ended ended = alice.wait();
  EXPECT_EQ(ended.code, 7) << ended.err;
  EXPECT_EQ(ended.out, std::to_string(pid) + "\nsh\n");
  EXPECT_EQ(ended.err, "");
}

TEST_P(CliNoFork, ItHasNoChildThatItDoesNotKnow) {
  Process alice = running("exec sleep 1000");
  EXPECT_EQ(children_of(alice.pid()), std::vector<pid_t>());
  EXPECT_THAT(pawl({"show", "job"}).out, HasSubstr(", pid " + std::to_string(alice.pid()) + ": sh\n"));
}

TEST_P(CliNoFork, TheCommandFindsItsGrantAndItsStore) {
  Process alice = run(PAWL_CLI " check \"$PAWL_SEQUENCER\" && " PAWL_CLI " show \"$PAWL_LOCK\"");
  const Ended ended = alice.wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("the grant of \"job\""));
  EXPECT_THAT(ended.out, HasSubstr("held for "));
}

TEST_P(CliNoFork, TheLockIsReleasedWhenTheCommandEnds) {
  for (const int signal : {SIGTERM, SIGKILL}) {
    Process alice = running("exec sleep 1000");
    EXPECT_FALSE(is_free());
    alice.signal(signal);
    EXPECT_EQ(alice.wait().code, died_of + signal) << "the exit code is the command's";
    EXPECT_TRUE(eventually([&] { return is_free(); }));
  }
}

TEST_P(CliNoFork, TakenAwayTheCommandIsKilled) {
  Process alice = running("trap '' TERM; while :; do sleep 0.01; done");
  EXPECT_EQ(pawl({"revoke", "--now", "job"}).code, 0);
  EXPECT_TRUE(alice.says("the command was killed\n")) << "the keeper says so, perhaps after the command's end";
  EXPECT_EQ(alice.wait().code, died_of + SIGKILL);
}

TEST_P(CliNoFork, AskedForTheCommandGetsTerm) {
  Process alice = running("trap 'echo got TERM; exit 5' TERM; while :; do sleep 0.01; done");
  EXPECT_EQ(pawl({"revoke", "job"}).code, 0);
  const Ended ended = alice.wait();
  EXPECT_EQ(ended.code, 5);
  EXPECT_THAT(ended.out, HasSubstr("got TERM\n"));
  EXPECT_TRUE(eventually([&] { return is_free(); }));
}

TEST_P(CliNoFork, WhenTheHoldEndsTheCommandIsKilledBeforeTheNextRun) {
  Process alice = running("trap '' TERM; while :; do sleep 0.01; done", {"--max-hold", "2s"});
  const pid_t pid = alice.pid();
  Process bob = start({"run", "job", "--", "sh", "-c",
                       "grep -qs '^State:.[RSDTt]' /proc/" + std::to_string(pid) + "/status && exit 9; exit 0"});
  EXPECT_EQ(alice.wait().code, died_of + SIGKILL);
  EXPECT_EQ(bob.wait().code, 0);
}

TEST_P(CliNoFork, AStoppedCommandIsKilledAfterALease) {
  Process alice = running("exec sleep 1000");
  alice.signal(SIGSTOP);
  EXPECT_EQ(alice.wait().code, died_of + SIGKILL);
  EXPECT_TRUE(eventually([&] { return is_free(); }));
}

TEST_P(CliNoFork, WhenTheKeeperIsKilledNothingElseProtects) {
  Process alice = running("exec sleep 1000");
  const pid_t keeper = keeper_beside(alice.pid());
  ASSERT_NE(keeper, 0);
  ::kill(keeper, SIGKILL);
  EXPECT_TRUE(eventually([&] { return is_free(); })) << "after the lease, or the lock-delay";
  EXPECT_TRUE(alice.running()) << "as the documents say";
}

TEST_P(CliNoFork, AWaiterWhoIsSignalledLeavesTheQueue) {
  const Process alice = running("exec sleep 1000");
  Process bob = run("echo wrong");
  ASSERT_TRUE(queued("job"));
  bob.signal(SIGTERM);
  const Ended ended = bob.wait();
  EXPECT_EQ(ended.code, 128 + SIGTERM);
  EXPECT_THAT(ended.err, HasSubstr("SIGTERM while waiting for the lock\n"));

  Process carol = run("echo wrong");
  ASSERT_TRUE(queued("job"));
  carol.signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return pawl({"show", "job"}).out.find("nobody waits") != std::string::npos; }));
}

TEST_P(CliNoFork, WhatCannotBeHadOrExecutedHasTheCodesOfPawlRun) {
  {
    const Process alice = running("exec sleep 1000");
    const Ended refused = run("echo wrong", {"--no-wait"}).wait();
    EXPECT_EQ(refused.code, 124);
    EXPECT_THAT(refused.err, HasSubstr("\"job\" is held by "));
    EXPECT_EQ(run("echo wrong", {"--no-wait", "-E", "0"}).wait().code, 0);
  }
  ASSERT_TRUE(eventually([&] { return is_free(); }));
  const Ended missing = pawl({"run", "--no-fork", "job", "--", "no-such-command"});
  EXPECT_EQ(missing.code, 127);
  EXPECT_EQ(missing.err, "pawl: cannot run \"no-such-command\": there is no such command\n");
  EXPECT_EQ(pawl({"run", "--no-fork", "job", "--", "/etc/passwd"}).code, 126);
  EXPECT_TRUE(eventually([&] { return is_free(); }));
}

TEST_P(CliNoFork, TheLogKnowsNoExitCode) {
  const std::string log = folder_ / "log";
  EXPECT_EQ(run("exit 3", {"--log", log}).wait().code, 3);
  EXPECT_TRUE(eventually([&] { return read_file(log).find("\"event\": \"released\"") != std::string::npos; }));
  EXPECT_THAT(read_file(log), HasSubstr("\"exit_code\": null"));
}

TEST_P(CliNoFork, WhatIsAboutDescendantsIsRefused) {
  for (const Words& option : {Words{"--kill-children"}, Words{"--keep-children"}, Words{"--at-least", "1s"}}) {
    const Ended ended = run("echo wrong", option).wait();
    EXPECT_EQ(ended.code, 125);
    EXPECT_THAT(ended.err, HasSubstr("--no-fork excludes "));
  }
}

}  // namespace pawl::test
