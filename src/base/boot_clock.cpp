#include "base/boot_clock.hpp"

#include "base/clock.hpp"

#include <sys/timerfd.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace pawl::base {

Time read_boot_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return Time(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

Clock& boot_clock() {
  class BootClock final : public Clock {
   public:
    Time now() const override { return read_boot_clock(); }
    void set_timer(int descriptor, Time at) override { set_boot_timer(descriptor, at); }
  };
  static BootClock& clock = *new BootClock;  // never destroyed: the process-wide runtime asks for the time to the end
  return clock;
}

int make_boot_timer() {
  const int descriptor = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
  return descriptor;
}

void set_boot_timer(int descriptor, Time at) {
  itimerspec when{};
  if (at != Time::max()) {
    const auto nanoseconds = std::max<std::int64_t>(1, at.time_since_epoch().count());  // 0 would disarm it
    when.it_value = {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  }
  ::timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &when, nullptr);
}

timespec monotonic_after(Duration duration) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t second = 1'000'000'000;
  const std::int64_t nanoseconds = now.tv_nsec + duration.count() % second;
  now.tv_sec += duration.count() / second + nanoseconds / second;
  now.tv_nsec = nanoseconds % second;
  return now;
}

}  // namespace pawl::base
