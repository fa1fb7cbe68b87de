#pragma once

#include "apps/cli/run/signals.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace pawl::cli {

/// The command under the lock: a child of the keeper in the process group of the front, so that the terminal's signals
/// reach it. It is killed with the keeper.
/// Limit: must be started by the main thread, with whose life its own is bound.
class Command {
 public:
  /// Throws Failure when it cannot be executed (126), is not there (127), or no process can be made (125).
  /// Joins that process group; 0: it gets one of its own.
  Command(const std::vector<std::string>& words, const std::vector<std::string>& environment, const Signals& signals,
          pid_t process_group);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// What can be ended of it without looking at /proc, as for kill(): its own process group, or itself; 0: nothing.
  pid_t known() const { return own_group_ ? -pid_ : ended_ ? 0 : pid_; }
  /// Never to another process: the number stays the command's until its end is known here.
  void send(int signal) const;

  struct News {
    enum class What { ended, stopped, continued } what = What::ended;
    int value = 0;  ///< the exit code as a shell gives it, or the signal that stopped it
  };
  /// What has happened to it since the last call. Reaps orphans that have become our children as well.
  std::optional<News> news();
  bool ended() const { return ended_; }
  /// It has ended, and so have all of its descendants.
  bool tree_ended() const { return ended_ && tree_ended_; }

 private:
  pid_t pid_ = -1;
  const bool own_group_;
  bool ended_ = false;
  bool tree_ended_ = false;
};

/// This process becomes the command, as if pawl had never been there. Throws Failure when it cannot be executed.
[[noreturn]] void become_command(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                                 const Signals& signals);

}  // namespace pawl::cli
