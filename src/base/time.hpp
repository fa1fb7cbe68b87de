#pragma once

#include <pawl/options.hpp>

#include <chrono>

namespace pawl::base {

/// CLOCK_BOOTTIME: goes on while the machine sleeps. Only a Runtime reads it.
struct BootClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};

using Time = BootClock::time_point;

/// `now + d` that stops at the end of time instead of wrapping round.
constexpr Time after(Time now, Duration d) {
  if (d >= Time::max() - now) return Time::max();
  return now + d;
}

/// The point at which the caller stops caring. Made once at the door and handed down.
struct Deadline {
  Time at = Time::max();

  static constexpr Deadline never() { return {}; }
  static constexpr Deadline in(Time now, Duration d) { return {after(now, d)}; }
  constexpr Deadline sooner(Time other) const { return {at < other ? at : other}; }
  constexpr bool passed(Time now) const { return now >= at; }
};

/// Our clock and the store's may run apart by this much over a lease (design: 1 % + 2 ms).
constexpr Duration drift(Duration lease) { return lease / 100 + std::chrono::milliseconds(2); }

}  // namespace pawl::base
