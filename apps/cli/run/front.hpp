#pragma once

#include "apps/cli/run/signals.hpp"

#include <sys/types.h>

#include <atomic>
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

/// The process that the user has started, as the keeper, its child, sees it. Waits, passes signals on, and ends last.
class Front {
 public:
  /// In the keeper. The pipe's other end is open in the front alone, and closed with its end.
  /// `known` is read by the front.
  Front(pid_t pid, int pipe, std::atomic<pid_t>& known) : pid_(pid), pipe_(pipe), known_(known) {}

  pid_t pid() const { return pid_; }
  /// Can be read when it is dead.
  int fd() const { return pipe_; }
  bool dead() const;
  bool stopped() const;
  /// As a shell expects it of a job after Ctrl-Z.
  void stop() const;
  /// What it can end of the command without /proc if we die.
  void tell_known(pid_t known) const { known_ = known; }
  /// The next signal that it has passed on. What others send to the keeper is not heeded.
  std::optional<PassedSignal> next_signal(const Signals& signals) const;

 private:
  pid_t pid_;
  int pipe_;
  std::atomic<pid_t>& known_;
};

}  // namespace pawl::cli
