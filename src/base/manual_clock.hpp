#pragma once

#include "base/clock.hpp"

#include <atomic>
#include <map>
#include <mutex>

namespace pawl::base {

/// A clock that stands still until it is moved.
class ManualClock final : public Clock {
 public:
  Time now() const override { return now_.load(); }
  void set_timer(int descriptor, Time at) override;

  /// When the first timer is due; Time::max(): none is set.
  Time next() const;
  /// Never back.
  void move_to(Time time);

 private:
  std::atomic<Time> now_{Time(std::chrono::hours(1))};
  mutable std::mutex mutex_;  // guards the timers
  std::map<int, Time> timers_;
};

}  // namespace pawl::base
