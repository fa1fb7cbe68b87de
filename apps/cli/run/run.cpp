#include "apps/cli/context.hpp"
#include "apps/cli/run/child.hpp"
#include "apps/cli/run/supervisor.hpp"
#include "apps/cli/run/waiting.hpp"
#include "base/duration.hpp"
#include "base/lock_name.hpp"
#include "base/url.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace pawl::cli {

namespace {

using namespace std::chrono_literals;

constexpr Duration library_lease = 30s;

struct RunOptions {
  std::optional<std::string> name = {};
  std::optional<Duration> wait = {};
  bool no_wait = false;
  std::optional<Duration> lease = {};
  std::optional<Duration> grace = {};
  std::optional<Duration> lock_delay = {};
  std::string scheme = {};
  std::optional<std::string> label = {};
  int code_of_not_acquired = not_acquired;
};

/// What the store's URL says of it; nothing if it says nothing, or is wrong: opening the store will tell.
std::optional<std::string> url_option(const Context& context, std::string_view key) {
  const Result<base::Url> url = base::Url::parse(context.store().value_or(""));
  if (!url) return std::nullopt;
  return base::UrlOptions(*url).text(key);
}

Duration lease_of(const RunOptions& options, const Context& context) {
  if (options.lease) return *options.lease;
  const Result<Duration> in_url = base::parse_duration(url_option(context, "lease").value_or(""));
  return in_url.value_or(library_lease);
}

/// A third of the lease passes between two renewals, so less than two thirds may be left of a healthy one.
Duration grace_of(const RunOptions& options, Duration lease) {
  if (!options.grace) return std::min<Duration>(5s, lease / 3);
  if (*options.grace <= lease / 2) return *options.grace;
  throw Failure{own_failure, fmt::format("--grace {} is too long for a lease of {}: it can be half of it at the most",
                                         base::format_duration(*options.grace), base::format_duration(lease))};
}

/// What operators see beside host and pid. Not the arguments: they may be secret.
std::string label_of(const RunOptions& options, const Context& context) {
  if (options.label) return *options.label;
  if (url_option(context, "owner") == "anonymous") return {};
  const std::string& command = context.command.front();
  return command.substr(command.rfind('/') + 1).substr(0, 256);
}

Waited open_and_wait(const RunOptions& options, const Context& context, const std::function<void()>& asking,
                     std::stop_token stop) {
  Waited waited;
  ClientOptions client_options;
  client_options.scheme = options.scheme;
  waited.client.emplace(open_client(context, client_options));
  const std::string label = label_of(options, context);
  AcquireOptions wish;
  wish.wait = options.no_wait ? Duration::zero() : options.wait;
  wish.lease = options.lease;
  wish.lock_delay = options.lock_delay;
  wish.label = label;
  Mutex mutex = waited.client->mutex(*options.name);
  asking();
  waited.hold = mutex.acquire(wish, std::move(stop));
  return waited;
}

Hold take(Waited& waited, const RunOptions& options) {
  if (waited.hold) return std::move(*waited.hold);
  Failure failure = failure_of(waited.hold.error());
  if (failure.code == not_acquired) failure.code = options.code_of_not_acquired;
  throw failure;
}

/// The command is over. Whether it ran under the lock to its end decides about the code.
int end(Hold& hold, bool lost, int code) {
  const Result<void> released = hold.release();
  if (lost) return lock_lost;
  if (released) return code;
  const std::string name = base::printable(hold.sequencer().name);
  if (released.code() == Errc::lost) {
    fmt::print(stderr, "pawl: the lock \"{}\" was lost before the command ended\n", name);
    return lock_lost;
  }
  fmt::print(stderr, "pawl: the lock \"{}\" could not be released, it is free when its lease ends: {}\n", name,
             released.error().message);
  return code;
}

int run(const RunOptions& options, const Context& context) {
  if (context.command.empty() || context.command.front().empty()) {
    throw Failure{own_failure, "the command is missing; write pawl run [OPTIONS] NAME -- COMMAND..."};
  }
  if (!options.name) throw Failure{own_failure, "NAME is missing; write pawl run [OPTIONS] NAME -- COMMAND..."};
  if (const auto name = base::LockName::make(*options.name); !name) throw failure_of(name.error());
  const Duration grace = grace_of(options, lease_of(options, context));

  const Signals signals;
  Waiting waiting([&](const auto& asking, std::stop_token stop) {
    return open_and_wait(options, context, asking, std::move(stop));
  });
  Waited waited = waiting.finish(signals);
  Hold hold = take(waited, options);
  // By the main thread: the child dies with the thread that forked it.
  Child child(context.command, child_environment(hold.sequencer()), signals);
  Supervisor supervisor(hold, child, signals, grace);
  const int code = supervisor.run();
  return end(hold, supervisor.lost(), code);
}

constexpr const char* footer =
    "Examples:\n"
    "  pawl run backup -- /usr/local/bin/backup --full\n"
    "  pawl run --no-wait report -- make report      # somebody is at it already: 124\n"
    "  pawl run --wait 10s -E 0 sync -- ./sync       # the same, and that is fine\n"
    "  pawl run --lease 5m --grace 30s db -- sh -c 'migrate && vacuum'\n"
    "\n"
    "The command finds PAWL_LOCK, PAWL_TOKEN and PAWL_SEQUENCER in its environment, and\n"
    "gets the signals that pawl gets. When the lock cannot be renewed it gets TERM, and\n"
    "KILL before anybody else can hold the lock; after \"pawl revoke\" TERM, after \"pawl\n"
    "revoke --now\" KILL at once. It dies with pawl, even if that is killed with -9.\n"
    "Processes that the command starts itself are not covered: only it gets the signals.\n"
    "\n"
    "Exit code: the command's own, or\n"
    "  121    the store cannot be used\n"
    "  122    the lock was lost while the command ran\n"
    "  124    the lock was not acquired in time (-E changes it)\n"
    "  125    bad usage, or pawl itself failed\n"
    "  126    the command cannot be executed; 127: it was not found\n"
    "  128+n  the command, or the wait for the lock, was ended by signal n";

}  // namespace

