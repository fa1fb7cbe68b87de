#pragma once

#include "store/line.hpp"
#include "store/notices.hpp"
#include "store/record.hpp"
#include "store/scheme.hpp"
#include "store/zookeeper/server.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::store::zookeeper {

/// A claim of this client, and its node. What it says of the servers is as old as the last answer or event.
struct Entry final : Hearer, std::enable_shared_from_this<Entry> {
  Entry(const Claim& of, std::shared_ptr<Session> in, std::shared_ptr<const Notices> to)
      : claim(of), session(std::move(in)), notices(std::move(to)) {}
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  ~Entry() { session->path_bytes -= path_bytes; }

  Claim claim;
  const std::shared_ptr<Session> session;
  const std::shared_ptr<const Notices> notices;

  SharedRequest creating = {};  ///< not answered yet
  bool maybe_there = false;     ///< an answer was lost: the node must be looked for
  std::string node = {};        ///< its path; empty: there is none
  std::int64_t sequence = 0;
  std::int64_t czxid = 0;   ///< the transaction that made the node; 0: not known
  std::uint64_t links = 0;  ///< how often we had been connected when it was known to be ours
  std::string text = {};    ///< what its node says, as we have written it

  bool held = false;
  bool leaving = false;  ///< by our own hand: then it is no news that the node is gone
  bool guarded = false;  ///< a node that outlives it keeps its lock-delay, perhaps
  bool gone = false;     ///< somebody else has taken the node away
  bool watched = false;  ///< its own node is
  Token token = {};
  Slots slots = {};
  std::vector<std::string> leases = {};  ///< the nodes of its permits
  std::string ticket = {};               ///< its path, with `ephemeral`
  bool ticketed = false;                 ///< a second node is there, named after the claim
  bool maybe_ticketed = false;           ///< an answer was lost: perhaps it is

  Line line = {};              ///< its place; the keys are the names of nodes
  bool two_there = false;      ///< when we came: we, and one more
  std::string watching = {};   ///< a path whose change concerns us: of the one before us, mostly
  std::uint64_t rings_on = 0;  ///< the link on which we watch the ticket of the one before us; 0: something else
  bool news = false;           ///< what we watch is gone
  bool passed_on = false;      ///< the one before us held the lock, and has let go
  int looks = 0;               ///< at the queue, since we were asked last
  Notes notes = {};            ///< as the folder has them while we hold the lock
  std::unique_ptr<base::Timer> watch_later = {};
  std::size_t path_bytes = 0;  ///< of all its nodes, at the most; counted in its session

  Connection& connection() const { return session->connection(); }
  /// What people and watches find of it.
  const std::string& shown() const { return node.empty() ? ticket : node; }
  void heard(const Event& event) override;
  void over() override;
  void tell(Notice::What what) const;
  /// Listens to changes of that path instead of the last one.
  void watch_for(const std::string& path);
  void let_go_of_watches();
  /// The node has this name, but is another one?
  bool is_other(const std::string& path, const Stat& stat) const {
    return path == node && czxid != 0 && stat.czxid != czxid;
  }
  /// Of this claim, in this session?
  bool is_own(const std::optional<Record>& record, const Stat& stat) const {
    return record && record->id == claim.id && stat.ephemeralOwner == connection().session_id();
  }
  /// Counts the nodes that it is about to make, until it is gone. Once is enough. Errors: overloaded.
  Result<void> count_paths(std::size_t bytes);
  /// Somebody else has taken the node away: what its owner is told.
  Error taken_away();

 private:
  awaitable<void> read_own_node(std::shared_ptr<Entry> self);
};

/// What both schemes do alike: a claim is an ephemeral node of its session, and its data says whose.
class Nodes : public Scheme {
 public:
  explicit Nodes(std::shared_ptr<Server> server) : server_(std::move(server)) {}

