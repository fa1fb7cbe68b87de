// What a URL says of a MySQL or MariaDB server.

#include "store/mysql/server.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace pawl::store::mysql {

namespace {

constexpr std::uint16_t mysql_port = 3306;
constexpr std::size_t longest_prefix = 48;
constexpr std::int64_t most_connections = 10'000;
constexpr Duration shortest_recheck = std::chrono::seconds(1);
constexpr Duration longest_recheck = std::chrono::minutes(10);

/// It stands in front of a slash in the ids of locks.
bool is_possible_prefix(const std::string& prefix) {
  return !prefix.empty() && prefix.size() <= longest_prefix && std::all_of(prefix.begin(), prefix.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

Result<void> take_place(const base::Url& url, base::UrlOptions& options, Config& config) {
  if (url.scheme == "mysql+unix") {
    config.database = options.text("db").value_or("");
    if (!url.hosts.empty() || url.path.empty() || config.database.empty()) {
      return options.wrong("write mysql+unix:///path/of/the/socket?db=database");
    }
    config.addresses.push_back({.path = url.path});
    if (const auto user = options.text("user")) {
      config.credentials = base::Credentials(base::Credentials::Exposed{*user, std::nullopt});
    }
    return {};
  }
  config.addresses = read_addresses(url, mysql_port);
  if (config.addresses.size() > 1) return options.wrong("one server");
  config.database = url.path.empty() ? "" : url.path.substr(1);
  if (config.database.empty())
    return options.wrong("the database is missing; write " + url.scheme + "://host:port/database");
  return {};
}

}  // namespace

bool Config::is_exposed() const {
  const std::string& host = address().host;
  const bool stays = !address().path.empty() || host == "localhost" || host == "::1" || host.starts_with("127.");
  return !tls && !stays;
}

Result<Config> read_config(const base::Url& url, base::UrlOptions& options) {
  Config config;
  config.prefix = "pawl";
  if (auto ok = read_server_options(url, options, "mysql://host:port/database", config); !ok) return ok.error();
  if (auto ok = take_place(url, options, config); !ok) return ok.error();
  const AskedForTls asked = url.scheme == "mysql+unix" ? AskedForTls::no : AskedForTls::with_files;
  Result<std::optional<net::TlsFiles>> tls = read_tls(options, asked, "mysql:// and mariadb://");
  if (!tls) return tls.error();
  config.tls = std::move(*tls);
  if (config.raw_names) return options.wrong("names=raw is for schemes that other clients use, and there is none yet");
  if (!is_possible_prefix(config.prefix)) {
    return options.wrong("prefix has 1 to 48 letters, digits, '-', '_' and '.'");
  }
  const std::string wake = options.text("wake").value_or("kill");
  if (wake != "kill" && wake != "poll") return options.wrong("wake must be \"kill\" or \"poll\"");
  config.polls = wake == "poll";
  const Result<std::optional<Duration>> recheck = options.duration("recheck");
  if (!recheck) return recheck.error();
  if (*recheck && (**recheck < shortest_recheck || **recheck > longest_recheck)) {
    return options.wrong("recheck must be 1s to 10m");
  }
  config.recheck = recheck->value_or(config.recheck);
  const Result<std::optional<std::int64_t>> most = options.number("connections");
  if (!most) return most.error();
  if (*most && (**most < 1 || **most > most_connections)) return options.wrong("connections must be 1 to 10000");
  if (*most) config.most_held = static_cast<std::size_t>(**most);
  return config;
}

}  // namespace pawl::store::mysql
