#pragma once

#include "apps/cli/context.hpp"
#include "apps/cli/run/held.hpp"
#include "apps/cli/run/supervisor.hpp"

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

/// What `pawl run` and `pawl elect` have in common: a command that runs for as long as something is held.
namespace pawl::cli {

struct UnderLockOptions {
  std::optional<std::string> name = {};
  std::optional<Duration> wait = {};
  bool no_wait = false;
  std::optional<Duration> lease = {};
  std::optional<Duration> grace = {};
  std::optional<Duration> lock_delay = {};
  std::optional<Duration> max_hold = {};
  Leftovers leftovers = Leftovers::wait;
  std::string scheme = {};
  std::optional<std::string> label = {};
  bool any_kind = false;  ///< goes on beside another kind of lock of that name
  int code_of_not_acquired = not_acquired;
};

/// NAME and the options above, and --store. `what` NAME is: "The lock".
void add_under_lock(CLI::App& command, UnderLockOptions& options, Context& context, const std::string& what);

/// One of the things to be held.
struct Wanted {
  Kind kind = Kind::mutex;
  std::string name = {};
};

/// What differs between the two.
struct Errand {
  std::string awaited;         ///< "the lock"
  std::vector<Wanted> wanted;  ///< NAME first
  /// Waits for all of it.
  std::function<Result<Held>(Client& client, const AcquireOptions& options, std::stop_token stop)> acquire;
  std::optional<std::string> value = {};  ///< for PAWL_VALUE
};

/// NAME, once it is known that it and the command are there. Throws Failure.
const std::string& name_or_fail(const UnderLockOptions& options, const Context& context, const std::string& usage);

/// Does the errand; the exit code. Throws Failure.
int run_under_lock(const UnderLockOptions& options, const Context& context, const Errand& errand);

/// What the store's URL says of it; nothing if it says nothing, or is wrong: opening the store will tell.
std::optional<std::string> url_option(const Context& context, std::string_view key);

}  // namespace pawl::cli
