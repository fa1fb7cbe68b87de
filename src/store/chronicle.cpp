#include "store/chronicle.hpp"

#include <utility>

namespace pawl::store {

void Chronicle::begin(Leader leader, base::Time now) {
  entries.push_back({std::move(leader), now});
  if (entries.size() > most) entries.pop_front();
}

void Chronicle::end(base::Time now) {
  if (!entries.empty() && !entries.back().until) entries.back().until = now;
}

Succession Chronicle::after(Token token, base::Time now) const {
  Succession succession;
  succession.vacant = entries.empty() || entries.back().until.has_value();
  const Entry* before = nullptr;
  for (const Entry& entry : entries) {
    if (entry.leader.token > token) {
      // Of the oldest one it is not known, unless it was the first.
      const bool gap = before != nullptr ? before->until && *before->until < entry.since : entries.size() < most;
      succession.reigns.push_back({entry.leader, gap});
      succession.reigns.back().leader.age = now - entry.since;
    }
    before = &entry;
  }
  return succession;
}

bool Chronicle::stale(base::Time now) const {
  if (entries.empty()) return true;
  return entries.back().until && base::after(*entries.back().until, kept) <= now;
}

}  // namespace pawl::store
