#include "apps/cli/run/under_lock.hpp"

#include "apps/cli/run/command.hpp"
#include "apps/cli/run/environment.hpp"
#include "apps/cli/run/keeper.hpp"
#include "apps/cli/run/other_kinds.hpp"
#include "apps/cli/run/supervisor.hpp"
#include "apps/cli/run/waiting.hpp"
#include "base/duration.hpp"
#include "base/host.hpp"
#include "base/lock_name.hpp"
#include "base/real_runtime.hpp"
#include "base/url.hpp"
#include "lock/access.hpp"
#include "lock/client_core.hpp"
#include "store/default_store.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace pawl::cli {

namespace {

using namespace std::chrono_literals;

constexpr Duration library_lease = 30s;
constexpr Duration library_timeout = 5s;

/// What the wait comes to.
struct Waited {
  std::optional<Client> client = {};  // as long as what is held
  Duration wait = {};                 // what was left of --wait after connecting
  Result<Held> held = Held();
};

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

/// A third of the lease passes between two renewals, so less than two thirds may be left of a healthy one.
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

/// When there must be an answer, connecting included: at the end of --wait, and with --no-wait after one timeout of the store.
Waiting::Limit limit_of(const UnderLockOptions& options, const Context& context) {
  std::optional<Duration> wait = options.wait;
  if (options.no_wait)
    wait = base::parse_duration(url_option(context, "timeout").value_or("")).value_or(library_timeout);
  if (!wait) return {};
  return {std::chrono::steady_clock::now() + *wait,
          fmt::format("the store did not answer within {}", base::format_duration(*wait))};
}

/// In a folder the end of the keeper frees the lock at once, before the front can end the command's descendants.
std::optional<Duration> lock_delay_of(const UnderLockOptions& options, const Context& context) {
  if (options.lock_delay) return options.lock_delay;
  const Result<base::Url> url = base::Url::parse(context.store().value_or("file:///"));
  if (url && url->scheme == "file" && !url_option(context, "lock_delay")) return 1s;
  return std::nullopt;
}

/// What operators see beside host and pid. Not the arguments: they may be secret.
std::string label_of(const UnderLockOptions& options, const Context& context) {
  if (options.label) return *options.label;
  if (url_option(context, "owner") == "anonymous") return {};
  const std::string& command = context.command.front();
  return command.substr(command.rfind('/') + 1).substr(0, 256);
}

/// Connected by then, or a Failure that says why not.
Client open_until(const UnderLockOptions& options, const Context& context, const Waiting::Limit& limit) {
  if (!limit.at) return open_client(context, {.scheme = options.scheme});
  Client client = open_client(context, {.scheme = options.scheme, .connect = Connect::lazy});
  base::RealRuntime& runtime = base::RealRuntime::process_wide();
  // A little earlier: so the reason is told, and not only that there is no answer.
  const Duration left = std::max<Duration>((*limit.at - std::chrono::steady_clock::now()) * 9 / 10, 0s);
  value_or_fail(runtime.block_on(lock::Access::core(client)->connect(base::Deadline::in(runtime.now(), left))));
  return client;
}

void open_and_wait(Waited& waited, const UnderLockOptions& options, const Context& context, const Errand& errand,
                   const Waiting::Limit& limit, const std::function<void()>& asking, std::stop_token stop) {
  Client& client = waited.client.emplace(open_until(options, context, limit));
  if (!options.any_kind) refuse_other_kinds(client, errand.wanted);
  const std::string label = label_of(options, context);
  AcquireOptions wish;
  if (limit.at) wish.wait = std::max<Duration>(*limit.at - std::chrono::steady_clock::now(), 0s);
  if (options.no_wait) wish.wait = 0s;
  waited.wait = wish.wait.value_or(0s);
  wish.lease = options.lease;
  wish.lock_delay = lock_delay_of(options, context);
  wish.max_hold = options.max_hold;
  wish.label = label;
  asking();
  waited.held = errand.acquire(client, wish, std::move(stop));
  // Again, now that others can see us: of two runs that begin at the same time one sees the other, or both do.
  if (!waited.held || options.any_kind) return;
  try {
    refuse_other_kinds(client, errand.wanted);
  } catch (const Failure&) {
    [[maybe_unused]] const auto released = waited.held->release();
    throw;
  }
}

std::string store_of(const Context& context) {
  if (const std::optional<std::string> named = context.store()) return *named;
  return value_or_fail(store::default_store_url());
}

void warn_of_memory(const Context& context) {
  if (!context.store().value_or("").starts_with("memory:")) return;
  fmt::print(stderr, "pawl: a memory: store is seen by this process alone: the lock excludes no other run\n");
}

Held take(Waited& waited, const UnderLockOptions& options) {
  if (waited.held) return std::move(*waited.held);
  Failure failure = failure_of(waited.held.error());
  // The library tells of what was left for it.
  const std::string within = "within " + base::format_duration(waited.wait);
  if (const std::size_t at = failure.sentence.find(within); options.wait && at != std::string::npos) {
    failure.sentence.replace(at, within.size(), "within " + base::format_duration(*options.wait));
  }
  if (failure.code == not_acquired) failure.code = options.code_of_not_acquired;
  throw failure;
}

/// The command is over. Whether it ran under the lock to its end decides about the code.
int end(Held& held, bool lost, int code) {
  const Result<void> released = held.release();
  if (lost) return lock_lost;
  if (released) return code;
  if (released.code() == Errc::lost) {
    fmt::print(stderr, "pawl: {} was lost before the command ended\n", held.first_to_end());
    return lock_lost;
  }
  fmt::print(stderr, "pawl: {} could not be released, it is free when its lease ends: {}\n", held.first_to_end(),
             released.error().message);
  return code;
}

/// The user has stopped the job while it waited: its command does not start behind their back.
void wait_while_stopped(const Front& front, Duration lease) {
  const auto end = std::chrono::steady_clock::now() + lease;
  while (front.stopped()) {
    if (std::chrono::steady_clock::now() >= end) {
      throw Failure{lock_lost, "pawl was stopped for longer than a lease: the lock was released"};
    }
    wait_for(front.fd(), -1, 20);
  }
  if (front.dead()) throw Failure{by_signal + SIGKILL, "pawl was killed before the command began"};
}

/// In the keeper: takes the lock, runs the command, releases the lock.
int keep(const UnderLockOptions& options, const Context& context, const Errand& errand, const Supervisor::Terms& terms,
         const Signals& signals, const Front& front) {
  Waited waited;
  const Waiting::Limit limit = limit_of(options, context);
  Waiting waiting([&](const auto& asking, std::stop_token stop) {
    open_and_wait(waited, options, context, errand, limit, asking, std::move(stop));
  });
  if (const std::optional<int> signal = waiting.finish(signals, front, limit)) {
    throw Failure{by_signal + *signal, fmt::format("{} while waiting for {}", signal_name(*signal), errand.awaited)};
  }
  if (waiting.late() && waited.held.code() == Errc::cancelled) throw Failure{store_failure, limit.sentence};
  Held held = take(waited, options);
  wait_while_stopped(front, terms.lease);
  const std::string store = store_for_child(store_of(context), options.scheme);
  // By the main thread: the command dies with the thread that forked it.
  Command command(context.command, child_environment(held.sequencers(), errand.value, store), signals,
                  ::getpgid(front.pid()));
  Supervisor supervisor(held, command, front, signals, terms);
  const int code = supervisor.run();
  return end(held, supervisor.lost(), code);
}

}  // namespace

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

