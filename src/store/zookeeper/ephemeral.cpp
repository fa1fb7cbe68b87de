#include "store/zookeeper/ephemeral.hpp"

#include "base/lock_name.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

namespace pawl::store::zookeeper {

namespace {

Error only_mutexes() { return {Errc::unsupported, "this scheme has mutexes only"}; }

}  // namespace

constexpr Capabilities Ephemeral::declared = {
    .store = "zookeeper",
    .scheme = "ephemeral",
    .summary = "one node that everybody tries to make; all who wait wake for every release",
    .wakes_waiters = true,
    .revocable = true,
    .survives_restart = true,
    .needs_renewals = false,
    .shortest_lease = std::chrono::milliseconds(100),
    .longest_lease = std::chrono::hours(24),
    .token_source = "the transaction that made the node (czxid), with an epoch kept in a node",
    .on_client_death = "when its session ends: one and a half leases, two ticks at the least",
};

std::string Ephemeral::tickets_of(const LockKey& key) const {
  return server_->path("/waiting/" + base::fit_name(path_of(key), 1024));
}

std::string Ephemeral::ticket_of(const LockKey& key, ClaimId id) const {
  return child_of(tickets_of(key), to_string(id));
}

awaitable<Result<ClaimState>> Ephemeral::claim(Claim claim, Deadline deadline) {
  if (claim.key.kind != Kind::mutex) co_return only_mutexes();
  Result<SharedEntry> known = co_await entry_of(claim, deadline);
  if (!known) co_return known.error();
  const SharedEntry entry = *known;
  for (int i = 0; i < attempts; ++i) {
    if (entry->gone) co_return entry->taken_away();
    if (!entry->node.empty()) co_return co_await grant(entry, deadline);
    const std::size_t paths = path_of(claim.key).size() + ticket_of(claim.key, claim.id).size();
    if (auto room = entry->count_paths(paths + 2 * around_a_path); !room) co_return room.error();
    entry->creating = entry->connection().multi(taking(*entry));
    const SharedRequest asked = entry->creating;
    if (Result<void> settled = co_await settle_creation(entry, deadline); !settled) co_return settled.error();
    if (!entry->node.empty()) continue;
    Result<bool> is_held = co_await held_by_another(entry, asked->answer(), deadline);
    if (!is_held) co_return is_held.error();
    if (*is_held) co_return co_await wait_for_holder(entry, deadline);
  }
  co_return Error{Errc::store_unavailable, "the folder of this lock is deleted all the time"};
}

/// Its ticket and its node; or its node, if its ticket is still there. The last part tells the transaction.
std::vector<Part> Ephemeral::taking(Entry& entry) const {
  const std::string path = path_of(entry.claim.key);
  entry.ticket = ticket_of(entry.claim.key, entry.claim.id);
  entry.text = record_of(entry).to_text();
  const Part ticket = entry.ticketed ? checking(entry.ticket) : making(entry.ticket, entry.text, ZOO_EPHEMERAL);
  return {ticket, making(path, entry.text, ZOO_EPHEMERAL), setting(path, entry.text)};
}

/// False: something was missing, and is there by now.
awaitable<Result<bool>> Ephemeral::held_by_another(SharedEntry entry, Answer refused, Deadline deadline) {
  const int of_ticket = refused.parts.empty() ? ZOK : refused.parts.front().code;
  if (of_ticket == ZNONODE && entry->ticketed) {
    entry->gone = true;
  } else if (of_ticket == ZNONODE) {
    Result<void> above = co_await entry->session->link->make(parent_of(entry->ticket), ZOO_CONTAINER, deadline);
    if (!above) co_return above.error();
  } else if (of_ticket == ZNODEEXISTS) {
    entry->ticketed = true;  // by a request whose answer was lost
  } else if (refused.code == ZNONODE) {
    const std::string folder = parent_of(path_of(entry->claim.key));
    Result<void> above = co_await entry->session->link->make(folder, ZOO_PERSISTENT, deadline);
    if (!above) co_return above.error();
  } else {
    co_return refused.code == ZNODEEXISTS;
  }
  co_return false;
}

/// An answer may have been lost, or may still be on its way.
awaitable<Result<void>> Ephemeral::settle_creation(SharedEntry entry, Deadline deadline) {
  const std::string path = path_of(entry->claim.key);
  Connection& connection = entry->connection();
  if (entry->creating) {
    const Answer made = co_await entry->creating->wait(deadline);
    if (made.code == ZOPERATIONTIMEOUT) co_return error_of(made.code, connection);
    entry->creating.reset();
    if (made.ok()) {
      has_node(*entry, made.parts.back().stat);
    } else if (made.code != ZNODEEXISTS && made.code != ZNONODE) {
      const Error error = error_of(made.code, connection);
      entry->maybe_there = error.code == Errc::outcome_unknown;
      entry->maybe_ticketed = entry->maybe_ticketed || entry->maybe_there;
      co_return error;
    }
  }
  if (!entry->maybe_there) co_return Result<void>();
  const Answer alive = co_await connection.heartbeat()->wait(deadline);
  if (!alive.ok()) co_return read_error_of(alive.code, connection);
  const Answer node = co_await connection.get(path)->wait(deadline);
  if (!node.ok() && node.code != ZNONODE) co_return read_error_of(node.code, connection);
  entry->maybe_there = false;
  if (node.ok() && entry->is_own(Record::parse(node.data), node.stat)) has_node(*entry, node.stat);
  co_return Result<void>();
}

/// From now on the node is watched, and no longer the ticket.
void Ephemeral::has_node(Entry& entry, const Stat& stat) const {
  entry.node = path_of(entry.claim.key);
  entry.czxid = stat.czxid;
  entry.links = entry.connection().links();
  entry.ticketed = true;
  entry.watched = false;
  entry.session->link->listen_no_more(entry.ticket, &entry);
}

awaitable<Result<void>> Ephemeral::take_ticket(SharedEntry entry, Deadline deadline) {
  const std::string path = entry->ticket;
  Connection& connection = entry->connection();
  for (int i = 0; i < attempts && !entry->ticketed; ++i) {
    const Answer made = co_await connection.create(path, entry->text, ZOO_EPHEMERAL)->wait(deadline);
    entry->ticketed = made.ok() || made.code == ZNODEEXISTS;
    if (entry->ticketed) break;
    if (made.code != ZNONODE) {
      const Error error = error_of(made.code, connection);
      entry->maybe_ticketed = entry->maybe_ticketed || error.code == Errc::outcome_unknown;
      co_return error;
    }
    Result<void> above = co_await entry->session->link->make(parent_of(path), ZOO_CONTAINER, deadline);
    if (!above) co_return above;
  }
  entry->session->link->listen(path, entry);
  const Answer own = co_await connection.get(path, Watch::yes)->wait(deadline);
  entry->watched = own.ok();
  if (own.code == ZNONODE) co_return entry->taken_away();
  if (!own.ok()) co_return read_error_of(own.code, connection);
  co_return Result<void>();
}

awaitable<Result<ClaimState>> Ephemeral::wait_for_holder(SharedEntry entry, Deadline deadline) {
  const std::string path = path_of(entry->claim.key);
  const bool waits = entry->claim.may_queue;
  if (waits) entry->watch_for(path);
  entry->news = false;
  const SharedRequest asked = entry->connection().get(path, Watch(waits));
  const Answer holder = co_await asked->wait(deadline);
  if (holder.code == ZNONODE) co_return Waiting{soon};  // gone in between
  if (!holder.ok()) co_return read_error_of(holder.code, entry->connection());
  if (waits && !entry->watched) {
    Result<void> seen_to_wait = co_await take_ticket(entry, deadline);
    if (!seen_to_wait) co_return seen_to_wait.error();
  }
  Seen seen;
  seen.record = Record::parse(holder.data);
  Waiting waiting{at_the_latest};
  waiting.holder = owner_of(seen);
  co_return waiting;
}

awaitable<Result<Withdrawn>> Ephemeral::withdraw(Claim claim, Withdrawal how, Deadline deadline) {
  Result<SharedEntry> known = co_await entry_to_withdraw(claim, how, deadline);
  if (!known) co_return known.error();
  const SharedEntry entry = *known;
  if (!entry || (!entry->ticketed && !entry->maybe_ticketed)) co_return Withdrawn::not_there;
  if (Result<void> ours = co_await recognize(entry, deadline); !ours) co_return ours.error();
  entry->leaving = true;
  Connection& connection = entry->connection();
  // The next one may have the same node by now: ours goes with our ticket, or not at all.
  std::vector<Part> parts{removing(entry->ticket)};
  if (!entry->node.empty() && !entry->gone) parts.push_back(removing(entry->node));
  const Answer removed = co_await connection.multi(parts)->wait(deadline);
  Result<bool> was_there = removed.ok();
  if (!removed.ok() && removed.code != ZNONODE) was_there = error_of(removed.code, connection);
  if (removed.code == ZNONODE && parts.size() > 1) was_there = co_await clear_away(entry, removed, deadline);
  if (!was_there) {
    entry->maybe_there = was_there.code() == Errc::outcome_unknown && parts.size() > 1;
    if (entry->maybe_there) entry->node.clear();
    entry->leaving = false;
    co_return was_there.error();
  }
  entry->let_go_of_watches();
  entry->node.clear();
  entry->ticket.clear();
  entry->held = entry->leaving = entry->watched = entry->ticketed = entry->maybe_ticketed = false;
  co_return *was_there && !entry->gone ? Withdrawn::done : Withdrawn::not_there;
}

/// One of the two was deleted by somebody else: the other one goes as well. Was the node still there?
awaitable<Result<bool>> Ephemeral::clear_away(SharedEntry entry, Answer refused, Deadline deadline) {
  Connection& connection = entry->connection();
  if (refused.parts.front().code != ZOK) co_return co_await remove_if_own(entry, deadline);
  const Answer removed = co_await connection.remove(entry->ticket)->wait(deadline);
  if (!removed.ok() && removed.code != ZNONODE) co_return error_of(removed.code, connection);
  co_return false;
}

awaitable<Result<void>> Ephemeral::downgrade(Claim, Deadline) { co_return only_mutexes(); }

awaitable<Result<Succession>> Ephemeral::succession(LockKey, Token, Deadline) { co_return only_mutexes(); }

awaitable<Result<std::vector<Nodes::SeenLock>>> Ephemeral::see_all(SharedLink link, std::vector<LockKey> keys,
                                                                   Deadline deadline) {
  std::map<std::string, std::size_t> lock_of_path;
  std::vector<std::string> paths;
  std::vector<SharedRequest> asked;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].kind != Kind::mutex) co_return only_mutexes();
    paths.push_back(path_of(keys[i]));
    lock_of_path[paths.back()] = i;
    asked.push_back(link->connection->children(tickets_of(keys[i])));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Answer names = co_await asked[i]->wait(deadline);
    if (!names.ok() && names.code != ZNONODE) co_return read_error_of(names.code, *link->connection);
    for (const std::string& name : names.children) {
      paths.push_back(child_of(tickets_of(keys[i]), name));
      lock_of_path[paths.back()] = i;
    }
  }
  Result<std::vector<Seen>> nodes = co_await read(link, std::move(paths), deadline);
  if (!nodes) co_return nodes.error();
  std::vector<SeenLock> locks(keys.size());
  for (Seen& seen : *nodes) {
    SeenLock& lock = locks[lock_of_path[seen.path]];
    seen.holds = seen.path == path_of(keys[lock_of_path[seen.path]]);
    const bool of_holder = !lock.empty() && lock.front().holds && id_of(lock.front()) == id_of(seen);
    if (of_holder || seen.stat.ephemeralOwner == 0) continue;
    if (seen.holds && seen.record) seen.only_with = ticket_of(keys[lock_of_path[seen.path]], seen.record->id);
    lock.push_back(std::move(seen));
  }
  for (SeenLock& lock : locks) {
    std::sort(lock.begin(), lock.end(), [](const Seen& one, const Seen& other) {
      return one.holds != other.holds ? one.holds : one.stat.czxid < other.stat.czxid;
    });
  }
  co_return locks;
}

awaitable<Result<std::vector<Duration>>> Ephemeral::shut_for(SharedLink, std::vector<LockKey> keys,
                                                             std::vector<SeenLock>, Deadline) {
  co_return std::vector<Duration>(keys.size());
}

}  // namespace pawl::store::zookeeper
