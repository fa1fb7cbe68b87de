// A replica takes the place of its master and nothing is lost: holds and waiters live on, however the servers are found.

#include "tests/support/naive_redis.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/redis_frames.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/server.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <netdb.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::Proxy;
using test::RedisServer;
using test::naive::Redis;

constexpr const char* moving_name = "moving-name.invalid";

/// Where moving_name leads to. The port moves along, because all servers are on one host here.
std::atomic<std::uint16_t> port_of_moving_name = 0;

}  // namespace
}  // namespace pawl

/// Takes the place of the C library's, for this program: one name is looked up here.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  const bool ours = host != nullptr && std::string_view(host) == pawl::moving_name;
  if (!ours) return real(host, service, hints, found);
  if ((hints->ai_flags & AI_NUMERICHOST) != 0) return EAI_NONAME;
  return real("127.0.0.1", std::to_string(pawl::port_of_moving_name).c_str(), hints, found);
}

namespace pawl {
namespace {

bool is_replica_of(RedisServer& replica, const RedisServer& master) {
  const std::string info = replica.cli({"INFO", "replication"});
  return info.find("role:slave") != std::string::npos && info.find("master_link_status:up") != std::string::npos &&
         info.find("master_port:" + std::to_string(master.port())) != std::string::npos;
}

/// Everything that was written up to now is on the replica.
bool replicated(const RedisServer& master) {
  Redis redis(master.port());
  redis.call({"SET", "up to here", "1"});
  return redis.number({"WAIT", "1", "60000"}) == 1;
}

/// Two servers that change places, and the way by which clients find the master.
class Servers {
 public:
  virtual ~Servers() = default;
  virtual std::string url(const std::string& query) = 0;
  virtual std::string lease() const { return "15s"; }
  /// Redis' own FAILOVER waits until the replica has everything. Connections to the old master stay open.
  virtual void fail_over() {
    ASSERT_TRUE(replicated(first));
    first.cli({"FAILOVER", "TO", "127.0.0.1", std::to_string(second.port())});
    ASSERT_TRUE(eventually([&] { return is_replica_of(first, second); }));
  }

  RedisServer first{{"--repl-diskless-sync-delay", "0"}};
  RedisServer second{{"--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1 " + std::to_string(first.port())}};
};

/// A virtual IP, a load balancer, a cloud's failover: the address stays, and leads elsewhere.
class BehindAnAddress final : public Servers {
 public:
  std::string url(const std::string& query) override {
    return "redis://127.0.0.1:" + std::to_string(address_.port()) + "/0" + query;
  }
  void fail_over() override {
    Servers::fail_over();
    address_.move_to(second.port());
  }

 private:
  Proxy address_{first.port(), test::redis_framing({})};
};

class BehindAName final : public Servers {
 public:
  BehindAName() { port_of_moving_name = first.port(); }
  std::string url(const std::string& query) override { return "redis://" + std::string(moving_name) + "/0" + query; }
  void fail_over() override {
    Servers::fail_over();
    port_of_moving_name = second.port();
  }
};

class BehindASentinel : public Servers {
 public:
  BehindASentinel() {
    std::ofstream(folder_.path() + "/sentinel.conf")
        << "port " << port_.number() << "\nbind 127.0.0.1\ndir " << folder_.path() << "\n"
        << "sentinel monitor locks 127.0.0.1 " << first.port() << " 1\n"
        << "sentinel known-replica locks 127.0.0.1 " << second.port() << "\n"  // or it finds it ten seconds later
        << "sentinel down-after-milliseconds locks 60000\nsentinel failover-timeout locks 60000\n";
    sentinel_.start({"redis-server", folder_.path() + "/sentinel.conf", "--sentinel"}, folder_.path(),
                    [&] { return test::answers(port_.number(), "PING\r\n"); });
  }
  std::string url(const std::string& query) override {
    return "redis+sentinel://127.0.0.1:" + std::to_string(port_.number()) + "/locks" + query;
  }
  /// The sentinel promotes the replica, and demotes the old master about ten seconds later: what that one is told in
  /// between is lost, renewals too. A client that stays there for so long loses its holds.
  std::string lease() const override { return "6s"; }
  void fail_over() override {
    promote();
    demote();
  }

