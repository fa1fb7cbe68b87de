#pragma once

#include "store/redlock/cluster.hpp"
#include "store/redlock/vote.hpp"
#include "store/scheme.hpp"
#include "store/store.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pawl::store::redlock {

/// The Redlock algorithm: a lock is held by whoever has it on a majority of the nodes, for as long as the lease on its keys
/// lasts by the holder's own clock. Corrected: tokens (vote.hpp), members only (membership.hpp), and each claim is renewed
/// by a majority of its own or ends.
///
/// A session is the client's own: it is nothing on the nodes but the claims that it renews.
class Majority final : public Scheme {
 public:
  static const Capabilities declared;

  explicit Majority(std::shared_ptr<Cluster> cluster) : cluster_(std::move(cluster)) {}

  awaitable<Result<SessionGrant>> open_session(SessionRequest request, Deadline deadline);
  awaitable<Result<Renewal>> renew(SessionId session, Deadline deadline);
  awaitable<Result<void>> close_session(SessionId session, Deadline deadline);

  const Capabilities& capabilities() const override { return declared; }
  awaitable<Result<ClaimState>> claim(Claim claim, Deadline deadline) override;
  awaitable<Result<Withdrawn>> withdraw(Claim claim, Withdrawal how, Deadline deadline) override;
  awaitable<Result<Standing>> look(Claim claim, Deadline deadline) override;
  awaitable<Result<void>> downgrade(Claim claim, Deadline deadline) override;
  awaitable<Result<void>> relabel(Claim claim, Deadline deadline) override;
  void watch(ClaimId, Waker) override {}
  void unwatch(ClaimId) override {}
  awaitable<Result<LockView>> inspect(LockKey key, Deadline deadline) override;
  awaitable<Result<std::vector<LockView>>> list(std::string prefix, Deadline deadline) override;
  awaitable<Result<Succession>> succession(LockKey key, Token after, Deadline deadline) override;
  awaitable<Result<bool>> check(LockKey key, Token token, Deadline deadline) override;
  awaitable<Result<bool>> revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) override;

 private:
  struct Session {
    Duration lease = {};
    Owner owner = {};
    base::Time confirmed = {};  // when the last renewal that succeeded was sent
    std::uint64_t changes = 0;
  };
  struct Try;
  struct Renewing;
  /// A claim that this client has made and not withdrawn.
  struct Entry {
    explicit Entry(Claim of) : claim(std::move(of)) {}
    Claim claim;
    int splits = 0;  // tries in a row in which nobody had a majority
    std::shared_ptr<Try> last = {};
    bool asking = false;
    bool held = false;
    Token token = {};
    base::Time since = {};  // from when its lease counts, on a majority
    bool asked_to_let_go = false;
  };
  using Entries = std::map<ClaimId, std::shared_ptr<Entry>>;

  std::string lock_id(const LockKey& key) const;
  std::string key_of(const LockKey& key) const;
  Duration life_of(const Claim& claim) const;
  Result<std::shared_ptr<Entry>> entry_of(const Claim& claim);
  void ask_for_votes(const std::shared_ptr<Try>& attempt);
  void raise_those_behind(const std::shared_ptr<Try>& attempt);
  struct Release {
    Duration lock_delay = {};
    bool late_ones = false;  // a request of the claim may arrive behind this one
    std::uint64_t tombstone = 0;
    bool goes_on_waiting = false;
  };
  bool may_arrive(const Try& attempt, std::size_t node) const;
  void release_on(std::size_t node, const Claim& claim, Release how, const Cluster::Hear& hear);
  void undo(const std::shared_ptr<Try>& attempt, bool goes_on_waiting);
  Words release_words(const Claim& claim, Duration lock_delay, std::uint64_t tombstone, bool goes_on_waiting) const;
  Result<ClaimState> refused(Entry& entry, Vote::Why why);
  Waiting waiting_for(Entry& entry, Vote::Why why);
  Duration random_delay();
  void top_up(const std::shared_ptr<Renewing>& round);
  Result<Renewal> count(const std::shared_ptr<Renewing>& round, SessionId session, Session& state);
  awaitable<Result<std::vector<LockView>>> views_of(std::vector<LockKey> keys, std::vector<std::string> locks,
                                                    Deadline deadline);

  const std::shared_ptr<Cluster> cluster_;
  std::map<SessionId, Session> sessions_;
  Entries entries_;
  std::uint64_t last_try_ = 0;
  std::map<ClaimId, base::Time> gone_;  // withdrawn while a request may have been under way; until when
  std::map<std::uint32_t, std::uint64_t> highest_seen_;  // counters by bucket: where a new try begins
};

}  // namespace pawl::store::redlock
