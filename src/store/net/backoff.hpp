#pragma once

#include "base/runtime.hpp"

#include <pawl/options.hpp>

#include <algorithm>
#include <cstdint>

namespace pawl::store::net {

/// How long to wait before the next attempt to connect: longer each time, and never the same for two clients, which may
/// all have lost their server in the same moment.
class Backoff {
 public:
  Backoff(base::Runtime& runtime, Duration shortest, Duration longest)
      : runtime_(runtime), shortest_(shortest), longest_(longest), pause_(shortest) {}

  /// Between half of the pause and the whole, at random. The next pause is twice as long.
  Duration next() {
    const std::int64_t half = std::max<std::int64_t>(pause_.count() / 2, 1);
    pause_ = std::min(2 * pause_, longest_);
    return Duration(half + static_cast<std::int64_t>(runtime_.random() % static_cast<std::uint64_t>(half)));
  }
  /// It was up: the next pause is the shortest again.
  void reset() { pause_ = shortest_; }

 private:
  base::Runtime& runtime_;
  const Duration shortest_;
  const Duration longest_;
  Duration pause_;
};

}  // namespace pawl::store::net
