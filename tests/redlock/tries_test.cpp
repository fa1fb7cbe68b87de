// Tries that meet other tries, and requests that come late: ties, even numbers of nodes, undo, tombstones, many clients.

#include "store/redlock/scripts.hpp"
#include "tests/redlock/nodes.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/redis_frames.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using redlock_test::key_of;
using redlock_test::nodes;
using redlock_test::nodes_with;
using test::eventually;
using test::Proxy;
using test::RedisServers;

test::Framing framing() {
  const store::redlock::Scripts& all = store::redlock::scripts();
  const std::map<std::string, const store::redis::Script*> scripts{
      {"acquire", &all.acquire}, {"raise", &all.raise}, {"release", &all.release}, {"renew", &all.renew}};
  std::map<std::string, std::string> names;
  for (const auto& [name, script] : scripts) names[script->sha1] = names[script->text] = name;
  return test::redis_framing(std::move(names));
}

/// A proxy in front of each of five nodes.
class RedlockTries : public testing::Test {
 protected:
  RedlockTries() {
    for (std::size_t i = 0; i < nodes; ++i) proxies_.push_back(std::make_unique<Proxy>(servers_[i].port(), framing()));
  }
  std::string through_the_proxies(const std::string& query) const {
    std::string url = "redlock://";
    for (const auto& proxy : proxies_) {
      if (proxy != proxies_.front()) url += ",";
      url += "127.0.0.1:" + std::to_string(proxy->port());
    }
    return url + query;
  }
  std::string prefix() const { return "{tries}:"; }
  std::string query(const std::string& more = {}) const { return "?node_timeout=300ms&prefix=" + prefix() + more; }
  void take_on(std::size_t node, const std::string& name, const std::string& owner) {
    test::naive::Redis(servers_[node].port()).call({"SET", key_of(prefix(), name), owner});
  }

  RedisServers servers_{nodes};
  std::vector<std::unique_ptr<Proxy>> proxies_;
};

// Scenario: two other clients have a part each, and no client has a majority.
TEST_F(RedlockTries, ATieIsAnsweredAtOnceAndTakesNothing) {
  Client client(servers_.url(query()));
  client.mutex("job").acquire().value().release().value();
  for (const std::size_t node : {0U, 1U}) take_on(node, "job", "one");
  for (const std::size_t node : {2U, 3U}) take_on(node, "job", "other");
  EXPECT_EQ(client.mutex("job").try_acquire().code(), Errc::busy);
  test::naive::Redis last(servers_[4].port());
  EXPECT_TRUE(eventually([&] { return last.number({"EXISTS", key_of(prefix(), "job")}) == 0; })) << "it was undone";
}

// A majority of four is three: two against two is a tie as well. (npm redlock 5 never answers then.)
TEST_F(RedlockTries, AnEvenNumberOfNodesIsDecidedAndBothComeThroughInTheEnd) {
  RedisServers four(4);
  std::vector<Client> clients;
  for (int i = 0; i < 4; ++i) clients.emplace_back(four.url(query("&delay=10ms")));
  int inside = 0;
  std::atomic<int> at_once = 0;
  std::vector<std::thread> threads;
  for (Client& client : clients) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 5; ++turn) {
        Hold hold = client.mutex("job").acquire({.wait = 120s}).value();
        EXPECT_EQ(++at_once, 1);
        ++inside;
        --at_once;
        EXPECT_TRUE(hold.release());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(inside, 20);
}

