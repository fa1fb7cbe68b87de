#include "tests/process/cli.hpp"

#include <signal.h>

#include <chrono>

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

class CliLoss : public CliTest {
 protected:
  /// Its hold ends after `max_hold` whatever happens: as if no renewal were confirmed.
  Process doomed(const std::string& script, const std::string& max_hold = "2s", const std::string& grace = "1s") const {
    return start(
        {"--store", store() + "?max_hold=" + max_hold, "run", "--grace", grace, "job", "--", "sh", "-c", script});
  }
};

TEST_F(CliLoss, WhenTheGraceTimeIsLeftTheCommandGetsTerm) {
  // A busy machine has ten seconds to run the trap in.
  Process process = doomed("trap 'echo got TERM; exit 0' TERM; while :; do sleep 0.01; done", "11s", "10s");
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 122);
  EXPECT_EQ(ended.out, "got TERM\n");
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("pawl: the lock \"job\" has been held for as long as --max-hold 11s allows: sent TERM to "
                              "the command"),
                    Not(HasSubstr("killed"))));
  EXPECT_TRUE(nothing_left());
}

TEST_F(CliLoss, ACommandThatDoesNotEndIsKilledBeforeAnotherCanHold) {
  Process process = doomed("trap '' TERM; echo started; while :; do sleep 0.01; done");
  ASSERT_TRUE(process.says("started"));
  const pid_t child = command_of(process.pid());
  // The next holder looks whether the one before it is gone.
  Process next = start({"run", "job", "--", "sh", "-c", "test ! -e /proc/" + std::to_string(child) + " || exit 9"});
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 122);
  EXPECT_THAT(
      ended.err,
      HasSubstr("pawl: the lock \"job\" has been held for as long as --max-hold 2s allows: the command was killed\n"));
  EXPECT_EQ(next.wait().code, 0);
}

TEST_F(CliLoss, TheGraceTimeCountsBeforeTheEndOfMaxHold) {
  // TERM after a second, KILL not before the trap has had its two.
  Process process = start({"run", "--max-hold", "4s", "--grace", "3s", "job", "--", "sh", "-c",
                           "trap 'sleep 1; echo cleaned up; exit 0' TERM; while :; do sleep 0.01; done"});
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 122);
  EXPECT_EQ(ended.out, "cleaned up\n");
}

TEST_F(CliLoss, ACommandThatEndsInTimeHasItsOwnCode) { EXPECT_EQ(doomed("exit 6").wait().code, 6); }

TEST_F(CliLoss, TakenAwayTheCommandIsKilledAtOnce) {
  Process process = start({"run", "job", "--", "sh", "-c", "trap '' TERM; echo started; while :; do sleep 0.01; done"});
  ASSERT_TRUE(process.says("started"));
  const Ended revoked = pawl({"revoke", "--now", "job"});
  EXPECT_EQ(revoked.code, 0) << revoked.err;
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 122);
  EXPECT_THAT(ended.err, HasSubstr("the command was killed"));
  EXPECT_TRUE(nothing_left());
}

TEST_F(CliLoss, AskedForTheLockTheCommandGetsTermAndKeepsItsCode) {
  Process process =
      start({"run", "job", "--", "sh", "-c", "trap 'exit 11' TERM; echo started; while :; do sleep 0.01; done"});
  ASSERT_TRUE(process.says("started"));
  EXPECT_EQ(pawl({"revoke", "job"}).code, 0);
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 11);
  EXPECT_THAT(ended.err,
              HasSubstr("pawl: somebody asks for the lock \"job\" (pawl revoke): sent TERM to the command\n"));
  EXPECT_TRUE(nothing_left());
}

TEST_F(CliLoss, AShortLeaseIsRenewedForAsLongAsTheCommandRuns) {
  Process process = holder("job", {"--lease", "2s"});
  EXPECT_EQ(pawl({"run", "--wait", "5s", "job", "--", "true"}).code, 124);
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait().code, 128 + SIGTERM);
}

}  // namespace
}  // namespace pawl::test
