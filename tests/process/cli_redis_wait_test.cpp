#include "tests/process/cli_servers.hpp"
#include "tests/support/redis_server.hpp"

#include <signal.h>

#include <chrono>
#include <string>

/// A store that stops answering while a run waits: --wait and signals end it all the same.
namespace pawl::test {
namespace {

using testing::AnyOf;
using namespace std::chrono_literals;

class CliRedisWait : public CliOnServer {
 protected:
  std::string url() const override { return server_.url("?timeout=12s"); }

  RedisServer server_;
};

TEST_F(CliRedisWait, WaitIsStretchedByOneTimeoutAtTheMost) {
  const Process alice = holder("job", {"--lease", "5m"});
  const auto begin = std::chrono::steady_clock::now();
  Process bob = start({"run", "--wait", "3s", "job", "--", "true"});
  ASSERT_TRUE(queued("job"));
  server_.stop();
  const Ended ended = bob.wait();
  server_.go_on();
  EXPECT_THAT(ended.code, AnyOf(121, 124)) << ended.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s + 2 * 12s) << "another question was waited for";
}

TEST_F(CliRedisWait, ASignalEndsTheWaitThoughTheStoreDoesNotAnswer) {
  const Process alice = holder("job", {"--lease", "5m"});
  Process bob = start({"run", "job", "--", "true"});
  ASSERT_TRUE(queued("job"));
  server_.stop();
  const auto begin = std::chrono::steady_clock::now();
  bob.signal(SIGTERM);
  const Ended ended = bob.wait();
  server_.go_on();
  EXPECT_EQ(ended.code, 143) << ended.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2 * 12s);
}

}  // namespace
}  // namespace pawl::test
