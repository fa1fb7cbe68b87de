#include "apps/cli/run/keeper.hpp"

#include "apps/cli/context.hpp"
#include "apps/cli/run/process_tree.hpp"

#include <fmt/core.h>

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace pawl::cli {

namespace {

/// Of the program that has become pawl by exec: none of the keeper's. Nearly always there are none.
std::vector<pid_t> children_before() {
  std::vector<pid_t> pids;
  if (::waitid(P_ALL, 0, nullptr, WEXITED | WNOHANG | WNOWAIT) != 0) return pids;
  for (const ProcessSeen& seen : descendants_of(::getpid())) pids.push_back(seen.pid);
  return pids;
}

PassedSignal::From origin(const signalfd_siginfo& signal, pid_t keeper) {
  if (from_terminal(signal)) return PassedSignal::From::terminal;
  const auto sender = static_cast<pid_t>(signal.ssi_pid);
  return descends_from(sender, keeper) ? PassedSignal::From::command : PassedSignal::From::outside;
}

class Standby {
 public:
  Standby(pid_t keeper, std::vector<pid_t> before, const Signals& signals, const std::atomic<pid_t>& known,
          std::function<void()> begun)
      : keeper_(keeper), before_(std::move(before)), signals_(signals), known_(known), begun_(std::move(begun)) {}

  int run() {
    while (true) {
      const std::optional<int> code = look_after_keeper();
      if (known_ != 0) std::exchange(begun_, [] {})();
      if (code) return *code;
      if (const std::optional<signalfd_siginfo> signal = signals_.next()) {
        pass_on(*signal);
      } else {
        pollfd one{signals_.fd(), POLLIN, 0};
        ::poll(&one, 1, -1);
      }
    }
  }

 private:
  void pass_on(const signalfd_siginfo& signal) const {
    if (signal.ssi_signo == SIGCHLD) return;
    ::sigqueue(keeper_, static_cast<int>(signal.ssi_signo), {.sival_int = static_cast<int>(origin(signal, keeper_))});
  }

  std::optional<int> look_after_keeper() const {
    int status = 0;
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
      if (pid != keeper_) continue;
      if (WIFEXITED(status)) return WEXITSTATUS(status);
      if (WIFSIGNALED(status)) return after(WTERMSIG(status));
      ::kill(keeper_, SIGCONT);  // stopped: it must go on, or the lease runs out
    }
    return std::nullopt;
  }

  /// The command has been killed by the kernel; there may be others.
  int after(int signal) const {
    const std::vector<ProcessSeen> left = end_descendants(before_, known_, [] { return true; });
    fmt::print(stderr, "pawl: the process that held the lock (pid {}) was ended by {}: the command was killed\n",
               keeper_, signal_name(signal));
    if (!left.empty()) fmt::print(stderr, "pawl: not permitted to kill {}\n", format_processes(left));
    return lock_lost;
  }

  const pid_t keeper_;
  const std::vector<pid_t> before_;
  const Signals& signals_;
  const std::atomic<pid_t>& known_;
  std::function<void()> begun_;
};

/// In memory that both processes see.
std::atomic<pid_t>& shared_number() {
  void* page = ::mmap(nullptr, sizeof(std::atomic<pid_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw Failure{own_failure, fmt::format("mmap: {}", ::strerror(errno))};
  return *new (page) std::atomic<pid_t>(0);
}

/// The end of either process, at once. What is still there to be taken down in order (options, the runtime's threads, what
/// libraries have left for exit()) takes longer than a short command does, and the kernel does it as well.
[[noreturn]] void leave(int code) {
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace

void become_keeper() {
  ::setpgid(0, 0);
  sigset_t writing;
  ::sigemptyset(&writing);
  ::sigaddset(&writing, SIGTTOU);
  ::pthread_sigmask(SIG_BLOCK, &writing, nullptr);
}

int run_in_keeper(const Signals& signals, const std::function<int(const Front&)>& part, std::function<void()> begun) {
  std::vector<pid_t> before = children_before();
  adopt_orphans();
  std::array<int, 2> life{};  // its writer lives as long as the front
  if (::pipe2(life.data(), O_CLOEXEC) != 0) throw Failure{own_failure, fmt::format("pipe: {}", ::strerror(errno))};
  std::atomic<pid_t>& known = shared_number();
  const pid_t front = ::getpid();
  const pid_t keeper = ::fork();
  if (keeper < 0) throw Failure{own_failure, fmt::format("no process can be made: {}", ::strerror(errno))};
  ::close(life[keeper > 0 ? 0 : 1]);
  if (keeper > 0) leave(Standby(keeper, std::move(before), signals, known, std::move(begun)).run());
  become_keeper();
  adopt_orphans();
  leave(part(Front(front, life[0], known)));
}

}  // namespace pawl::cli
