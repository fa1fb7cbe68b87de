// What concerns Redis alone: restarts, lost scripts and connections, bad servers and bad URLs.

#include "tests/redis/commands.hpp"
#include "tests/redis/opening.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::RedisServer;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

TEST(Redis, ARestartThatLostEverythingNeverRepeatsAToken) {
  RedisServer server;
  std::set<Token> seen;
  for (int life = 0; life < 3; ++life) {
    Client client(server.url("?timeout=2s"));
    for (int i = 0; i < 5; ++i) {
      const Hold hold = client.mutex("job").acquire({.wait = 30s}).value();
      EXPECT_TRUE(seen.empty() || hold.token() > *seen.rbegin());
      seen.insert(hold.token());
    }
    server.kill();
    server.start();
  }
  EXPECT_EQ(seen.size(), 15U);
}

TEST(Redis, AClientThatStaysGoesOnAfterARestartWithLargerTokens) {
  RedisServer server;
  Client client(server.url("?timeout=2s&lease=2s"));
  Hold before = client.mutex("job").acquire().value();
  server.kill();
  server.start();
  EXPECT_TRUE(eventually([&] { return before.lost().stop_requested(); })) << "the server knows it no more";
  const Hold after = client.mutex("job").acquire({.wait = 30s}).value();
  EXPECT_GT(after.token(), before.token());
}

