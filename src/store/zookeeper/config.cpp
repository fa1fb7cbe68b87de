// What a URL says of ZooKeeper's servers.

#include "store/zookeeper/server.hpp"

#include <optional>
#include <string>
#include <utility>

namespace pawl::store::zookeeper {

namespace {

constexpr std::uint16_t default_port = 2181;

Result<void> take_paths(const base::Url& url, base::UrlOptions& options, Config& config) {
  if (url.path.size() > 1) config.chroot = url.path;
  if (config.chroot.ends_with('/')) config.chroot.pop_back();
  if (config.prefix.empty() || config.prefix.front() != '/') return options.wrong("the prefix is a path: prefix=/pawl");
  if (auto fine = check_path(config.chroot + config.prefix); !fine) return options.wrong(fine.error().message);
  return {};
}

Result<void> take_dialect(base::UrlOptions& options, Config& config) {
  const std::string dialect = options.text("dialect").value_or("curator");
  if (dialect == "curator") return {};
  if (dialect != "kazoo") return options.wrong("dialect is curator or kazoo");
  config.dialect = Dialect::kazoo;
  return {};
}

}  // namespace

Result<Config> read_config(const base::Url& url, base::UrlOptions& options) {
  Config config;
  if (auto ok = read_server_options(url, options, "zookeeper://h1,h2,h3/chroot", config); !ok) return ok.error();
  if (url.scheme == "zookeeper+tls") {
    return Error{Errc::unsupported,
                 url.redacted() +
                     ": this build's ZooKeeper client has no TLS (Debian's libzookeeper-st is built "
                     "without it); put a TLS tunnel in front, or use zookeeper:// in a private network"};
  }
  config.addresses = read_addresses(url, default_port);
  if (auto ok = take_paths(url, options, config); !ok) return ok.error();
  if (auto ok = take_dialect(options, config); !ok) return ok.error();
  return config;
}

}  // namespace pawl::store::zookeeper
