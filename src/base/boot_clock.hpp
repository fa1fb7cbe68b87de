#pragma once

#include "base/time.hpp"

#include <time.h>

namespace pawl::base {

Time read_boot_clock();

/// A new timerfd on CLOCK_BOOTTIME, non-blocking. Throws std::system_error.
int make_boot_timer();
/// Time::max() disarms it.
void set_boot_timer(int descriptor, Time at);

/// CLOCK_MONOTONIC, this much later than now: for calls of the C library that wait until a point in time.
timespec monotonic_after(Duration duration);

}  // namespace pawl::base
