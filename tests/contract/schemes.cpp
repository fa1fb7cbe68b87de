#include "tests/contract/schemes.hpp"

#include "tests/support/real_world.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/virtual_world.hpp"
#include "tests/support/zookeeper_server.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <ostream>

namespace pawl::contract {

using namespace std::chrono_literals;
using scene::RealPlace;
using scene::RealWorld;
using scene::VirtualWorld;
using scene::World;

namespace {

std::unique_ptr<World> memory_queue_virtual() { return std::make_unique<VirtualWorld>("queue"); }

std::unique_ptr<World> memory_queue_real() {
  static std::atomic<int> worlds = 0;
  const std::string url = "memory:contract-" + std::to_string(++worlds);
  return std::make_unique<RealWorld>(RealPlace{url, "queue", 400ms, 150ms});
}

#ifdef PAWL_STORE_FILE
std::unique_ptr<World> file_queue() {
  const auto folder = std::make_shared<test::TemporaryFolder>();
  return std::make_unique<RealWorld>(RealPlace{"file://" + folder->path() + "/store", "queue", 400ms, 150ms, folder});
}
#endif

#ifdef PAWL_STORE_REDIS
std::unique_ptr<World> redis(const std::string& scheme) {
  static std::atomic<int> worlds = 0;
  const std::string query = "?prefix={contract-" + std::to_string(++worlds) + "}:";
  return std::make_unique<RealWorld>(RealPlace{test::RedisServer::shared().url(query), scheme, 1s, 400ms});
}
std::unique_ptr<World> redis_queue() { return redis("queue"); }
std::unique_ptr<World> redis_simple() { return redis("simple"); }
std::unique_ptr<World> redis_redisson() { return redis("redisson"); }
#endif

#ifdef PAWL_STORE_ZOOKEEPER
std::unique_ptr<World> zookeeper(const std::string& servers, const std::string& scheme, Duration timeout = 1s) {
  static std::atomic<int> worlds = 0;
  const std::string url = servers + "/contract-" + std::to_string(++worlds);
  return std::make_unique<RealWorld>(RealPlace{url, scheme, 1s, timeout});
}
std::unique_ptr<World> zookeeper_sequential() { return zookeeper(test::ZooKeeperServer::shared().url(), "sequential"); }
std::unique_ptr<World> zookeeper_ephemeral() { return zookeeper(test::ZooKeeperServer::shared().url(), "ephemeral"); }
std::unique_ptr<World> zookeeper_ensemble_sequential() {
  return zookeeper(test::ZooKeeperEnsemble::shared().url(), "sequential");
}
std::unique_ptr<World> zookeeper_ensemble_ephemeral() {
  return zookeeper(test::ZooKeeperEnsemble::shared().url(), "ephemeral");
}
#endif

}  // namespace

const std::vector<Line>& all_schemes() {
  static const std::vector<Line> table = {
      {"memory_queue_virtual", memory_queue_virtual, false},
      {"memory_queue_real", memory_queue_real, true},
#ifdef PAWL_STORE_FILE
      {"file_queue", file_queue, true},
#endif
#ifdef PAWL_STORE_REDIS
      {"redis_queue", redis_queue, true},
      {"redis_simple", redis_simple, true},
      {"redis_redisson", redis_redisson, true},
#endif
#ifdef PAWL_STORE_ZOOKEEPER
      {"zookeeper_sequential", zookeeper_sequential, true},
      {"zookeeper_ephemeral", zookeeper_ephemeral, true},
      {"zookeeper_ensemble_sequential", zookeeper_ensemble_sequential, true},
      {"zookeeper_ensemble_ephemeral", zookeeper_ensemble_ephemeral, true},
#endif
  };
  return table;
}

std::vector<Line> blocking_schemes() {
  std::vector<Line> lines;
  std::copy_if(all_schemes().begin(), all_schemes().end(), std::back_inserter(lines),
               [](const Line& line) { return line.blocks; });
  return lines;
}

void PrintTo(const Line& line, std::ostream* out) { *out << line.name; }

}  // namespace pawl::contract
