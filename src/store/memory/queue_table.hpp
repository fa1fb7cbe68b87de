#pragma once

#include "store/chronicle.hpp"
#include "store/memory/sessions.hpp"
#include "store/rules.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pawl::store::memory {

/// A notice and the claim it is for.
struct Mail {
  ClaimId to;
  Notice notice;
};

/// The rules of the `queue` scheme, without I/O, clock or lock: requests in, answers and mail out.
///
/// | a lock is | claim                    | a holder leaves                    | time passes                     |
/// |-----------|--------------------------|------------------------------------|---------------------------------|
/// | free      | held                     | -                                  | -                               |
/// | held      | held beside the others,  | the head holds it, and those       | -                               |
/// |           | if it fits and nobody    | behind it that fit beside it;      |                                 |
/// |           | waits; else joins the    | none: free; failed with a          |                                 |
/// |           | queue                    | lock-delay: its ghost stays        |                                 |
/// | haunted   | as held                  | as held                            | delay over: as if it left       |
///
/// What fits: an exclusive claim beside nobody, a shared one beside shared ones, permits while there are enough left. A
/// ghost is a holder that failed: it keeps its place, and its permits, for its lock-delay.
/// Promise: first come, first served. A grant never goes to a session that has ended. A lock that is free has no queue
///          and no record.
/// Threads: guarded by MemoryState's mutex.
class QueueTable {
 public:
  QueueTable(Sessions& sessions, std::vector<Mail>& mail, std::uint64_t epoch)
      : sessions_(sessions), mail_(mail), epoch_(epoch) {}
  QueueTable(const QueueTable&) = delete;
  QueueTable& operator=(const QueueTable&) = delete;

  Result<ClaimState> claim(const Claim& claim, Time now);
  Withdrawn withdraw(const Claim& claim, Withdrawal how, Time now);
  Standing look(const Claim& claim);
  Result<void> downgrade(const Claim& claim, Time now);
  void relabel(const Claim& claim);
  LockView inspect(const LockKey& key, Time now) const;
  /// By kind, then by name.
  std::vector<LockView> list(std::string_view prefix, Time now) const;
  Succession succession(const LockKey& key, Token after, Time now) const;
  bool check(const LockKey& key, Token token) const;
  bool ask_to_release(const LockKey& key, ClaimId claim);
  bool take_away(const LockKey& key, ClaimId claim, Time now);

  /// What a session that has just been taken out of the table leaves behind. settle() must follow.
  void end_session(const Session& session, Time at, bool expired);
  /// Grants what has become free, also by the end of a lock-delay, and forgets the locks that nobody uses.
  void settle(Time now);

  /// Nobody is granted that lock before.
  void bar(const LockKey& key, Time until, Time now);

  std::uint64_t epoch() const { return epoch_; }
  /// For the grants to come.
  void raise_epoch(std::uint64_t epoch) { epoch_ = epoch; }

  std::size_t locks() const { return locks_.size(); }
  std::size_t claims() const { return claims_.size(); }

 private:
  struct Record;
  struct Lock {
    LockKey key;
    std::uint64_t number;  ///< for an order that does not depend on addresses: a run can be repeated
    std::map<std::uint64_t, Record*> holders = {};  ///< by ticket
    std::map<std::uint64_t, Record*> queue = {};    ///< by ticket
    std::vector<Ghost> ghosts = {};
    Time barred_until = Time::min();
    std::uint32_t permits = 0;
    std::set<std::uint32_t> free_slots = {};  ///< of the permits
    bool settling = false;                    ///< it is in unsettled_
    std::optional<Token> expired = {};        ///< the token of the last holder, if its session expired

    bool used() const { return !holders.empty() || !queue.empty() || !ghosts.empty(); }
    bool barred() const { return barred_until != Time::min(); }
  };
  /// One claim.
  struct Record {
    Claim claim;
    Lock* lock;
    std::uint64_t ticket;
    Time since;        ///< asked, or granted
    Token token = {};  ///< while it holds
    Slots slots = {};
    bool release_requested = false;

    bool held() const { return lock->holders.contains(ticket); }
  };

  /// Null unless id, session and key are the claim's.
  Record* find(const Claim& claim);
  const Record* find(const Claim& claim) const;
  Record* find(ClaimId id, const LockKey& key);
  const Lock* find_lock(const LockKey& key) const;
  Lock& use_lock(const LockKey& key);
  static bool fits(const Lock& lock, const Claim& claim);

  Record& add(const Claim& claim, Session& session, Time now);
  void grant(Record& record, Time now);
  void join(Record& record);
  void remove(Record& record, Time now);
  void leave(Record& record, Time now);
  void forget_elections(Time now);
  void haunt(Record& record, Time from);
  void exorcise(Time now);
  void unsettle(Lock& lock);
  void settle_one(Lock& lock, Time now);
  void tell(const Record& record, Notice notice);

  ClaimState state(const Record& record, Time now) const;
  Waiting waiting(const Claim& claim, const Lock& lock, bool next, Time now) const;
  Owner owner(const Record& record) const;
  ClaimView view(const Record& record, Time now) const;
  LockView view(const Lock& lock, Time now) const;

  Sessions& sessions_;
  std::vector<Mail>& mail_;
  std::uint64_t epoch_;
  std::uint64_t counter_ = 0;
  std::uint64_t last_ticket_ = 0;
  std::uint64_t last_number_ = 0;
  std::map<LockKey, Lock> locks_;
  std::unordered_map<ClaimId, Record> claims_;
  std::map<LockKey, Chronicle> chronicles_;
  std::deque<std::pair<Time, LockKey>> vacated_;                  // elections that may be forgotten then
  std::multimap<std::pair<Time, std::uint64_t>, Lock*> haunted_;  // by the end of a ghost
  std::vector<Lock*> unsettled_;                                  // somebody left
};

}  // namespace pawl::store::memory
