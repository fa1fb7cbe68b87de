#pragma once

#include "base/time.hpp"

namespace pawl::base {

Time read_boot_clock();

/// A new timerfd on CLOCK_BOOTTIME, non-blocking. Throws std::system_error.
int make_boot_timer();
/// Time::max() disarms it.
void set_boot_timer(int descriptor, Time at);

}  // namespace pawl::base
