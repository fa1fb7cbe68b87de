#include "apps/cli/run/waiting.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <exception>
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
    waited_.emplace(work(asking, stop_.get_token()));
  } catch (...) {
    error_ = std::current_exception();
  }
  over_.set();
}

Waited Waiting::finish(const Signals& signals) {
  pollfd over{over_.fd(), POLLIN, 0};
  while (::poll(&over, 1, 0) != 1) {
    if (const auto signal = signals.next()) {
      obey(*signal);
    } else {
      wait_for(signals.fd(), over_.fd(), -1);
    }
  }
  thread_.join();
  if (error_) std::rethrow_exception(error_);
  if (cancelled_by_) {
    throw Failure{by_signal + *cancelled_by_,
                  fmt::format("{} while waiting for the lock", signal_name(*cancelled_by_))};
  }
  return std::move(*waited_);
}

void Waiting::obey(const signalfd_siginfo& signal) {
  const int number = static_cast<int>(signal.ssi_signo);
  if (number == SIGCHLD || number == SIGCONT || number == SIGWINCH) return;
  if (number == SIGTSTP) {
    ::kill(::getpid(), SIGSTOP);
    return;
  }
  Phase before = Phase::opening;
  // A store that does not answer cannot be cancelled, and need not be: nothing was asked of it.
  if (phase_.compare_exchange_strong(before, Phase::abandoned)) ::_exit(by_signal + number);
  if (!cancelled_by_) cancelled_by_ = number;
  stop_.request_stop();
}

}  // namespace pawl::cli
