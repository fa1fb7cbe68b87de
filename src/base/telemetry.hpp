#pragma once

#include "base/runtime.hpp"

#include <pawl/metrics.hpp>
#include <pawl/observer.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

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
/// Threads: safe to share. The observer is called on the notifier thread.
class Telemetry {
 public:
  Telemetry(Runtime& runtime, std::function<void(const Event&)> observer)
      : runtime_(runtime), observer_(std::move(observer)) {}

  bool observed() const { return static_cast<bool>(observer_); }
  void report(Event event);
  /// Waits until the observer has heard of everything that has happened so far. False: not until then.
  awaitable<bool> tell_all(Time until);
  Metrics snapshot() const;

  Counter granted = 0, busy = 0, timed_out = 0, cancelled = 0, failed = 0, released = 0, lost = 0, jeopardies = 0,
          undone = 0, local_passes = 0, store_claims = 0, renewals = 0, renewal_failures = 0, sessions_opened = 0;
  Latencies wait;
  Latencies hold;

 private:
  Runtime& runtime_;
  const std::function<void(const Event&)> observer_;
};

/// Adding one to a counter that only tells: no order is needed.
inline void tally(Counter& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

}  // namespace pawl::base
