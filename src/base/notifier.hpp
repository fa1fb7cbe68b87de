#pragma once

#include "base/clock.hpp"
#include "base/runtime.hpp"

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace pawl::base {

/// The thread that calls users back: events, and the loss of a hold at its deadline. It never waits for the executor,
/// so a deadline is told even when nobody drives.
class Notifier {
 public:
  explicit Notifier(Clock& clock = boot_clock());
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void call(std::function<void()> function);
  Runtime::AlarmId set_alarm(Time at, std::function<void()> function);
  void cancel_alarm(Runtime::AlarmId id);
  /// Returns when everything has been called that is due by now. How many calls that were.
  std::uint64_t settle();
  /// True on this thread.
  bool here() const;
  void stop();

 private:
  using Alarms = std::map<std::pair<Time, Runtime::AlarmId>, std::function<void()>>;
  void run();
  bool take_due(std::function<void()>& out);
  void wake();
  void sleep_until_something_is_due();

  Clock& clock_;
  const int timer_;   // timerfd on CLOCK_BOOTTIME
  const int event_;   // eventfd
  std::mutex mutex_;  // guards all below
  std::deque<std::function<void()>> calls_;
  Alarms alarms_;
  std::map<Runtime::AlarmId, Time> alarm_times_;
  Runtime::AlarmId last_id_ = 0;
  Time armed_ = Time::max();
  std::uint64_t called_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace pawl::base
