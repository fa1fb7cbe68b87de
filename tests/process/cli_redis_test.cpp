#include "tests/process/cli_servers.hpp"
#include "tests/support/redis_server.hpp"

#include <pawl/client.hpp>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

/// As a URL has it behind its password.
std::string at(const RedisServer& server, const std::string& options = {}) {
  return "127.0.0.1:" + std::to_string(server.port()) + "/0" + options;
}

class CliRedis : public CliOnServer {
 protected:
  std::string url() const override { return server_.url(); }

  RedisServer server_;
};

const ServedStore redis{"redis", {"queue", "simple", "redisson"}, {"queue"}, [] {
                          const auto server = std::make_shared<RedisServer>();
                          return Served{server, server->url()};
                        }};
INSTANTIATE_TEST_SUITE_P(Redis, CliServers, testing::Values(redis));
INSTANTIATE_TEST_SUITE_P(Redis, CliKeeper, testing::Values(redis), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, CliTerminal, testing::Values(redis), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Redis, CliNoFork, testing::Values(redis), testing::PrintToStringParamName());

TEST_F(CliRedis, WhatASchemeCannotDoIsToldWithItsName) {
  const std::vector<std::pair<Words, std::string>> inputs = {
      {{"run", "--scheme", "simple", "--read", "job", "--", "true"}, "redis/simple has no rw"},
      {{"run", "--scheme", "redisson", "--permits", "1/2", "job", "--", "true"}, "redis/redisson has no permits"},
      {{"elect", "--scheme", "simple", "job", "--", "true"}, "redis/simple has no election"},
      {{"run", "--scheme", "bully", "job", "--", "true"},
       "unknown scheme \"bully\"; this store has: queue, simple, redisson"},
      {{"run", "--lease", "1ms", "job", "--", "true"}, "lease is 1ms; redis/queue takes 100ms to 1d"},
  };
  for (const auto& [words, sentence] : inputs) {
    const Ended ended = pawl(words);
    EXPECT_EQ(ended.code, 125);
    EXPECT_THAT(ended.err, HasSubstr(sentence));
  }
}

TEST_F(CliRedis, WithRawNamesTheLockIsTheKeyThatOthersUse) {
  const std::string raw = url() + "?names=raw";
  const std::string cli = "redis-cli -p " + std::to_string(server_.port());
  const auto seen = [&](const std::string& scheme, const std::string& command) {
    Process run =
        start_with({path}, {"--store", raw, "run", "--scheme", scheme, "job", "--", "sh", "-c", cli + command});
    return run.wait().out;
  };
  EXPECT_THAT(seen("simple", " get job"), MatchesRegex("[0-9a-f]{32}\n"));
  EXPECT_THAT(seen("redisson", " hgetall job"), MatchesRegex("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:1\n1\n"));
  EXPECT_EQ(server_.cli({"EXISTS", "job"}), "0\n");

  server_.cli({"SET", "job", "somebody", "PX", "60000"});
  const Ended busy = start_with({path}, {"--store", raw, "run", "--no-wait", "job", "--", "true"}).wait();
  EXPECT_EQ(busy.code, 124) << "simple is the default there";
  EXPECT_EQ(server_.cli({"GET", "job"}), "somebody\n");
  EXPECT_EQ(start_with({path}, {"--store", raw, "ls"}).wait().err,
            "pawl: with names=raw nobody knows which keys are locks\n");
}

TEST_F(CliRedis, WhenTheServerHangsTheCommandIsEndedBeforeTheLeaseIs) {
  Process alice = start({"run", "--lease", "2s", "job", "--", "sh", "-c",
                         "trap 'echo told; exit 3' TERM; echo started; while :; do sleep 0.05; done"});
  ASSERT_TRUE(alice.says("started"));
  server_.stop();
  const Ended ended = alice.wait();
  server_.go_on();
  EXPECT_EQ(ended.code, 122) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("told\n"));
  EXPECT_THAT(ended.err, HasSubstr("\"job\""));
}

TEST_F(CliRedis, AServerThatForgetsEverythingLosesTheHoldAndServesTheNext) {
  Client before(url());  // its connection stays
  const Token first = before.mutex("other").acquire().value().token();
  Process alice = holder("job", {"--lease", "3s"});
  server_.cli({"FLUSHALL"});
  EXPECT_GT(before.mutex("other").acquire({.wait = std::chrono::minutes(1)}).value().token(), first);
  const Ended ended = alice.wait();
  EXPECT_EQ(ended.code, 122) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("the lock \"job\" is lost"));
  EXPECT_EQ(try_run({"job"}), 0);
}

TEST_F(CliRedis, AServerThatIsFullKeepsWhatIsHeldAndTakesItBack) {
  Process alice = start({"run", "--lease", "2s", "job", "--", "sh", "-c", "echo started; exec sleep 5"});
  ASSERT_TRUE(alice.says("started"));
  server_.cli({"CONFIG", "SET", "maxmemory", "1"});
  const Ended refused = pawl({"run", "other", "--", "true"});
  EXPECT_EQ(refused.code, 121);
  EXPECT_THAT(refused.err, StartsWith("pawl: the server is out of memory "));
  EXPECT_EQ(alice.wait().code, 0) << "longer than its lease";
  EXPECT_EQ(server_.cli({"KEYS", "{pawl}:[lhc]:*"}), "\n");
}