  awaitable<Result<Standing>> look(Claim claim, Deadline deadline) override;
  awaitable<Result<void>> relabel(Claim claim, Deadline deadline) override;
  void watch(ClaimId claim, Waker waker) override { notices_->watch(claim, std::move(waker)); }
  void unwatch(ClaimId claim) override;
  awaitable<Result<LockView>> inspect(LockKey key, Deadline deadline) override;
  awaitable<Result<std::vector<LockView>>> list(std::string prefix, Deadline deadline) override;
  awaitable<Result<bool>> check(LockKey key, Token token, Deadline deadline) override;
  awaitable<Result<bool>> revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) override;

 protected:
  using SharedEntry = std::shared_ptr<Entry>;
  using SharedLink = std::shared_ptr<Link>;

  /// A node of a lock, as anybody sees it.
  struct Seen {
    std::string path;
    std::optional<Record> record;        ///< none: of another library
    std::vector<std::string> more = {};  ///< other nodes of the same claim
    Slots slots = {};                    ///< of all its nodes; the record has those of this node
    std::string only_with = {};          ///< the path may be somebody else's by now, unless this is still there
    Stat stat = {};
    bool holds = false;
    Mode mode = Mode::exclusive;
  };

  using SeenLock = std::vector<Seen>;  ///< all its nodes: holders first, waiters in their order
  /// Of each of them, asked for in one go.
  virtual awaitable<Result<std::vector<SeenLock>>> see_all(SharedLink link, std::vector<LockKey> keys,
                                                           Deadline deadline) = 0;
  awaitable<Result<SeenLock>> see(SharedLink link, LockKey key, Deadline deadline);
  /// What there is to say of a lock besides its nodes: for how long it is shut.
  virtual awaitable<Result<std::vector<Duration>>> shut_for(SharedLink link, std::vector<LockKey> keys,
                                                            std::vector<SeenLock> nodes, Deadline deadline) = 0;
  /// Which kinds of locks there may be.
  virtual std::vector<Kind> kinds() const = 0;

  /// Where the lock's node or folder is.
  std::string path_of(const LockKey& key) const;
  /// Where the locks of that kind are.
  std::string folder_of(Kind kind) const;
  Result<void> check_name(const LockKey& key) const;

  /// An answer may have been lost, or may still be on its way: after this the entry says what there is.
  /// Errors: lost, outcome_unknown, store_unavailable, permission_denied.
  virtual awaitable<Result<void>> settle_creation(SharedEntry entry, Deadline deadline) = 0;

  /// Of a claim that is made, or made again; it says what there is. Waits until the session can be spoken to.
  /// Errors: invalid_argument, not_owner (withdrawn before), and as settle_creation().
  awaitable<Result<SharedEntry>> entry_of(Claim claim, Deadline deadline);
  /// Of a claim that is withdrawn, likewise. Null: there is nothing to withdraw.
  awaitable<Result<SharedEntry>> entry_to_withdraw(Claim claim, Withdrawal how, Deadline deadline);
  /// While we were away, everything may have been deleted and made anew with the same names: is it still ours?
  static awaitable<Result<void>> recognize(SharedEntry entry, Deadline deadline);
  static awaitable<Result<bool>> remove_if_own(SharedEntry entry, Deadline deadline);
  SharedEntry find_entry(ClaimId id) const;
  Record record_of(const Entry& entry) const;
  awaitable<Result<ClaimState>> grant(SharedEntry entry, Deadline deadline);
  /// The data of these nodes; those that are gone by now are left out.
  static Seen seen_as(const std::string& path, const Answer& answer);
  static awaitable<Result<std::vector<Seen>>> read(SharedLink link, std::vector<std::string> paths, Deadline deadline);

  static Owner owner_of(const Seen& seen);
  /// Those of other libraries get one made of their transaction.
  static ClaimId id_of(const Seen& seen);

  const std::shared_ptr<Server> server_;

 private:
  awaitable<Result<std::vector<LockKey>>> keys_of(SharedLink link, Kind kind, std::string prefix, Deadline deadline);
  enum class Revoked : std::uint8_t { done, perhaps, without_ticket };
  awaitable<Result<Revoked>> revoke_seen(SharedLink link, Seen seen, bool now, Deadline deadline);
  awaitable<Result<std::vector<LockView>>> views(SharedLink link, std::vector<LockKey> keys, Deadline deadline);
  ClaimView view_of(const Seen& seen, std::uint64_t epoch) const;
  static awaitable<Result<std::string>> full_name(SharedLink link, std::string path, Deadline deadline);

  const std::shared_ptr<Notices> notices_ = std::make_shared<Notices>();
  std::map<ClaimId, SharedEntry> entries_;
};

/// Who waits looks again after this at the latest, should news have got lost.
constexpr Duration at_the_latest = std::chrono::seconds(5);
constexpr Duration soon = std::chrono::milliseconds(1);
constexpr std::size_t most_requests = 250;  ///< under way at a time, of one that reads many nodes
constexpr int attempts = 5;                 ///< at something that others may undo meanwhile
constexpr std::size_t numbering = 10;       ///< digits that the servers put behind the name of a numbered node
constexpr std::size_t around_a_path = 4;    ///< its length, where the servers write it down
constexpr int most_looks = 16;              ///< at a queue that changes while we look

/// Makes these changes, without those of nodes that are not there any more. Was `own` still there? Where `only_with` is
/// missing, it is somebody else's.
awaitable<Result<bool>> change_what_is_there(Connection& connection, std::vector<Part> parts, std::string own,
                                             std::string only_with, Deadline deadline);

/// What Curator writes into a node whose holder it asks to let go.
constexpr std::string_view curator_revoke = "__REVOKE__";

}  // namespace pawl::store::zookeeper
