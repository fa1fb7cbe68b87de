// Every request of a lock's life is lost on its way to one node or to a majority of them, or its answer is. Whatever happens:
// the lock is granted and let go, tokens grow, and nothing is left on the nodes but what docs/stores/redlock.md names.

#include "store/redlock/layout.hpp"
#include "store/redlock/scripts.hpp"
#include "tests/redlock/nodes.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/redis_frames.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <sstream>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using redlock_test::nodes;
using test::eventually;
using test::Fault;
using test::Proxy;
using test::RedisServers;
using testing::AnyOf;

const std::map<std::string, const store::redis::Script*>& requests() {
  static const store::redlock::Scripts& all = store::redlock::scripts();
  static const std::map<std::string, const store::redis::Script*> them{
      {"acquire", &all.acquire}, {"raise", &all.raise}, {"renew", &all.renew}, {"release", &all.release}};
  return them;
}

test::Framing framing_of_requests() {
  std::map<std::string, std::string> names;
  for (const auto& [name, script] : requests()) names[script->sha1] = names[script->text] = name;
  return test::redis_framing(std::move(names));
}

struct Trouble {
  const char* request;
  Fault fault;
  const char* fault_name;
  std::size_t at;  ///< so many nodes
};

void PrintTo(const Trouble& trouble, std::ostream* out) {
  *out << trouble.request << " " << trouble.fault_name << " at " << trouble.at;
}

class RedlockFaults : public testing::TestWithParam<Trouble> {
 protected:
  RedlockFaults() {
    for (std::size_t i = 0; i < nodes; ++i)
      proxies_.push_back(std::make_unique<Proxy>(servers_[i].port(), framing_of_requests()));
    std::ostringstream name;
    PrintTo(GetParam(), &name);
    prefix_ = "{" + name.str() + "}:";
    std::replace(prefix_.begin(), prefix_.end(), ' ', '-');
  }
  std::string through_the_proxies(const std::string& query) const {
    std::string url = "redlock://";
    for (const auto& proxy : proxies_) {
      if (proxy != proxies_.front()) url += ",";
      url += "127.0.0.1:" + std::to_string(proxy->port());
    }
    return url + query;
  }
  std::string query(const std::string& lease) const {
    return "?delay=20ms&node_timeout=1s&timeout=30s&prefix=" + prefix_ + "&lease=" + lease;
  }
  /// The first node is ahead, so that the others have to be raised.
  void set_ahead() {
    const store::LockKey key{Kind::mutex, base::LockName::make("job").value()};
    const std::string bucket = std::to_string(store::redlock::bucket_of(store::redlock::lock_id(key)));
    test::naive::Redis(servers_[0].port()).call({"HINCRBY", prefix_ + "counters", bucket, "1000"});
  }
  /// At the nodes behind the first one, which is never raised.
  void arrange() {
    for (std::size_t i = 1; i <= GetParam().at; ++i)
      proxies_[i]->arrange(GetParam().fault, std::string("EVALSHA ") + GetParam().request);
  }
  bool has_happened() const {
    std::size_t all = 0;
    for (const auto& proxy : proxies_) all += proxy->happened();
    return all == GetParam().at;
  }
  bool happened() {
    return eventually([this] { return has_happened(); });
  }
  /// What is there, but the nodes' own two keys and tombstones, which end by themselves.
  std::string left() {
    std::string left;
    for (std::size_t i = 0; i < nodes; ++i) {
      test::naive::Redis redis(servers_[i].port());
      left += redis
                  .call({"EVAL",
                         "local left = '' for _, key in ipairs(redis.call('KEYS', '*')) do "
                         "if key:sub(1, #ARGV[1]) == ARGV[1] then local rest, ttl = key:sub(#ARGV[1] + 1), "
                         "redis.call('PTTL', key) "
                         "local stays = rest == 'meta' or rest == 'counters' "
                         "local tombstone = rest:sub(1, 2) == 'x:' and ttl > 0 and ttl <= 60000 "
                         "if not stays and not tombstone then left = left .. ' ' .. rest end end end return left",
                         "0", prefix_})
                  .value_or("");
    }
    return left;
  }

  RedisServers& servers_ = RedisServers::shared();
  std::vector<std::unique_ptr<Proxy>> proxies_;
  std::string prefix_;
};

TEST_P(RedlockFaults, TheLockIsGrantedAndLetGoAndNothingIsLeft) {
  const bool renewal = std::string(GetParam().request) == "renew", raise = std::string(GetParam().request) == "raise";
  Client alice(through_the_proxies(query(renewal ? "9s" : "300s")));
  Client bob(servers_.url(query("300s")));
  const Token first = bob.mutex("job").acquire({.wait = 60s}).value().token();
  ASSERT_TRUE(alice.mutex("job").acquire({.wait = 60s}).value().release());
  set_ahead();
  arrange();
  Hold hold = alice.mutex("job").acquire({.wait = 60s}).value();
  // Which nodes have to be raised depends on which answer first.
  for (int turn = 0; raise && !has_happened() && turn < 1000; ++turn) {
    [[maybe_unused]] const auto released = hold.release();
    set_ahead();
    hold = alice.mutex("job").acquire({.wait = 60s}).value();
  }
  EXPECT_GT(hold.token(), first);
  EXPECT_EQ(bob.mutex("job").try_acquire().code(), Errc::busy);
  if (renewal) {
    ASSERT_TRUE(happened());
  }
  EXPECT_TRUE(hold.valid());
  EXPECT_THAT(hold.release().code(), AnyOf(Errc{}, Errc::outcome_unknown));
  ASSERT_TRUE(happened());
  Hold next = bob.mutex("job").acquire({.wait = 60s}).value();
  EXPECT_GT(next.token(), hold.token());
  EXPECT_TRUE(next.release());
  EXPECT_TRUE(eventually([&] { return left().empty(); })) << left();
}

std::vector<Trouble> troubles() {
  std::vector<Trouble> all;
  for (const auto& [request, script] : requests()) {
    for (const std::size_t at : {std::size_t{1}, nodes / 2 + 1}) {
      all.push_back({request.c_str(), Fault::lose_request, "LoseRequest", at});
      all.push_back({request.c_str(), Fault::lose_reply, "LoseReply", at});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Redlock, RedlockFaults, testing::ValuesIn(troubles()), [](const auto& info) {
  const Trouble& trouble = info.param;
  return std::string(trouble.request) + trouble.fault_name + "At" + std::to_string(trouble.at);
});

}  // namespace
}  // namespace pawl
