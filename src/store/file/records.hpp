#pragma once

#include "base/time.hpp"
#include "store/chronicle.hpp"
#include "store/claim.hpp"
#include "store/file/gate.hpp"
#include "store/rules.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What stands in the lock database, layout 3. Numbers are the machine's own: the database never leaves it.
///
/// | key                                | record      | for                                         |
/// |------------------------------------|-------------|---------------------------------------------|
/// | d time s session, d time l lock    | -           | what ends next: a lease, a lock-delay       |
/// | e session                          | Time        | a session that has ended then, while there are claims of it |
/// | k                                  | Counters    | the whole folder                            |
/// | l lock                             | LockRecord  | a lock in use, with its exclusive holder    |
/// | m lock-number ticket               | ClaimRecord | a holder beside others: shared, or permits  |
/// | n lock                             | Chronicle   | who has led an election                     |
/// | q lock-number ticket               | ClaimRecord | a waiter                                    |
/// | s session                          | SessionRecord |                                           |
/// | s session claim                    | Place of a claim, or its tombstone | idempotence, end of a session |
/// | u session claim                    | -           | was sent a notice, and not asked about since |
/// | y process session                  | -           | death of a process                          |
namespace pawl::store::file {

using base::Time;

/// The key of a lock behind its table's letter: kind, and the name as far as it fits.
std::string lock_key(const LockKey& key);
bool is_election(std::string_view lock_key);

struct Counters {
  std::uint64_t epoch = 0;
  std::uint64_t last_token = 0;
  std::uint64_t reserved = 0;  ///< tokens up to here may be handed out: the token file says so
  std::uint64_t last_ticket = 0;
  std::uint64_t last_lock = 0;
  Time first_end = Time::max();  ///< nothing ends before; a hint that may be too early
  std::uint64_t ended = 0;       ///< sessions that have ended and whose claims are not all swept yet

  std::string_view bytes() const { return {reinterpret_cast<const char*>(this), sizeof *this}; }
  static Counters unpack(std::string_view bytes);

  friend bool operator==(const Counters&, const Counters&) = default;
};

struct SessionRecord {
  Duration lease = {};
  Time ends = {};
  ProcessKey process = 0;
  std::uint64_t mailbox = 0;
  std::uint64_t changes = 0;
  Owner owner = {};

  std::string pack() const;
  static SessionRecord unpack(std::string_view bytes);
};

/// A holder or a waiter.
struct ClaimRecord {
  ClaimId id = {};
  SessionId session = {};
  std::uint64_t ticket = 0;  ///< 0: it never waited
  Time since = {};           ///< asked, or granted
  Duration lease = {};
  Duration lock_delay = {};
  Token token = {};  ///< while it holds
  Mode mode = Mode::exclusive;
  bool release_requested = false;
  std::uint32_t permits = 0;  ///< how many it wants
  Slots slots = {};           ///< which ones it has
  std::string label = {};
  std::string value = {};  ///< of a candidate
};

std::string pack(const ClaimRecord& record);
ClaimRecord unpack_claim(std::string_view bytes);

std::string pack(const Chronicle& chronicle);
Chronicle unpack_chronicle(std::string_view bytes);

struct LockRecord {
  LockKey key;
  std::uint64_t number = 0;
  std::uint64_t waiters = 0;
  std::uint64_t sharers = 0;     ///< holders beside each other
  std::uint32_t permits = 0;     ///< that there are
  std::vector<bool> taken = {};  ///< which of them are, by holders and ghosts
  std::vector<Ghost> ghosts = {};
  std::optional<ClaimRecord> holder = {};  ///< the exclusive one

  bool in_use() const { return holder || sharers > 0 || waiters > 0 || !ghosts.empty(); }
  Slots take_slots(std::uint32_t number);
  void free_slots(const Slots& slots);

  std::string pack() const;
  static LockRecord unpack(std::string_view bytes);
};

/// Where a claim of a session is.
struct ClaimPlace {
  bool tombstone = false;  ///< withdrawn or taken away: a late request for it is refused
  std::uint64_t ticket = 0;
  std::string lock = {};  ///< lock_key()

  std::string pack() const;
  static ClaimPlace unpack(std::string_view bytes);
};

}  // namespace pawl::store::file
