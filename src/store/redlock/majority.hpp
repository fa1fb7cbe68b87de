#pragma once

#include "store/redlock/attempt.hpp"
#include "store/redlock/cluster.hpp"
#include "store/redlock/layout.hpp"
#include "store/redlock/question.hpp"
#include "store/scheme.hpp"
#include "store/store.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::store::redlock {

/// The Redlock algorithm: a client holds a lock while it has it on a majority of the nodes, for as long as the lease on its
/// keys lasts by its own clock. Corrected: tokens (vote.hpp), members only (membership.hpp), and each claim is renewed by a
/// majority of its own or ends.
///
/// A session is the client's own: it is nothing on the nodes but the claims that it renews.
///
/// majority_claiming.cpp   a try: votes, write-back, undo
/// majority_leaving.cpp    releases and the end of a session, on every node until each has confirmed it
/// majority_renewal.cpp    renewal claim by claim, and top-up
/// majority_views.cpp      what others see, and revocation
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
    base::Time confirmed = {};  // from when its lease counts
    std::uint64_t changes = 0;
    std::uint64_t announced_in = 0;  // epoch
  };
  /// A claim that this client has made and not withdrawn.
  struct Entry {
    Entry(Claim of, Owner whose, std::size_t nodes)
        : claim(std::move(of)), owner(std::move(whose)), traces(std::make_shared<std::vector<Trace>>(nodes)) {}
    Claim claim;
    Owner owner;
    SharedTraces traces;
    int splits = 0;  // tries in a row in which no claim had a majority
    std::shared_ptr<Attempt> last = {};
    bool asking = false;
    bool held = false;
    Token token = {};
    base::Time since = {};  // from when its lease counts, on a majority
    bool asked_to_let_go = false;
  };
  using SharedEntry = std::shared_ptr<Entry>;
  using SharedAttempt = std::shared_ptr<Attempt>;

  awaitable<Result<void>> announce(Duration lease, Deadline deadline);
  awaitable<Result<void>> announce_anew(SessionId session, Deadline deadline);

  // Claiming.
  bool is_live(SessionId session) const;
  Result<SharedEntry> entry_of(const Claim& claim);
  Error why_not(const SharedEntry& entry) const;
  Words acquire_words(const Attempt& attempt, const Owner& owner, bool may_queue, std::string_view token_counter);
  void ask_for_votes(const SharedAttempt& attempt, const Owner& owner);
  void raise_those_behind(const SharedAttempt& attempt);
  awaitable<Vote::Step> vote(SharedAttempt attempt, Owner owner);
  void undo(const SharedAttempt& attempt, bool goes_on_waiting);
  Duration random_delay();
  Waiting waiting_for(Entry& entry, Vote::Why why);
  Result<ClaimState> refused(Entry& entry, Vote::Why why);

  // Leaving.
  void release_all(const Claim& claim, const Entry* entry, Release how, const Cluster::Hear& hear,
                   const std::function<void(std::size_t node)>& nothing_is_there);

  // Renewal.
  struct Round;
  Words renewal_words(const Round& round, std::size_t first, std::size_t count) const;
  std::shared_ptr<Round> ask_to_renew(SessionId session, Deadline deadline);
  Result<Renewal> count(const Round& round, SessionId session);
  void top_up(const Round& round);

  // Views.
  awaitable<Result<std::vector<LockView>>> views_of(std::vector<LockKey> keys, Deadline deadline);
  awaitable<Result<std::vector<std::string>>> names_on_the_nodes(Deadline deadline);

  const std::shared_ptr<Cluster> cluster_;
  std::map<SessionId, Session> sessions_;
  std::map<ClaimId, SharedEntry> entries_;
  std::uint64_t last_try_ = 0;
  std::map<ClaimId, base::Time> gone_;  // withdrawn while a request may have been under way; until when
  std::map<std::uint32_t, std::uint64_t> highest_seen_;  // counters by bucket: where a new try begins
};

/// For a question about a lock of another kind.
Error only_mutexes();

}  // namespace pawl::store::redlock
