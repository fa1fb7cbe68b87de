#include "apps/cli/run/signals.hpp"

#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace pawl::cli {

namespace {

/// Whatever somebody may want to tell the command. SIGCHLD is for us.
constexpr int wanted[] = {SIGCHLD, SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                          SIGUSR2, SIGALRM, SIGCONT, SIGTSTP, SIGWINCH};

/// As after nohup, or in the background of a shell without job control. A blocked signal would be queued all the same.
bool ignored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Signals::Signals() {
  ::sigemptyset(&ours_);
  for (const int number : wanted) {
    if (number == SIGCHLD || !ignored(number)) ::sigaddset(&ours_, number);
  }
  child_was_ignored_ = ignored(SIGCHLD);
  ::signal(SIGCHLD, SIG_DFL);  // an ignored one would reap the child before we can ask for its exit code
  ::pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  fd_ = ::signalfd(-1, &ours_, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
}

Signals::~Signals() { ::close(fd_); }

std::optional<signalfd_siginfo> Signals::next() const {
  signalfd_siginfo signal{};
  const ssize_t size = ::read(fd_, &signal, sizeof signal);
  return size == static_cast<ssize_t>(sizeof signal) ? std::optional(signal) : std::nullopt;
}

void Signals::restore_in_child() const noexcept {
  if (child_was_ignored_) ::signal(SIGCHLD, SIG_IGN);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool from_terminal(const signalfd_siginfo& signal) { return signal.ssi_code == SI_KERNEL; }

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

}  // namespace pawl::cli
