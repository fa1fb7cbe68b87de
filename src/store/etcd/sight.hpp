#pragma once

#include "etcd.pb.h"
#include "store/etcd/cluster.hpp"
#include "store/etcd/layout.hpp"
#include "store/record.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::etcd {

/// A claim's key, as an answer has shown it.
struct Seen {
  std::string key = {};
  std::string value = {};  ///< of a candidate's key
  std::int64_t created = 0;
  std::int64_t changed = 0;
  std::int64_t record_changed = 0;     ///< the revision that wrote its record last; of a candidate, that is another key
  std::optional<KeyOwner> owner = {};  ///< of another library: nothing
  std::optional<Record> record = {};   ///< likewise

  Mode mode() const;
  ClaimId id() const;
  bool holds() const { return record && record->stage == Record::Stage::held; }
  bool failed() const { return record && record->stage == Record::Stage::failed; }
  bool waits() const { return !record || record->stage == Record::Stage::waiting; }
  bool holds_alone() const { return holds() && mode() == Mode::exclusive; }
  /// It has had the lock with a lock-delay: its key outlasts its session.
  bool outlasts_session() const;
};

/// `kind`: a candidate's record is not in its key's value.
Seen see(const pb::KeyValue& kv, std::string_view folder, Kind kind);

/// What news of the key before it mean to a waiter.
enum class Meaning : std::uint8_t {
  nothing,
  gone,
  held_and_gone,  ///< it had held the lock alone
  look,           ///< look at it again
};
struct Waiter {
  std::int64_t created = 0;
  Mode mode = Mode::exclusive;
  Kind kind = Kind::mutex;
};
/// Must the waiter behind it wait for it? For permits it waits only for those that wait as well.
bool blocks(const Seen& before, const Waiter& behind);
Meaning meaning_for(const Waiter& waiter, const Heard& heard);
/// To the first in line for permits: have any become free, perhaps?
bool may_free_permits(const Heard& heard);

/// What holders, and those who have failed, leave of a semaphore's permits.
struct Room {
  std::optional<std::uint32_t> agreed = {};  ///< how many there are, to those who use them
  Slots slots = {};                          ///< for us; none: not enough are left
  Waiting::Permits used = {};
  std::vector<std::string> before = {};  ///< those who wait before us
};
/// `all`: in their order; of those who have failed, the stage says so. `own`: the revision of our key; 0: none.
Room room_in(const std::vector<Seen>& all, const Claim::Permits& permits, std::int64_t own);

}  // namespace pawl::store::etcd
