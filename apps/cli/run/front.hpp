#pragma once

#include "apps/cli/run/signals.hpp"

#include <pawl/options.hpp>

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <optional>

namespace pawl::cli {

/// A signal that the front has received, and passes on to the keeper.
struct PassedSignal {
  enum class From {
    outside,   ///< meant for pawl alone: the command should get it as well
    terminal,  ///< the terminal has sent it to the command, too
    command,   ///< of the command or a descendant: none of the command's business
  };
  int number = 0;
  From from = From::outside;
};

/// The process that the user has started, as the keeper sees it. Waits, passes signals on, and ends last, or becomes the
/// command.
class Front {
 public:
  /// In the keeper. `life` can be read when it is dead: a pipe whose other end is open in the front alone, or its pidfd.
  /// `known` is read by the front.
  Front(pid_t pid, int life, std::atomic<pid_t>& known) : pid_(pid), life_(life), known_(known) {}

  pid_t pid() const { return pid_; }
  /// Can be read when it is dead.
  int fd() const { return life_; }
  bool dead() const;
  bool stopped() const;
  /// As a shell expects it of a job after Ctrl-Z.
  void stop() const;
  /// The command has begun, and this is what it can end of it without /proc if we die.
  void tell_known(pid_t known) const;
  /// The next signal that it has passed on. What others send to the keeper is not heeded.
  std::optional<PassedSignal> next_signal(const Signals& signals) const;

 private:
  pid_t pid_;
  int life_;
  std::atomic<pid_t>& known_;
};

/// Has the front been stopped for longer than a lease? Looks four times in a lease.
class StopWatch {
 public:
  using Clock = std::chrono::steady_clock;

  StopWatch(const Front& front, Duration lease) : front_(front), lease_(lease), next_look_(Clock::now() + lease / 4) {}

  bool too_long();
  Clock::time_point next_look() const { return next_look_; }

 private:
  const Front& front_;
  const Duration lease_;
  Clock::time_point next_look_;
  std::optional<Clock::time_point> since_;
};

/// The user has stopped the job while it waited: its command does not start behind their back. Throws Failure.
void wait_while_stopped(const Front& front, Duration lease);

}  // namespace pawl::cli
