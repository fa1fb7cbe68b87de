// What a URL says of ZooKeeper's servers.

#include "store/zookeeper/server.hpp"

#include <optional>
#include <string>
#include <utility>

namespace pawl::store::zookeeper {

namespace {

constexpr std::uint16_t default_port = 2181;

Error wrong(const base::Url& url, const std::string& what) {
  return {Errc::invalid_argument, url.redacted() + ": " + what};
}

Result<void> take_paths(const base::Url& url, base::UrlOptions& options, Config& config) {
  if (url.path.size() > 1) config.chroot = url.path;
  if (config.chroot.ends_with('/')) config.chroot.pop_back();
  if (const auto prefix = options.text("prefix")) config.prefix = *prefix;
  if (config.prefix.empty() || config.prefix.front() != '/') return wrong(url, "the prefix is a path: prefix=/pawl");
  if (auto fine = check_path(config.chroot + config.prefix); !fine) return wrong(url, fine.error().message);
  const std::string names = options.text("names").value_or("");
  if (!names.empty() && names != "raw") return wrong(url, R"(names must be "raw")");
  config.raw_names = names == "raw";
  return {};
}

Result<void> take_dialect(const base::Url& url, base::UrlOptions& options, Config& config) {
  const std::string dialect = options.text("dialect").value_or("curator");
  if (dialect == "curator") return {};
  if (dialect != "kazoo") return wrong(url, "dialect is curator or kazoo");
  config.dialect = Dialect::kazoo;
  return {};
}

}  // namespace

Result<Config> read_config(const base::Url& url, base::UrlOptions& options) {
  if (!url.has_authority) return wrong(url, "write zookeeper://h1,h2,h3/chroot");
  if (url.scheme == "zookeeper+tls") {
    return Error{Errc::unsupported,
                 url.redacted() +
                     ": this build's ZooKeeper client has no TLS (Debian's libzookeeper-st is built "
                     "without it); put a TLS tunnel in front, or use zookeeper:// in a private network"};
  }
  Config config;
  config.credentials = url.credentials;
  for (const base::Url::Host& host : url.hosts) {
    config.servers.push_back({.host = host.name, .port = host.port.value_or(default_port)});
  }
  if (config.servers.empty()) config.servers.push_back({.host = "127.0.0.1", .port = default_port});
  if (auto ok = take_paths(url, options, config); !ok) return ok.error();
  if (auto ok = take_dialect(url, options, config); !ok) return ok.error();
  config.password_file = options.text("password_file").value_or("");
  Result<std::optional<Duration>> timeout = options.duration("timeout");
  if (!timeout) return timeout.error();
  if (*timeout && **timeout > Duration::zero()) config.timeout = **timeout;
  return config;
}

}  // namespace pawl::store::zookeeper
