// What a URL says of etcd's members.

#include "store/etcd/config.hpp"

#include <optional>
#include <utility>

namespace pawl::store::etcd {

namespace {

constexpr std::uint16_t default_port = 2379;

Result<void> take_members(const base::Url& url, const base::UrlOptions& options, Config& config) {
  if (url.path.size() > 1) return options.wrong("etcd has no path; the keys' prefix is an option: ?prefix=pawl/");
  if (url.scheme != "etcd+srv") {
    config.addresses = read_addresses(url, default_port);
    return {};
  }
  if (url.hosts.size() != 1 || url.hosts.front().port) {
    return options.wrong("write etcd+srv://domain, without a port");
  }
  config.srv = url.hosts.front().name;
  return {};
}

AskedForTls asked_for_tls(const base::Url& url) {
  if (url.scheme == "etcd+tls") return AskedForTls::always;
  return url.scheme == "etcd+srv" ? AskedForTls::with_files : AskedForTls::no;
}

}  // namespace

Result<Config> read_config(const base::Url& url, base::UrlOptions& options) {
  Config config;
  if (auto ok = read_server_options(url, options, "etcd://h1,h2,h3", config); !ok) return ok.error();
  if (config.prefix.empty()) return options.wrong("the prefix must not be empty");
  if (auto ok = take_members(url, options, config); !ok) return ok.error();
  Result<std::optional<net::TlsFiles>> tls = read_tls(options, asked_for_tls(url), "etcd+tls:// or etcd+srv://");
  if (!tls) return tls.error();
  config.tls = std::move(*tls);
  if (config.raw_names && options.text("prefix")) {
    return options.wrong(
        "prefix cannot be used with names=raw: all clients of a lock need the same epoch and sessions");
  }
  return config;
}

}  // namespace pawl::store::etcd