TEST_F(CliRedis, WaitBoundsConnectingAsWell) {
  const auto took = [&](Words words) {
    const auto begin = std::chrono::steady_clock::now();
    const Ended ended = pawl(std::move(words));
    EXPECT_EQ(ended.code, 121) << ended.err;
    EXPECT_THAT(ended.err, AnyOf(HasSubstr("no connection"), HasSubstr("did not answer within")));
    return std::chrono::steady_clock::now() - begin;
  };
  // The store's own timeout is a minute, and a hang guard is all that time can be on a busy machine.
  const std::string patient = url() + "?timeout=1m";
  server_.stop();
  EXPECT_LT(took({"--store", patient, "run", "--wait", "500ms", "job", "--", "true"}), std::chrono::seconds(20));
  EXPECT_LT(took({"--store", url() + "?timeout=500ms", "run", "--no-wait", "job", "--", "true"}),
            std::chrono::seconds(20));
  server_.go_on();
  server_.kill();
  EXPECT_LT(took({"--store", patient, "run", "--wait", "500ms", "job", "--", "true"}), std::chrono::seconds(20));
}

TEST_F(CliRedis, WhatWaitingCannotMendIsToldAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string address = "127.0.0.1:" + std::to_string(server_.port());
  const Ended ended = pawl({"--store", "redis://" + address + "/99?timeout=1m", "run", "job", "--", "true"});
  EXPECT_EQ(ended.code, 125) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("the server has no such database"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  const Ended tls = pawl({"--store", "rediss://" + address + "?timeout=500ms", "run", "job", "--", "true"});
  EXPECT_EQ(tls.code, 121);
  EXPECT_THAT(tls.err, AllOf(HasSubstr(address), HasSubstr("TLS")));
}

TEST_F(CliRedis, AServerThatIsNotThereIsNamed) {
  server_.kill();
  for (const Words& words : {Words{"ls"}, Words{"run", "job", "--", "true"}, Words{"leader", "api"}}) {
    Words all{"--store", url() + "?timeout=200ms"};
    all.insert(all.end(), words.begin(), words.end());
    const Ended ended = start_with({path}, all).wait();
    EXPECT_EQ(ended.code, 121);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err, "pawl: 127.0.0.1:" + std::to_string(server_.port()) + ": no connection: Connection refused\n");
  }
}

TEST_F(CliRedis, ABadUrlIsToldInOneLine) {
  const std::vector<std::pair<std::string, std::string>> urls = {
      {"redis:", "write redis://host:port/db"},
      {"redis://h/x", "redis://h/x: the database behind the host is a number"},
      {"redis://h1,h2/0", "one server"},
      {"redis://h:99999/0", "port"},
      {"redis+unix://host/path", "write redis+unix:///path/of/the/socket"},
      {"redis+sentinel://h1,h2", "the master's name is missing; write redis+sentinel://h1,h2,h3/name"},
      {"redis://h/0?names=odd", "names must be \"raw\""},
      {"redis://h/0?ca=/x", "ca, cert and key belong to rediss://"},
      {"redis://h/0?wait_replicas=few", "wait_replicas is a number"},
      {"redis://h/0?nonsense=1", "unknown option \"nonsense\""},
  };
  for (const auto& [bad, sentence] : urls) {
    const Ended ended = start_with({path}, {"--store", bad, "ls"}).wait();
    EXPECT_EQ(ended.code, 125) << bad;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, AllOf(StartsWith("pawl: "), HasSubstr(sentence))) << bad;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }
}

/// A server with a password, and a pawl that has it in PAWL_STORE.
class CliRedisPassword : public CliTest {
 protected:
  static constexpr const char* secret = "hush-hush";

  Ended with(const std::string& password, Words words) const {
    const std::string url = "redis://" + password + (password.empty() ? "" : "@") + at(server_);
    return start_with({path, "PAWL_STORE=" + url}, std::move(words)).wait();
  }
  static std::string all(const Ended& ended) { return ended.out + ended.err; }

  const RedisServer server_{{"--requirepass", secret}};
};

TEST_F(CliRedisPassword, VerboseNamesTheStoreWithoutIt) {
  const Ended ended = with(std::string(":") + secret, {"run", "--verbose", "job", "--", "true"});
  EXPECT_EQ(ended.code, 0) << all(ended);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("pawl: the store is redis://"), HasSubstr(at(server_)), HasSubstr("granted")));
  EXPECT_THAT(all(ended), Not(HasSubstr(secret)));
}

