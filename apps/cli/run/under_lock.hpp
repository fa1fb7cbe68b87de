#pragma once

#include "apps/cli/context.hpp"
#include "apps/cli/run/held.hpp"
#include "apps/cli/run/supervisor.hpp"
#include "apps/cli/run/wanted.hpp"

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
  bool any_kind = false;                         ///< goes on beside another kind of lock of that name
  std::optional<int> code_of_not_acquired = {};  ///< given: nothing is said of it either
  bool quiet = false;                            ///< errors only
  bool verbose = false;
  std::optional<std::string> log = {};
  std::optional<Duration> at_least = {};
  bool monitor_retry = false;            ///< waits on while the store is out of reach
  bool no_fork = false;                  ///< the process that the user has started becomes the command
  std::optional<std::string> line = {};  ///< -c: the command is a shell with this
};

/// What the help says of options that are not the same to all.
struct Wording {
  std::string name = {};  ///< what NAME is: "The lock"
  std::string max_hold = {};
  std::string label = {};  ///< the default of --label
};

/// NAME, how it is waited for and held, what is printed, and --store.
void add_acquiring(CLI::App& command, UnderLockOptions& options, Context& context, const Wording& wording);
/// The same, and what concerns the command. `what` NAME is: "The lock".
void add_under_lock(CLI::App& command, UnderLockOptions& options, Context& context, const std::string& what);

/// What differs between the two.
struct Errand {
  std::string awaited;         ///< "the lock"
  std::vector<Wanted> wanted;  ///< NAME first
  /// Waits for all of it.
  std::function<Result<Held>(Client& client, const AcquireOptions& options, std::stop_token stop)> acquire;
  std::optional<std::string> value = {};  ///< for PAWL_VALUE
};

/// Refuses what no lock can be called. Throws Failure.
void check_names(const Errand& errand);

/// NAME, once it is known that it and the command are there. Throws Failure.
const std::string& name_or_fail(const UnderLockOptions& options, const Context& context, const std::string& usage);

/// Does the errand; the exit code. Throws Failure.
int run_under_lock(const UnderLockOptions& options, const Context& context, const Errand& errand);

/// What the store's URL says of it; nothing if it says nothing, or is wrong: opening the store will tell.
std::optional<std::string> url_option(const Context& context, std::string_view key);

}  // namespace pawl::cli
