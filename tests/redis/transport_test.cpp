// How a Redis server is reached: TLS, sentinels.

#include "tests/redis/opening.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/redis_frames.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/redis_tls_server.hpp"
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
using test::RedisTlsServer;
using testing::HasSubstr;
using testing::Not;

TEST(RedisTls, AServerWithTheRightNameIsTrusted) {
  const RedisTlsServer server("IP:127.0.0.1");
  Client client(server.url() + "&ca=" + server.ca());
  Hold hold = client.mutex("job").acquire().value();
  EXPECT_TRUE(hold.release());
}

TEST(RedisTls, AWrongNameIsRefused) {
  const RedisTlsServer server("DNS:elsewhere.example");
  EXPECT_EQ(error_of(server.url() + "&ca=" + server.ca()).code, Errc::permission_denied);
}

TEST(RedisTls, AnUnknownAuthorityIsRefused) {
  const RedisTlsServer server("IP:127.0.0.1");
  EXPECT_EQ(error_of(server.url()).code, Errc::permission_denied);
}

TEST(RedisTls, AServerWithoutItIsRefused) {
  RedisServer server;
  const Error error = error_of("rediss://127.0.0.1:" + std::to_string(server.port()) + "/0?timeout=1s");
  EXPECT_NE(error.code, Errc{});
}

TEST(RedisTls, AServerThatHangsIsLeftAndFoundAgain) {
  const RedisTlsServer server("IP:127.0.0.1");
  Client client(server.url() + "&lease=30s&ca=" + server.ca());
  const Hold hold = client.mutex("job").acquire().value();
  for (int i = 0; i < 2; ++i) {
    server.server().stop();
    EXPECT_EQ(client.mutex("other").try_acquire().code(), Errc::store_unavailable);
    server.server().go_on();
    EXPECT_TRUE(client.mutex("other").acquire({.wait = 30s}));
  }
  EXPECT_TRUE(hold.valid());
}

TEST(RedisLogin, AFileIsReadForEveryConnection) {
  RedisServer server({"--requirepass", "old"});
  const test::TemporaryFolder folder;
  const std::string file = folder.path() + "/password";
  const auto write = [&](const std::string& password) { std::ofstream(file) << password << "\n"; };
  write("wrong");
  const std::string url = server.url("?lease=30s&password_file=" + file);
  EXPECT_EQ(error_of(url).code, Errc::permission_denied);
  EXPECT_EQ(error_of(server.url("?password_file=/does/not/exist")).code, Errc::permission_denied);
  write("old");
  Client client(url);
  server.cli({"-a", "old", "CONFIG", "SET", "requirepass", "new"});
  server.cli({"-a", "new", "CLIENT", "KILL", "TYPE", "normal"});
  write("new");
  EXPECT_TRUE(client.mutex("job").acquire({.wait = 30s}));
}

TEST(RedisLogin, ACallbackIsAskedForEveryConnection) {
  RedisServer server({"--user", "alice", "on", ">secret", "~*", "&*", "+@all"});
  std::atomic<int> asked = 0;
  ClientOptions options;
  options.credentials = [&]() -> Result<Credentials> {
    ++asked;
    return Credentials{"alice", "secret"};
  };
  {
    Client client(server.url(), options);
    EXPECT_TRUE(client.mutex("job").acquire());
    EXPECT_EQ(asked, 2) << "one connection asks, one listens";
    EXPECT_THAT(server.cli({"CLIENT", "LIST"}), HasSubstr("user=alice"));
  }
  options.credentials = []() -> Result<Credentials> { return Error{Errc::permission_denied, "the vault is closed"}; };
  const Result<Client> refused = Client::open(server.url(), options);
  EXPECT_EQ(refused.code(), Errc::permission_denied);
  EXPECT_THAT(refused.error().message, HasSubstr("vault"));
}

TEST(RedisConnection, ThatIsGoneIsReported) {
  RedisServer server;
  std::atomic<int> told = 0;
  ClientOptions options;
  options.observer = [&](const Event& event) { told += event.type == EventType::reconnecting ? 1 : 0; };
  Client client(server.url("?lease=30s"), options);
  EXPECT_EQ(told, 0);
  server.cli({"CLIENT", "KILL", "TYPE", "normal"});
  EXPECT_TRUE(eventually([&] { return told == 1; }));
  EXPECT_TRUE(client.mutex("job").acquire({.wait = 30s}));
}

