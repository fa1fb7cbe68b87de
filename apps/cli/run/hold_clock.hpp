#pragma once

#include "apps/cli/run/held.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace pawl::cli {

/// How much is left of a hold, beside what the command needs to end in: it gets TERM when the grace time is left, and KILL
/// when the margin is.
class HoldClock {
 public:
  struct Terms {
    Duration lease;                         ///< how long the store was asked to believe in us
    Duration grace;                         ///< how long before the end of that TERM comes
    std::optional<Duration> max_hold = {};  ///< the hold ends after this, whatever is renewed
  };

  HoldClock(const Held& held, Terms terms);

  /// Looks at the hold: what is left of it.
  Duration look();
  /// A store may grant a shorter lease than it is asked for: then the grace is shorter as well, and TERM does not come
  /// while all is well.
  Duration grace() const;
  /// For the kernel to carry out a KILL.
  Duration margin() const;
  /// Until there is something to do; `told_to_end`: TERM was sent.
  Duration patience(bool told_to_end) const;

  /// Why the command must end when the grace time is left, and when the margin is.
  std::string why_it_must_end() const;
  std::string why_it_was_killed() const;

 private:
  using Clock = std::chrono::steady_clock;

  /// Of --max-hold, if it is that: the lock "backup" has been held for as long as ...
  std::string of_max_hold() const;

  const Held& held_;
  const Terms terms_;
  const Clock::time_point begin_ = Clock::now();
  Duration longest_ = {};  // that was ever left of the hold
};

}  // namespace pawl::cli
