#pragma once

#include "base/runtime.hpp"

#include <pawl/metrics.hpp>
#include <pawl/observer.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace pawl::base {

using Counter = std::atomic<std::uint64_t>;

/// Latencies that several threads add to.
class Latencies {
 public:
  void add(Duration value);
  Histogram snapshot() const;

 private:
  std::array<Counter, Histogram::size> buckets_ = {};
  std::atomic<std::int64_t> total_ = 0;
};

/// What one client tells the outside: counters for `metrics()`, events for the observer.
/// Threads: safe to share. The observer is called on a thread for observers.
class Telemetry {
 public:
  /// So many events may wait for a slow observer; more are dropped and counted, but never a loss.
  static constexpr std::size_t most_waiting = 20'000;

  /// Throws std::system_error where there is an observer and no thread can be started for it.
  Telemetry(Runtime& runtime, std::function<void(const Event&)> observer);

  bool observed() const { return observed_ != nullptr; }
  void report(Event event);
  /// Waits until the observer has been told of everything that has happened so far; it is called no more after that.
  /// False: not by then.
  awaitable<bool> finish(Time until);
  Metrics snapshot() const;

  Counter granted = 0, busy = 0, timed_out = 0, cancelled = 0, failed = 0, released = 0, lost = 0, jeopardies = 0,
          events_dropped = 0, undone = 0, local_passes = 0, store_claims = 0, renewals = 0, renewal_failures = 0,
          sessions_opened = 0;
  Latencies wait;
  Latencies hold;

 private:
  struct Observed;

  Runtime& runtime_;
  const std::shared_ptr<Observed> observed_;  // the client may be gone when an event's turn comes
};

/// Adding one to a counter that only tells: no order is needed.
inline void tally(Counter& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

}  // namespace pawl::base