 protected:
  std::uint16_t port() const { return port_.number(); }
  /// Until the sentinel names the replica as the master.
  void promote() {
    ASSERT_TRUE(replicated(first));
    Redis sentinel(port_.number());
    // It must have seen that the replica is well.
    ASSERT_TRUE(eventually([&] {
      try {
        return sentinel.call({"SENTINEL", "FAILOVER", "locks"}) == "OK";
      } catch (const std::exception&) {
        return false;
      }
    }));
    const std::string address = "address=127.0.0.1:" + std::to_string(second.port());
    ASSERT_TRUE(eventually([&] { return sentinel.call({"INFO"}).value().find(address) != std::string::npos; }));
  }
  void demote() {
    ASSERT_TRUE(eventually([&] { return is_replica_of(first, second); }));
  }

 private:
  test::TemporaryFolder folder_;
  const test::Port port_;
  test::ServerProcess sentinel_;
};

/// Redis' own FAILOVER, of which the sentinel is not told: it keeps naming the demoted server.
class BehindASentinelThatIsNotTold final : public BehindASentinel {
 public:
  void fail_over() override { Servers::fail_over(); }
};

/// Clients reach the sentinel only before and after the failover: its announcement is lost.
class BehindASentinelThatIsNotHeard final : public BehindASentinel {
 public:
  std::string url(const std::string& query) override {
    return "redis+sentinel://127.0.0.1:" + std::to_string(line_.port()) + "/locks" + query;
  }
  void fail_over() override {
    line_.shut(true);
    line_.cut();
    promote();
    line_.shut(false);
    demote();
  }

 private:
  Proxy line_{port(), test::redis_framing({})};
};

enum class Way : std::uint8_t { address, name, sentinel, not_told, not_heard };

std::unique_ptr<Servers> servers_behind(Way way) {
  switch (way) {
    case Way::address: return std::make_unique<BehindAnAddress>();
    case Way::name: return std::make_unique<BehindAName>();
    case Way::sentinel: return std::make_unique<BehindASentinel>();
    case Way::not_told: return std::make_unique<BehindASentinelThatIsNotTold>();
    case Way::not_heard: return std::make_unique<BehindASentinelThatIsNotHeard>();
  }
  return nullptr;
}

struct Case {
  Way way;
  const char* scheme;
  bool another_first;  ///< another client has begun the new master's epoch before ours come
};

void PrintTo(const Case& it, std::ostream* out) {
  constexpr const char* ways[] = {"Address", "Name", "Sentinel", "SentinelNotTold", "SentinelNotHeard"};
  *out << ways[static_cast<int>(it.way)] << "_" << it.scheme << (it.another_first ? "_AnotherIsFirst" : "_WeAreFirst");
}

class RedisFailover : public testing::TestWithParam<Case> {
 protected:
  std::string url(const std::string& more = {}) {
    return servers_->url("?timeout=2s&lease=" + servers_->lease() + "&scheme=" + GetParam().scheme + more);
  }
  /// Uses the new master, whose epoch comes back to the old one by replication.
  void another_client_comes() {
    Client another(url());
    EXPECT_TRUE(another.mutex("other").acquire({.wait = 60s}));
    const auto epoch = [](const RedisServer& server) {
      return Redis(server.port()).call({"HGET", "{pawl}:meta", "epoch"});
    };
    ASSERT_TRUE(eventually([&] { return epoch(servers_->first) == epoch(servers_->second); }));
  }

