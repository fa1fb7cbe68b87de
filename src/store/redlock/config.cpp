#include "store/redlock/config.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace pawl::store::redlock {

namespace {

constexpr std::uint16_t redis_port = 6379;

// redlock+unix:///a.sock,/b.sock,/c.sock
Result<std::vector<net::Address>> read_paths(const base::Url& url, const base::UrlOptions& options) {
  std::vector<net::Address> addresses;
  const std::string& text = url.path;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string path = text.substr(begin, end - begin);
    if (!path.starts_with('/')) return options.wrong("write redlock+unix:///a.sock,/b.sock,/c.sock");
    addresses.push_back({.path = path});
    begin = end + 1;
  }
  if (!url.hosts.empty() || addresses.empty()) return options.wrong("write redlock+unix:///a.sock,/b.sock,/c.sock");
  return addresses;
}

Result<void> take_duration(base::UrlOptions& options, std::string_view key, Duration& value) {
  const Result<std::optional<Duration>> given = options.duration(key);
  if (!given) return given.error();
  if (*given && **given < Duration::zero()) return options.wrong(std::string(key) + " is negative");
  value = given->value_or(value);
  return {};
}

Result<void> take_addresses(const base::Url& url, base::UrlOptions& options, Config& config) {
  if (url.scheme == "redlock+unix") {
    Result<std::vector<net::Address>> paths = read_paths(url, options);
    if (!paths) return paths.error();
    config.addresses = std::move(*paths);
  } else {
    config.addresses = read_addresses(url, redis_port);
    if (!url.path.empty() && url.path != "/") return options.wrong("there is nothing behind the hosts");
  }
  for (std::size_t i = 0; i < config.addresses.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (config.addresses[i].to_string() == config.addresses[j].to_string()) {
        return options.wrong(config.addresses[i].to_string() + " stands there twice: each node has one vote");
      }
    }
  }
  return {};
}

}  // namespace

Result<Config> read_config(const base::Url& url, base::UrlOptions& options) {
  Config config;
  if (auto ok = read_server_options(url, options, "redlock://h1,h2,h3", config); !ok) return ok.error();
  if (auto ok = take_addresses(url, options, config); !ok) return ok.error();
  if (config.raw_names && options.text("prefix")) {
    return options.wrong("prefix cannot be used with names=raw: all tokens of a key must come from one counter");
  }
  const AskedForTls asked = url.scheme == "redlock+tls" ? AskedForTls::always : AskedForTls::no;
  Result<std::optional<net::TlsFiles>> tls = read_tls(options, asked, "redlock+tls://");
  if (!tls) return tls.error();
  config.tls = std::move(*tls);
  if (auto ok = take_duration(options, "drift", config.drift); !ok) return ok.error();
  if (auto ok = take_duration(options, "node_timeout", config.node_timeout); !ok) return ok.error();
  if (auto ok = take_duration(options, "delay", config.delay); !ok) return ok.error();
  if (config.node_timeout == Duration::zero()) return options.wrong("node_timeout is 0");
  const Result<std::optional<std::int64_t>> tries = options.number("tries");
  if (!tries) return tries.error();
  config.tries = tries->value_or(config.tries);
  return config;
}

}  // namespace pawl::store::redlock
