#pragma once

#include "base/alarms.hpp"
#include "base/call_queue.hpp"
#include "base/clock.hpp"
#include "base/runtime.hpp"

#include <cstdint>
#include <functional>

namespace pawl::base {

/// The threads that tell users something, beside the executor:
///
/// | thread   | runs                                             | waits for                    |
/// |----------|--------------------------------------------------|------------------------------|
/// | alarms   | deadlines: a hold is marked as lost              | nothing                      |
/// | notify   | callbacks: lost(), release_requested(), handlers | callbacks before it          |
/// | observe  | observers; only where there is one               | observers before it          |
///
/// None of them ever runs work of the executor, so none waits for a disk.
class Notifier {
 public:
  /// Throws std::system_error where there is no descriptor or thread left.
  explicit Notifier(Clock& clock = boot_clock());
  ~Notifier() { stop(); }
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void call(std::function<void()> function) { calls_.call(std::move(function)); }
  /// Before the first observe(). Throws std::system_error.
  void expect_observers() { observers_.start(); }
  void observe(std::function<void()> function) { observers_.call(std::move(function)); }
  Runtime::AlarmId set_alarm(Time at, std::function<void()> function) { return alarms_.set(at, std::move(function)); }
  void cancel_alarm(Runtime::AlarmId id) { alarms_.cancel(id); }
  /// Returns when everything has been called that is due by now. How many calls that were.
  std::uint64_t settle();
  /// True on these threads.
  bool here() const { return calls_.here() || observers_.here() || alarms_.here(); }
  void stop();

 private:
  CallQueue observers_{"pawl-observe"};
  CallQueue calls_{"pawl-notify"};
  Alarms alarms_;
};

}  // namespace pawl::base
