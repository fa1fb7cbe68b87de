#pragma once

#include "apps/cli/run/signals.hpp"

#include <pawl/sequencer.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

/// The environment of the command: ours, with PAWL_LOCK, PAWL_TOKEN and PAWL_SEQUENCER of the first grant,
/// PAWL_SEQUENCERS of all of them, PAWL_VALUE of a candidate, and without a password in PAWL_STORE. What the kernel
/// would not take is left out, and told on stderr.
std::vector<std::string> child_environment(const std::vector<Sequencer>& sequencers,
                                           const std::optional<std::string>& value);

/// A store's URL without the password in it, so that whoever needs one is refused and not sent to another store.
std::string without_password(std::string_view url);

/// The command under the lock. It dies with us, even if we are killed with -9.
/// Limit: must be started by the main thread, with whose life its own is bound. Its own children are not covered.
class Child {
 public:
  /// Throws Failure when it cannot be executed (126), is not there (127), or no process can be made (125).
  Child(const std::vector<std::string>& command, const std::vector<std::string>& environment, const Signals& signals);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  /// Never to anybody else: the number stays the child's until its end is known here.
  void send(int signal);

  struct News {
    enum class What { ended, stopped } what = What::ended;
    int value = 0;  ///< the exit code as a shell gives it, or the signal that stopped it
  };
  /// What has happened since the last call.
  std::optional<News> news();
  bool ended() const { return ended_; }

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
};

}  // namespace pawl::cli
