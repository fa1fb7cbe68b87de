#include "apps/cli/run/terms.hpp"

#include "base/duration.hpp"
#include "base/url.hpp"
#include "store/default_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>

namespace pawl::cli {

using namespace std::chrono_literals;

namespace {

constexpr Duration library_lease = 30s;
constexpr Duration library_timeout = 5s;
constexpr Duration shortest_patience = 1s;  // with a store that is well, so that a short --wait tells of the lock

}  // namespace

Duration lease_of(const UnderLockOptions& options, const Context& context) {
  if (options.lease) return *options.lease;
  const Result<Duration> in_url = base::parse_duration(url_option(context, "lease").value_or(""));
  return in_url.value_or(library_lease);
}

std::optional<Duration> max_hold_of(const UnderLockOptions& options, const Context& context) {
  if (options.max_hold) return options.max_hold;
  const Result<Duration> in_url = base::parse_duration(url_option(context, "max_hold").value_or(""));
  return in_url ? std::optional(*in_url) : std::nullopt;
}

Duration grace_of(const UnderLockOptions& options, Duration lease, std::optional<Duration> max_hold) {
  const Duration hold = max_hold.value_or(lease);
  if (!options.grace) return std::min<Duration>({5s, lease / 3, hold / 3});
  const auto refuse = [&](const std::string& why) {
    return Failure{own_failure,
                   fmt::format("--grace {} is too long for {}", base::format_duration(*options.grace), why)};
  };
  if (*options.grace > lease / 2) {
    throw refuse(fmt::format("a lease of {}: it can be half of it at the most", base::format_duration(lease)));
  }
  if (*options.grace >= hold) {
    throw refuse(fmt::format("--max-hold {}: nothing would be left for the command", base::format_duration(hold)));
  }
  return *options.grace;
}

std::optional<std::chrono::steady_clock::time_point> wait_until(const UnderLockOptions& options) {
  if (!options.wait) return std::nullopt;
  return std::chrono::steady_clock::now() + *options.wait;
}

Waiting::Limit limit_of(const UnderLockOptions& options, const Context& context) {
  const Duration timeout = base::parse_duration(url_option(context, "timeout").value_or("")).value_or(library_timeout);
  Waiting::Limit limit;
  limit.to_stop = std::max(timeout, library_timeout);
  if (!options.wait && !options.no_wait) return limit;
  Duration patience = std::max(options.wait.value_or(0s), shortest_patience);
  if (options.no_wait) patience = timeout;
  limit.opened_by = std::chrono::steady_clock::now() + patience;
  if (options.no_wait) limit.answered_by = limit.opened_by;
  limit.over_by = *limit.opened_by + *limit.to_stop;
  limit.sentence = fmt::format("the store did not answer within {}", base::format_duration(patience));
  return limit;
}

std::optional<Duration> lock_delay_of(const UnderLockOptions& options, const Context& context) {
  if (options.lock_delay) return options.lock_delay;
  const Result<base::Url> url = base::Url::parse(context.store().value_or("file:///"));
  if (url && url->scheme == "file" && !url_option(context, "lock_delay")) return 1s;
  return std::nullopt;
}

namespace {

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1).substr(0, 256); }

/// The program that a line for the shell begins with; "sh" where it begins with something else: an assignment may be secret.
std::string program_of(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t\n"), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(" \t\n;&|<>()"));
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("/._+-").find(c) != std::string_view::npos;
  });
  return plain ? base_name(std::string(word)) : "sh";
}

}  // namespace

std::string label_of(const UnderLockOptions& options, const Context& context) {
  if (options.label) return *options.label;
  if (url_option(context, "owner") == "anonymous") return {};
  if (context.command.empty()) return "pawl hold";
  return options.line ? program_of(*options.line) : base_name(context.command.front());
}

std::string store_of(const Context& context) {
  if (const std::optional<std::string> named = context.store()) return *named;
  return value_or_fail(store::default_store_url());
}

}  // namespace pawl::cli
