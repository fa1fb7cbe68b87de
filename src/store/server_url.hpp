#pragma once

#include "base/url.hpp"
#include "store/net/address.hpp"

#include <pawl/options.hpp>
#include <pawl/result.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store {

/// What the URL of a server can say, in the same words for every store. A store's own Config begins with this.
struct ServerConfig {
  std::vector<net::Address> addresses = {};
  std::optional<base::Credentials> credentials = {};
  std::string password_file = {};  ///< instead of the password in the URL; read for every connection
  std::string prefix = {};         ///< of all keys
  bool raw_names = false;          ///< lock names are keys, as they are
  Duration timeout = std::chrono::seconds(5);
  std::optional<net::TlsFiles> tls = {};  ///< none: in plain text
};

/// User and password, password_file, prefix, names=raw and timeout; what is not there stays as it is in `config`.
/// `example` is a right URL of the store, for those who leave out the two slashes. Errors: invalid_argument.
Result<void> read_server_options(const base::Url& url, base::UrlOptions& options, std::string_view example,
                                 ServerConfig& config);

/// One address for each host, or this machine's.
std::vector<net::Address> read_addresses(const base::Url& url, std::uint16_t default_port);

/// Does the server's URL ask for TLS?
enum class AskedForTls : std::uint8_t {
  no,
  with_files,  ///< if it names any
  always,
};

/// ca, cert and key, where TLS is asked for; else they are refused. `tls_schemes` are the URLs that have them, as in
/// "rediss://". Errors: invalid_argument.
Result<std::optional<net::TlsFiles>> read_tls(base::UrlOptions& options, AskedForTls asked,
                                              std::string_view tls_schemes);

}  // namespace pawl::store
