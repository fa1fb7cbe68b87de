#pragma once

#include "base/clock.hpp"
#include "base/runtime.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace pawl::base {

/// The thread that watches deadlines. What it calls is ours, and does not block: a deadline must not wait for anything,
/// neither for users' code nor for the executor.
/// Threads: all.
class Alarms {
 public:
  /// Throws std::system_error where there is no descriptor or thread left.
  explicit Alarms(Clock& clock);
  ~Alarms();
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;

  Runtime::AlarmId set(Time at, std::function<void()> function);
  void cancel(Runtime::AlarmId id);
  /// Returns when everything has been called that is due by now. How many calls that were.
  std::uint64_t settle();
  /// True on its thread.
  bool here() const;
  void stop();

 private:
  using Due = std::map<std::pair<Time, Runtime::AlarmId>, std::function<void()>>;
  void run();
  bool take_due(std::function<void()>& out);
  void arm(Time at);

  Clock& clock_;
  const int timer_;   // timerfd on CLOCK_BOOTTIME
  std::mutex mutex_;  // guards all below
  Due due_;
  std::map<Runtime::AlarmId, Time> times_;
  Runtime::AlarmId last_id_ = 0;
  Time armed_ = Time::max();
  std::uint64_t called_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace pawl::base
