#pragma once

#include "store/file/ledger.hpp"
#include "store/store.hpp"

#include <cstdint>
#include <optional>
#include <set>
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
/// | a lock is | claim                    | a holder leaves                    | time passes                     |
/// |-----------|--------------------------|------------------------------------|---------------------------------|
/// | free      | held                     | -                                  | -                               |
/// | held      | held beside the others,  | the head holds it, and those       | -                               |
/// |           | if it fits and nobody    | behind it that fit beside it;      |                                 |
/// |           | waits; else joins the    | none: free; failed with a          |                                 |
/// |           | queue                    | lock-delay: its ghost stays        |                                 |
/// | haunted   | as held                  | as held                            | delay over: as if it left       |
///
/// A session ends with its lease, or with its process. Its end is one write: from then on there is no such session, and a
/// request that meets one of its claims (as the holder, just ahead in the queue, or next to be granted) removes that claim
/// first. The rest of them leaves in batches, with the requests that follow, so that no transaction does unbounded work.
/// Promise: first come, first served. A grant never goes to a session that has ended or to a dead process. A lock that
///          is free has no queue and no record. When tokens are used up, the whole transaction fails: out_of_tokens.
class Tables {
 public:
  Tables(Transaction& transaction, Time now, const Roll& roll);
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  /// How many claims leave or are granted, at most, in one transaction beyond what was asked for.
  static constexpr std::size_t batch = 500;

  /// What has ended until now, leaves. Before any request.
  void sweep();
  /// There was more than one batch: another transaction should follow, with nothing to do but the sweep.
  bool more() { return counters().ended > 0 || counters().first_end <= now_; }
  /// After all requests, before the commit.
  void save() { ledger_.save(); }
  std::vector<Letter>& letters() { return letters_; }
  Counters& counters() { return ledger_.counters(); }

  /// Its end is a lease from now.
  /// Errors: overloaded.
  Result<void> open_session(SessionId id, SessionRecord record);
  Result<Renewal> renew(SessionId id);
  /// What it still holds counts as failed.
  void close_session(SessionId id);
  /// Unless it is alive.
  void bury(ProcessKey process);
  /// Those that are dead, of the first `batch` of processes. False: there is nobody who has a session.
  bool bury_the_dead();

  /// Errors: lost, not_owner, invalid_argument, overloaded (the database is half full).
  Result<ClaimState> claim(const Claim& claim);
  /// Whose death the last claim() that answered Waiting should hear of: the holders', or that of the waiter just ahead.
  const std::set<ProcessKey>& just_ahead() const { return just_ahead_; }
  Withdrawn withdraw(const Claim& claim, Withdrawal how);
  Standing look(const Claim& claim);
  Result<void> downgrade(const Claim& claim);
  void relabel(const Claim& claim);
  bool check(const LockKey& key, Token token);
  bool ask_to_release(const LockKey& key, ClaimId claim);
  bool take_away(const LockKey& key, ClaimId claim);
  Succession succession(const LockKey& key, Token after);

  /// Up to where locks were read.
  struct Bookmark {
    std::string lock = {};
    bool inside = false;  ///< some claims of that lock are still to be read
    std::uint64_t holder = 0;
    std::uint64_t waiter = 0;
  };
  /// What one transaction reads.
  struct Page {
    std::vector<LockView> views = {};
    bool continues = false;             ///< the first of them has more of the last lock of the page before
    std::optional<Bookmark> next = {};  ///< nothing: that was all
  };
  Page inspect(const LockKey& key, Bookmark from);
  /// In no order.
  Page list(std::string_view prefix, Bookmark from);

 private:
  /// A lock's record and its key, changed together and written once.
  struct Open {
    std::string key;
    LockRecord record;
  };

  std::optional<Open> find(std::string_view key);
  /// As find(), but the dead that are in the way are buried first: who holds it, is first in the queue, or has agreed on
  /// another number of permits.
  std::optional<Open> find_in_use(std::string_view key, const Claim& claim);
  bool evict_dead(const std::string& key, const std::vector<ClaimRecord>& claims);
  std::optional<SessionRecord> session(SessionId id);
  bool has_session(SessionId id);
  bool is_over(const ClaimRecord& claim);
  void forget(SessionId session, ClaimId claim);
  void evict(const std::string& key, const ClaimRecord& claim);
  Result<void> check_room();
  std::optional<ClaimPlace> find_place(const Claim& claim, std::string_view key);
  static bool fits(const LockRecord& lock, const ClaimRecord& claim);
  Granted hold(ClaimRecord claim, Open& lock);
  std::uint64_t join(ClaimRecord claim, Open& taken);
  ClaimRecord make_record(const Claim& claim) const;
  std::optional<ClaimRecord> grant(LockRecord& lock, ClaimRecord claim);
  void share(LockRecord& lock, ClaimRecord& claim);
  std::vector<ClaimRecord> holders(const LockRecord& lock);
  std::vector<ClaimRecord> first_waiter(const LockRecord& lock);
  std::vector<ClaimRecord> waiters(const LockRecord& lock);
  std::optional<ClaimRecord> find_holder(const LockRecord& lock, ClaimId claim);
  std::optional<ClaimRecord> find_holder(const LockRecord& lock, ClaimId claim, std::uint64_t ticket);
  void put_holder(Open& lock, const ClaimRecord& holder);
  ClaimState state(const Claim& claim, const std::string& key, std::uint64_t ticket);
  Waiting waiting(const Claim& claim, const LockRecord& lock, const std::vector<ClaimRecord>& ahead, bool next);
  void count_ahead(Waiting& answer, const LockRecord& lock, std::uint64_t ticket, bool next);

  void retire(ProcessKey process);
  void sweep_claims();
  /// `failed`: since when; nothing: it left cleanly.
  void leave(const std::string& key, ClaimId claim, std::uint64_t ticket, std::optional<Time> failed);
  void leave_queue(Open& lock, std::uint64_t ticket);
  void haunt(Open& lock, const ClaimRecord& holder, Time from);
  bool exorcise(LockRecord& lock) const;
  void settle();
  void settle_one(const std::string& key);
  void forget_election(const std::string& key);
  void tell_granted(const LockRecord& lock, const ClaimRecord& holder);
  void tell(const ClaimRecord& claim, Notice notice);

  std::optional<ClaimRecord> find_waiter(const LockRecord& lock, ClaimId claim);
  Owner owner(const ClaimRecord& claim);
  ClaimView view(const ClaimRecord& claim);
  LockView view(const LockRecord& lock, Bookmark& at);
  std::optional<Open> find_living(const std::string& key);

  Ledger ledger_;
  const Time now_;
  const Roll& roll_;
  std::vector<Letter> letters_;
  std::vector<std::string> unsettled_;  // locks that somebody left
  std::set<ProcessKey> just_ahead_;
  std::set<ProcessKey> known_alive_;  // to ask the kernel once
  std::size_t left_ = batch;          // of this batch
  std::size_t room_ = batch;          // on this page
};

}  // namespace pawl::store::file
