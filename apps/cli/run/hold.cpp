#include "apps/cli/context.hpp"
#include "apps/cli/run/acquiring.hpp"
#include "apps/cli/run/event.hpp"
#include "apps/cli/run/lock_choice.hpp"
#include "apps/cli/run/run_log.hpp"
#include "apps/cli/run/signals.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace pawl::cli {

namespace {

struct HoldOptions {
  UnderLockOptions common = {};
  LockChoice choice = {};
};

/// While it is held, the terminal's signals are the script's business: when it dies of one, the pipe is closed.
bool ends_hold(int signal) { return signal == SIGTERM || signal == SIGHUP; }

/// Until nobody reads our output any more, or the lock is lost: the exit code.
int stay(const Held& held, const Signals& signals, RunLog& log) {
  Event news;
  const std::stop_callback on_lost(held.lost(), news.setter());
  const std::stop_callback on_request(held.release_requested(), news.setter());
  bool asked = false;
  while (true) {
    if (held.lost().stop_requested()) {
      const std::string reason = held.first_to_end() + " is lost";
      fmt::print(stderr, "pawl: {}\n", reason);
      log.lost(reason);
      return lock_lost;
    }
    if (!asked && held.release_requested().stop_requested()) {
      asked = true;
      fmt::print(stderr, "pawl: somebody asks for {} (pawl revoke)\n", held.asked_for());
    }
    news.clear();
    if (const std::optional<signalfd_siginfo> signal = signals.next()) {
      const int number = static_cast<int>(signal->ssi_signo);
      if (ends_hold(number)) return by_signal + number;
      continue;
    }
    pollfd all[] = {{signals.fd(), POLLIN, 0}, {news.fd(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    ::poll(all, 3, -1);
    if ((all[2].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) return 0;
  }
}

int hold(const HoldOptions& options, const Context& context) {
  if (!options.common.name) throw Failure{own_failure, "NAME is missing; write pawl hold [OPTIONS] NAME"};
  const Errand errand = errand_for(options.choice, *options.common.name);
  check_names(errand);
  ::signal(SIGPIPE, SIG_IGN);
  const Signals signals;
  RunLog log(options.common.log, errand.wanted);
  Acquiring acquiring(options.common, context, errand, log, ::getpid());
  Held held = acquiring.finish(signals, STDOUT_FILENO);
  for (const Sequencer& sequencer : held.sequencers()) fmt::print("{}\n", sequencer.to_string());
  const int code = std::fflush(stdout) == 0 ? stay(held, signals, log) : 0;
  [[maybe_unused]] const auto released = held.release();
  log.released(code);
  // What could not be written has been noticed.
  std::clearerr(stdout);
  return code;
}

constexpr const char* hold_footer =
    "Examples:\n"
    "  exec 9< <(pawl hold job); read -ru 9 PAWL_SEQUENCER || exit      # in a bash script\n"
    "  pawl check \"$PAWL_SEQUENCER\" || exit                            # still ours?\n"
    "  exec 9<&-                                                        # let go\n"
    "\n"
    "Prints the sequencer of the lock when it is held (with --also and --permits one line for\n"
    "each lock and permit) and holds the lock until nobody reads what it writes: until the last\n"
    "process that has inherited descriptor 9 has closed it or ended. End of file on it means\n"
    "that the lock is lost, or was not granted. INT, QUIT and Ctrl-Z are ignored while it is\n"
    "held; after TERM and HUP it lets go.\n"
    "Nothing is ended when the lock is lost: \"pawl run\" does that.\n"
    "\n"
    "Exit codes are those of \"pawl run\"; 0: it was let go.";

}  // namespace

void add_hold(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("hold", "Hold a lock while a script runs");
  const auto options = std::make_shared<HoldOptions>();
  add_lock_choice(*command, options->choice);
  add_acquiring(*command, options->common, context, "The lock");
  describe(*command, "pawl hold [OPTIONS] NAME", hold_footer);
  command->callback([options, &context] { context.exit_code = hold(*options, context); });
}

}  // namespace pawl::cli
