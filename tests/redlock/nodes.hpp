#pragma once

#include "tests/support/naive_redis.hpp"
#include "tests/support/redis_server.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// What the tests of Redlock share: nodes as they are seen past pawl, and the algorithm as it is often written.
namespace pawl::redlock_test {

inline constexpr std::size_t nodes = 5;

/// On how many nodes that key is.
inline std::size_t nodes_with(test::RedisServers& servers, const std::string& key) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    test::naive::Redis redis(servers[i].port());
    found += redis.number({"EXISTS", key}) == 1 ? 1 : 0;
  }
  return found;
}

/// What the lock `name` is called there.
inline std::string key_of(const std::string& prefix, const std::string& name) {
  return prefix + "majority:mutex:" + name;
}

/// Redlock as it is often written: SET NX PX on the nodes, one after the other, and a majority wins. No token, no
/// membership, no renewal. A node that is left out counts as one that does not answer.
class ClassicRedlock {
 public:
  ClassicRedlock(test::RedisServers& servers, std::string key) : servers_(servers), key_(std::move(key)) {}

  bool take(const std::string& owner, std::chrono::milliseconds lease, const std::vector<std::size_t>& reachable) {
    std::size_t votes = 0;
    for (const std::size_t node : reachable) {
      test::naive::Redis redis(servers_[node].port());
      const auto set = redis.call({"SET", key_, owner, "NX", "PX", std::to_string(lease.count())});
      votes += set == "OK" ? 1 : 0;
    }
    return 2 * votes > servers_.size();
  }
  /// Has it a majority still, by the nodes' own word?
  bool holds(const std::string& owner) {
    std::size_t votes = 0;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      votes += test::naive::Redis(servers_[i].port()).call({"GET", key_}) == owner ? 1 : 0;
    }
    return 2 * votes > servers_.size();
  }

 private:
  test::RedisServers& servers_;
  const std::string key_;
};

}  // namespace pawl::redlock_test
