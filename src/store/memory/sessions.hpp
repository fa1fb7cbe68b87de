#pragma once

#include "base/ids.hpp"
#include "base/time.hpp"
#include "store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace pawl::store::memory {

using base::Time;

/// A client's liveness, as the store keeps it.
struct Session {
  SessionId id;
  Duration lease = {};
  Time ends = {};
  Owner owner = {};
  std::uint64_t changes = 0;          ///< see Renewal::changes
  std::set<ClaimId> changed = {};     ///< see Renewal::changed
  std::set<ClaimId> claims = {};      ///< waiting or held
  std::set<ClaimId> tombstones = {};  ///< withdrawn or taken away: a late request for one of these is refused
};

/// The sessions that live, and which of them ends first. Finding, renewing and ending one costs O(log n).
/// Threads: guarded by MemoryState's mutex.
class Sessions {
 public:
  Session& open(SessionId id, Duration lease, Owner owner, Time now);
  Session* find(SessionId id);
  const Session* find(SessionId id) const;
  /// Never creates: `lost` when the session has ended.
  Result<Renewal> renew(SessionId id, Time now);
  /// Takes it out of the table.
  std::optional<Session> take(SessionId id);
  /// Takes out the first one whose lease is over.
  std::optional<Session> take_expired(Time now);

  /// Time::max() when there is none.
  Time first_end() const { return by_end_.empty() ? Time::max() : by_end_.begin()->first; }
  std::size_t size() const { return all_.size(); }
  std::size_t tombstones() const;

 private:
  void resurrect(SessionId id, Time now);

  std::map<SessionId, Session> all_;
  std::set<std::pair<Time, SessionId>> by_end_;
  std::map<SessionId, Session> ended_;  // stays empty unless Bug::renewal_creates is planted
};

}  // namespace pawl::store::memory
