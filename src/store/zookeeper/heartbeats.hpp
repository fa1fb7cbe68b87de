#pragma once

#include "base/time.hpp"

#include <deque>
#include <optional>

namespace pawl::store::zookeeper {

/// From when the servers' patience with a session counts. Only the leader ends sessions, and a follower answers pings by
/// itself: it passes on whom it has heard of when the leader asks, every half tick, and a session is at least two ticks
/// long. So a sign of life counts only when the leader itself, and most servers with it, have answered a later one, sent so
/// long after the answer to it (`gap`) that it had arrived for certain.
///
/// A connection that is made again was confirmed by a leader at once, though perhaps by one that is none any more: it counts
/// with the first answer. (To open a session takes most servers anyway.)
class Heartbeats {
 public:
  /// How many are sent in the time of a session. Nobody else sends any, however short the lease is.
  static constexpr int per_session = 9;

  /// A little more than a quarter of the session, which is half a tick at the least. Where the servers have agreed to far
  /// more than was asked for, half of it: then it is two ticks long, and a lease that is short beside it can wait. That is
  /// long enough for an observer that reports to its leader through a follower.
  static constexpr Duration gap(Duration asked, Duration agreed) {
    return agreed >= 2 * asked ? agreed / 2 : agreed / 4 + agreed / 32;
  }
  /// When a server that does not answer a heartbeat is left for another one. With the longer gap, what counts is older,
  /// and less time is left: an eighth of the session, not a quarter. About a fifth is then left to find another server.
  static constexpr Duration silence(Duration asked, Duration agreed) {
    return agreed >= 2 * asked ? agreed / 8 : agreed / 4;
  }
  /// How much longer than the lease the servers wait, by our own clock: it may be slower than theirs all the time.
  static constexpr Duration beyond(Duration lease, Duration session) {
    return session - lease - (base::drift(session) - base::drift(lease));
  }

  Heartbeats(Duration gap, base::Time connected) : gap_(gap), counts_from_(connected) {}

  /// Another connection of the session was begun then, and is there now. The servers may have agreed to another time.
  void attached(base::Time begun, Duration gap);
  void sent(base::Time at) { open_.push_back({at, {}}); }
  /// The leader has answered the one that was sent then.
  void confirmed(base::Time sent, base::Time now);

  base::Time counts_from() const { return counts_from_; }

 private:
  struct Sign {
    base::Time sent;
    std::optional<base::Time> arrived;  // at the latest
  };

  Duration gap_;
  base::Time counts_from_;
  std::deque<Sign> open_;                // those that do not count yet, oldest first
  std::optional<base::Time> connected_;  // not confirmed yet
};

}  // namespace pawl::store::zookeeper
