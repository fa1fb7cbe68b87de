#include "base/telemetry.hpp"

#include "base/planted.hpp"
#include "base/wakeup.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>

namespace pawl::base {

void Latencies::add(Duration value) {
  const auto micros = std::max<std::int64_t>(0, value / std::chrono::microseconds(1));
  const auto bucket = std::min<std::size_t>(std::bit_width(static_cast<std::uint64_t>(micros)), Histogram::size - 1);
  tally(buckets_[bucket]);
  total_.fetch_add(value.count(), std::memory_order_relaxed);
}

Histogram Latencies::snapshot() const {
  Histogram histogram;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    histogram.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
    histogram.count += histogram.buckets[i];
  }
  histogram.total = Duration(total_.load(std::memory_order_relaxed));
  return histogram;
}

/// An observer, and what waits for it.
struct Telemetry::Observed {
  explicit Observed(std::function<void(const Event&)> function) : observer(std::move(function)) {}

  void tell(const Event& event) {
    --waiting;
    if (finished) return;
    observer(event);
    // Not for each of them: when half of the queue is told, it has caught up.
    const std::uint64_t missed = waiting < most_waiting / 2 ? dropped.exchange(0) : 0;
    if (missed == 0) return;
    observer({.type = EventType::dropped,
              .message = std::to_string(missed) + " events were dropped: the observer is too slow"});
  }

  const std::function<void(const Event&)> observer;
  std::atomic<std::size_t> waiting = 0;
  std::atomic<std::uint64_t> dropped = 0;  // since it was told last
  std::atomic<bool> finished = false;
};

Telemetry::Telemetry(Runtime& runtime, std::function<void(const Event&)> observer)
    : runtime_(runtime), observed_(observer ? std::make_shared<Observed>(std::move(observer)) : nullptr) {
  if (observed_) runtime_.expect_observers();
}

void Telemetry::report(Event event) {
  if (!observed_ || observed_->finished) return;
  if (observed_->waiting >= most_waiting && event.type != EventType::lost) {
    tally(events_dropped);
    tally(observed_->dropped);
    return;
  }
  ++observed_->waiting;
  auto tell = [observed = observed_, event = std::move(event)] { observed->tell(event); };
  if (planted(Bug::observers_share_thread)) return runtime_.notify(std::move(tell));
  runtime_.observe(std::move(tell));
}

awaitable<bool> Telemetry::finish(Time until) {
  if (!observed_) co_return true;
  const auto told = std::make_shared<Wakeup>(runtime_);
  runtime_.observe([observed = observed_, told, executor = runtime_.executor()] {
    observed->finished = !planted(Bug::events_after_close);  // here, behind every event that was reported before
    asio::post(executor, [told] { told->notify(); });
  });
  const Woke why = co_await told->wait(until);
  co_return why == Woke::notified;
}

Metrics Telemetry::snapshot() const {
  Metrics now;
  now.granted = granted;
  now.busy = busy;
  now.timed_out = timed_out;
  now.cancelled = cancelled;
  now.failed = failed;
  now.released = released;
  now.lost = lost;
  now.jeopardies = jeopardies;
  now.events_dropped = events_dropped;
  now.undone = undone;
  now.local_passes = local_passes;
  now.store_claims = store_claims;
  now.renewals = renewals;
  now.renewal_failures = renewal_failures;
  now.sessions_opened = sessions_opened;
  now.wait = wait.snapshot();
  now.hold = hold.snapshot();
  return now;
}

}  // namespace pawl::base
