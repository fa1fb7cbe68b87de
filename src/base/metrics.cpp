#include <pawl/metrics.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pawl {

Duration Histogram::quantile(double share) const {
  // Not `count`: a snapshot taken while others count may be ahead of the buckets.
  const std::uint64_t all = std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
  if (all == 0) return Duration::zero();
  const double wanted = std::isnan(share) ? 0 : std::clamp(share, 0.0, 1.0);
  const double rank = std::max(1.0, std::ceil(wanted * static_cast<double>(all)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i + 1 < size; ++i) {
    seen += buckets[i];
    if (static_cast<double>(seen) >= rank) return std::chrono::microseconds(std::int64_t{1} << i);
  }
  return Duration::max();  // the last bucket has no upper edge
}

}  // namespace pawl
