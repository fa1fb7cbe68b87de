#pragma once

#include "base/url.hpp"
#include "store/net/address.hpp"

#include <pawl/options.hpp>
#include <pawl/result.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace pawl::store::etcd {

/// What the URL says:
///   etcd://[user[:password]@]h1[:port],h2,h3[?prefix=pawl/&names=raw&password_file=…&timeout=5s]
///   etcd+tls://…[?ca=…&cert=…&key=…]
///   etcd+srv://domain: the members are found by DNS SRV, `_etcd-client-ssl._tcp.domain` (TLS) or, where no such record
///   exists, `_etcd-client._tcp.domain` (plain text). With ca or cert: the TLS records only.
struct Config {
  std::vector<net::Address> members = {};  ///< without their TLS; empty with `srv`
  std::optional<base::Credentials> credentials = {};
  std::string password_file = {};
  std::string prefix = "pawl/";
  bool raw_names = false;  ///< lock names are keys, as they are
  Duration timeout = std::chrono::seconds(5);
  std::optional<net::TlsFiles> tls = {};  ///< etcd+tls://, and etcd+srv:// where files are given
  std::string srv = {};                   ///< the domain of etcd+srv://
};

/// Reads the text alone: no server is asked. Errors: invalid_argument.
Result<Config> read_config(const base::Url& url, base::UrlOptions& options);

}  // namespace pawl::store::etcd
