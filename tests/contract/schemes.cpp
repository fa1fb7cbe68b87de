#include "tests/contract/schemes.hpp"

#include "tests/support/etcd_server.hpp"
#include "tests/support/mysql_server.hpp"
#include "tests/support/real_world.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/virtual_world.hpp"
#include "tests/support/zookeeper_server.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <ostream>
#include <utility>

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
  return std::make_unique<RealWorld>(RealPlace{url, "queue", 800ms, 300ms});
}

std::unique_ptr<World> memory_queue_blocking() {
  static std::atomic<int> worlds = 0;
  RealPlace place{"memory:blocking-" + std::to_string(++worlds), "queue", 800ms, 300ms};
  place.blocking = true;
  return std::make_unique<RealWorld>(std::move(place));
}

#ifdef PAWL_STORE_FILE
RealPlace in_a_folder() {
  const auto folder = std::make_shared<test::TemporaryFolder>();
  RealPlace place{"file://" + folder->path() + "/store", "queue", 800ms, 300ms, folder};
  place.census = test::file_census(folder->path() + "/store");
  return place;
}
std::unique_ptr<World> file_queue() { return std::make_unique<RealWorld>(in_a_folder()); }
std::unique_ptr<World> file_queue_blocking() {
  RealPlace place = in_a_folder();
  place.blocking = true;
  return std::make_unique<RealWorld>(std::move(place));
}
#endif

#ifdef PAWL_STORE_MYSQL
std::unique_ptr<World> mysql(const std::string& scheme) {
  static std::atomic<int> worlds = 0;
  test::MysqlServer& server = test::MysqlServer::shared();
  RealPlace place{server.url("?prefix=contract-" + std::to_string(++worlds)), scheme, 1s, 1s};
  place.census = test::mysql_census(server.port());
  place.restart = [&server] {
    server.kill();
    server.start();
  };
  return std::make_unique<RealWorld>(std::move(place));
}
std::unique_ptr<World> mysql_queue() { return mysql("queue"); }
std::unique_ptr<World> mysql_unique() { return mysql("unique"); }
std::unique_ptr<World> mysql_version() { return mysql("version"); }
std::unique_ptr<World> mysql_named() { return mysql("named"); }
std::unique_ptr<World> mysql_for_update() { return mysql("for-update"); }
#endif

#ifdef PAWL_STORE_REDIS
std::unique_ptr<World> redis(const std::string& scheme) {
  static std::atomic<int> worlds = 0;
  const std::string query = "?prefix={contract-" + std::to_string(++worlds) + "}:";
  test::RedisServer& server = test::RedisServer::shared();
  RealPlace place{server.url(query), scheme, 1s, 400ms};
  place.census = test::redis_census(server.port());
  place.restart = [&server] {
    server.kill();
    server.start();
  };
  return std::make_unique<RealWorld>(std::move(place));
}
std::unique_ptr<World> redis_queue() { return redis("queue"); }
std::unique_ptr<World> redis_simple() { return redis("simple"); }
std::unique_ptr<World> redis_redisson() { return redis("redisson"); }
#endif

#ifdef PAWL_STORE_REDLOCK
std::unique_ptr<World> redlock_majority() {
  static std::atomic<int> worlds = 0;
  const std::string prefix = "{contract-" + std::to_string(++worlds) + "}:";
  test::RedisServers& servers = test::RedisServers::shared();
  RealPlace place{servers.url("?delay=20ms&prefix=" + prefix), "majority", 1s, 1s};
  place.census = test::redlock_census(servers.ports(), prefix);
  place.restart = [&servers] {
    for (std::size_t i = 0; i < servers.size(); ++i) servers[i].kill();
    for (std::size_t i = 0; i < servers.size(); ++i) servers[i].start();
  };
  return std::make_unique<RealWorld>(std::move(place));
}
#endif