// They have some 20 KB each, and thousands of clients may come back at the same time.
TEST(RedisConnection, ScriptsThatTheServerKnowsAreNotSentAgain) {
  RedisServer server;
  EXPECT_TRUE(Client(server.url()).mutex("job").acquire());
  test::Proxy proxy(server.port(), test::redis_framing({}));
  Client client("redis://127.0.0.1:" + std::to_string(proxy.port()) + "/0?lease=10m");
  EXPECT_EQ(proxy.seen("EVALSHA 0"), 3u) << "does it know them?";
  EXPECT_EQ(proxy.seen("EVAL 0"), 0u) << "it does";
  server.cli({"SCRIPT", "FLUSH"});
  proxy.cut();
  EXPECT_TRUE(client.mutex("job").acquire({.wait = 30s}));
  EXPECT_EQ(proxy.seen("EVAL 0"), 3u) << "now it does not";
}

TEST(RedisCredentials, CallbacksThatHangDoNotKeepOtherClientsFromConnecting) {
  RedisServer server({"--requirepass", "sesame"});
  const std::string at = "redis://127.0.0.1:" + std::to_string(server.port()) + "/0?timeout=60s";
  std::promise<void> answer;
  std::atomic<int> asked = 0;
  ClientOptions hangs;
  hangs.credentials = [&, answered = answer.get_future().share()]() -> Result<Credentials> {
    ++asked;
    answered.wait();
    return Credentials{"", "sesame"};
  };
  std::vector<std::future<Errc>> waits;
  for (int i = 0; i < 6; ++i) {
    waits.push_back(std::async(std::launch::async, [&] { return Client::open(at, hangs).code(); }));
  }
  EXPECT_TRUE(eventually([&] { return asked == 6; })) << "each has a thread of its own";
  ClientOptions knows;
  knows.credentials = []() -> Result<Credentials> { return Credentials{"", "sesame"}; };
  EXPECT_TRUE(Client::open(at, knows));
  answer.set_value();
  for (auto& wait : waits) EXPECT_EQ(wait.get(), Errc{});
}

// Scenario: a firewall forgets the connection on which the client listens. Nothing is ever said of that.
TEST(RedisConnection, ThatListensAndHasGoneSilentIsNoticed) {
  RedisServer server;
  test::Proxy proxy(server.port(), test::redis_framing({}));
  Client bob("redis://127.0.0.1:" + std::to_string(proxy.port()) + "/0?lease=9s&timeout=3s");
  EXPECT_TRUE(bob.mutex("first").acquire());  // opens the session, and so the listener
  Hold kept = bob.mutex("kept").acquire().value();
  const std::size_t before = proxy.accepted();
  proxy.arrange(test::Fault::go_silent, "PING");
  EXPECT_TRUE(eventually([&] { return proxy.accepted() > before; })) << "another connection listens";
  EXPECT_TRUE(kept.valid());
}

TEST(RedisSentinel, TheMasterIsFoundAndFollowedWhenItDies) {
  RedisServer master;
  RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(master.port())});
  const test::TemporaryFolder folder;
  const test::Port port;
  {
    std::ofstream config(folder.path() + "/sentinel.conf");
    config << "port " << port.number() << "\nbind 127.0.0.1\ndir " << folder.path() << "\n"
           << "sentinel monitor locks 127.0.0.1 " << master.port() << " 1\n"
           << "sentinel down-after-milliseconds locks 500\nsentinel failover-timeout locks 3000\n";
  }
  test::ServerProcess sentinel;
  sentinel.start({"redis-server", folder.path() + "/sentinel.conf", "--sentinel"}, folder.path(),
                 [&] { return test::answers(port.number(), "PING\r\n"); });
  const std::string url = "redis+sentinel://127.0.0.1:" + std::to_string(port.number()) + "/locks?timeout=2s&lease=3s";
  Client client(url);
  const Hold before = client.mutex("job").acquire().value();
  ASSERT_TRUE(eventually([&] {
    return master.cli({"INFO", "replication"}).find("state=online") != std::string::npos;
  }));
  master.kill();
  const auto granted = [&] { return client.mutex("after").acquire({.wait = 2s}); };
  Result<Hold> after = granted();
  for (int tries = 0; !after && tries < 30; ++tries) after = granted();
  ASSERT_TRUE(after) << after.error().to_string();
  EXPECT_GT(after->token(), before.token());
  EXPECT_EQ(error_of("redis+sentinel://127.0.0.1:" + std::to_string(port.number()) + "/nobody?timeout=1s").code,
            Errc::store_unavailable);
}

}  // namespace
}  // namespace pawl
