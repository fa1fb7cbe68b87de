#pragma once

#include "base/time.hpp"
#include "store/claim.hpp"

#include <deque>
#include <optional>

namespace pawl::store {

/// Who has led an election lately, so that whoever observes it misses nobody who led for a moment only.
/// Limit: remembers the last 32, and, when nobody leads any more, for one minute.
class Chronicle {
 public:
  static constexpr std::size_t most = 32;
  static constexpr Duration kept = std::chrono::minutes(1);

  struct Entry {
    Leader leader = {};  ///< its age is not known here
    base::Time since = {};
    std::optional<base::Time> until = {};
  };

  void begin(Leader leader, base::Time now);
  /// Whoever leads does so no longer.
  void end(base::Time now);

  Succession after(Token token, base::Time now) const;
  /// Nobody needs it any more.
  bool stale(base::Time now) const;

  std::deque<Entry> entries = {};
};

}  // namespace pawl::store