TEST_F(CliRedisPassword, TortureIsCleanAndDoesNotRepeatIt) {
  const Ended ended = with(std::string(":") + secret, {"torture", "--seconds", "2", "--workers", "2", "--lease",
                                                       "300ms", "--scheme", "simple", "--seed", "9"});
  EXPECT_EQ(ended.code, 0) << all(ended);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("redis/simple, seed 9: "), HasSubstr("kinds mutex\n"), HasSubstr("clean\n")));
  EXPECT_THAT(all(ended), Not(HasSubstr(secret)));
}

TEST_F(CliRedisPassword, AWrongOneIsRefusedAndNotRepeated) {
  const Ended wrong = with(":psst-psst", {"run", "job", "--", "true"});
  EXPECT_EQ(wrong.code, 121);
  EXPECT_THAT(wrong.err, StartsWith("pawl: user or password are wrong "));
  EXPECT_THAT(all(wrong), Not(HasSubstr("psst")));
  const Ended none = with("", {"ls"});
  EXPECT_EQ(none.code, 121);
  EXPECT_THAT(none.err, StartsWith("pawl: the server wants a password "));
}

TEST_F(CliRedisPassword, IsInNothingThatIsPrintedAlsoInABadUrl) {
  const std::string right = ":" + std::string(secret);
  for (const std::string options : {"?nonsense=1", "?scheme=bully", "?lease=soon", "?names=odd"}) {
    const std::string url = "redis://" + right + "@" + at(server_, options);
    const Ended ended = start_with({path}, {"--store", url, "run", "job", "--", "true"}).wait();
    EXPECT_EQ(ended.code, 125) << options;
    EXPECT_THAT(all(ended), Not(HasSubstr("hush"))) << options;
  }
  const std::string look = "for word in 'ls' 'ls --json' 'show job' 'show --json job'; do " PAWL_CLI
                           " --store redis://" +
                           right + "@" + at(server_) + " $word || exit 9; done";
  const Ended shown = with(right, {"run", "job", "--", "sh", "-c", look});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("\"job\" (mutex, scheme queue)"));
  EXPECT_THAT(all(shown), Not(HasSubstr("hush")));
}

TEST_F(CliRedisPassword, IsKeptFromTheCommandAndFromWhatPsShows) {
  // The environment of the command, the words of both processes, and what else it inherits.
  const std::string look = "env; cat /proc/$$/cmdline /proc/$PPID/cmdline; ls -l /proc/$$/fd";
  const Ended seen = with(":" + std::string(secret), {"run", "job", "--", "sh", "-c", look});
  EXPECT_EQ(seen.code, 0) << seen.err;
  EXPECT_THAT(seen.out, AllOf(HasSubstr("PAWL_STORE=redis://"), HasSubstr(at(server_)), Not(HasSubstr("hush"))));
  EXPECT_THAT(seen.out, Not(HasSubstr("socket:"))) << "a connection that is logged in";
}

TEST_F(CliRedisPassword, IsThereForAPawlInsideTheCommand) {
  const std::string inside = PAWL_CLI " check \"$PAWL_SEQUENCER\" && " PAWL_CLI " show job && " PAWL_CLI
                                      " run inner -- sh -c '" PAWL_CLI " ls; echo $PAWL_STORE'";
  const Ended ended = with(":" + std::string(secret), {"run", "job", "--", "sh", "-c", inside});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("held for "), HasSubstr("inner "), HasSubstr("password_file=/proc/self/fd/")));
  EXPECT_THAT(all(ended), Not(HasSubstr("hush")));
}

TEST_F(CliRedisPassword, ThatSudoHasTakenAwayIsMissedWithTheReason) {
  // What sudo does before it runs anything.
  const std::string sudo =
      "exec python3 -c 'import os; os.closerange(3, 1000); os.execl(\"" PAWL_CLI "\", \"pawl\", \"show\", \"job\")'";
  const Ended ended = with(":" + std::string(secret), {"run", "job", "--", "sh", "-c", sudo});
  EXPECT_EQ(ended.code, 121);
  EXPECT_THAT(ended.err, AllOf(StartsWith("pawl: no password can be read from /proc/self/fd/"),
                               HasSubstr("closed by a program in between, as sudo does")));
}

TEST_F(CliRedisPassword, MayStandInAFile) {
  const std::string file = folder_ / "password";
  std::ofstream(file) << secret << "\n";
  const std::string url = "redis://" + at(server_, "?password_file=" + file);
  const Ended ended =
      start_with({path}, {"--store", url, "run", "job", "--", PAWL_CLI, "--store", url, "show", "job"}).wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("held for "));

  std::ofstream(file) << "psst\n";
  const Ended wrong = start_with({path}, {"--store", url, "ls"}).wait();
  EXPECT_EQ(wrong.code, 121);
  EXPECT_THAT(wrong.err, AllOf(StartsWith("pawl: user or password are wrong "), Not(HasSubstr("psst"))));
  const Ended missing = start_with({path}, {"--store", url + ".no", "ls"}).wait();
  EXPECT_EQ(missing.code, 121);
  EXPECT_EQ(missing.err, "pawl: no password can be read from " + file + ".no\n");
}

}  // namespace
}  // namespace pawl::test
