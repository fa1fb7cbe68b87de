// What the stores read out of their URLs: errors are values of two kinds, and never show a password.

#include "store/etcd/config.hpp"
#include "base/url.hpp"
#include "store/file/file_store.hpp"
#include "store/mysql/server.hpp"
#include "store/redis/server.hpp"
#include "store/redlock/config.hpp"
#include "store/registry.hpp"
#include "store/zookeeper/server.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <set>
#include <string>

namespace pawl::fuzz::config {

using base::Url;
using base::UrlOptions;

void expect_bad_url(const Error& error) {
  must(error.code == Errc::invalid_argument || error.code == Errc::unsupported, "a bad URL is told as such");
  must(error.message.find("Zq9") == std::string::npos, "no password is shown");
}

void check_redis(const store::redis::Config& config) {
  must(!config.addresses.empty(), "a Redis store has a server");
  for (const auto& address : config.addresses) must(address.host.empty() != address.path.empty(), "host or socket");
  must(config.database >= 0 && config.wait_replicas >= 0, "numbers in a URL are not negative");
  must(config.timeout > Duration::zero(), "a timeout is above 0");
}

void check_zookeeper(const store::zookeeper::Config& config) {
  must(!config.addresses.empty(), "a ZooKeeper store has a server");
  must(config.prefix.starts_with('/') && !config.prefix.ends_with('/'), "the prefix is a path");
  must(bool(store::zookeeper::check_path(config.chroot + config.prefix)), "the servers take the path");
  must(config.timeout > Duration::zero(), "a timeout is above 0");
}

void check_etcd(const store::etcd::Config& config) {
  must(config.addresses.empty() != config.srv.empty(), "an etcd store has members or a domain");
  must(!config.prefix.empty(), "etcd's keys have a prefix");
  must(config.timeout > Duration::zero(), "a timeout is above 0");
}

void check_mysql(const store::mysql::Config& config) {
  must(config.addresses.size() == 1 && !config.database.empty(), "a MySQL store has a server and a database");
  must(!config.prefix.empty() && config.prefix.find('/') == std::string::npos, "a prefix ends at the slash behind it");
  must(config.timeout > Duration::zero(), "a timeout is above 0");
}

void check_redlock(const store::redlock::Config& config) {
  must(!config.addresses.empty(), "a Redlock store has nodes");
  std::set<std::string> nodes;
  for (const auto& address : config.addresses) must(nodes.insert(address.to_string()).second, "a node has one vote");
  must(config.node_timeout > Duration::zero() && config.timeout > Duration::zero(), "a timeout is above 0");
  must(config.drift >= Duration::zero() && config.delay >= Duration::zero(), "no time is negative");
}

void check_file(const store::file::FolderOptions& options) {
  must(options.path.starts_with('/'), "a folder is a whole path");
  must(options.path.find('\0') == std::string::npos, "a path has no zero byte");
}

template <class Config>
void check(const Url& url, Result<Config> (*read)(const Url&, UrlOptions&), void (*right)(const Config&)) {
  UrlOptions options(url);
  const Result<Config> config = read(url, options);
  if (!config) return expect_bad_url(config.error());
  right(*config);
  if (const auto known = options.finish(); !known) expect_bad_url(known.error());
}

void run(std::string_view input) {
  auto url = Url::parse(input);
  if (!url || input.find("Zq9") != std::string_view::npos) return;
  url->credentials.emplace(base::Credentials::Exposed{"Zq9user", "Zq9password"});
  check(*url, store::redis::read_config, check_redis);
  check(*url, store::zookeeper::read_config, check_zookeeper);
  check(*url, store::etcd::read_config, check_etcd);
  check(*url, store::mysql::read_config, check_mysql);
  check(*url, store::redlock::read_config, check_redlock);
  check(*url, store::file::read_config, check_file);
}

}  // namespace pawl::fuzz::config

PAWL_FUZZ_TARGET(config, pawl::fuzz::config::run);
