#include "store/server_url.hpp"

#include <utility>

namespace pawl::store {

Result<void> read_server_options(const base::Url& url, base::UrlOptions& options, std::string_view example,
                                 ServerConfig& config) {
  if (!url.has_authority) return options.wrong("write " + std::string(example));
  config.credentials = url.credentials;
  config.password_file = options.text("password_file").value_or("");
  config.prefix = options.text("prefix").value_or(std::move(config.prefix));
  const std::optional<std::string> names = options.text("names");
  if (names && !names->empty() && *names != "raw") return options.wrong(R"(names must be "raw")");
  config.raw_names = names == "raw";
  const Result<std::optional<Duration>> timeout = options.duration("timeout");
  if (!timeout) return timeout.error();
  if (*timeout && **timeout > Duration::zero()) config.timeout = **timeout;
  return {};
}

std::vector<net::Address> read_addresses(const base::Url& url, std::uint16_t default_port) {
  std::vector<net::Address> addresses;
  for (const base::Url::Host& host : url.hosts) {
    addresses.push_back({.host = host.name, .port = host.port.value_or(default_port)});
  }
  if (addresses.empty()) addresses.push_back({.host = "127.0.0.1", .port = default_port});
  return addresses;
}

Result<std::optional<net::TlsFiles>> read_tls(base::UrlOptions& options, AskedForTls asked,
                                              std::string_view tls_schemes) {
  net::TlsFiles files;
  files.ca = options.text("ca").value_or("");
  files.cert = options.text("cert").value_or("");
  files.key = options.text("key").value_or("");
  const bool given = !files.ca.empty() || !files.cert.empty() || !files.key.empty();
  if (given && asked == AskedForTls::no) return options.wrong("ca, cert and key belong to " + std::string(tls_schemes));
  const bool wanted = asked == AskedForTls::always || given;
  return wanted ? std::optional(std::move(files)) : std::nullopt;
}

}  // namespace pawl::store
