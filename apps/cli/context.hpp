#pragma once

#include <pawl/client.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

// CLI11 costs the compiler seconds in every file that includes it: only those that declare options do.
namespace CLI {
class App;
class Option;
}  // namespace CLI

/// How a subcommand plugs in: its file has one function add_<name>(), which main.cpp calls. It declares options, and
/// leaves a callback that does the work and sets the exit code, or throws a Failure.
namespace pawl::cli {

/// What pawl answers. `pawl run` answers its command's own code; these are far from what commands use.
inline constexpr int answer_no = 1;  ///< check: it does not stand; revoke: there is nothing; leader: nobody leads
inline constexpr int store_failure = 121;
inline constexpr int lock_lost = 122;
inline constexpr int not_acquired = 124;
inline constexpr int own_failure = 125;
inline constexpr int not_executable = 126;
inline constexpr int not_found = 127;
inline constexpr int by_signal = 128;  ///< plus the signal's number

/// The end of a subcommand that cannot do its work: one line for stderr, if there is anything to say, and the exit code.
struct Failure {
  int code = own_failure;
  std::string sentence;
  bool out_of_reach = false;  ///< the store was: the same may work later
};

/// Which exit code stands for an error of the library.
int exit_code_of(Errc code);
/// The store did not answer, or had too much to do.
bool out_of_reach(Errc code);
Failure failure_of(const Error& error);

template <class T>
T value_or_fail(Result<T> result) {
  if (!result) throw failure_of(result.error());
  return std::move(*result);
}
inline void value_or_fail(const Result<void>& result) {
  if (!result) throw failure_of(result.error());
}

/// What the subcommands share.
struct Context {
  std::optional<std::string> store_before = {};  ///< pawl --store URL ls
  std::optional<std::string> store_after = {};   ///< pawl ls --store URL
  std::vector<std::string> command = {};         ///< what stood behind the -- of `pawl run` or `pawl elect`
  int exit_code = 0;

  /// What was given, or is in PAWL_STORE; nothing: the default store. Throws Failure where that would be a guess: two
  /// different stores are named, or PAWL_STORE is empty.
  std::optional<std::string> store() const;
};

/// Throws Failure.
Client open_client(const Context& context, ClientOptions options = {});

/// --store URL. Every subcommand that needs a store has it, so that it may stand behind the subcommand as well.
void add_store_option(CLI::App& command, std::optional<std::string>& store);
void add_json_flag(CLI::App& command, bool& json);
CLI::Option* add_name(CLI::App& command, std::string& name);
/// A duration with its unit. What is wrong with it is told in one sentence that names it.
CLI::Option* add_duration(CLI::App& command, const std::string& option, std::optional<Duration>& value,
                          const std::string& help);
CLI::Option* add_kind(CLI::App& command, std::optional<Kind>& kind);

void add_scheme(CLI::App& command, std::string& scheme);

/// The words behind `Usage:` and the examples at the end of a subcommand's help.
void describe(CLI::App& command, const std::string& usage, const std::string& footer);

void add_run(CLI::App& app, Context& context);
void add_hold(CLI::App& app, Context& context);
void add_elect(CLI::App& app, Context& context);
void add_leader(CLI::App& app, Context& context);
void add_ls(CLI::App& app, Context& context);
void add_show(CLI::App& app, Context& context);
void add_revoke(CLI::App& app, Context& context);
void add_check(CLI::App& app, Context& context);
void add_epoch(CLI::App& app, Context& context);
void add_demo(CLI::App& app, Context& context);
void add_bench(CLI::App& app, Context& context);
void add_torture(CLI::App& app, Context& context);
void add_schema(CLI::App& app, Context& context);
void add_schemes(CLI::App& app, Context& context);
void add_version(CLI::App& app, Context& context);

}  // namespace pawl::cli
