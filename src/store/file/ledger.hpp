#pragma once

#include "store/file/records.hpp"
#include "store/file/transaction.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::store::file {

/// The records of one transaction, with their types and their indexes, and without rules. Every call costs O(log n).
class Ledger {
 public:
  explicit Ledger(Transaction& transaction);

  Transaction& transaction() { return transaction_; }
  /// Written by save().
  Counters& counters() { return counters_; }
  void save();

  bool has_session(SessionId id);
  std::optional<SessionRecord> session(SessionId id);
  void add_session(SessionId id, const SessionRecord& record);
  /// Its end has not changed.
  void put_session(SessionId id, const SessionRecord& record);
  void move_end(SessionId id, SessionRecord& record, Time ends);
  /// From now on there is no such session; its claims are still there, for first_ended() to find.
  void end_session(SessionId id, const SessionRecord& record, Time at);
  /// When that session ended. Nothing: it lives, or nothing of it is left.
  std::optional<Time> ended(SessionId id);
  std::optional<SessionId> first_ended();
  /// Nothing of it is left.
  void forget_ended(SessionId id);
  std::vector<SessionId> sessions_of(ProcessKey process, std::size_t most);
  /// Processes that have a session.
  std::vector<ProcessKey> processes(std::size_t most);

  std::optional<LockRecord> lock(std::string_view key);
  void put_lock(std::string_view key, const LockRecord& record);
  void erase_lock(std::string_view key);
  /// The lock's delay ends then.
  void add_shut(std::string_view key, Time until);
  /// Of an election, whose lock need not be in use.
  Chronicle chronicle(std::string_view key);
  void put_chronicle(std::string_view key, const Chronicle& chronicle);
  void erase_chronicle(std::string_view key);
  /// The key of the next lock; of the first one after "".
  std::optional<std::string> lock_after(std::string_view key);

  std::optional<ClaimRecord> sharer(std::uint64_t lock, std::uint64_t ticket);
  void put_sharer(std::uint64_t lock, const ClaimRecord& record);
  void erase_sharer(std::uint64_t lock, std::uint64_t ticket);
  /// In the order in which they came.
  std::vector<ClaimRecord> sharers(std::uint64_t lock);
  std::optional<ClaimRecord> sharer_behind(std::uint64_t lock, std::uint64_t ticket);

  std::optional<ClaimRecord> waiter(std::uint64_t lock, std::uint64_t ticket);
  void put_waiter(std::uint64_t lock, const ClaimRecord& record);
  void erase_waiter(std::uint64_t lock, std::uint64_t ticket);
  std::optional<ClaimRecord> first_waiter(std::uint64_t lock);
  std::optional<ClaimRecord> waiter_before(std::uint64_t lock, std::uint64_t ticket);
  std::optional<ClaimRecord> waiter_behind(std::uint64_t lock, std::uint64_t ticket);

  std::optional<ClaimPlace> place(SessionId session, ClaimId claim);
  void put_place(SessionId session, ClaimId claim, const ClaimPlace& place);
  void erase_place(SessionId session, ClaimId claim);
  std::vector<std::pair<ClaimId, ClaimPlace>> places_of(SessionId session, std::size_t most);

  /// Was sent a notice, and has not been asked about since.
  void add_news(SessionId session, ClaimId claim);
  void erase_news(SessionId session, ClaimId claim);
  std::vector<ClaimId> news_of(SessionId session, std::size_t most);

  /// What was to end until now: a session, or the lock-delay of a lock. It is taken out of the list by this.
  struct Ended {
    SessionId session = {};  ///< empty: a lock
    std::string lock = {};
  };
  std::optional<Ended> take_ended(Time now);

 private:
  void add_end(const Key& key, Time time);

  Transaction& transaction_;
  Counters counters_;
  Counters saved_;
};

}  // namespace pawl::store::file
