#pragma once

#include "local/local_lock.hpp"

#include <pawl/options.hpp>
#include <pawl/result.hpp>

#include <optional>
#include <string>

namespace pawl::lock {

inline constexpr Duration default_lease = std::chrono::seconds(30);
inline constexpr Duration default_timeout = std::chrono::seconds(5);
inline constexpr Duration longest_lock_delay = std::chrono::seconds(60);

/// What one acquisition falls back to, level by level.
struct Defaults {
  std::optional<Duration> lease = {};
  std::optional<Duration> lock_delay = {};
  std::optional<Duration> max_hold = {};
  std::string label = {};

  /// This level over the one below it.
  Defaults over(const Defaults& below) const;
};

/// What is wanted of a lock, beside its options.
struct Wanted {
  Mode mode = Mode::exclusive;
  store::Claim::Permits permits = {};
  std::string value = {};
};

/// Errors: invalid_argument and unsupported, with a sentence that names the option and what would be right.
Result<local::Request> make_request(const AcquireOptions& options, const Wanted& wanted, const Defaults& defaults,
                                    const store::Capabilities& capabilities);
/// Has the scheme such locks?
Result<void> check_kind(Kind kind, const store::Capabilities& capabilities);

}  // namespace pawl::lock