  const std::unique_ptr<Servers> servers_ = servers_behind(GetParam().way);
};

TEST_P(RedisFailover, HoldsAndWaitersLiveOn) {
  Client alice(url()), bob(url());
  Hold hold = alice.mutex("job").acquire({.wait = 60s}).value();
  auto waiter = std::async(std::launch::async, [&] { return bob.mutex("job").acquire({.wait = 60s}); });
  ASSERT_TRUE(eventually([&] { return alice.inspect("job").value().waiters.size() == 1; }));
  ASSERT_NO_FATAL_FAILURE(servers_->fail_over());
  if (GetParam().another_first) another_client_comes();

  const std::uint64_t before = alice.metrics().renewals;
  EXPECT_TRUE(eventually([&] { return alice.metrics().renewals > before || hold.lost().stop_requested(); }));
  EXPECT_TRUE(hold.valid()) << "the new master knows it";
  EXPECT_TRUE(alice.check(hold.sequencer())) << "and the token of its time";
  EXPECT_TRUE(hold.release());
  const Result<Hold> next = waiter.get();
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_GT(next->token(), hold.token());
  EXPECT_GT(next->token().epoch(), hold.token().epoch()) << "a new master, a new epoch";
}

TEST_P(RedisFailover, WithWaitReplicasGrantsAreConfirmedByTheNewMaster) {
  Client alice(url("&wait_replicas=1"));
  EXPECT_TRUE(alice.mutex("before").acquire({.wait = 60s})) << "the connection for WAIT is there";
  ASSERT_NO_FATAL_FAILURE(servers_->fail_over());
  if (GetParam().another_first) another_client_comes();
  const Result<Hold> after = alice.mutex("after").acquire({.wait = 60s});
  EXPECT_TRUE(after) << after.error().to_string();
}

INSTANTIATE_TEST_SUITE_P(All, RedisFailover,
                         testing::Values(Case{Way::address, "queue", false}, Case{Way::address, "queue", true},
                                         Case{Way::address, "simple", true}, Case{Way::name, "queue", false},
                                         Case{Way::name, "queue", true}, Case{Way::sentinel, "queue", false},
                                         Case{Way::sentinel, "queue", true}, Case{Way::sentinel, "simple", false},
                                         Case{Way::not_told, "queue", false}, Case{Way::not_told, "queue", true},
                                         Case{Way::not_heard, "queue", false}),
                         testing::PrintToStringParamName());

// Scene: the address moves to another store while the old one is well. The connection for WAIT is the first that follows.
TEST(RedisFailoverWait, AGrantIsNotConfirmedByAnotherServerThanTheOneThatGrantedIt) {
  RedisServer alone;
  RedisServer other;
  const RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(other.port())});
  ASSERT_TRUE(replicated(other));
  Proxy address(alone.port(), test::redis_framing({}));
  Client bob(alone.url());
  const Hold taken = bob.mutex("taken").acquire().value();
  Client alice("redis://127.0.0.1:" + std::to_string(address.port()) + "/0?wait_replicas=1&timeout=2s");
  ASSERT_EQ(alice.mutex("taken").try_acquire().code(), Errc::busy) << "requests go there, and notices come from there";
  address.move_to(other.port());
  const Result<Hold> hold = alice.mutex("job").acquire({.wait = 60s});
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_TRUE(Client(other.url()).check(hold->sequencer())) << "it has a replica, and knows the grant";
}

// Scene: the address moves while the listening connection is being made: it has asked who is there, and its subscriptions are
// under way. The server before answers them when requests already go to the next one.
TEST(RedisFailoverListener, AListenerThatWasStillConnectingFollowsTheAddress) {
  RedisServer first, second;
  Proxy address(first.port(), test::redis_framing({}));
  Client alice("redis://127.0.0.1:" + std::to_string(address.port()) + "/0?timeout=60s&lease=10m");
  address.delay_replies(3s);
  auto hold = std::async(std::launch::async, [&] { return alice.mutex("job").acquire({.wait = 60s}); });
  const auto subscribed = [](const RedisServer& server) {
    return eventually([&] { return server.cli({"PUBSUB", "NUMSUB", "{pawl}:epoch"}).ends_with("1\n"); });
  };
  ASSERT_TRUE(subscribed(first));
  address.delay_replies(0s);  // those that are on their way keep their time
  address.move_to(second.port());
  first.cli({"CLIENT", "KILL", "TYPE", "normal"});
  EXPECT_TRUE(hold.get());
  EXPECT_TRUE(subscribed(second));
}

}  // namespace
}  // namespace pawl
