#pragma once

#include "store/file/ledger.hpp"
#include "store/store.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::file {

/// A notice, the claim it is for, and where that claim's client listens.
struct Letter {
  ProcessKey process = 0;
  std::uint64_t mailbox = 0;
  ClaimId to = {};
  Notice notice = {};
};

/// The rules of the file store within one transaction: requests in, answers and letters out. No I/O but the records'.
///
/// | a lock is | claim                    | its holder leaves                  | time passes                     |
/// |-----------|--------------------------|------------------------------------|---------------------------------|
/// | free      | held                     | -                                  | -                               |
/// | held      | joins the queue          | the head holds it; none: free;     | -                               |
/// |           |                          | failed with a lock-delay: shut     |                                 |
/// | shut      | joins the queue          | -                                  | delay over: the head holds it;  |
/// |           |                          |                                    | none: free                      |
///
/// A session ends with its lease, or with its process: whoever meets a dead process's claim (as the holder, or just
/// ahead in the queue, or as the next one to be granted) takes all that process had out of the tables.
/// Promise: first come, first served. A grant never goes to a session that has ended or to a dead process. A lock that
///          is free has no queue and no record. When tokens are used up, the whole transaction fails: out_of_tokens.
class Tables {
 public:
  Tables(Transaction& transaction, Time now, const Roll& roll);
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  /// What has ended until now, leaves. Before any request.
  void sweep();
  /// After all requests, before the commit.
  void save() { ledger_.save(); }
  std::vector<Letter>& letters() { return letters_; }
  Counters& counters() { return ledger_.counters(); }

  /// Its end is a lease from now.
  void open_session(SessionId id, SessionRecord record);
  Result<Renewal> renew(SessionId id);
  /// What it still holds counts as failed.
  void close_session(SessionId id);
  /// Unless it is alive.
  void bury(ProcessKey process);
  /// All that are dead.
  void bury_the_dead();

  Result<ClaimState> claim(const Claim& claim);
  /// Whose death the last claim() that answered Waiting should hear of: the holder's, or that of the waiter just ahead.
  std::optional<ProcessKey> just_ahead() const { return just_ahead_; }
  Withdrawn withdraw(const Claim& claim, Withdrawal how);
  Standing look(const Claim& claim);
  void relabel(const Claim& claim);
  bool check(const LockKey& key, Token token);
  bool ask_to_release(const LockKey& key, ClaimId claim);
  bool take_away(const LockKey& key, ClaimId claim);
  LockView inspect(const LockKey& key);
  /// By kind, then by name.
  std::vector<LockView> list(std::string_view prefix);

 private:
  /// A lock's record and its key, changed together and written once.
  struct Open {
    std::string key;
    LockRecord record;
  };

  std::optional<Open> find(std::string_view key);
  /// As find(), but a dead holder is buried first.
  std::optional<Open> find_in_use(std::string_view key);
  std::optional<ClaimPlace> find_place(const Claim& claim, std::string_view key);
  Granted hold(const Claim& claim, const std::string& key);
  std::uint64_t join(const Claim& claim, Open& taken);
  ClaimRecord make_record(const Claim& claim) const;
  void grant(LockRecord& lock, ClaimRecord claim);
  ClaimState state(const Claim& claim, const std::string& key, std::uint64_t ticket);
  Waiting waiting(const Claim& claim, const LockRecord& lock, const ClaimRecord* ahead);
  void count_ahead(Waiting& answer, const LockRecord& lock, std::uint64_t ticket, bool next);

  void end_session(SessionId id, const SessionRecord& record, Time at);
  void retire(ProcessKey process);
  /// `failed`: since when; nothing: it left cleanly.
  void leave(const std::string& key, ClaimId claim, std::uint64_t ticket, std::optional<Time> failed);
  void leave_queue(Open& lock, std::uint64_t ticket);
  void shut(Open& lock, Time until);
  void settle();
  void settle_one(const std::string& key);
  void tell(const ClaimRecord& claim, Notice notice);

  std::optional<ClaimRecord> find_waiter(const LockRecord& lock, ClaimId claim);
  Owner owner(const ClaimRecord& claim);
  ClaimView view(const ClaimRecord& claim);
  LockView view(const LockRecord& lock);

  Ledger ledger_;
  const Time now_;
  const Roll& roll_;
  std::vector<Letter> letters_;
  std::vector<std::string> unsettled_;  // locks that somebody left
  std::optional<ProcessKey> just_ahead_;
};

}  // namespace pawl::store::file
