#pragma once

#include "store/etcd/claimants.hpp"
#include "store/etcd/departures.hpp"
#include "store/etcd/server.hpp"
#include "store/etcd/sight.hpp"
#include "store/scheme.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::store::etcd {

/// The fair scheme: each claim has a key, the one that was made first holds the lock, and each of the others watches the one
/// before it. The same keys as Go's concurrency.Mutex, concurrency.Election and etcdctl lock, with names=raw.
///
/// A key's record says that its claim holds the lock: a free lock is granted by the transaction that makes the key, any other
/// by one that says so in the record. When a key is deleted that has held the lock alone, the next one knows from the event
/// that it is its turn.
class Queue final : public Scheme {
 public:
  static const Capabilities declared;

  explicit Queue(std::shared_ptr<Server> server);

  const Capabilities& capabilities() const override { return declared; }
  awaitable<Result<ClaimState>> claim(Claim claim, Deadline deadline) override;
  awaitable<Result<Withdrawn>> withdraw(Claim claim, Withdrawal how, Deadline deadline) override;
  awaitable<Result<Standing>> look(Claim claim, Deadline deadline) override;
  awaitable<Result<void>> downgrade(Claim claim, Deadline deadline) override;
  awaitable<Result<void>> relabel(Claim claim, Deadline deadline) override;
  void watch(ClaimId claim, Waker waker) override { claimants_->watch(claim, std::move(waker)); }
  void unwatch(ClaimId claim) override { claimants_->unwatch(claim); }
  bool waits_for(Kind ours, Kind other, Mode mode) const override;
  awaitable<Result<LockView>> inspect(LockKey key, Deadline deadline) override;
  awaitable<Result<std::vector<LockView>>> list(std::string prefix, Deadline deadline) override;
  awaitable<Result<Succession>> succession(LockKey key, Token after, Deadline deadline) override;
  awaitable<Result<bool>> check(LockKey key, Token token, Deadline deadline) override;
  awaitable<Result<bool>> revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) override;

 private:
  /// Of one step: nothing means that the line says what is next.
  using Step = Result<std::optional<Waiting>>;
  using SeenLine = std::vector<Seen>;

  // queue.cpp: claims, from their key to their grant and back.
  awaitable<Step> step(SharedClaimant claimant, Deadline deadline);
  awaitable<Step> join(SharedClaimant claimant, Deadline deadline);
  pb::TxnRequest joining(const Claimant& claimant, std::int64_t holding_lease) const;
  void joined(Claimant& claimant, const pb::TxnResponse& response, bool free) const;
  awaitable<Step> occupied(SharedClaimant claimant, pb::TxnResponse response, Deadline deadline);
  awaitable<Step> take(SharedClaimant claimant, Deadline deadline);
  void require_usable(pb::TxnRequest& txn, const Claimant& claimant) const;
  static void read_record(Claimant& claimant, const pb::KeyValue* there);
  awaitable<Result<void>> understand(SharedClaimant claimant, pb::TxnResponse refused, bool has_key, Deadline deadline);
  awaitable<Result<std::int64_t>> lease_to_hold(SharedClaimant claimant, Deadline deadline);
  Record record_of(const Claimant& claimant, Record::Stage stage) const;
  awaitable<Result<ClaimState>> not_yet(SharedClaimant claimant, Waiting waiting, Deadline deadline);
  awaitable<Result<Withdrawn>> erase(Claim claim, SharedClaimant claimant, bool unsettled, Deadline deadline);
  awaitable<Result<Withdrawn>> fail(SharedClaimant claimant, bool unsettled, Deadline deadline);
  using Edit = bool (*)(Record& record, const Claim& claim);
  awaitable<Result<void>> rewrite(SharedClaimant claimant, Claim claim, Edit edit, Deadline deadline);
  std::string record_key(const Claimant& claimant) const;
  void let_go(Claimant& claimant);

  // queue_waiting.cpp: who is before a claim, and those who have failed.
  awaitable<Step> list_line(SharedClaimant claimant, Deadline deadline);
  awaitable<Step> watch_last(SharedClaimant claimant, Deadline deadline);
  struct Look {
    std::optional<Seen> seen = {};
    std::int64_t own = 0;  ///< the revision that made the key of the one who looks; 0: it is gone
    std::int64_t revision = 0;
  };
  awaitable<Result<std::int64_t>> hears_from(SharedClaimant claimant, std::string key, Deadline deadline);
  awaitable<Result<Look>> look_at(LockKey lock, std::string key, std::string own, Deadline deadline);
  awaitable<Result<SeenLine>> tell_failed(SeenLine line, Deadline deadline);
  Duration shut_for(const Seen& failed);
  Duration shut_for(const Seen& failed) const;
  awaitable<Result<bool>> lay(LockKey lock, Seen failed, Deadline deadline);

  // queue_permits.cpp
  awaitable<Step> join_permits(SharedClaimant claimant, Deadline deadline);
  awaitable<Step> list_permits(SharedClaimant claimant, Deadline deadline);
  awaitable<Step> take_permits(SharedClaimant claimant, Deadline deadline);
  struct Permits {
    Room room = {};
    SeenLine all = {};
    std::int64_t revision = 0;
    Duration changes_in = {};  ///< at the latest
  };
  awaitable<Result<Permits>> look_at_permits(SharedClaimant claimant, Deadline deadline);

  // queue_views.cpp
  awaitable<Result<pb::RequestOp>> history_entry(SharedClaimant claimant, Token token, Deadline deadline);
  awaitable<Result<SeenLine>> see_line(LockKey key, Deadline deadline);
  awaitable<Result<LockName>> name_of(KeyPath path, pb::KeyValue kv, Deadline deadline);
  SeenLine line_of(const LockKey& key, const pb::TxnResponse& response, int keys, int candidates) const;
  LockView view_of(const LockKey& key, const SeenLine& line) const;
  ClaimView view_of(const Seen& seen, bool holds) const;
  awaitable<Result<bool>> send_letter(LockKey key, Seen seen, bool now, Deadline deadline);

  const Layout& layout() const { return server_->layout(); }

  const std::shared_ptr<Server> server_;
  const std::shared_ptr<Claimants> claimants_;
  const std::shared_ptr<Departures> departures_;
  /// Those who have failed, since we know; by their keys and the revisions that made them.
  std::map<std::pair<std::string, std::int64_t>, base::Time> failed_since_;
};

/// A waiter looks again after this at the latest, should news have got lost.
constexpr Duration at_the_latest = std::chrono::seconds(5);
constexpr int attempts = 8;  ///< at something that others may change meanwhile

/// Who stands behind that key, for people.
Owner owner_of(const Seen& seen);
Error taken_away();
/// A key that must be there was not.
Error session_over(const Session& session);

}  // namespace pawl::store::etcd
