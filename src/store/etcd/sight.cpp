#include "store/etcd/sight.hpp"

#include <set>
#include <vector>

namespace pawl::store::etcd {

Mode Seen::mode() const {
  if (record) return record->mode;
  return owner ? owner->mode : Mode::exclusive;
}

ClaimId Seen::id() const { return owner ? owner->claim : ClaimId{0, static_cast<std::uint64_t>(created)}; }

bool Seen::outlasts_session() const { return !waits() && record->lock_delay > Duration::zero(); }

Seen see(const pb::KeyValue& kv, std::string_view folder, Kind kind) {
  Seen seen;
  seen.key = kv.key();
  seen.created = kv.create_revision();
  seen.changed = kv.mod_revision();
  if (seen.key.starts_with(folder)) seen.owner = owner_of_key(std::string_view(seen.key).substr(folder.size()));
  if (kind == Kind::election) {
    seen.value = kv.value();  // which may look like a record of ours
  } else if (seen.owner) {
    seen.record = Record::parse(kv.value());
    seen.record_changed = seen.changed;
  }
  return seen;
}

bool blocks(const Seen& before, const Waiter& behind) {
  if (behind.kind == Kind::permits) return before.waits();
  return behind.mode == Mode::exclusive || before.mode() == Mode::exclusive;
}

Meaning meaning_for(const Waiter& waiter, const Heard& heard) {
  if (heard.what == Heard::What::missed) return Meaning::look;
  // Made again behind us: Go's clients use one name again and again.
  if (heard.create_revision > waiter.created) return Meaning::gone;
  const bool deleted = heard.what == Heard::What::deleted;
  if (waiter.kind == Kind::election) return deleted ? Meaning::gone : Meaning::look;
  const std::optional<Record> record = Record::parse(deleted ? heard.before.value_or("") : heard.value);
  const bool held = record && record->stage == Record::Stage::held;
  if (waiter.kind == Kind::permits) return deleted || held ? Meaning::gone : Meaning::nothing;
  if (deleted) return held && record->mode == Mode::exclusive ? Meaning::held_and_gone : Meaning::gone;
  if (!record || record->stage == Record::Stage::waiting) return Meaning::nothing;
  const bool lets_in = waiter.mode == Mode::shared && record->mode == Mode::shared;
  if (lets_in) return Meaning::gone;
  return record->lock_delay > Duration::zero() ? Meaning::look : Meaning::nothing;
}

bool may_free_permits(const Heard& heard) {
  if (heard.what == Heard::What::missed) return true;
  if (heard.what == Heard::What::put) {
    // Now its lock-delay decides when its permits are free.
    const std::optional<Record> record = Record::parse(heard.value);
    return record && record->stage == Record::Stage::failed;
  }
  if (!heard.before) return true;
  const std::optional<Record> record = Record::parse(*heard.before);
  return record && record->stage != Record::Stage::waiting;
}

Room room_in(const std::vector<Seen>& all, const Claim::Permits& permits, std::int64_t own) {
  Room room;
  std::set<std::uint32_t> taken;
  for (const Seen& seen : all) {
    if (!seen.record || seen.created == own) continue;
    if (!room.agreed) room.agreed = seen.record->permits.of;
    if (seen.waits()) {
      if (own == 0 || seen.created < own) room.before.push_back(seen.key);
      continue;
    }
    const Slots& slots = seen.record->slots;
    (seen.failed() ? room.used.in_lock_delay : room.used.taken) += static_cast<std::uint32_t>(slots.size());
    taken.insert(slots.begin(), slots.end());
  }
  if (taken.size() + permits.wanted > permits.of) return room;
  for (std::uint32_t slot = 0; room.slots.size() < permits.wanted; ++slot) {
    if (!taken.contains(slot)) room.slots.push_back(slot);
  }
  return room;
}

}  // namespace pawl::store::etcd
