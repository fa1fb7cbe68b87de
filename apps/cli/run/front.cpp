#include "apps/cli/run/front.hpp"

#include "apps/cli/run/process_tree.hpp"

#include <unistd.h>

namespace pawl::cli {

bool Front::dead() const { return ::getppid() != pid_; }

bool Front::stopped() const { return !dead() && is_stopped(pid_); }

void Front::stop() const {
  if (!dead()) ::kill(pid_, SIGSTOP);
}

std::optional<PassedSignal> Front::next_signal(const Signals& signals) const {
  while (const std::optional<signalfd_siginfo> signal = signals.next()) {
    if (signal->ssi_code != SI_QUEUE || static_cast<pid_t>(signal->ssi_pid) != pid_) continue;
    return PassedSignal{static_cast<int>(signal->ssi_signo), static_cast<PassedSignal::From>(signal->ssi_int)};
  }
  return std::nullopt;
}

}  // namespace pawl::cli
