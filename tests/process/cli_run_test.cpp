#include "tests/process/cli.hpp"
#include "tests/support/skip.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CliRun : public CliTest {
 protected:
  /// The exit code of a command under the lock "job".
  int code_of(const std::string& script) const { return pawl({"run", "job", "--", "sh", "-c", script}).code; }
};

TEST_F(CliRun, TheExitCodeIsTheCommandsOwn) {
  EXPECT_EQ(pawl({"run", "job", "--", "true"}).code, 0);
  EXPECT_EQ(code_of("exit 7"), 7);
  EXPECT_EQ(code_of("exit 255"), 255);
  EXPECT_TRUE(nothing_left());
}

TEST_F(CliRun, ACommandThatDiesOfASignalGives128PlusIt) {
  EXPECT_EQ(code_of("kill -TERM $$"), 128 + SIGTERM);
  EXPECT_EQ(code_of("kill -KILL $$"), 128 + SIGKILL);
  EXPECT_TRUE(nothing_left());
}

TEST_F(CliRun, ACommandThatIsNotThereGives127AndOneThatCannotBeExecuted126) {
  const Ended missing = pawl({"run", "job", "--", "no-such-command"});
  EXPECT_EQ(missing.code, 127);
  EXPECT_EQ(missing.err, "pawl: cannot run \"no-such-command\": there is no such command\n");
  const Ended folder = pawl({"run", "job", "--", folder_.path()});
  EXPECT_EQ(folder.code, 126);
  EXPECT_THAT(folder.err, AllOf(StartsWith("pawl: cannot run \"" + folder_.path()), HasSubstr("Permission denied")));
  EXPECT_TRUE(nothing_left());
}

TEST_F(CliRun, TheCommandIsToldItsLockTokenAndSequencer) {
  const Ended told = pawl({"run", "a lock", "--", "sh", "-c", "echo \"$PAWL_LOCK|$PAWL_TOKEN|$PAWL_SEQUENCER\""});
  EXPECT_THAT(told.out, testing::MatchesRegex("a lock\\|[0-9a-f]{32}\\|pawl1\\.[0-9a-f]{16}\\.mutex\\.exclusive\\.-\\."
                                              "[0-9a-f]{32}\\.a%20lock\n"));
}

TEST_F(CliRun, EveryRunHasALargerToken) {
  const Words command{"run", "job", "--", "sh", "-c", "echo $PAWL_TOKEN"};
  const std::string first = pawl(command).out;
  const std::string second = pawl(command).out;
  EXPECT_EQ(first.size(), 33u);
  EXPECT_LT(first, second);
}

TEST_F(CliRun, TheCommandGetsItsArgumentsAndNothingOfPawls) {
  EXPECT_EQ(pawl({"run", "job", "--", "printf", "%s,", "-x", "--", "--wait", "a b", ""}).out, "-x,--,--wait,a b,,");
  EXPECT_EQ(pawl({"run", "job", "--", "ls", "/proc/self/fd"}).out, "0\n1\n2\n3\n");  // 3 is the folder that ls reads
}

namespace {

/// The signals in "SigIgn:\t0000000080010001" and the like, without 32 and 33, which are the C library's own.
std::vector<std::uint64_t> signals_in(const std::string& status) {
  std::vector<std::uint64_t> masks;
  std::istringstream lines(status);
  for (std::string name, mask; lines >> name >> mask;) {
    masks.push_back(std::stoull(mask, nullptr, 16) & ~(std::uint64_t{3} << 31));
  }
  return masks;
}

}  // namespace

TEST_F(CliRun, TheCommandsSignalsAreAsWithoutPawl) {
  // Not through a shell: it blocks signals itself for a moment when it starts a program.
  const Words look{"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"};
  const Words environment{"PATH=/usr/bin:/bin", "PAWL_STORE=" + store()};
  for (const Words& before : {Words{"env"}, Words{"env", "--ignore-signal=HUP,CHLD"}}) {
    Words direct = before, through = before;
    direct.insert(direct.end(), look.begin(), look.end());
    through.insert(through.end(), {PAWL_CLI, "run", "job", "--"});
    through.insert(through.end(), look.begin(), look.end());
    const Ended expected = Process(direct, environment, folder_.path()).wait();
    const Ended ended = Process(through, environment, folder_.path()).wait();
    EXPECT_EQ(expected.code, 0);
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(signals_in(ended.out), signals_in(expected.out));
    EXPECT_EQ(signals_in(ended.out).size(), 2U);
  }
}

