#include "base/telemetry.hpp"

#include "base/wakeup.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <bit>
#include <memory>

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

void Telemetry::report(Event event) {
  if (!observer_) return;
  // A copy of the function: the client may be gone when the notifier comes to it.
  runtime_.notify([observer = observer_, event = std::move(event)] { observer(event); });
}

awaitable<bool> Telemetry::tell_all(Time until) {
  if (!observer_) co_return true;
  // Three times behind all that is there: a lease that ends tells its holds, and those tell the observer.
  constexpr int hops = 3;
  const auto told = std::make_shared<Wakeup>(runtime_);
  for (int hop = 0; hop < hops; ++hop) {
    runtime_.notify([told, executor = runtime_.executor()] { asio::post(executor, [told] { told->notify(); }); });
    const Woke why = co_await told->wait(until);
    if (why == Woke::timed_out) co_return false;
  }
  co_return true;
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
