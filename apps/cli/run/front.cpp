#include "apps/cli/run/front.hpp"

#include "apps/cli/context.hpp"
#include "apps/cli/run/event.hpp"
#include "apps/cli/run/process_tree.hpp"

#include <poll.h>
#include <unistd.h>

namespace pawl::cli {

bool Front::dead() const {
  pollfd life{life_, POLLIN, 0};
  return ::poll(&life, 1, 0) == 1;
}

bool Front::stopped() const { return !dead() && is_stopped(pid_); }

void Front::stop() const {
  if (!dead()) ::kill(pid_, SIGSTOP);
}

void Front::tell_known(pid_t known) const {
  known_ = known;
  if (!dead()) ::kill(pid_, SIGCHLD);  // so that it looks
}

std::optional<PassedSignal> Front::next_signal(const Signals& signals) const {
  while (const std::optional<signalfd_siginfo> signal = signals.next()) {
    if (signal->ssi_code != SI_QUEUE || static_cast<pid_t>(signal->ssi_pid) != pid_) continue;
    return PassedSignal{static_cast<int>(signal->ssi_signo), static_cast<PassedSignal::From>(signal->ssi_int)};
  }
  return std::nullopt;
}

bool StopWatch::too_long() {
  const Clock::time_point now = Clock::now();
  if (now < next_look_) return false;
  next_look_ = now + lease_ / 4;
  if (!front_.stopped()) {
    since_.reset();
  } else if (!since_) {
    since_ = now;
  }
  return since_ && now - *since_ >= lease_;
}

void wait_while_stopped(const Front& front, Duration lease) {
  const auto end = std::chrono::steady_clock::now() + lease;
  while (front.stopped()) {
    if (std::chrono::steady_clock::now() >= end) {
      throw Failure{lock_lost, "pawl was stopped for longer than a lease: the lock was released"};
    }
    wait_for(front.fd(), -1, 20);
  }
  if (front.dead()) throw Failure{by_signal + SIGKILL, "pawl was killed before the command began"};
}

}  // namespace pawl::cli
