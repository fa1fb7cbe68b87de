#pragma once

#include "apps/cli/run/command.hpp"
#include "apps/cli/run/event.hpp"
#include "apps/cli/run/front.hpp"
#include "apps/cli/run/held.hpp"
#include "apps/cli/run/hold_clock.hpp"

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

namespace pawl::cli {

/// What becomes of the command's descendants that are still there when it has ended.
enum class Leftovers {
  wait,  ///< the lock is held until they end
  kill,  ///< they get TERM, and KILL after the grace time
  keep,  ///< they go on without the lock
};

/// Keeps the command and its descendants inside its locks: passes signals on, and ends them all before another client can
/// hold one of the locks. In the keeper.
///
/// | what happens                                    | the command gets                               |
/// |-------------------------------------------------|------------------------------------------------|
/// | the hold has more than the grace time left      | nothing                                        |
/// | somebody asks for the lock (`pawl revoke`)      | TERM                                           |
/// | the grace time is left, no renewal confirmed    | TERM                                           |
/// | nearly nothing is left, lost, or taken away     | KILL, with all descendants                     |
/// | the front dies, or is stopped for a lease       | KILL, with all descendants; then the release   |
///
/// When the command has ended after a TERM, INT or QUIT that we have sent or passed on, its descendants get TERM, and KILL
/// after the grace time.
class Supervisor {
 public:
  struct Terms {
    Duration lease;  ///< how long the store was asked to believe in us
    Duration grace;  ///< how long before the end of that TERM comes
    Leftovers leftovers = Leftovers::wait;
    std::optional<Duration> max_hold = {};  ///< the hold ends after this, whatever is renewed
    bool quiet = false;                     ///< no word about descendants that are still there
  };

  Supervisor(const Held& held, Command& command, const Front& front, const Signals& signals, Terms terms);

  /// Until the command and its descendants have ended. The command's exit code, as a shell gives it.
  int run();
  /// It was ended because the lock could not be kept.
  bool lost() const { return lost_; }
  /// Why it was ended, if it was.
  const std::string& reason() const { return reason_; }

 private:
  using Callback = std::stop_callback<Event::Setter>;
  using Clock = std::chrono::steady_clock;

  void wait() const;
  /// Milliseconds until there is something to do, unless something happens before; -1: nothing.
  int patience() const;
  void guard();
  void answer_request();
  void watch_front();
  void look_after_command();
  void look_after_leftovers();
  void pass_on(const PassedSignal& signal);
  /// The command, and when it has ended what it has left behind.
  void ask_to_end();
  void end_leftovers();
  void kill_all();

  const Held& held_;
  Command& command_;
  const Front& front_;
  const Signals& signals_;
  const Terms terms_;
  HoldClock clock_;
  Event news_;
  const Callback on_lost_;
  const Callback on_request_;
  std::optional<int> code_;  // of the command, when it has ended
  bool command_stopped_ = false;
  bool told_to_end_ = false;
  bool asked_ = false;
  bool lost_ = false;
  bool killed_ = false;
  std::string reason_;
  StopWatch stops_;
  std::optional<Clock::time_point> name_leftovers_at_;
  std::optional<Clock::time_point> kill_leftovers_at_;
};

}  // namespace pawl::cli
