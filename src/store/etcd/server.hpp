#pragma once

#include "base/gathering.hpp"
#include "base/threads.hpp"
#include "store/claim.hpp"
#include "store/etcd/cluster.hpp"
#include "store/etcd/layout.hpp"
#include "store/etcd/news.hpp"
#include "store/store.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pawl::store::etcd {

/// A session: a lease, and a key with that lease, which is there for as long as the session is.
struct Session {
  SessionId id;
  Owner owner = {};
  std::int64_t lease = 0;
  std::int64_t seconds = 0;  ///< that the server waits for a renewal
  std::string key = {};
  std::int64_t created = 0;  ///< the revision that made its key
  std::int64_t heard = 0;    ///< the revision of the last letter
  std::int64_t missed = 0;   ///< the revision of one that a renewal has found before it was heard of
  Cluster::WatchId mailbox = 0;
  bool closing = false;    ///< by us
  bool looking = false;    ///< whether the keys of its holds are still there
  ClaimId looked_at = {};  ///< the last one of those
  News news = {};

  /// A holder with a lock-delay has its key on a second lease, which outlasts the session by that delay. Go's clients, who
  /// know of no delay, wait as long as the key is there.
  struct SecondLease {
    std::int64_t id = 0;
    std::int64_t seconds = 0;  ///< of the delay
    std::set<ClaimId> users = {};
    bool doubted = false;  ///< the server has said that there is no such lease: it is given to no new claim
    bool gone = false;     ///< so it is, for certain
  };
  std::vector<SecondLease> second_leases = {};
};
using SharedSession = std::shared_ptr<Session>;

/// etcd, as the store and its scheme share it: sessions, and the epoch.
/// Threads: on the executor only.
class Server : public std::enable_shared_from_this<Server> {
 public:
  Server(base::Runtime& runtime, Config config);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void attach(Surroundings surroundings);
  /// Letters to a session; nothing: some may have been missed.
  using Postman = std::function<void(Session&, const std::optional<Letter>&)>;
  void deliver_to(Postman postman) { postman_ = std::move(postman); }

  /// Called after each renewal.
  using Renewed = std::function<void(const SharedSession&)>;
  void when_renewed(Renewed tell) { when_renewed_ = std::move(tell); }

  base::Runtime& runtime() const { return runtime_; }
  const Config& config() const { return config_; }
  const Layout& layout() const { return layout_; }
  std::uint64_t store_id() const { return store_id_; }

  awaitable<Result<void>> connect(Deadline deadline);
  awaitable<Result<SessionGrant>> open_session(SessionRequest request, Deadline deadline);
  awaitable<Result<Renewal>> renew(SessionId id, Deadline deadline);
  awaitable<Result<void>> close_session(SessionId id, Deadline deadline);
  awaitable<Result<std::uint64_t>> epoch(Deadline deadline);
  awaitable<Result<std::uint64_t>> raise_epoch(Deadline deadline);

  /// Null: it is over.
  SharedSession session(SessionId id) const;

  /// Connected, and the epoch is known.
  awaitable<Result<void>> ready(Deadline deadline);
  std::uint64_t known_epoch() const { return epoch_.number; }
  /// The transaction does nothing unless the epoch is still the known one.
  void require_epoch(pb::TxnRequest& txn) const;
  awaitable<Result<void>> learn_epoch(Deadline deadline);

  /// A transaction that goes through the log, and that needs the key of a session for whatever it puts on its lease.
  /// Errors: outcome_unknown, also where the store turns out to have been restored from a backup: the epoch is raised then,
  /// and all sessions have ended; store_unavailable, also where one of our other leases is gone: the next one is another.
  awaitable<Result<pb::TxnResponse>> write(pb::TxnRequest request, Deadline deadline);
  /// A linearizable one that changes nothing.
  awaitable<Result<pb::TxnResponse>> read(pb::TxnRequest request, Deadline deadline);
  Cluster& cluster() { return *cluster_; }

  /// The session's lease for holds with that lock-delay. The claim is one of its users until leave_second_lease().
  awaitable<Result<std::int64_t>> second_lease(SharedSession session, Duration delay, ClaimId claim, Deadline deadline);
  static void leave_second_lease(Session& session, ClaimId claim);
  /// A new lease that nobody renews.
  awaitable<Result<std::int64_t>> last_lease(Duration length, Deadline deadline);
  /// The one that keeps the history of elections for a while; shared by all of this client.
  awaitable<Result<std::int64_t>> history_lease(Deadline deadline);

 private:
  struct Epoch {
    std::uint64_t number = 0;
    std::string text = {};      ///< of its record; empty: not known
    std::uint64_t cluster = 0;  ///< whose it is
  };
  /// What an answer that came back must not be behind.
  struct Highest {
    std::uint64_t cluster = 0;
    std::int64_t revision = 0;
  };
  /// What was known when a request was made.
  struct Before {
    Highest highest = {};
    std::uint64_t restores = 0;
  };
  enum class Change : std::uint8_t {
    learn,
    raise,
    restored,          ///< raise, and forget what was before
    restored_perhaps,  ///< the same, if a write confirms it
  };
  struct Kept {
    std::set<std::uint64_t> terms = {};   ///< whose word it was
    bool session_missing = false;         ///< says a leader that may not have heard of it yet
    std::set<std::int64_t> missing = {};  ///< the same of second leases
  };

  void note(const pb::ResponseHeader& header);
  std::int64_t fresh_lease_id();
  Before before() const { return {highest_, restores_}; }
  static bool is_behind(const pb::ResponseHeader& header, const Highest& highest);
  awaitable<Result<pb::TxnResponse>> ask(pb::TxnRequest request, Deadline deadline);
  awaitable<Result<void>> begin_anew(Change change, std::uint64_t restores, Deadline deadline);
  awaitable<void> look_whether_restored(std::shared_ptr<Server> self);
  awaitable<Result<std::uint64_t>> change_epoch(Change change, Deadline deadline);
  awaitable<Result<void>> make_session(SharedSession session, Duration lease, Deadline deadline);
  awaitable<Result<void>> make_session_key(SharedSession session, Deadline deadline);
  void watch_mailbox(const SharedSession& session);
  void key_deleted(Session& session, std::int64_t revision);
  awaitable<Result<Kept>> keep_alive(SharedSession session, Deadline deadline);
  Renewal renewed(Session& session, const Kept& kept);
  void drop_unused_leases(Session& session);
  void a_lease_is_gone(std::set<std::int64_t> named);
  void revoke_soon(std::int64_t lease);
  awaitable<void> revoke(std::shared_ptr<Server> self, std::int64_t lease);
  void over(Session& session);
  void end_all_sessions();
  void may_have_missed(Session& session);

  base::Runtime& runtime_;
  const std::uint64_t generation_ = base::fork_generation();
  Config config_;
  const Layout layout_;
  Surroundings surroundings_;
  Postman postman_;
  Renewed when_renewed_;
  std::shared_ptr<Cluster> cluster_;
  std::atomic<std::uint64_t> store_id_ = 0;  // sequencers ask for it, on any thread
  Epoch epoch_;
  Highest highest_;
  std::uint64_t restores_ = 0;  // that we know of
  bool restoring_ = false;
  base::Gathering restored_;
  std::map<SessionId, SharedSession> sessions_;
  struct History {
    std::int64_t lease = 0;
    base::Time fresh_until = {};
  } history_;
};

}  // namespace pawl::store::etcd
