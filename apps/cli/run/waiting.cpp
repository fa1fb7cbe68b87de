#include "apps/cli/run/waiting.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <utility>

namespace pawl::cli {

namespace {

/// For poll(): -1 is for ever.
int milliseconds_until(Waiting::Limit::At at) {
  if (!at) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*at - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace

Waiting::Waiting(Work work, Abandon abandon)
    : abandon_(std::move(abandon)), thread_([this, work = std::move(work)] { run(work); }) {}

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

std::optional<int> Waiting::finish(const Signals& signals, int output, const Limit& limit) {
  const auto next = [&]() -> std::optional<int> {
    const std::optional<signalfd_siginfo> signal = signals.next();
    return signal ? std::optional(static_cast<int>(signal->ssi_signo)) : std::nullopt;
  };
  return listen({signals.fd(), next, ::getpid(), {output, 0, 0}, SIGPIPE}, limit);
}

std::optional<int> Waiting::finish(const Signals& signals, const Front& front, const Limit& limit) {
  const auto next = [&]() -> std::optional<int> {
    const std::optional<PassedSignal> signal = front.next_signal(signals);
    return signal ? std::optional(signal->number) : std::nullopt;
  };
  return listen({signals.fd(), next, front.pid(), {front.fd(), POLLIN, 0}, SIGKILL}, limit);
}

std::optional<int> Waiting::listen(const Ear& ear, const Limit& limit) {
  over_by_ = limit.over_by;
  pollfd all[] = {{over_.fd(), POLLIN, 0}, {ear.signals, POLLIN, 0}, ear.other_side};
  while (all[0].revents == 0) {
    if (const std::optional<int> signal = ear.next_signal()) {
      obey(*signal, ear.job);
    } else {
      ::poll(all, 3, milliseconds_until(next(limit)));
      if (all[0].revents == 0) obey(limit);
    }
    if (cancelled_by_ || late_) hurry(limit);
    if ((all[2].revents & ~POLLNVAL) == 0) continue;
    cancel(ear.when_it_is_gone);
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

Waiting::Limit::At Waiting::next(const Limit& limit) const {
  if (phase_ == Phase::opening) return limit.opened_by;
  return !late_ && limit.answered_by ? limit.answered_by : over_by_;
}

void Waiting::obey(const Limit& limit) {
  if (over_by_ && std::chrono::steady_clock::now() >= *over_by_) ::_exit(abandon_(cancelled_by_));
  const Limit::At at = next(limit);
  if (!at || std::chrono::steady_clock::now() < *at) return;
  Phase before = Phase::opening;
  if (phase_.compare_exchange_strong(before, Phase::abandoned)) ::_exit(abandon_(std::nullopt));
  // It may have begun to ask just now: then it has a little longer.
  if (at != limit.answered_by) return;
  late_ = true;
  stop_.request_stop();
}

/// The work has been told to stop. It may be in the middle of a question that nobody answers.
void Waiting::hurry(const Limit& limit) {
  if (!limit.to_stop) return;
  const auto end = std::chrono::steady_clock::now() + *limit.to_stop;
  if (!hurried_) over_by_ = over_by_ ? std::min(*over_by_, end) : end;
  hurried_ = true;
}

void Waiting::cancel(int signal) {
  Phase before = Phase::opening;
  // A store that does not answer cannot be cancelled, and need not be: nothing was asked of it.
  if (phase_.compare_exchange_strong(before, Phase::abandoned)) ::_exit(abandon_(signal));
  if (!cancelled_by_) cancelled_by_ = signal;
  stop_.request_stop();
}

}  // namespace pawl::cli
