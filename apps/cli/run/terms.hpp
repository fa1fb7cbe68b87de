#pragma once

#include "apps/cli/run/under_lock.hpp"
#include "apps/cli/run/waiting.hpp"

#include <chrono>
#include <optional>
#include <string>

/// What the options, the store's URL and the defaults come to.
namespace pawl::cli {

Duration lease_of(const UnderLockOptions& options, const Context& context);
std::optional<Duration> max_hold_of(const UnderLockOptions& options, const Context& context);

/// A third of the lease passes between two renewals, so less than two thirds may be left of a healthy one. Throws Failure.
Duration grace_of(const UnderLockOptions& options, Duration lease, std::optional<Duration> max_hold);

/// In a folder the end of the keeper frees the lock at once, before the front can end the command's descendants.
std::optional<Duration> lock_delay_of(const UnderLockOptions& options, const Context& context);

/// The end of --wait, connecting included.
std::optional<std::chrono::steady_clock::time_point> wait_until(const UnderLockOptions& options);

/// When there must be an answer: at the end of --wait, a second at least, and with --no-wait after one timeout of the store.
/// One timeout after that, five seconds at least, the process ends whatever the store does.
Waiting::Limit limit_of(const UnderLockOptions& options, const Context& context);

/// What operators see beside host and pid. Not the arguments: they may be secret.
std::string label_of(const UnderLockOptions& options, const Context& context);

/// The URL, also of the default store.
std::string store_of(const Context& context);

}  // namespace pawl::cli
