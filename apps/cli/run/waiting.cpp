#include "apps/cli/run/waiting.hpp"

#include "apps/cli/context.hpp"

#include <unistd.h>

#include <utility>

namespace pawl::cli {

Waiting::Waiting(Work work) : thread_([this, work = std::move(work)] { run(work); }) {}

void Waiting::run(const Work& work) {
  try {
    const auto asking = [this] {
      Phase before = Phase::opening;
      // If the main thread was faster, it is ending the process: nothing may be asked for any more.
      if (!phase_.compare_exchange_strong(before, Phase::asking)) ::pause();
    };
    work(asking, stop_.get_token());
  } catch (...) {
    error_ = std::current_exception();
  }
  over_.set();
}

std::optional<int> Waiting::finish(const Signals& signals, int output) {
  pollfd all[] = {{over_.fd(), POLLIN, 0}, {signals.fd(), POLLIN, 0}, {output, 0, 0}};
  while (all[0].revents == 0) {
    if (const auto signal = signals.next()) {
      obey(*signal);
    } else {
      ::poll(all, 3, -1);
    }
    if ((all[2].revents & POLLERR) == 0) continue;
    cancel(SIGPIPE);
    all[2].fd = -1;
    all[2].revents = 0;
  }
  thread_.join();
  if (error_) std::rethrow_exception(error_);
  return cancelled_by_;
}

void Waiting::obey(const signalfd_siginfo& signal) {
  const int number = static_cast<int>(signal.ssi_signo);
  if (number == SIGCHLD || number == SIGCONT || number == SIGWINCH) return;
  if (number == SIGTSTP) {
    ::kill(::getpid(), SIGSTOP);
    return;
  }
  cancel(number);
}

void Waiting::cancel(int signal) {
  Phase before = Phase::opening;
  // A store that does not answer cannot be cancelled, and need not be: nothing was asked of it.
  if (phase_.compare_exchange_strong(before, Phase::abandoned)) ::_exit(by_signal + signal);
  if (!cancelled_by_) cancelled_by_ = signal;
  stop_.request_stop();
}

}  // namespace pawl::cli