void add_run(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("run", "Run a command under a lock");
  const auto options = std::make_shared<RunOptions>();
  CLI::Option* name =
      command->add_option("NAME", options->name, "The lock: any text of up to 4096 bytes")->option_text(" ");
  command->add_option("--name", options->name, "NAME, where it begins with -: --name=-x")
      ->option_text("NAME")
      ->excludes(name);
  CLI::Option* wait =
      add_duration(*command, "--wait", options->wait, "Give up after this long; default: wait for ever");
  command->add_flag("--no-wait", options->no_wait, "Give up at once if somebody else holds it")
      ->option_text(" ")
      ->excludes(wait);
  add_duration(*command, "--lease", options->lease,
               "How long the store believes in us without hearing\nfrom us; default 30s");
  add_duration(*command, "--grace", options->grace,
               "Time between TERM and KILL when the lock cannot be\nrenewed; default 5s or a third of the lease");
  add_duration(*command, "--lock-delay", options->lock_delay,
               "Keep the lock shut this long if we fail: crash, or\nlose it; default 0s, at most 60s");
  add_scheme(*command, options->scheme);
  command->add_option("--label", options->label, "What \"pawl show\" shows; default: the command's name")
      ->option_text("TEXT");
  command->add_option("-E", options->code_of_not_acquired, "The exit code in place of 124")
      ->option_text("N")
      ->check(CLI::Range(0, 255));
  add_store_option(*command, context.store_after);
  describe(*command, "pawl run [OPTIONS] NAME -- COMMAND [ARGUMENT...]", footer);
  command->callback([options, &context] { context.exit_code = run(*options, context); });
}

}  // namespace pawl::cli