int run_under_lock(const UnderLockOptions& options, const Context& context, const Errand& errand) {
  for (const Wanted& wanted : errand.wanted) {
    if (const auto name = base::LockName::make(wanted.name); !name) throw failure_of(name.error());
  }
  const Duration lease = lease_of(options, context);
  const std::optional<Duration> max_hold = max_hold_of(options, context);
  const Supervisor::Terms terms{lease, grace_of(options, lease, max_hold), options.leftovers, max_hold};
  warn_of_memory(context);
  const Signals signals;
  return run_in_keeper(signals, [&](const Front& front) {
    base::speak_for(front.pid());
    return keep(options, context, errand, terms, signals, front);
  });
}

void add_under_lock(CLI::App& command, UnderLockOptions& options, Context& context, const std::string& what) {
  CLI::Option* name =
      command.add_option("NAME", options.name, what + ": any text of up to 4096 bytes")->option_text(" ");
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
  add_duration(command, "--lease", options.lease,
               "How long the store believes in us without hearing\nfrom us; default 30s");
  add_duration(command, "--grace", options.grace,
               "Time between TERM and KILL when the lock cannot be\nrenewed; default 5s or a third of the lease. "
               "Shorter\nwhere the store grants a shorter lease");
  add_duration(command, "--lock-delay", options.lock_delay,
               "Keep the lock shut this long if we fail: crash, or\nlose it; default 0s, in a folder 1s; at most 60s");
  add_duration(command, "--max-hold", options.max_hold,
               "End the command when it has had the lock for this\nlong: TERM when the grace time is left, then KILL");
  CLI::Option* kill = command.add_flag(
      "--kill-children", [&options](std::int64_t) { options.leftovers = Leftovers::kill; },
      "When the command has ended, end its descendants; without\nthis the lock is held until they end");
  kill->option_text(" ");
  command
      .add_flag(
          "--keep-children", [&options](std::int64_t) { options.leftovers = Leftovers::keep; },
          "... or let them go on without the lock")
      ->option_text(" ")
      ->excludes(kill);
  add_scheme(command, options.scheme);
  command.add_option("--label", options.label, "What \"pawl show\" shows; default: the command's name")
      ->option_text("TEXT");
  command.add_flag("--any-kind", options.any_kind, "Run although another kind of lock named NAME is in use")
      ->option_text(" ");
  command.add_option("-E", options.code_of_not_acquired, "The exit code in place of 124")
      ->option_text("N")
      ->check(CLI::Range(0, 255));
  add_store_option(command, context.store_after);
}

}  // namespace pawl::cli
