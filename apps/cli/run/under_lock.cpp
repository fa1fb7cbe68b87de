#include "apps/cli/run/under_lock.hpp"

#include "apps/cli/run/acquiring.hpp"
#include "apps/cli/run/command.hpp"
#include "apps/cli/run/environment.hpp"
#include "apps/cli/run/keeper.hpp"
#include "apps/cli/run/letting_go.hpp"
#include "apps/cli/run/no_fork.hpp"
#include "apps/cli/run/process_tree.hpp"
#include "apps/cli/run/run_log.hpp"
#include "apps/cli/run/service_manager.hpp"
#include "apps/cli/run/supervisor.hpp"
#include "apps/cli/run/terms.hpp"
#include "apps/cli/views.hpp"
#include "base/duration.hpp"
#include "base/host.hpp"
#include "base/lock_name.hpp"

#include <fmt/core.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stop_token>

namespace pawl::cli {

using namespace std::chrono_literals;

namespace {

/// --at-least: until then, or until a signal, `pawl revoke`, the end of the front or of the hold.
void stay_until(std::chrono::steady_clock::time_point until, const Held& held, const Front& front,
                const Signals& signals) {
  Event news;
  const std::stop_callback on_lost(held.lost(), news.setter());
  const std::stop_callback on_request(held.release_requested(), news.setter());
  const auto over = [&] { return held.lost().stop_requested() || held.release_requested().stop_requested(); };
  while (std::chrono::steady_clock::now() < until && !over() && !front.dead()) {
    if (const std::optional<PassedSignal> signal = front.next_signal(signals)) {
      if (signal->number == SIGTERM || signal->number == SIGINT || signal->number == SIGHUP) return;
      continue;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd all[] = {{signals.fd(), POLLIN, 0}, {news.fd(), POLLIN, 0}, {front.fd(), POLLIN, 0}};
    ::poll(all, 3, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
  }
}

/// The front's, so that the terminal's signals reach it. Where descendants cannot be found and there is no terminal, one of
/// its own: that can be ended as a whole, without the script that has started us.
pid_t group_of_command(const Front& front) {
  const int terminal = ::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (terminal >= 0) ::close(terminal);
  return terminal < 0 && !proc_is_readable() ? 0 : ::getpgid(front.pid());
}

/// The command, for as long as the locks are held.
HoldEnd run_command(const UnderLockOptions& options, const Context& context, const Errand& errand,
                    const Supervisor::Terms& terms, const Signals& signals, const Front& front, const Held& held) {
  const auto begin = std::chrono::steady_clock::now();
  wait_while_stopped(front, terms.lease);
  const std::string store = store_for_child(store_of(context), options.scheme);
  // By the main thread: the command dies with the thread that forked it.
  Command command(context.command, child_environment(held.sequencers(), errand.value, store), signals,
                  group_of_command(front));
  front.tell_known(command.known());
  Supervisor supervisor(held, command, front, signals, terms);
  const int code = supervisor.run();
  if (options.at_least && supervisor.reason().empty()) stay_until(begin + *options.at_least, held, front, signals);
  return {supervisor.lost() ? lock_lost : code, supervisor.reason()};
}

/// In the keeper: takes the lock, runs the command, releases the lock.
int keep(const UnderLockOptions& options, const Context& context, const Errand& errand, const Supervisor::Terms& terms,
         const Signals& signals, const Front& front) {
  RunLog log(options.log, errand.wanted);
  Acquiring acquiring(options, context, errand, log, front.pid());
  Held held = acquiring.finish(signals, front);
  HoldEnd end;
  try {
    end = run_command(options, context, errand, terms, signals, front, held);
  } catch (const Failure& failure) {  // it could not begin
    const bool held_to_the_end = failure.code == not_found || failure.code == not_executable;
    let_go(held, {failure.code, held_to_the_end ? "" : failure.sentence}, log);
    throw;
  }
  return let_go(held, end, log);
}

std::string names_of(const Errand& errand) {
  std::string names;
  for (const Wanted& wanted : errand.wanted) names += (names.empty() ? "" : ", ") + in_quotes(wanted.name);
  return names;
}

}  // namespace

void check_names(const Errand& errand) {
  for (const Wanted& wanted : errand.wanted) {
    if (const auto name = base::LockName::make(wanted.name); !name) throw failure_of(name.error());
  }
}

int run_under_lock(const UnderLockOptions& options, const Context& context, const Errand& errand) {
  check_names(errand);
  const Duration lease = lease_of(options, context);
  const std::optional<Duration> max_hold = max_hold_of(options, context);
  if (options.at_least && max_hold && *options.at_least > *max_hold) {
    throw Failure{own_failure, fmt::format("--at-least {} is longer than --max-hold {}",
                                           base::format_duration(*options.at_least), base::format_duration(*max_hold))};
  }
  const Supervisor::Terms terms{lease, grace_of(options, lease, max_hold), options.leftovers, max_hold, options.quiet};
  const Signals signals;
  const ServiceManager service_manager;
  service_manager.waiting(names_of(errand));
  const auto begun = [&] { service_manager.ready(names_of(errand)); };
  if (options.no_fork) return run_without_fork(options, context, errand, terms, signals, begun);
  const auto part = [&](const Front& front) {
    base::speak_for(front.pid());
    return keep(options, context, errand, terms, signals, front);
  };
  return run_in_keeper(signals, part, begun);
}

}  // namespace pawl::cli
