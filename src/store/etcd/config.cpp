// What a URL says of etcd's members.

#include "store/etcd/config.hpp"

#include <utility>

namespace pawl::store::etcd {

namespace {

constexpr std::uint16_t default_port = 2379;

Error wrong(const base::Url& url, const std::string& what) {
  return {Errc::invalid_argument, url.redacted() + ": " + what};
}

Result<void> take_members(const base::Url& url, Config& config) {
  if (!url.has_authority) return wrong(url, "write etcd://h1,h2,h3");
  if (url.path.size() > 1) return wrong(url, "etcd has no path; the keys' prefix is an option: ?prefix=pawl/");
  if (url.scheme == "etcd+srv") {
    if (url.hosts.size() != 1 || url.hosts.front().port) return wrong(url, "write etcd+srv://domain, without a port");
    config.srv = url.hosts.front().name;
    return {};
  }
  for (const base::Url::Host& host : url.hosts) {
    config.members.push_back({.host = host.name, .port = host.port.value_or(default_port)});
  }
  if (config.members.empty()) config.members.push_back({.host = "127.0.0.1", .port = default_port});
  return {};
}

Result<void> take_tls(const base::Url& url, base::UrlOptions& options, Config& config) {
  net::TlsFiles files;
  files.ca = options.text("ca").value_or("");
  files.cert = options.text("cert").value_or("");
  files.key = options.text("key").value_or("");
  const bool given = !files.ca.empty() || !files.cert.empty() || !files.key.empty();
  if (url.scheme == "etcd" && given) return wrong(url, "ca, cert and key belong to etcd+tls:// or etcd+srv://");
  if (url.scheme == "etcd+tls" || given) config.tls = std::move(files);
  return {};
}

Result<void> take_names(const base::Url& url, base::UrlOptions& options, Config& config) {
  const auto prefix = options.text("prefix");
  config.prefix = prefix.value_or(config.prefix);
  if (config.prefix.empty()) return wrong(url, "the prefix must not be empty");
  const std::string names = options.text("names").value_or("");
  if (!names.empty() && names != "raw") return wrong(url, R"(names must be "raw")");
  config.raw_names = names == "raw";
  return {};
}

}  // namespace

Result<Config> read_config(const base::Url& url, base::UrlOptions& options) {
  Config config;
  config.credentials = url.credentials;
  if (auto ok = take_members(url, config); !ok) return ok.error();
  if (auto ok = take_tls(url, options, config); !ok) return ok.error();
  if (auto ok = take_names(url, options, config); !ok) return ok.error();
  config.password_file = options.text("password_file").value_or("");
  Result<std::optional<Duration>> timeout = options.duration("timeout");
  if (!timeout) return timeout.error();
  if (*timeout && **timeout > Duration::zero()) config.timeout = **timeout;
  return config;
}

}  // namespace pawl::store::etcd
