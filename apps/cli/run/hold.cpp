#include "apps/cli/context.hpp"
#include "apps/cli/run/acquiring.hpp"
#include "apps/cli/run/event.hpp"
#include "apps/cli/run/letting_go.hpp"
#include "apps/cli/run/lock_choice.hpp"
#include "apps/cli/run/run_log.hpp"
#include "apps/cli/run/signals.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace pawl::cli {

namespace {

struct HoldOptions {
  UnderLockOptions common = {};
  LockChoice choice = {};
};

bool on_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

/// A file would never be closed by its reader, and the lock would be held for ever.
void check_output() {
  struct stat output {};
  const bool known = ::fstat(STDOUT_FILENO, &output) == 0;
  if (on_terminal() || (known && (S_ISFIFO(output.st_mode) || S_ISSOCK(output.st_mode)))) return;
  throw Failure{own_failure,
                "nobody can be seen reading what pawl hold prints: it must go to a pipe, as in "
                "exec 9< <(pawl hold NAME), or to a terminal"};
}

/// Descriptors of pipes that a script has opened before: with another `pawl hold` at the other end, that one would take us
/// for one of its readers.
std::vector<int> inherited_readers() {
  std::vector<int> found;
  constexpr int first = STDERR_FILENO + 1;
  constexpr int most = 1024;
  for (int fd = first; fd < most; ++fd) {
    struct stat file {};
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) != O_RDONLY) continue;
    if (::fstat(fd, &file) == 0 && S_ISFIFO(file.st_mode)) found.push_back(fd);
  }
  return found;
}

/// In a script the terminal's signals are its own business: when it dies of one, the pipe is closed.
bool ends_hold(int signal) {
  if (signal == SIGINT || signal == SIGQUIT) return on_terminal();
  return signal == SIGTERM || signal == SIGHUP;
}

/// Until nobody reads our output any more, a signal comes, or the lock is lost.
HoldEnd stay(const Held& held, const Signals& signals) {
  Event news;
  const std::stop_callback on_lost(held.lost(), news.setter());
  const std::stop_callback on_request(held.release_requested(), news.setter());
  bool asked = false;
  while (true) {
    news.clear();  // before the looks: what happens after them wakes the poll
    if (held.lost().stop_requested()) {
      const std::string reason = held.loss();
      fmt::print(stderr, "pawl: {}\n", reason);
      return {lock_lost, reason};
    }
    if (!asked && held.release_requested().stop_requested()) {
      asked = true;
      fmt::print(stderr, "pawl: somebody asks for {} (pawl revoke)\n", held.asked_for());
    }
    if (const std::optional<signalfd_siginfo> signal = signals.next()) {
      const int number = static_cast<int>(signal->ssi_signo);
      if (ends_hold(number)) return {by_signal + number, {}};
      continue;
    }
    pollfd all[] = {{signals.fd(), POLLIN, 0}, {news.fd(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    ::poll(all, 3, -1);
    if ((all[2].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) return {};
  }
}

int hold(const HoldOptions& options, const Context& context) {
  if (!options.common.name) throw Failure{own_failure, "NAME is missing; write pawl hold [OPTIONS] NAME"};
  const Errand errand = errand_for(options.choice, *options.common.name);
  check_names(errand);
  check_output();
  ::signal(SIGPIPE, SIG_IGN);
  const std::vector<int> readers = inherited_readers();
  const Signals signals;
  RunLog log(options.common.log, errand.wanted);
  Acquiring acquiring(options.common, context, errand, log, ::getpid());
  Held held = acquiring.finish(signals, STDOUT_FILENO);
  for (const int fd : readers) ::close(fd);  // not earlier: a password may come from one
  for (const Sequencer& sequencer : held.sequencers()) fmt::print("{}\n", sequencer.to_string());
  const HoldEnd end = std::fflush(stdout) == 0 ? stay(held, signals) : HoldEnd{};
  const int code = let_go(held, end, log);
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
    "that the lock is lost, or was not granted. After TERM and HUP it lets go. On a terminal it\n"
    "holds the lock until Ctrl-C; in a script INT, QUIT and Ctrl-Z are ignored.\n"
    "Nothing is ended when the lock is lost: \"pawl run\" does that.\n"
    "\n"
    "Exit codes are those of \"pawl run\"; 0: it was let go.";

}  // namespace

void add_hold(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("hold", "Hold a lock while a script runs");
  const auto options = std::make_shared<HoldOptions>();
  add_lock_choice(*command, options->choice);
  add_acquiring(
      *command, options->common, context,
      {"The lock", "Let go when we have had the lock for this long: to its\nreaders it is lost", "pawl hold"});
  describe(*command, "pawl hold [OPTIONS] NAME", hold_footer);
  command->callback([options, &context] { context.exit_code = hold(*options, context); });
}

}  // namespace pawl::cli
