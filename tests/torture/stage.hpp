#pragma once

#include "apps/cli/torture/faults.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pawl::torture {

/// A store that is tortured: its servers, started by us, and what can go wrong with them.
class Stage {
 public:
  virtual ~Stage() = default;

  /// Where its servers listen; empty if it has none. Between them and each worker there is a proxy of its own.
  virtual std::vector<std::uint16_t> ports() const { return {}; }
  /// The store, its servers being reached by these ports instead.
  virtual std::string url(const std::vector<std::uint16_t>& ports) const = 0;
  /// What can go wrong with the servers. They keep their data, unless the stage says otherwise.
  virtual std::vector<Fault> faults() { return {}; }
  /// It loses its data on purpose: only what tokens and fences promise is left then.
  virtual bool forgets() const { return false; }
  /// What the servers have kept of clients that are gone: nothing, as soon as all is cleaned up.
  virtual std::vector<std::string> leftovers() { return {}; }
};

/// A store, a scheme, and who starts it: one line each in stages.cpp.
struct StageEntry {
  const char* name;  ///< "redis/queue": the store, and a scheme of it
  const char* scheme;
  std::unique_ptr<Stage> (*start)();
};
const std::vector<StageEntry>& stages();

std::unique_ptr<Stage> file_stage();
std::unique_ptr<Stage> mysql_stage();
/// For the schemes named and for-update.
std::unique_ptr<Stage> mysql_connections_stage();
std::unique_ptr<Stage> redis_stage();
std::unique_ptr<Stage> forgetful_redis_stage();
std::unique_ptr<Stage> redlock_stage();
std::unique_ptr<Stage> zookeeper_stage();
std::unique_ptr<Stage> zookeeper_ensemble_stage();
std::unique_ptr<Stage> etcd_stage();
std::unique_ptr<Stage> etcd_cluster_stage();

/// "127.0.0.1:2181,127.0.0.1:2182"
inline std::string hosts_at(const std::vector<std::uint16_t>& ports) {
  std::string hosts;
  for (const std::uint16_t port : ports) hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
  return hosts;
}

/// The faults of one server that has stop(), go_on(), kill(), end() and start(). One at a time.
template <class Server>
std::vector<Fault> server_faults(Server& server) {
  const std::string group = "server";
  return {{"server stopped", group,
           [&server](Chance&) -> Fault::Steps {
             server.stop();
             return {{.act = [&server] { server.go_on(); }}};
           }},
          {"server killed", group,
           [&server](Chance&) -> Fault::Steps {
             server.kill();
             return {{.act = [&server] { server.start(); }}};
           }},
          {"server restarted", group, [&server](Chance&) -> Fault::Steps {
             server.end();
             server.start();
             return {};
           }}};
}

}  // namespace pawl::torture
