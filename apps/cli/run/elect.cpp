#include "apps/cli/context.hpp"
#include "apps/cli/run/under_lock.hpp"
#include "base/host.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <utility>

namespace pawl::cli {

namespace {

constexpr const char* elect_usage = "pawl elect [OPTIONS] NAME -- COMMAND...";

struct ElectOptions {
  UnderLockOptions common = {};
  std::optional<std::string> value = {};
};

/// Who does not want to be named in the store is not named in the value either.
std::string default_value(const Context& context) {
  if (url_option(context, "owner") == "anonymous") return {};
  const Owner us = base::this_process();
  return fmt::format("{}:{}", us.host, us.pid);
}

int elect(const ElectOptions& options, const Context& context) {
  const std::string& name = name_or_fail(options.common, context, elect_usage);
  const std::string value = options.value ? *options.value : default_value(context);
  Errand errand;
  errand.awaited = "the lead";
  errand.wanted = {{Kind::election, name}};
  errand.value = value;
  errand.acquire = [&](Client& client, const AcquireOptions& wish, std::stop_token stop) -> Result<Held> {
    return client.election(name).campaign(value, wish, std::move(stop));
  };
  return run_under_lock(options.common, context, errand);
}

constexpr const char* elect_footer =
    "Examples:\n"
    "  pawl elect api -- /usr/local/bin/api --primary\n"
    "  pawl elect --value 10.0.0.7:8080 --lease 5s api -- ./serve\n"
    "  pawl leader api                               # who is it?\n"
    "\n"
    "Candidates are served in the order in which they came. The command runs only while we\n"
    "lead: when it ends, we resign and the next candidate leads. Signals, loss, \"pawl revoke\"\n"
    "and the command's descendants are as in \"pawl run\", with its promise.\n"
    "\n"
    "The command finds PAWL_LOCK (the NAME), PAWL_VALUE, PAWL_TOKEN and PAWL_SEQUENCER in its\n"
    "environment. If another kind of lock with this NAME is held or waited for, the exit code is\n"
    "125: they would not exclude each other. --any-kind runs anyway.\n"
    "\n"
    "Exit codes are those of \"pawl run\"; 124: another candidate led all the time.";

}  // namespace

void add_elect(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("elect", "Run a command while we lead an election");
  const auto options = std::make_shared<ElectOptions>();
  command
      ->add_option("--value", options->value,
                   "What \"pawl leader\" prints while we lead, up to 4096\nbytes; default: HOST:PID of this pawl "
                   "(nothing if the\nstore has owner=anonymous)")
      ->option_text("TEXT");
  add_under_lock(*command, options->common, context, "The election");
  describe(*command, "pawl elect [OPTIONS] NAME -- COMMAND [ARGUMENT...]", elect_footer);
  command->callback([options, &context] { context.exit_code = elect(*options, context); });
}

}  // namespace pawl::cli
