#pragma once

#include <pawl/options.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace pawl {

/// Latencies in powers of two: bucket i counts those below 2^i microseconds, the last one all others.
struct Histogram {
  static constexpr std::size_t size = 40;
  std::array<std::uint64_t, size> buckets = {};
  std::uint64_t count = 0;
  Duration total = {};

  /// The upper edge of the bucket that holds the given share (0 to 1) of all values; zero when empty.
  Duration quantile(double share) const;
};

/// What a client has done since it was opened.
struct Metrics {
  std::uint64_t granted = 0;
  std::uint64_t busy = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t failed = 0;  ///< acquisitions that ended with any other error
  std::uint64_t released = 0;
  std::uint64_t lost = 0;
  std::uint64_t jeopardies = 0;
  std::uint64_t events_dropped = 0;  ///< that the observer was too slow for
  std::uint64_t undone = 0;
  std::uint64_t local_passes = 0;  ///< hand-offs between threads without asking the store
  std::uint64_t store_claims = 0;  ///< claims that went to the store
  std::uint64_t renewals = 0;      ///< confirmed
  std::uint64_t renewal_failures = 0;
  std::uint64_t sessions_opened = 0;
  Histogram wait = {};  ///< from asking to holding
  Histogram hold = {};  ///< from holding to release or loss
};

}  // namespace pawl
