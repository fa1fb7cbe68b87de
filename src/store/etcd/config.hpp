#pragma once

#include "base/url.hpp"
#include "store/server_url.hpp"

#include <pawl/result.hpp>

#include <string>

namespace pawl::store::etcd {

/// What the URL says:
///   etcd://[user[:password]@]h1[:port],h2,h3[?prefix=pawl/&password_file=…&timeout=5s], names=raw instead of a prefix
///   etcd+tls://…[?ca=…&cert=…&key=…]
///   etcd+srv://domain: the members are found by DNS SRV, `_etcd-client-ssl._tcp.domain` (TLS) or, where no such record
///   exists, `_etcd-client._tcp.domain` (plain text). With ca or cert: the TLS records only. The
///   members' certificates must have the domain as a name.
struct Config : ServerConfig {
  Config() { prefix = "pawl/"; }

  std::string srv = {};  ///< the domain of etcd+srv://; then there are no addresses
};

/// Reads the text alone: no server is asked. Errors: invalid_argument.
Result<Config> read_config(const base::Url& url, base::UrlOptions& options);

}  // namespace pawl::store::etcd
