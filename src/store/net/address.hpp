#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace pawl::store::net {

class InsideServer;
class TlsContext;

/// Whom we trust, and who we are.
struct TlsFiles {
  std::string ca = {};    ///< empty: the system's
  std::string cert = {};  ///< of ours; empty: none
  std::string key = {};   ///< of ours
};

/// Where a server listens.
struct Address {
  std::string host = {};  ///< a name, or an address; of a Unix socket: empty
  std::uint16_t port = 0;
  std::string path = {};                       ///< of a Unix socket
  std::shared_ptr<const TlsContext> tls = {};  ///< none: in plain text
  std::string tls_name = {};                   ///< that its certificate must have; empty: the host
  std::shared_ptr<InsideServer> inside = {};   ///< of one inside this process, in simulation; else: empty

  /// For people: "db7:6379", "/run/redis.sock".
  std::string to_string() const;
};

}  // namespace pawl::store::net
