#include "tests/simulation/recalls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace pawl::test {

using namespace std::chrono_literals;

bool Recalls::taken_away(const Held& held) const {
  return std::any_of(all_.begin(), all_.end(), [&](const Recall& recall) {
    return recall.taken_away && recall.lock == held.lock && recall.claim == held.claim();
  });
}

bool Recalls::any_taken_away(const PlayedLock& lock) const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const Recall& recall) { return recall.taken_away && recall.lock == &lock; });
}

Complaint Recalls::check(const Held& held, base::Time fair_from, base::Time now) const {
  for (const Recall& recall : all_) {
    if (recall.lock != held.lock || recall.claim != held.claim() || !held.valid(now)) continue;
    // In good weather its notice comes; one that was lost before is told with the next renewal.
    const Duration patience = recall.at > fair_from ? 1s : held.lease + 1s;
    const base::Time due = std::max({recall.at, held.since, fair_from}) + patience;
    if (now <= due) continue;
    if (recall.taken_away) {
      return Violation{Oracle::taken_away_and_valid, fmt::format("{} with token {} was taken away, and is still valid",
                                                                 held.lock->title(), held.token.to_string())};
    }
    if (held.hold->release_requested().stop_requested()) continue;
    return Violation{Oracle::not_asked_back, fmt::format("nobody told the holder of {} with token {} to let go",
                                                         held.lock->title(), held.token.to_string())};
  }
  return {};
}

}  // namespace pawl::test
