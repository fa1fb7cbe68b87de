#include "apps/cli/run/waiting.hpp"

#include "apps/cli/context.hpp"

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <utility>

namespace pawl::cli {

namespace {

int milliseconds_until(std::chrono::steady_clock::time_point at) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(at - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace

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
      obey(static_cast<int>(signal->ssi_signo), ::getpid());
    } else {
      ::poll(all, 3, -1);
    }
    if ((all[2].revents & POLLERR) == 0) continue;
    cancel(SIGPIPE);
    all[2].fd = -1;
    all[2].revents = 0;
  }
  return result();
}

std::optional<int> Waiting::finish(const Signals& signals, const Front& front, const Limit& limit) {
  pollfd all[] = {{over_.fd(), POLLIN, 0}, {signals.fd(), POLLIN, 0}, {front.fd(), POLLIN, 0}};
  while (all[0].revents == 0) {
    if (const auto signal = front.next_signal(signals)) {
      obey(signal->number, front.pid());
    } else if (limit.at && !late_ && std::chrono::steady_clock::now() >= *limit.at) {
      stop_late(limit.sentence);
    } else {
      ::poll(all, 3, limit.at && !late_ ? milliseconds_until(*limit.at) : -1);
    }
    if (all[2].revents == 0) continue;
    cancel(SIGKILL);
    all[2].fd = -1;
    all[2].revents = 0;
  }
  return result();
}

std::optional<int> Waiting::result() {
  thread_.join();
  if (error_) std::rethrow_exception(error_);
  return cancelled_by_;
}

/// `job`: what Ctrl-Z stops.
void Waiting::obey(int signal, pid_t job) {
  if (signal == SIGCHLD || signal == SIGCONT || signal == SIGWINCH) return;
  if (signal == SIGTSTP) {
    ::kill(job, SIGSTOP);
    return;
  }
  cancel(signal);
}

void Waiting::stop_late(const std::string& sentence) {
  late_ = true;
  Phase before = Phase::opening;
  if (phase_.compare_exchange_strong(before, Phase::abandoned)) {
    fmt::print(stderr, "pawl: {}\n", sentence);
    ::_exit(store_failure);
  }
  stop_.request_stop();
}

void Waiting::cancel(int signal) {
  Phase before = Phase::opening;
  // A store that does not answer cannot be cancelled, and need not be: nothing was asked of it.
  if (phase_.compare_exchange_strong(before, Phase::abandoned)) ::_exit(by_signal + signal);
  if (!cancelled_by_) cancelled_by_ = signal;
  stop_.request_stop();
}

}  // namespace pawl::cli
