#include "base/manual_clock.hpp"

#include "base/boot_clock.hpp"

#include <algorithm>

namespace pawl::base {

namespace {

constexpr Time long_ago{Duration(1)};  // by the machine's clock: it can be read at once

}  // namespace

void ManualClock::set_timer(int descriptor, Time at) {
  const std::lock_guard lock(mutex_);
  if (at == Time::max()) {
    timers_.erase(descriptor);
    set_boot_timer(descriptor, at);
  } else if (at > now()) {
    timers_[descriptor] = at;
    set_boot_timer(descriptor, Time::max());
  } else {
    timers_.erase(descriptor);
    set_boot_timer(descriptor, long_ago);
  }
}

Time ManualClock::next() const {
  const std::lock_guard lock(mutex_);
  Time first = Time::max();
  for (const auto& [descriptor, at] : timers_) first = std::min(first, at);
  return first;
}

void ManualClock::move_to(Time time) {
  const std::lock_guard lock(mutex_);
  if (time <= now()) return;
  now_ = time;
  std::erase_if(timers_, [&](const auto& timer) {
    if (timer.second > time) return false;
    set_boot_timer(timer.first, long_ago);
    return true;
  });
}

}  // namespace pawl::base