#ifdef PAWL_STORE_ZOOKEEPER
RealPlace zookeeper(const std::string& servers, const std::string& scheme) {
  static std::atomic<int> worlds = 0;
  const std::string chroot = "/contract-" + std::to_string(++worlds);
  RealPlace place{servers + chroot, scheme, 1s, 1s};
  place.census = test::zookeeper_census(servers.substr(servers.rfind('/') + 1), chroot);
  return place;
}
std::unique_ptr<World> one_zookeeper(const std::string& scheme) {
  test::ZooKeeperServer& server = test::ZooKeeperServer::shared();
  RealPlace place = zookeeper(server.url(), scheme);
  place.restart = [&server] {
    server.kill();
    server.start();
  };
  return std::make_unique<RealWorld>(std::move(place));
}
std::unique_ptr<World> zookeeper_sequential() { return one_zookeeper("sequential"); }
std::unique_ptr<World> zookeeper_ephemeral() { return one_zookeeper("ephemeral"); }
std::unique_ptr<World> three_zookeepers(const std::string& scheme) {
  test::ZooKeeperEnsemble& ensemble = test::ZooKeeperEnsemble::shared();
  RealPlace place = zookeeper(ensemble.url(), scheme);
  place.restart = [&ensemble] {
    for (std::size_t i = 0; i < ensemble.size; ++i) ensemble.kill(i);
    for (std::size_t i = 0; i < ensemble.size; ++i) ensemble.start(i);
    ensemble.wait_until_they_serve();
  };
  return std::make_unique<RealWorld>(std::move(place));
}
std::unique_ptr<World> zookeeper_ensemble_sequential() { return three_zookeepers("sequential"); }
std::unique_ptr<World> zookeeper_ensemble_ephemeral() { return three_zookeepers("ephemeral"); }
#endif

#ifdef PAWL_STORE_ETCD
/// `looker`: the member that the census asks.
RealPlace etcd(const std::string& url, const test::EtcdServer& looker) {
  static std::atomic<int> worlds = 0;
  const std::string prefix = "contract-" + std::to_string(++worlds) + "/";
  RealPlace place{url + "?prefix=" + prefix, "queue", 3s, 1s};
  place.census = test::etcd_census(looker, prefix);
  return place;
}
std::unique_ptr<World> etcd_queue() {
  test::EtcdServer& server = test::EtcdServer::shared();
  RealPlace place = etcd(server.url(), server);
  place.restart = [&server] {
    server.kill();
    server.start();
  };
  return std::make_unique<RealWorld>(std::move(place));
}
std::unique_ptr<World> etcd_cluster_queue() {
  test::EtcdCluster& cluster = test::EtcdCluster::shared();
  RealPlace place = etcd(cluster.url(), cluster[0]);
  place.restart = [&cluster] {
    for (std::size_t i = 0; i < cluster.size; ++i) cluster.kill(i);
    for (std::size_t i = 0; i < cluster.size; ++i) cluster.start(i);
    cluster.wait_until_they_serve();
  };
  return std::make_unique<RealWorld>(std::move(place));
}
#endif

}  // namespace

const std::vector<Line>& all_schemes() {
  static const std::vector<Line> table = {
      {"memory_queue_virtual", memory_queue_virtual, false},
      {"memory_queue_real", memory_queue_real, true},
      {"memory_queue_blocking", memory_queue_blocking, true},
#ifdef PAWL_STORE_FILE
      {"file_queue", file_queue, true},
      {"file_queue_blocking", file_queue_blocking, true},
#endif
#ifdef PAWL_STORE_MYSQL
      {"mysql_queue", mysql_queue, true},
      {"mysql_unique", mysql_unique, true},
      {"mysql_version", mysql_version, true},
      {"mysql_named", mysql_named, true},
      {"mysql_for_update", mysql_for_update, true},
#endif
#ifdef PAWL_STORE_REDIS
      {"redis_queue", redis_queue, true},
      {"redis_simple", redis_simple, true},
      {"redis_redisson", redis_redisson, true},
#endif
#ifdef PAWL_STORE_REDLOCK
      {"redlock_majority", redlock_majority, true},
#endif
#ifdef PAWL_STORE_ZOOKEEPER
      {"zookeeper_sequential", zookeeper_sequential, true},
      {"zookeeper_ephemeral", zookeeper_ephemeral, true},
      {"zookeeper_ensemble_sequential", zookeeper_ensemble_sequential, true},
      {"zookeeper_ensemble_ephemeral", zookeeper_ensemble_ephemeral, true},
#endif
#ifdef PAWL_STORE_ETCD
      {"etcd_queue", etcd_queue, true},
      {"etcd_cluster_queue", etcd_cluster_queue, true},
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
