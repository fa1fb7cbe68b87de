#include "apps/cli/run/under_lock.hpp"

#include "base/url.hpp"

#include <CLI/CLI.hpp>

namespace pawl::cli {

std::optional<std::string> url_option(const Context& context, std::string_view key) {
  const Result<base::Url> url = base::Url::parse(context.store().value_or(""));
  if (!url) return std::nullopt;
  return base::UrlOptions(*url).text(key);
}

const std::string& name_or_fail(const UnderLockOptions& options, const Context& context, const std::string& usage) {
  if (context.command.empty() || context.command.front().empty()) {
    throw Failure{own_failure, "the command is missing; write " + usage};
  }
  if (!options.name) throw Failure{own_failure, "NAME is missing; write " + usage};
  return *options.name;
}

void add_acquiring(CLI::App& command, UnderLockOptions& options, Context& context, const Wording& wording) {
  CLI::Option* name =
      command.add_option("NAME", options.name, wording.name + ": any text of up to 4096 bytes")->option_text(" ");
  command.add_option("--name", options.name, "NAME, where it begins with -: --name=-x")
      ->option_text("NAME")
      ->excludes(name);
  CLI::Option* wait = add_duration(command, "--wait", options.wait,
                                   "Give up after this long, connecting included; default:\nwait for ever");
  command
      .add_flag(
          "--no-wait", options.no_wait,
          "Give up at once if another client holds it; wait for\nthe store's answer for one timeout (5s) at the most")
      ->option_text(" ")
      ->excludes(wait);
  command
      .add_flag("--monitor-retry", options.monitor_retry,
                "Try again while the store cannot be reached, until\n--wait is over; without this the exit code is 121")
      ->option_text(" ")
      ->excludes("--no-wait");
  add_duration(command, "--lease", options.lease,
               "How long the store believes in us without hearing\nfrom us; default 30s");
  add_duration(command, "--lock-delay", options.lock_delay,
               "Keep the lock shut this long if we fail: crash, or\nlose it; default 0s, in a folder 1s; at most 60s");
  add_duration(command, "--max-hold", options.max_hold, wording.max_hold);
  add_scheme(command, options.scheme);
  command.add_option("--label", options.label, "What \"pawl show\" shows; default: " + wording.label)
      ->option_text("TEXT");
  command.add_flag("--any-kind", options.any_kind, "Run although another kind of lock named NAME is in use")
      ->option_text(" ");
  CLI::Option* quiet = command.add_flag("-q,--quiet", options.quiet, "Print errors only");
  quiet->option_text(" ");
  command.add_flag("-v,--verbose", options.verbose, "Print the store, the token, and what happens to the lock")
      ->option_text(" ")
      ->excludes(quiet);
  command.add_option("--log", options.log, "Append what happens to a file, as JSON lines")->option_text("FILE");
  command.add_option("-E", options.code_of_not_acquired, "The exit code in place of 124, and not a word about it")
      ->option_text("N")
      ->check(CLI::Range(0, 255));
  add_store_option(command, context.store_after);
}

void add_under_lock(CLI::App& command, UnderLockOptions& options, Context& context, const std::string& what) {
  add_acquiring(
      command, options, context,
      {what, "End the command when it has had the lock for this\nlong: TERM when the grace time is left, then KILL",
       "the command's name"});
  add_duration(command, "--grace", options.grace,
               "Time between TERM and KILL when the lock cannot be\nrenewed; default 5s or a third of the lease. "
               "Shorter\nwhere the store grants a shorter lease");
  CLI::Option* no_fork = command.add_flag("--no-fork", options.no_fork,
                                          "Become the command when the lock is held; its descendants\nare not covered");
  no_fork->option_text(" ");
  CLI::Option* kill = command.add_flag(
      "--kill-children", [&options](std::int64_t) { options.leftovers = Leftovers::kill; },
      "When the command has ended, end its descendants; without\nthis the lock is held until they end");
  kill->option_text(" ")->excludes(no_fork);
  command
      .add_flag(
          "--keep-children", [&options](std::int64_t) { options.leftovers = Leftovers::keep; },
          "... or let them go on without the lock")
      ->option_text(" ")
      ->excludes(kill)
      ->excludes(no_fork);
  add_duration(command, "--at-least", options.at_least,
               "Hold the lock for this long, also when the command is\ndone earlier: for hosts whose clocks differ")
      ->excludes(no_fork);
  const auto take_line = [&options, &context](const std::string& line) {
    if (!context.command.empty()) throw CLI::ValidationError("-c", "stands in place of the command behind --");
    options.line = line;
    context.command = {"/bin/sh", "-c", line};
  };
  command.add_option_function<std::string>("-c", take_line, "A line for the shell, in place of -- COMMAND")
      ->option_text("LINE");
}

}  // namespace pawl::cli