TEST_F(CliRun, ClosedStandardFilesNeverBecomeTheStores) {
  const std::string out = folder_ / "out";
  // First looked at and then written: for the redirection the shell replaces its own stdout.
  const std::string look = "seen=$(readlink /proc/$$/fd/0 /proc/$$/fd/1); echo \"$seen\" >" + out;
  Process process({"sh", "-c", "exec " PAWL_CLI " run job -- sh -c '" + look + "' <&- >&-"},
                  {"PATH=/usr/bin:/bin", "PAWL_STORE=" + store()}, folder_.path());
  EXPECT_EQ(process.wait().code, 0);
  EXPECT_EQ(read_file(out), "/dev/null\n/dev/null\n");
}

TEST_F(CliRun, TheCommandIsToldTheStoreThatItsLockIsIn) {
  const Words other{"PATH=/usr/bin:/bin", "PAWL_STORE=redis://bob:s3cret@db:6379/1"};
  const Ended ended = start_with(other, {"run", "--store", store(), "job", "--", "env"}).wait();
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("PAWL_STORE=" + store() + "\n"));
  EXPECT_THAT(ended.out + ended.err, Not(HasSubstr("s3cret")));
  const std::string inside = PAWL_CLI " check \"$PAWL_SEQUENCER\" && " PAWL_CLI " show job";
  const Ended nested = start_with(other, {"run", "--store", store(), "job", "--", "sh", "-c", inside}).wait();
  EXPECT_EQ(nested.code, 0) << nested.err;
  EXPECT_THAT(nested.out, HasSubstr("held for"));
  const Ended scheme = pawl({"run", "--scheme", "queue", "job", "--", "sh", "-c", "echo $PAWL_STORE; " + inside});
  EXPECT_EQ(scheme.code, 0) << scheme.err;
  EXPECT_THAT(scheme.out, StartsWith(store() + "?scheme=queue\n"));
}

TEST_F(CliRun, NoStoreIsChosenSilently) {
  const Words path{"PATH=/usr/bin:/bin"};
  const Ended empty = start_with({"PATH=/usr/bin:/bin", "PAWL_STORE="}, {"run", "job", "--", "true"}).wait();
  EXPECT_EQ(empty.code, 125);
  EXPECT_EQ(empty.err, "pawl: PAWL_STORE is empty; name a store, or unset it for the default store\n");
  const Ended named =
      start_with({"PATH=/usr/bin:/bin", "PAWL_STORE="}, {"run", "--store", store(), "job", "--", "true"}).wait();
  EXPECT_EQ(named.code, 0) << named.err;
  const Ended two =
      start_with(path, {"--store", "redis://a:s3cret@db", "run", "--store", store(), "job", "--", "true"}).wait();
  EXPECT_EQ(two.code, 125);
  EXPECT_EQ(two.err, "pawl: two different stores are named: --store redis://***@db and --store " + store() + "\n");
  EXPECT_EQ(start_with(path, {"--store", store(), "run", "--store", store(), "job", "--", "true"}).wait().code, 0);
  const Ended memory = start_with(path, {"--store", "memory:x", "run", "job", "--", "true"}).wait();
  EXPECT_EQ(memory.code, 0);
  EXPECT_THAT(memory.err, HasSubstr("the lock excludes no other run"));
}

TEST_F(CliRun, AUserWithoutAHomeIsToldToNameAStore) {
  if (::geteuid() != 0) PAWL_SKIP_WITHOUT("only root can become nobody");
  const std::string copy = folder_ / "pawl";
  std::filesystem::copy_file(PAWL_CLI, copy);
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  const Ended ended =
      Process({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy, "run", "job", "--", "true"},
              {"PATH=/usr/bin:/bin"}, folder_.path())
          .wait();
  EXPECT_EQ(ended.code, 121);
  EXPECT_THAT(ended.err, HasSubstr("name another, as in PAWL_STORE=file:///path/to/a/folder"));
}

