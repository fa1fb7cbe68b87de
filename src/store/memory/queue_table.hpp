#pragma once

#include "store/memory/sessions.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
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
/// | a lock is | claim                    | its holder leaves                  | time passes                     |
/// |-----------|--------------------------|------------------------------------|---------------------------------|
/// | free      | held                     | -                                  | -                               |
/// | held      | joins the queue          | the head holds it; none: free;     | -                               |
/// |           |                          | failed with a lock-delay: shut     |                                 |
/// | shut      | joins the queue          | -                                  | delay over: the head holds it;  |
/// |           |                          |                                    | none: free                      |
///
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
  Standing look(const Claim& claim) const;
  void relabel(const Claim& claim);
  LockView inspect(const LockKey& key, Time now) const;
  /// By kind, then by name.
  std::vector<LockView> list(std::string_view prefix, Time now) const;
  bool check(const LockKey& key, Token token) const;
  bool ask_to_release(const LockKey& key, ClaimId claim);
  bool take_away(const LockKey& key, ClaimId claim, Time now);

  /// What a session that has just been taken out of the table leaves behind. settle() must follow.
  void end_session(const Session& session, Time at, bool expired);
  /// Grants what has become free, also by the end of a lock-delay, and forgets the locks that nobody uses.
  void settle(Time now);

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
    Record* holder = nullptr;
    std::map<std::uint64_t, Record*> queue = {};  ///< by ticket
    Time shut_until = Time::min();
    bool settling = false;              ///< it is in unsettled_
    std::optional<Token> expired = {};  ///< the token of the last holder, if its session expired
  };
  /// One claim.
  struct Record {
    Claim claim;
    Lock* lock;
    std::uint64_t ticket;
    Time since;        ///< asked, or granted
    Token token = {};  ///< while it holds
    bool release_requested = false;

    bool held() const { return lock->holder == this; }
  };

  /// Null unless id, session and key are the claim's.
  Record* find(const Claim& claim);
  const Record* find(const Claim& claim) const;
  Record* find(ClaimId id, const LockKey& key);
  const Lock* find_lock(const LockKey& key) const;
  Lock& use_lock(const LockKey& key);

  Record& add(const Claim& claim, Session& session, Time now);
  void grant(Record& record, Time now);
  void join(Record& record);
  void remove(Record& record);
  void leave(Record& record);
  void shut(Lock& lock, Time until);
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
  std::map<std::pair<Time, std::uint64_t>, Lock*> shut_;  // by the end of the lock-delay
  std::vector<Lock*> unsettled_;                          // somebody left
};

}  // namespace pawl::store::memory
