// What a URL says of a Redis server.

#include "store/redis/server.hpp"

#include <charconv>
#include <string>
#include <utility>

namespace pawl::store::redis {

namespace {

constexpr std::uint16_t redis_port = 6379;
constexpr std::uint16_t sentinel_port = 26379;

Error wrong(const base::Url& url, const std::string& what) {
  return {Errc::invalid_argument, url.redacted() + ": " + what};
}

Result<std::int64_t> number_in(const base::Url& url, const std::string& text, const std::string& what) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) {
    return wrong(url, what + " is a number");
  }
  return value;
}

Result<void> take_number(const base::Url& url, base::UrlOptions& options, const std::string& key, std::int64_t& value) {
  const std::optional<std::string> text = options.text(key);
  if (!text) return {};
  Result<std::int64_t> number = number_in(url, *text, key);
  if (!number) return number.error();
  value = *number;
  return {};
}

Result<void> take_tls(const base::Url& url, base::UrlOptions& options, Config& config) {
  net::TlsFiles files;
  files.ca = options.text("ca").value_or("");
  files.cert = options.text("cert").value_or("");
  files.key = options.text("key").value_or("");
  if (url.scheme == "rediss") {
    config.tls = std::move(files);
    return {};
  }
  const bool given = !files.ca.empty() || !files.cert.empty() || !files.key.empty();
  return given ? Result<void>(wrong(url, "ca, cert and key belong to rediss://")) : Result<void>();
}

Result<void> take_place(const base::Url& url, base::UrlOptions& options, Config& config) {
  if (url.scheme == "redis+unix") {
    if (!url.hosts.empty() || url.path.empty()) return wrong(url, "write redis+unix:///path/of/the/socket");
    config.addresses.push_back({.path = url.path});
    return take_number(url, options, "db", config.database);
  }
  const bool sentinel = url.scheme == "redis+sentinel";
  for (const base::Url::Host& host : url.hosts) {
    config.addresses.push_back({.host = host.name, .port = host.port.value_or(sentinel ? sentinel_port : redis_port)});
  }
  if (config.addresses.empty()) {
    config.addresses.push_back({.host = "127.0.0.1", .port = sentinel ? sentinel_port : redis_port});
  }
  const std::string rest = url.path.empty() ? "" : url.path.substr(1);
  if (sentinel) {
    if (rest.empty()) return wrong(url, "the master's name is missing; write redis+sentinel://h1,h2,h3/name");
    config.master = rest;
    return take_number(url, options, "db", config.database);
  }
  if (config.addresses.size() > 1)
    return wrong(url, "one server; the sentinels of one are redis+sentinel://h1,h2,h3/name");
  if (rest.empty()) return {};
  Result<std::int64_t> database = number_in(url, rest, "the database behind the host");
  if (!database) return database.error();
  config.database = *database;
  return {};
}

}  // namespace

Result<Config> read_config(const base::Url& url, base::UrlOptions& options) {
  if (!url.has_authority) return wrong(url, "write redis://host:port/db");
  Config config;
  config.credentials = url.credentials;
  if (auto ok = take_place(url, options, config); !ok) return ok.error();
  if (auto ok = take_tls(url, options, config); !ok) return ok.error();
  if (auto ok = take_number(url, options, "wait_replicas", config.wait_replicas); !ok) return ok.error();
  config.password_file = options.text("password_file").value_or("");
  const auto prefix = options.text("prefix");
  config.prefix = prefix.value_or(config.prefix);
  const std::string names = options.text("names").value_or("");
  if (!names.empty() && names != "raw") return wrong(url, "names must be \"raw\"");
  config.raw_names = names == "raw";
  if (config.raw_names && prefix) {
    return wrong(url, "prefix cannot be used with names=raw: all tokens of a key must come from one counter");
  }
  Result<std::optional<Duration>> timeout = options.duration("timeout");
  if (!timeout) return timeout.error();
  if (*timeout && **timeout > Duration::zero()) config.timeout = **timeout;
  return config;
}

}  // namespace pawl::store::redis