TEST_F(CliRun, WhatIsGivenForGraceMustFitIntoTheHold) {
  const Ended ended = pawl({"run", "--max-hold", "4s", "--grace", "4s", "job", "--", "true"});
  EXPECT_EQ(ended.code, 125);
  EXPECT_EQ(ended.err, "pawl: --grace 4s is too long for --max-hold 4s: nothing would be left for the command\n");
}

TEST_F(CliRun, OneWhoDoesNotWaitIsToldWhoHoldsIt) {
  const Process alice = holder("job", {"--label", "alice's"});
  const Ended bob = pawl({"run", "--no-wait", "job", "--", "true"});
  EXPECT_EQ(bob.code, 124);
  EXPECT_THAT(bob.err, AllOf(StartsWith("pawl: \"job\" is held by "), HasSubstr("(pid " + std::to_string(alice.pid())),
                             HasSubstr("alice's")));
  const Ended patient = pawl({"run", "--wait", "50ms", "job", "--", "true"});
  EXPECT_EQ(patient.code, 124);
  EXPECT_THAT(patient.err, StartsWith("pawl: \"job\" was not granted within 50ms: it is held by "));
}

TEST_F(CliRun, TheCodeForNotAcquiredCanBeChosen) {
  const Process alice = holder("job");
  EXPECT_EQ(pawl({"run", "--no-wait", "-E", "0", "job", "--", "true"}).code, 0);
  EXPECT_EQ(pawl({"run", "--wait", "10ms", "-E", "42", "job", "--", "true"}).code, 42);
  EXPECT_EQ(pawl({"run", "-E", "42", "other", "--", "true"}).code, 0);
}

TEST_F(CliRun, OneWhoWaitsHasItWhenTheHolderEnds) {
  Process alice = holder("job");
  Process bob = start({"run", "job", "--", "echo", "bob's turn"});
  ASSERT_TRUE(queued("job", 1));
  EXPECT_EQ(bob.out(), "");
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait().code, 128 + SIGTERM);
  const Ended ended = bob.wait();
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out, "bob's turn\n");
}

TEST_F(CliRun, TheStoreMayStandBeforeOrAfterTheSubcommand) {
  const Words nothing{"PATH=/usr/bin:/bin", "PAWL_STORE=nonsense"};
  EXPECT_EQ(start_with(nothing, {"--store", store(), "run", "job", "--", "true"}).wait().code, 0);
  EXPECT_EQ(start_with(nothing, {"--store=" + store(), "run", "job", "--", "true"}).wait().code, 0);
  EXPECT_EQ(start_with(nothing, {"run", "--store", store(), "job", "--", "true"}).wait().code, 0);
  EXPECT_EQ(start_with(nothing, {"run", "job", "--store", store(), "--", "true"}).wait().code, 0);
}

TEST_F(CliRun, ANameMayLookLikeASubcommandOrAnOption) {
  EXPECT_EQ(pawl({"run", "show", "--", "sh", "-c", "echo $PAWL_LOCK"}).out, "show\n");
  EXPECT_EQ(pawl({"run", "--name=-x", "--", "sh", "-c", "echo $PAWL_LOCK"}).out, "-x\n");
}

TEST_F(CliRun, ALockDelayKeepsTheLockShutAfterAFailure) {
  Process alice = holder("job", {"--lock-delay", "50s"});
  ::kill(keeper_of(alice.pid()), SIGKILL);
  EXPECT_EQ(alice.wait().code, 122);
  ASSERT_TRUE(eventually([&] { return pawl({"show", "job"}).out.find("shut for another ") != std::string::npos; }));
  EXPECT_EQ(pawl({"run", "--no-wait", "job", "--", "true"}).code, 124);
}

}  // namespace
}  // namespace pawl::test
