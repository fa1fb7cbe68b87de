#pragma once

#include "base/time.hpp"

#include <deque>
#include <optional>

namespace pawl::store::zookeeper {

/// From when the servers' patience with a session counts. Only the leader ends sessions, and a follower answers pings by
/// itself: it passes on whom it has heard of when the leader asks, every half tick, and a session is at least two ticks
/// long. So a sign of life counts only when the leader itself, and most servers with it, have answered a later one, sent a
/// quarter of the session after the answer to it: when it had arrived for certain.
///
/// A connection that is made again was confirmed by a leader at once, though perhaps by one that is none any more: it counts
/// with the first answer. (To open a session takes most servers anyway.)
class Heartbeats {
 public:
  Heartbeats(Duration session, base::Time connected) : gap_(session / 4), counts_from_(connected) {}

  /// Another connection of the session was begun then, and is there now.
  void attached(base::Time begun);
  void sent(base::Time at) { open_.push_back({at, {}}); }
  /// The leader has answered the one that was sent then.
  void confirmed(base::Time sent, base::Time now);

  base::Time counts_from() const { return counts_from_; }

 private:
  struct Sign {
    base::Time sent;
    std::optional<base::Time> arrived;  // at the latest
  };

  const Duration gap_;
  base::Time counts_from_;
  std::deque<Sign> open_;                // those that do not count yet, oldest first
  std::optional<base::Time> connected_;  // not confirmed yet
};

}  // namespace pawl::store::zookeeper