// Scenario: a try's requests are on their way to two nodes when it is given up; the connections break, and the undo overtakes
// them on new ones.
TEST_F(RedlockTries, ARequestThatArrivesBehindItsUndoTakesNothing) {
  Client alice(through_the_proxies(query("&timeout=1s")));
  alice.mutex("job").acquire().value().release().value();
  ASSERT_TRUE(eventually([&] { return nodes_with(servers_, key_of(prefix(), "job")) == 0; }));
  for (const std::size_t node : {0U, 1U, 2U}) take_on(node, "job", "bob");
  for (const std::size_t node : {3U, 4U}) proxies_[node]->hold_replies(true);
  EXPECT_EQ(alice.mutex("job").try_acquire().code(), Errc::busy);
  for (const std::size_t node : {3U, 4U}) {
    proxies_[node]->cut();
    proxies_[node]->hold_replies(false);
  }
  const auto tombstones = [&](std::size_t node) {
    return test::naive::Redis(servers_[node].port())
        .number({"EVAL", "return #redis.call('KEYS', ARGV[1] .. 'x:*')", "0", prefix()});
  };
  EXPECT_TRUE(eventually([&] { return tombstones(3) == 1 && tombstones(4) == 1; }));
  for (const std::size_t node : {3U, 4U}) {
    test::naive::Redis redis(servers_[node].port());
    EXPECT_EQ(redis.number({"EXISTS", key_of(prefix(), "job")}), 0) << node;
    // The request, as it would arrive now.
    const std::string claim =
        redis.call({"EVAL", "return redis.call('KEYS', ARGV[1] .. 'x:*')[1]", "0", prefix()}).value();
    const std::string meta = prefix() + "meta";
    const std::string epoch = redis.call({"HGET", meta, "epoch"}).value(),
                      life = redis.call({"HGET", meta, "life"}).value();
    const std::string text =
        "local function run()\n" + store::redlock::scripts().acquire.text + "\nend\nreturn cjson.encode(run())";
    EXPECT_EQ(redis.call({"EVAL",
                          text,
                          "1",
                          meta,
                          prefix(),
                          epoch,
                          life,
                          claim.substr(prefix().size() + 2),
                          key_of(prefix(), "job"),
                          "majority:mutex:job",
                          "1",
                          "0",
                          "1",
                          "60000",
                          "0",
                          "0",
                          "session",
                          "host",
                          "1",
                          "",
                          "job",
                          ""}),
              R"(["gone"])");
    EXPECT_EQ(redis.number({"EXISTS", key_of(prefix(), "job")}), 0);
    EXPECT_LE(redis.number({"PTTL", claim}), 60'000);
  }
}

// Scenario: all connections break while a try is under way, and the undo goes out over new ones: it may overtake the try.
TEST_F(RedlockTries, AnUndoOverANewConnectionLeavesATombstone) {
  Client alice(through_the_proxies(query("&timeout=5s")));
  alice.mutex("job").acquire().value().release().value();
  ASSERT_TRUE(eventually([&] { return nodes_with(servers_, key_of(prefix(), "job")) == 0; }));
  std::map<std::size_t, std::size_t> before;
  for (std::size_t i = 0; i < nodes; ++i) {
    before[i] = proxies_[i]->seen("EVALSHA acquire");
    proxies_[i]->hold_replies(true);
  }
  std::future<Result<Hold>> trying = std::async(std::launch::async, [&] { return alice.mutex("job").try_acquire(); });
  for (std::size_t i = 0; i < nodes; ++i) {
    ASSERT_TRUE(eventually([&] { return proxies_[i]->seen("EVALSHA acquire") > before[i]; })) << i;
  }
  for (const auto& proxy : proxies_) proxy->cut();
  for (const auto& proxy : proxies_) proxy->hold_replies(false);
  [[maybe_unused]] const Result<Hold> hold = trying.get();  // by a later try, perhaps
  for (std::size_t i = 0; i < nodes; ++i) {
    test::naive::Redis redis(servers_[i].port());
    EXPECT_TRUE(eventually(
        [&] {
          return redis.number({"EVAL", "return #redis.call('KEYS', ARGV[1] .. 'x:*')", "0", prefix()}) >= 1;
        },
        20s))
        << i;
  }
}

// Every node that has not answered is told to undo, too.
TEST_F(RedlockTries, ATryThatTooFewAnswerIsUndoneOnAllOfThem) {
  Client alice(through_the_proxies(query("&timeout=1s")));
  alice.mutex("job").acquire().value().release().value();
  for (const std::size_t node : {0U, 1U, 2U}) proxies_[node]->hold_replies(true);
  EXPECT_EQ(alice.mutex("job").try_acquire().code(), Errc::store_unavailable);
  for (const std::size_t node : {0U, 1U, 2U}) proxies_[node]->hold_replies(false);
  EXPECT_TRUE(eventually([&] { return nodes_with(servers_, key_of(prefix(), "job")) == 0; }, 20s))
      << "before the lease ends";
  EXPECT_TRUE(alice.mutex("job").acquire({.wait = 60s}));
}

// Scenario: two nodes refuse to undo the first try (an error, as when a script runs for long there or memory is short); a later
// try of the same claim is granted; then they do what they were asked, again.
TEST_F(RedlockTries, AnUndoThatIsRepeatedSparesTheTryThatWasGrantedMeanwhile) {
  Client alice(through_the_proxies("?node_timeout=2s&delay=20ms&timeout=10s&lease=60s&prefix=" + prefix()));
  alice.mutex("job").acquire().value().release().value();
  ASSERT_TRUE(eventually([&] { return nodes_with(servers_, key_of(prefix(), "job")) == 0; }));
  for (const std::size_t node : {0U, 1U, 2U}) take_on(node, "job", "bob");
  const auto on_the_others = [&](auto what) {
    for (const std::size_t node : {3U, 4U}) {
      test::naive::Redis redis(servers_[node].port());
      what(node, redis);
    }
  };
  on_the_others([](std::size_t, test::naive::Redis& redis) { redis.call({"ACL", "SETUSER", "default", "-del"}); });
  std::future<Result<Hold>> waiting =
      std::async(std::launch::async, [&] { return alice.mutex("job").acquire({.wait = 60s}); });
  ASSERT_TRUE(eventually(
      [&] { return proxies_[3]->seen("EVALSHA release") >= 2 && proxies_[4]->seen("EVALSHA release") >= 2; }));
  for (const std::size_t node : {0U, 1U, 2U})
    test::naive::Redis(servers_[node].port()).call({"DEL", key_of(prefix(), "job")});
  Result<Hold> hold = waiting.get();
  ASSERT_TRUE(hold) << hold.error().message;
  on_the_others([](std::size_t, test::naive::Redis& redis) { redis.call({"ACL", "SETUSER", "default", "+del"}); });
  std::map<std::size_t, std::size_t> before;
  for (const std::size_t node : {3U, 4U}) before[node] = proxies_[node]->seen("EVALSHA release");
  ASSERT_TRUE(eventually([&] {
    return proxies_[3]->seen("EVALSHA release") > before[3] && proxies_[4]->seen("EVALSHA release") > before[4];
  }));
  // What is asked on the same connections now comes behind it.
  Hold other = alice.mutex("other").acquire({.wait = 60s}).value();
  ASSERT_TRUE(eventually([&] { return nodes_with(servers_, key_of(prefix(), "other")) == nodes; }));
  EXPECT_EQ(nodes_with(servers_, key_of(prefix(), "job")), nodes);
  EXPECT_TRUE(hold->valid());
  EXPECT_TRUE(hold->release());
  EXPECT_TRUE(other.release());
  EXPECT_TRUE(eventually([&] { return nodes_with(servers_, key_of(prefix(), "job")) == 0; }));
}

// Each try takes the lock on the other two, and is undone there.
TEST_F(RedlockTries, WaitersUndoNothingOnNodesWhereTheLockIsTaken) {
  Client alice(through_the_proxies(query("&delay=10ms")));
  alice.mutex("warm up").acquire().value().release().value();
  ASSERT_TRUE(eventually([&] { return nodes_with(servers_, key_of(prefix(), "warm up")) == 0; }));
  constexpr int waiters = 20;
  for (int i = 0; i < waiters; ++i) {
    for (std::size_t node = 0; node < 3; ++node) take_on(node, "job-" + std::to_string(i), "bob");
  }
  const auto undone = [&] { return proxies_[0]->seen("EVALSHA release") + proxies_[1]->seen("EVALSHA release"); };
  const std::size_t before = undone(), asked = proxies_[0]->seen("EVALSHA acquire");
  std::stop_source stop;
  std::vector<std::future<Result<Hold>>> waiting;
  for (int i = 0; i < waiters; ++i) {
    waiting.push_back(std::async(std::launch::async, [&, i] {
      return alice.mutex("job-" + std::to_string(i)).acquire({.wait = 60s}, stop.get_token());
    }));
  }
  EXPECT_TRUE(eventually([&] { return proxies_[0]->seen("EVALSHA acquire") >= asked + 10 * waiters; }));
  EXPECT_EQ(undone(), before);
  stop.request_stop();
  for (auto& one : waiting) EXPECT_EQ(one.get().code(), Errc::cancelled);
  EXPECT_TRUE(eventually([&] { return undone() >= before + 2 * waiters; })) << "each leaves the line";
}

// 16 clients, each with a lock of its own: with one counter for all of them, they would take each other's numbers.
TEST_F(RedlockTries, OfManyClientsOnDifferentLocksNearlyAllGetTheirsAtTheFirstTry) {
  constexpr int count = 16, tries = 25;
  std::vector<Client> clients;
  for (int i = 0; i < count; ++i) {
    clients.emplace_back(servers_.url("?prefix={many}:"));
    clients.back().mutex("warm up " + std::to_string(i)).acquire().value().release().value();
  }
  std::atomic<int> granted = 0;
  std::set<Token> tokens[count];
  std::vector<std::thread> threads;
  std::barrier start(count);
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      Mutex mutex = clients[static_cast<std::size_t>(i)].mutex("lock " + std::to_string(i));
      start.arrive_and_wait();
      for (int k = 0; k < tries; ++k) {
        Result<Hold> hold = mutex.try_acquire();
        if (!hold) continue;
        ++granted;
        tokens[i].insert(hold->token());
        EXPECT_TRUE(hold->release());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(granted, count * tries * 95 / 100);
  std::size_t different = 0;
  for (const auto& of_one : tokens) different += of_one.size();
  EXPECT_EQ(different, static_cast<std::size_t>(granted)) << "no token comes twice for one lock";
}

}  // namespace
}  // namespace pawl
