#pragma once

#include "base/time.hpp"

namespace pawl::base {

/// Where a runtime has its time from.
/// Threads: all.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;
  /// The timer (a timerfd, see make_boot_timer) can be read from then on. Time::max() disarms it.
  virtual void set_timer(int descriptor, Time at) = 0;
};

/// The machine's, which goes on in suspend.
Clock& boot_clock();

}  // namespace pawl::base
