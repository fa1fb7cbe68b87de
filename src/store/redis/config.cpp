// What a URL says of a Redis server.

#include "store/redis/server.hpp"

#include <string>
#include <utility>

namespace pawl::store::redis {

namespace {

constexpr std::uint16_t redis_port = 6379;
constexpr std::uint16_t sentinel_port = 26379;

Result<void> take_database(base::UrlOptions& options, Config& config) {
  const Result<std::optional<std::int64_t>> database = options.number("db");
  if (!database) return database.error();
  config.database = database->value_or(0);
  return {};
}

Result<void> take_place(const base::Url& url, base::UrlOptions& options, Config& config) {
  if (url.scheme == "redis+unix") {
    if (!url.hosts.empty() || url.path.empty()) return options.wrong("write redis+unix:///path/of/the/socket");
    config.addresses.push_back({.path = url.path});
    return take_database(options, config);
  }
  const bool sentinel = url.scheme == "redis+sentinel";
  config.addresses = read_addresses(url, sentinel ? sentinel_port : redis_port);
  const std::string rest = url.path.empty() ? "" : url.path.substr(1);
  if (sentinel) {
    if (rest.empty()) return options.wrong("the master's name is missing; write redis+sentinel://h1,h2,h3/name");
    config.master = rest;
    return take_database(options, config);
  }
  if (config.addresses.size() > 1)
    return options.wrong("one server; the sentinels of one are redis+sentinel://h1,h2,h3/name");
  if (rest.empty()) return {};
  const Result<std::int64_t> database = options.number_in(rest, "the database behind the host");
  if (!database) return database.error();
  config.database = *database;
  return {};
}

}  // namespace

Result<Config> read_config(const base::Url& url, base::UrlOptions& options) {
  Config config;
  if (auto ok = read_server_options(url, options, "redis://host:port/db", config); !ok) return ok.error();
  if (auto ok = take_place(url, options, config); !ok) return ok.error();
  const AskedForTls asked = url.scheme == "rediss" ? AskedForTls::always : AskedForTls::no;
  Result<std::optional<net::TlsFiles>> tls = read_tls(options, asked, "rediss://");
  if (!tls) return tls.error();
  config.tls = std::move(*tls);
  const Result<std::optional<std::int64_t>> wait_replicas = options.number("wait_replicas");
  if (!wait_replicas) return wait_replicas.error();
  config.wait_replicas = wait_replicas->value_or(0);
  if (config.raw_names && options.text("prefix")) {
    return options.wrong("prefix cannot be used with names=raw: all tokens of a key must come from one counter");
  }
  return config;
}

}  // namespace pawl::store::redis
