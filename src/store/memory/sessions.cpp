#include "store/memory/sessions.hpp"

#include "base/planted.hpp"

#include <chrono>
#include <string>

namespace pawl::store::memory {

using base::Bug;
using base::planted;

Session& Sessions::open(SessionId id, Duration lease, Owner owner, Time now) {
  Session session{.id = id, .lease = lease, .ends = base::after(now, lease), .owner = std::move(owner)};
  by_end_.emplace(session.ends, id);
  return all_.insert_or_assign(id, std::move(session)).first->second;
}

Session* Sessions::find(SessionId id) {
  const auto found = all_.find(id);
  return found == all_.end() ? nullptr : &found->second;
}

const Session* Sessions::find(SessionId id) const {
  const auto found = all_.find(id);
  return found == all_.end() ? nullptr : &found->second;
}

Result<Renewal> Sessions::renew(SessionId id, Time now) {
  if (planted(Bug::renewal_creates)) resurrect(id, now);
  Session* session = find(id);
  if (session == nullptr) {
    return Error{Errc::lost, "session " + to_string(id) + " has ended: its lease ran out or it was closed"};
  }
  by_end_.erase({session->ends, id});
  session->ends = base::after(now, session->lease);
  by_end_.emplace(session->ends, id);
  if (!session->changed.empty()) ++session->changes;
  Renewal renewal{.changes = session->changes};
  if (session->changed.size() <= most_named) renewal.changed.emplace(session->changed.begin(), session->changed.end());
  return renewal;
}

std::optional<Session> Sessions::take(SessionId id) {
  const auto found = all_.find(id);
  if (found == all_.end()) return std::nullopt;
  Session session = std::move(found->second);
  by_end_.erase({session.ends, id});
  all_.erase(found);
  if (planted(Bug::renewal_creates)) ended_.insert_or_assign(id, session);
  return session;
}

std::optional<Session> Sessions::take_expired(Time now) {
  if (first_end() > now) return std::nullopt;
  return take(by_end_.begin()->second);
}

std::size_t Sessions::tombstones() const {
  std::size_t sum = 0;
  for (const auto& [id, session] : all_) sum += session.tombstones.size();
  return sum;
}

// As it was, but for its claims: the change number does not move, so the client sees nothing to look at and believes on.
void Sessions::resurrect(SessionId id, Time now) {
  const auto found = ended_.find(id);
  if (found == ended_.end()) return;
  Session& session = open(id, found->second.lease, found->second.owner, now);
  session.changes = found->second.changes;
  ended_.erase(found);
}

}  // namespace pawl::store::memory
