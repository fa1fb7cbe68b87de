#pragma once

#include <signal.h>
#include <sys/signalfd.h>

#include <optional>
#include <string>

namespace pawl::cli {

/// The signals of this process, read from a file descriptor instead of interrupting it.
/// Must be made before any thread is started: they inherit the mask.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  int fd() const { return fd_; }
  std::optional<signalfd_siginfo> next() const;

  /// In a child of fork(), before exec: as if we had never been there. Safe after fork in a program with threads.
  void restore_in_child() const noexcept;

 private:
  sigset_t ours_{};
  sigset_t before_{};
  bool child_was_ignored_ = false;
  int fd_ = -1;
};

/// The terminal has sent it, so it has sent it to the child as well: both are in its foreground process group.
bool from_terminal(const signalfd_siginfo& signal);

/// "SIGTERM"
std::string signal_name(int number);

}  // namespace pawl::cli
