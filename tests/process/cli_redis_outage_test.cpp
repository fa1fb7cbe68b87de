#include "tests/process/cli_servers.hpp"
#include "tests/support/redis_server.hpp"

#include <signal.h>

#include <string>

/// `--monitor-retry`: the server is away while the lock is waited for.
namespace pawl::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class CliRedisOutage : public CliOnServer {
 protected:
  std::string url() const override { return server_.url("?timeout=500ms"); }
  Process run(Words options, const std::string& command = "echo ran") const {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"job", "--", "sh", "-c", command});
    return start(std::move(options));
  }

  RedisServer server_;
};

TEST_F(CliRedisOutage, WithoutItAStoreThatIsAwayIsAnError) {
  server_.end();
  const Ended ended = run({}).wait();
  EXPECT_EQ(ended.code, 121);
  EXPECT_THAT(ended.err, Not(HasSubstr("trying again")));
}

TEST_F(CliRedisOutage, WithItTheCommandRunsWhenTheStoreIsBack) {
  server_.end();
  Process alice = run({"--monitor-retry"});
  ASSERT_TRUE(alice.says("; trying again\n")) << alice.err();
  server_.start();
  const Ended ended = alice.wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "ran\n");
}

TEST_F(CliRedisOutage, AWaiterWaitsOnThroughARestart) {
  Process alice = run({}, sleeper);
  ASSERT_TRUE(alice.says("started"));
  Process bob = run({"--monitor-retry"});
  ASSERT_TRUE(queued("job"));
  server_.end();
  alice.signal(SIGKILL);
  server_.start();
  const Ended ended = bob.wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "ran\n");
}

TEST_F(CliRedisOutage, TheWaitingTimeBoundsIt) {
  server_.end();
  const Ended ended = run({"--monitor-retry", "--wait", "2s"}).wait();
  EXPECT_EQ(ended.code, 121);
  EXPECT_EQ(ended.out, "");
}

TEST_F(CliRedisOutage, ASignalEndsIt) {
  server_.end();
  Process alice = run({"--monitor-retry"});
  ASSERT_TRUE(alice.says("; trying again\n")) << alice.err();
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait().code, 128 + SIGTERM);
}

TEST_F(CliRedisOutage, WhatWillNotPassIsAnErrorAtOnce) {
  EXPECT_EQ(server_.cli({"CONFIG", "SET", "requirepass", "secret"}), "OK\n");
  const Ended ended = run({"--monitor-retry"}).wait();
  EXPECT_EQ(ended.code, 121);
  EXPECT_THAT(ended.err, Not(HasSubstr("trying again")));
}

TEST_F(CliRedisOutage, WhoDoesNotWaitCannotHaveIt) {
  const Ended ended = run({"--monitor-retry", "--no-wait"}).wait();
  EXPECT_EQ(ended.code, 125);
  EXPECT_THAT(ended.err, HasSubstr("excludes"));
}

}  // namespace
}  // namespace pawl::test