TEST(Redis, AHoldSurvivesARestartThatLosesNothingWithinItsLease) {
  RedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
  Client client(server.url("?lease=30s"));
  const Hold hold = client.mutex("job").acquire().value();
  server.kill();
  server.start();
  Client other(server.url());
  EXPECT_EQ(other.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_TRUE(hold.valid());
  EXPECT_GT(other.mutex("next").acquire().value().token(), hold.token()) << "another life all the same";
}

TEST(Redis, ScriptsThatTheServerForgotAreSentAgain) {
  RedisServer server;
  Client client(server.url());
  EXPECT_TRUE(client.mutex("job").acquire());
  server.cli({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(client.mutex("job").acquire({.wait = 30s}));
}

TEST(Redis, FiftyWaitersOutliveTheLossOfTheListeningConnection) {
  RedisServer server;
  Client holder(server.url()), waiter(server.url());
  Hold hold = holder.mutex("job").acquire().value();
  std::vector<std::future<Errc>> waits;
  for (int i = 0; i < 50; ++i) {
    waits.push_back(std::async(std::launch::async,
                               [&] { return waiter.mutex("job", {.local_passes = 0}).acquire({.wait = 60s}).code(); }));
  }
  ASSERT_TRUE(eventually([&] { return holder.inspect("job").value().waiters.size() == 50; }));
  server.cli({"CLIENT", "KILL", "TYPE", "pubsub"});
  EXPECT_TRUE(hold.release());
  for (auto& wait : waits) EXPECT_EQ(wait.get(), Errc{});
}

TEST(Redis, AServerThatHangsIsUnavailableAndItsHoldsAreLostInTime) {
  RedisServer server;
  Client client(server.url("?timeout=1s&lease=3s"));
  const Hold hold = client.mutex("job").acquire().value();
  server.stop();
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_EQ(client.mutex("other").try_acquire().code(), Errc::store_unavailable);
  server.go_on();
  EXPECT_TRUE(client.mutex("job").acquire({.wait = 30s}));
}

TEST(Redis, APortWhereNobodyListensIsUnavailable) {
  RedisServer server;
  server.kill();
  EXPECT_EQ(error_of(server.url("?timeout=300ms")).code, Errc::store_unavailable);
}

TEST(Redis, AWrongPasswordIsRefusedAndNeverShown) {
  RedisServer server({"--requirepass", "open sesame"});
  const std::string at = "127.0.0.1:" + std::to_string(server.port());
  const Error wrong = error_of("redis://:hush-hush@" + at + "/0");
  EXPECT_EQ(wrong.code, Errc::permission_denied);
  EXPECT_THAT(wrong.to_string(), Not(HasSubstr("hush")));
  EXPECT_EQ(error_of("redis://" + at + "/0").code, Errc::permission_denied);
  EXPECT_EQ(error_of("redis://:open%20sesame@" + at + "/0").code, Errc{});
}

TEST(Redis, AUserWithoutScriptsIsRefused) {
  RedisServer server({"--user", "weak", "on", ">pw", "~*", "&*", "+@all", "-eval", "-evalsha"});
  const std::string at = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_EQ(error_of("redis://weak:pw@" + at + "/0").code, Errc::permission_denied);
}

/// The line that docs/stores/redis.md tells people to use, as options of the server.
std::vector<std::string> user_of_the_docs(const std::string& password) {
  std::ifstream in(PAWL_SOURCE "/docs/stores/redis.md");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::size_t begin = text.find("user pawl on");
  std::vector<std::string> words = words_of(text.substr(begin, text.find("```", begin) - begin));
  words[0] = "--user";
  words[3] = ">" + password;
  return words;
}

TEST(Redis, TheLeastThatAUserMustBeAllowedIsEnough) {
  RedisServer server(user_of_the_docs("pw"));
  const std::string url = "redis://pawl:pw@127.0.0.1:" + std::to_string(server.port()) + "/0";
  for (const char* scheme : {"queue", "simple", "redisson"}) {
    Client client(url + "?scheme=" + scheme + "&lease=1s&lock_delay=1s"), other(url + "?lease=1s&scheme=" + scheme);
    Hold hold = client.mutex("job").acquire({.label = "held"}).value();
    std::future<Errc> next =
        std::async(std::launch::async, [&] { return other.mutex("job").acquire({.wait = 30s}).code(); });
    EXPECT_TRUE(eventually([&] { return other.inspect("job").value().waiters.size() == 1; }));
    EXPECT_TRUE(client.check(hold.sequencer()));
    EXPECT_TRUE(hold.release());
    EXPECT_EQ(next.get(), Errc{});
    EXPECT_TRUE(client.list());
    Hold revoked = client.mutex("asked").acquire().value();
    EXPECT_TRUE(other.revoke("asked", {.now = true}));
    EXPECT_TRUE(eventually([&] { return revoked.lost().stop_requested(); }));
  }
  Client client(url);
  Hold written = client.shared_mutex("job").acquire().value();
  EXPECT_TRUE(written.downgrade());
  EXPECT_TRUE(client.semaphore("job", 3).acquire(2));
  EXPECT_TRUE(client.election("job").campaign("us"));
  EXPECT_TRUE(client.election("job").leader());
}

TEST(Redis, AReplicaTakesNoLocks) {
  RedisServer master;
  RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(master.port())});
  const Error error = error_of(replica.url("?timeout=1s"));
  EXPECT_EQ(error.code, Errc::store_unavailable);
  EXPECT_THAT(error.message, HasSubstr("replica"));
}

TEST(Redis, AClusterIsRefused) {
  const test::Port bus;  // by itself it would take one that the kernel may have given to anybody's connection
  RedisServer server({"--cluster-enabled", "yes", "--cluster-port", std::to_string(bus.number())});
  EXPECT_EQ(error_of(server.url()).code, Errc::unsupported);
}

TEST(Redis, AGrantThatTooFewReplicasKnowIsTakenBack) {
  RedisServer server;
  Client client(server.url("?wait_replicas=1&timeout=500ms"));
  EXPECT_EQ(client.mutex("job").try_acquire().code(), Errc::store_unavailable);
  EXPECT_TRUE(eventually([&] { return client.inspect("job").value().holders.empty(); }));
}

TEST(Redis, AWaitForReplicasThatAreNotThereDoesNotBlameAnotherHolder) {
  RedisServer server;
  Client client(server.url("?wait_replicas=1&timeout=500ms"));
  const Result<Hold> waited = client.mutex("job").acquire({.wait = 2s});
  ASSERT_FALSE(waited);
  EXPECT_THAT(waited.error().message, HasSubstr("only 0 of 1 replicas have confirmed the grant"));
  EXPECT_THAT(waited.error().message, Not(HasSubstr("held by")));
}

TEST(Redis, AServerOutOfMemorySaysSo) {
  RedisServer server({"--maxmemory", "1"});
  EXPECT_EQ(error_of(server.url("?timeout=1s")).code, Errc::overloaded);
}

TEST(Redis, AUnixSocketWorks) {
  RedisServer server({"--unixsocket", "redis.sock"});
  Client client("redis+unix://" + server.folder() + "/redis.sock");
  EXPECT_TRUE(client.mutex("job").acquire());
}

TEST(Redis, BadUrlsAreRefusedWithASentence) {
  for (const char* url :
       {"redis://h1,h2/0", "redis://h/x", "redis://h/-1", "redis:", "redis+unix://host/path", "redis+sentinel://h1,h2",
        "redis://h/0?wait_replicas=few", "redis://h/0?ca=/x", "redis://h/0?lease=no", "rediss://h/0?cert=/x",
        "rediss://h/0?ca=/does/not/exist", "redis://h/0?nonsense=1", "redis://h/0?names=raw&prefix=mine:"}) {
    EXPECT_EQ(error_of(url).code, Errc::invalid_argument) << url;
  }
}

TEST(Redis, AServerThatForgetsEverythingUnderAConnectionGoesOnWithLargerTokens) {
  RedisServer server;
  Client client(server.url("?lease=1s"));
  const Hold before = client.mutex("job").acquire().value();
  server.cli({"FLUSHALL"});
  EXPECT_TRUE(eventually([&] { return before.lost().stop_requested(); }));
  for (int i = 0; i < 3; ++i) EXPECT_GT(client.mutex("job").acquire({.wait = 30s}).value().token(), before.token());
}

TEST(Redis, AServerThatForgetsEverythingIsTheSameStoreWhereAClientStillKnowsIt) {
  RedisServer server;
  Client client(server.url("?lease=1s"));
  Fence fence(Kind::mutex, "job");
  ASSERT_TRUE(fence.mark(client.mutex("job").acquire().value().sequencer()));
  const std::uint64_t before = client.store_id();
  server.cli({"FLUSHALL"});
  EXPECT_TRUE(fence.mark(client.mutex("job").acquire({.wait = 30s}).value().sequencer()));
  EXPECT_EQ(client.store_id(), before);
  EXPECT_EQ(Client(server.url()).store_id(), before) << "and from then on all know it again";
}

TEST(Redis, AnEpochThatAnotherClientHasBegunIsKnownAtOnce) {
  RedisServer server;
  Client alice(server.url()), bob(server.url());
  const Token before = alice.mutex("job").acquire().value().token();
  const std::uint64_t epoch = bob.raise_epoch().value();
  EXPECT_EQ(alice.epoch().value(), epoch);
  const Token after = alice.mutex("job").acquire({.wait = 30s}).value().token();
  EXPECT_EQ(after.epoch(), epoch);
  EXPECT_GT(after, before);
}

// Scenario: the clock of the server that takes over is behind the epoch. D10: a new epoch that is not larger by one.
TEST(Redis, ANewEpochIsLargerAlsoWhereTheServersClockIsBehind) {
  RedisServer server;
  const std::uint64_t future = (std::uint64_t{1} << 48) - 100;  // the last of them
  { const Client makes_the_record(server.url()); }
  server.cli({"HSET", "{pawl}:meta", "epoch", std::to_string(future), "run", "another"});
  Client client(server.url());
  EXPECT_EQ(client.mutex("job").acquire({.wait = 30s}).value().token().epoch(), future + 1);
  EXPECT_EQ(client.raise_epoch().value(), future + 2);
}

// Their leases are so long that no waiter looks by itself. D6: a listening connection that is new, and nobody looks.
TEST(Redis, WaitersLookWhenTheirClientListensAgain) {
  RedisServer server;
  const test::Commands commands(server);
  Client alice(server.url("?lease=24h")), bob(server.url("?lease=24h"));
  Hold hold = alice.mutex("job").acquire().value();
  std::future<Result<Hold>> bobs =
      std::async(std::launch::async, [&] { return bob.mutex("job").acquire({.wait = 10min}); });
  ASSERT_TRUE(eventually([&] { return alice.inspect("job").value().waiters.size() == 1; }));
  const auto channels = [&] { return words_of(server.cli({"PUBSUB", "CHANNELS", "{pawl}:mail:*"})).size(); };
  const std::size_t before = channels();
  commands.reset();
  server.cli({"CLIENT", "KILL", "TYPE", "pubsub"});
  const auto has_looked = [&] { return commands.counts()["zrank"] > 0; };  // for its place in the queue
  EXPECT_TRUE(eventually(has_looked));
  EXPECT_TRUE(eventually([&] { return channels() == before; }));
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(bobs.get());
}

// The data was rolled back under a server that runs on: its epoch is smaller than the one that the client knows.
TEST(Redis, AnEpochIsNeverSmallerThanOneThatTheClientKnows) {
  RedisServer server;
  Client client(server.url());
  const std::uint64_t known = client.raise_epoch().value();
  server.cli({"HSET", "{pawl}:meta", "epoch", std::to_string(known - 1)});
  EXPECT_GT(client.mutex("job").acquire({.wait = 30s}).value().token().epoch(), known);
}

// A client that gets no connection ends while others use the executor.
TEST(Redis, AClientThatCannotBeOpenedDoesNotDisturbTheOthers) {
  RedisServer server({"--requirepass", "pw"});
  const std::string at = "127.0.0.1:" + std::to_string(server.port()) + "/0";
  std::atomic<bool> over = false;
  std::vector<std::future<int>> works;
  for (int i = 0; i < 2; ++i) {
    works.push_back(std::async(std::launch::async, [&, i] {
      Client client("redis://:pw@" + at);
      int done = 0;
      while (!over) done += client.mutex("job" + std::to_string(i)).acquire({.wait = 30s}) ? 1 : 0;
      return done;
    }));
  }
  for (int i = 0; i < 200; ++i) EXPECT_EQ(error_of("redis://:wrong@" + at).code, Errc::permission_denied);
  over = true;
  for (auto& work : works) EXPECT_GT(work.get(), 0);
}

}  // namespace
}  // namespace pawl
