#include "tests/process/cli_servers.hpp"
#include "tests/support/redis_server.hpp"

#include <signal.h>

#include <string>

/// Why a lock was lost: the same words on stderr and in the log, from where it is known.
namespace pawl::test {
namespace {

using testing::HasSubstr;

class CliRedisLoss : public CliOnServer {
 protected:
  std::string url() const override { return server_.url(); }

  void expect_loss(Process& run, const std::string& why) {
    const Ended ended = run.wait();
    EXPECT_EQ(ended.code, 122);
    EXPECT_THAT(ended.err, HasSubstr("pawl: the lock \"job\" is lost: " + why));
    EXPECT_THAT(read_file(log_), HasSubstr("\"event\": \"lost\""));
    EXPECT_THAT(read_file(log_), HasSubstr("\"reason\": \"the lock \\\"job\\\" is lost: " + why + "\"}\n"));
  }

  const std::string log_ = folder_ / "log";
  RedisServer server_;
};

TEST_F(CliRedisLoss, ByRevokeSaysSo) {
  Process alice = holder("job", {"--log", log_});
  EXPECT_EQ(pawl({"revoke", "--now", "job"}).code, 0);
  expect_loss(alice, "it was taken away, as by pawl revoke --now");
}

TEST_F(CliRedisLoss, ByAStoreThatDoesNotAnswerSaysThatTheLeaseCouldNotBeRenewed) {
  Process alice = start({"run", "--lease", "2s", "--grace", "500ms", "--log", log_, "job", "--", "sh", "-c",
                         "trap '' TERM; echo started; while :; do sleep 0.05; done"});
  ASSERT_TRUE(alice.says("started"));
  server_.stop();
  EXPECT_TRUE(alice.says("the lock \"job\" cannot be renewed: sent TERM to the command"));
  expect_loss(alice, "its lease could not be renewed in time");
  server_.go_on();
}

TEST_F(CliRedisLoss, ByAStoreThatHasForgottenTheSessionSaysSo) {
  Process alice = holder("job", {"--lease", "3s", "--log", log_});
  server_.cli({"FLUSHALL"});
  expect_loss(alice, "the store does not know its session any more");
}

TEST_F(CliRedisLoss, AStoreThatDoesNotAnswerIsARefusalInTheLogHoweverTheRunEnds) {
  server_.stop();
  EXPECT_EQ(pawl({"run", "--wait", "1s", "--log", log_, "job", "--", "true"}).code, 121);
  EXPECT_THAT(read_file(log_), HasSubstr("\"event\": \"refused\""));
  const std::string second = folder_ / "second";
  Process bob = start({"run", "--log", second, "job", "--", "true"});
  ASSERT_TRUE(eventually([&] { return read_file(second).find("asked") != std::string::npos; }));
  bob.signal(SIGTERM);
  EXPECT_EQ(bob.wait().code, 143);
  EXPECT_THAT(read_file(second), HasSubstr("\"reason\": \"SIGTERM while waiting for the lock\""));
  server_.go_on();
}

}  // namespace
}  // namespace pawl::test
