#include "apps/cli/run/no_fork.hpp"

#include "apps/cli/run/acquiring.hpp"
#include "apps/cli/run/command.hpp"
#include "apps/cli/run/companion.hpp"
#include "apps/cli/run/environment.hpp"
#include "apps/cli/run/keeper.hpp"
#include "apps/cli/run/letting_go.hpp"
#include "apps/cli/run/terms.hpp"
#include "base/host.hpp"

#include <fmt/core.h>

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::cli {

namespace {

/// What the keeper tells the front, in lines: its pid, and when the locks are held their sequencers and "run".
class Message {
 public:
  Message() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) throw Failure{own_failure, fmt::format("pipe: {}", ::strerror(errno))};
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  ~Message() {
    close_reader();
    close_writer();
  }

  int reader() const { return ends_[0]; }
  void close_reader() { close(ends_[0]); }
  void close_writer() { close(ends_[1]); }

  void write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t size = ::write(ends_[1], text.data(), text.size());
      if (size < 0 && errno != EINTR) return;  // the front is dead: that is noticed elsewhere
      if (size > 0) text.remove_prefix(static_cast<std::size_t>(size));
    }
  }

  /// False: the keeper has closed it.
  bool read() {
    std::array<char, 4096> text{};
    const ssize_t size = ::read(ends_[0], text.data(), text.size());
    if (size > 0) text_.append(text.data(), static_cast<std::size_t>(size));
    return size > 0 || (size < 0 && errno == EINTR);
  }
  /// 0: not told yet.
  pid_t keeper() const {
    pid_t pid = 0;
    if (text_.find('\n') != std::string::npos) std::from_chars(text_.data(), text_.data() + text_.size(), pid);
    return pid;
  }
  /// Empty: there are none.
  std::vector<Sequencer> sequencers() const {
    std::vector<Sequencer> all;
    if (!text_.ends_with("\nrun\n")) return all;
    for (std::size_t at = text_.find('\n') + 1, end = 0; (end = text_.find('\n', at)) + 5 <= text_.size();
         at = end + 1) {
      if (text_.compare(at, end - at, "run") == 0) break;
      all.push_back(value_or_fail(Sequencer::parse(std::string_view(text_).substr(at, end - at))));
    }
    return all;
  }

 private:
  static void close(int& end) {
    if (end >= 0) ::close(std::exchange(end, -1));
  }

  std::array<int, 2> ends_{-1, -1};
  std::string text_;
};

/// In the front: until the keeper has the locks, or has ended.
void wait_for_keeper(Message& message, const Signals& signals) {
  pollfd both[] = {{message.reader(), POLLIN, 0}, {-1, POLLIN, 0}};
  while (true) {
    // Not before there is somebody to pass them on to.
    const pid_t keeper = message.keeper();
    both[1].fd = keeper > 0 ? signals.fd() : -1;
    ::poll(both, 2, -1);
    if (both[0].revents != 0 && !message.read()) return;
    if (keeper <= 0) continue;
    while (const std::optional<signalfd_siginfo> signal = signals.next()) {
      if (signal->ssi_signo == SIGCHLD) continue;
      ::sigqueue(keeper, static_cast<int>(signal->ssi_signo),
                 {.sival_int = static_cast<int>(PassedSignal::From::outside)});
    }
  }
}

/// The keeper's exit code.
int code_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  fmt::print(stderr, "pawl: the process that waited for the lock was ended by {}\n", signal_name(WTERMSIG(status)));
  return own_failure;
}

/// In the go-between: ends with the keeper, and with the front. Returns in the keeper.
void fork_keeper(pid_t front, Message& message) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != front) ::_exit(own_failure);
  message.close_reader();
  const pid_t keeper = ::fork();
  if (keeper == 0) return;
  message.close_writer();
  ::_exit(keeper > 0 ? code_of(keeper) : own_failure);
}

/// In the keeper. The front is the command when `message` is closed.
void hold(const UnderLockOptions& options, const Context& context, const Errand& errand, const Supervisor::Terms& terms,
          const Signals& signals, const Front& front, Message& message) {
  RunLog log(options.log, errand.wanted);
  Acquiring acquiring(options, context, errand, log, front.pid());
  Held held = acquiring.finish(signals, front);
  HoldEnd end{code_unknown};
  try {
    wait_while_stopped(front, terms.lease);
    std::string text;
    for (const Sequencer& sequencer : held.sequencers()) text += sequencer.to_string() + "\n";
    message.write(text + "run\n");
    message.close_writer();
    end.lost = Companion(held, front, {terms.lease, terms.grace, terms.max_hold}).run();
  } catch (const Failure& failure) {
    let_go(held, {failure.code, failure.sentence}, log);
    throw;
  }
  let_go(held, end, log);
}

int run_keeper(const UnderLockOptions& options, const Context& context, const Errand& errand,
               const Supervisor::Terms& terms, const Signals& signals, pid_t pid, Message& message) {
  become_keeper();
  const int life = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (life < 0) throw Failure{own_failure, fmt::format("--no-fork needs Linux 5.3: {}", ::strerror(errno))};
  message.write(fmt::format("{}\n", ::getpid()));
  base::speak_for(pid);
  std::atomic<pid_t> nobody_asks = 0;
  hold(options, context, errand, terms, signals, Front(pid, life, nobody_asks), message);
  return 0;  // nobody waits for us
}

}  // namespace

int run_without_fork(const UnderLockOptions& options, const Context& context, const Errand& errand,
                     const Supervisor::Terms& terms, const Signals& signals, const std::function<void()>& begun) {
  const std::string store = store_for_child(store_of(context), options.scheme);
  Message message;
  const pid_t front = ::getpid();
  const pid_t go_between = ::fork();
  if (go_between < 0) throw Failure{own_failure, fmt::format("no process can be made: {}", ::strerror(errno))};
  if (go_between == 0) {
    fork_keeper(front, message);
    return run_keeper(options, context, errand, terms, signals, front, message);
  }
  message.close_writer();
  wait_for_keeper(message, signals);
  const std::vector<Sequencer> sequencers = message.sequencers();
  if (sequencers.empty()) return code_of(go_between);
  ::kill(go_between, SIGKILL);
  ::waitpid(go_between, nullptr, 0);
  begun();
  become_command(context.command, child_environment(sequencers, errand.value, store), signals);
}

}  // namespace pawl::cli
