// Permits: who is first in line for them, how many are left, and the nodes that say who has which.

#include "store/zookeeper/leases.hpp"
#include "store/zookeeper/sequential.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace pawl::store::zookeeper {

/// How many permits there are, for those who hold some or wait.
awaitable<Result<std::optional<std::uint32_t>>> Sequential::agreed(SharedLink link, LockKey key, Deadline deadline) {
  const std::vector<std::string> folders{leases_of(key), queue_of(key)};
  for (const std::string& folder : folders) {
    const Answer names = co_await link->connection->children(folder)->wait(deadline);
    if (names.code == ZNONODE) continue;
    if (!names.ok()) co_return read_error_of(names.code, *link->connection);
    for (const std::string& name : names.children) {
      const Answer node = co_await link->connection->get(child_of(folder, name))->wait(deadline);
      if (!node.ok() && node.code != ZNONODE) co_return read_error_of(node.code, *link->connection);
      const std::optional<Record> record = Record::parse(node.data);
      if (record && record->permits.of != 0) co_return std::optional<std::uint32_t>(record->permits.of);
    }
  }
  co_return std::optional<std::uint32_t>();
}

awaitable<Result<std::optional<Waiting>>> Sequential::permits_busy(SharedEntry entry, Deadline deadline) {
  const Claim& claim = entry->claim;
  Result<std::vector<Seen>> nodes = co_await see(entry->session->link, claim.key, deadline);
  if (!nodes) co_return nodes.error();
  bool waits = false;
  std::uint32_t taken = claim.permits.wanted;
  Waiting waiting{at_the_latest};
  for (const Seen& seen : *nodes) {
    const bool ours = seen.record && seen.record->permits.of != 0;
    if (ours) {
      if (auto sound = check_sound(claim, seen.record->permits.of); !sound) co_return sound.error();
    }
    waits = waits || !seen.holds;
    if (!seen.holds) continue;
    taken += ours ? seen.record->permits.wanted : 1;
    if (!waiting.holder) waiting.holder = owner_of(seen);
  }
  waiting.permits = {taken - claim.permits.wanted, 0};
  waits = waits || taken > claim.permits.of;
  if (!waits) co_return std::optional<Waiting>();
  co_return std::optional<Waiting>(std::move(waiting));
}

awaitable<Result<Answer>> Sequential::watch_leases(SharedEntry entry, Deadline deadline) {
  const SharedLink link = entry->session->link;
  const std::string leases = leases_of(entry->claim.key);
  entry->watch_for(leases);
  entry->news = false;
  Answer names = co_await link->connection->children(leases, Watch::yes)->wait(deadline);
  if (names.code == ZNONODE) {
    Result<void> made = co_await link->make(leases, folder_mode(), deadline);
    if (!made) co_return made.error();
    names = co_await link->connection->children(leases, Watch::yes)->wait(deadline);
  }
  if (!names.ok()) co_return read_error_of(names.code, *link->connection);
  co_return names;
}

/// Errors: those who hold some mean another number of permits.
Result<Sequential::Room> Sequential::room_for(const Claim& claim, const std::vector<Seen>& taken,
                                              const Ghosts& ghosts) const {
  Room room;
  for (std::uint32_t slot = 0; slot < claim.permits.of; ++slot) room.slots.insert(slot);
  for (const Seen& seen : taken) {
    ++room.used;
    if (!seen.record) continue;
    if (auto sound = check_sound(claim, seen.record->permits.of); !sound) return sound.error();
    for (const std::uint32_t slot : seen.record->slots) room.slots.erase(slot);
  }
  const base::Time now = server_->runtime().now();
  room.changes_in = at_the_latest;
  for (const Ghost& ghost : ghosts) {
    if (ghost.until <= now) {
      room.over.push_back(ghost);
      continue;
    }
    room.used += ghost.record.slots.size();
    room.in_lock_delay += ghost.record.slots.size();
    room.changes_in = std::min(room.changes_in, ghost.until - now);
    for (const std::uint32_t slot : ghost.record.slots) room.slots.erase(slot);
  }
  return room;
}

/// A request that the servers refuse for its size takes the connection with it, and is never answered: such a claim would
/// stand first in line for ever. Errors: invalid_argument.
Result<void> Sequential::check_fits(const Entry& entry) const {
  const Claim& claim = entry.claim;
  const Record record = record_of(entry);
  std::vector<Part> others{removing(numbered(queue_of(claim.key) + "/lock-", last_sequence))};
  for (std::size_t i = 0; i < most_swept; ++i) others.push_back(removing(guard_of(claim)));
  if (claim.lock_delay > Duration::zero()) others.push_back(making(guard_of(claim), record.to_text(), ZOO_PERSISTENT));
  const std::uint32_t most = most_leases(leases_of(claim.key), record, others);
  if (claim.permits.wanted <= most) return {};
  return Error{
      Errc::invalid_argument,
      fmt::format("{} permits are too many for one transaction of ZooKeeper: of {} it takes at most {} at once",
                  claim.permits.wanted, claim.key.name.quoted(), most)};
}

/// As SemaphoreV2: who is first in `locks` takes its leases as soon as there are enough, and leaves.
awaitable<Result<ClaimState>> Sequential::first_for_permits(SharedEntry entry, Deadline deadline) {
  const Claim& claim = entry->claim;
  const SharedLink link = entry->session->link;
  Result<Answer> names = co_await watch_leases(entry, deadline);
  if (!names) co_return names.error();
  // All taken by live holders: there is nothing to read, unless a lock-delay must be noticed and its time begin.
  if (names->children.size() + claim.permits.wanted > claim.permits.of) {
    const Answer delays = co_await link->connection->children(delays_of(claim.key))->wait(deadline);
    if (!delays.ok() && delays.code != ZNONODE) co_return read_error_of(delays.code, *link->connection);
    if (delays.children.empty()) {
      Waiting waiting{at_the_latest};
      waiting.permits = {static_cast<std::uint32_t>(names->children.size()), 0};
      co_return co_await wait_for_permits(entry, waiting, deadline);
    }
  }
  std::vector<std::string> paths = children_of(leases_of(claim.key), names->children);
  Result<std::vector<Seen>> taken = co_await read(link, std::move(paths), deadline);
  if (!taken) co_return taken.error();
  Result<Ghosts> ghosts = co_await this->ghosts(link, claim.key, *taken, deadline);
  if (!ghosts) co_return ghosts.error();
  Result<Room> room = room_for(claim, *taken, *ghosts);
  if (!room) {
    Result<Withdrawn> left = co_await leave(entry, Ending::clean, deadline);
    co_return left ? room.error() : left.error();
  }
  remember(*ghosts);
  if (room->suffices(claim.permits)) {
    co_return co_await take_permits(entry, std::move(*room), deadline);
  }
  Waiting waiting{room->changes_in};
  const auto in_lock_delay = static_cast<std::uint32_t>(room->in_lock_delay);
  waiting.permits = {static_cast<std::uint32_t>(room->used) - in_lock_delay, in_lock_delay};
  co_return co_await wait_for_permits(entry, waiting, deadline);
}

awaitable<Result<ClaimState>> Sequential::wait_for_permits(SharedEntry entry, Waiting waiting, Deadline deadline) {
  entry->line.postponed();
  co_return co_await not_yet(entry, std::move(waiting), deadline);
}

awaitable<Result<ClaimState>> Sequential::take_permits(SharedEntry entry, Room room, Deadline deadline) {
  const Claim& claim = entry->claim;
  const SharedLink link = entry->session->link;
  Connection& connection = *link->connection;
  Result<Ghosts> over = co_await sweep(link, std::move(room.over), deadline);
  if (!over) co_return over.error();
  entry->slots.assign(room.slots.begin(), std::next(room.slots.begin(), claim.permits.wanted));
  const Record record = record_of(*entry);
  std::vector<Part> parts = making_leases(leases_of(claim.key), record);
  entry->text = parts.front().data;
  parts.push_back(removing(entry->node));
  for (const Ghost& ghost : *over) parts.push_back(removing(ghost.path));
  if (claim.lock_delay > Duration::zero()) {
    Result<void> delays = co_await link->make(delays_of(claim.key), ZOO_CONTAINER, deadline);
    if (!delays) co_return delays.error();
    parts.push_back(making(guard_of(claim), record.to_text(), ZOO_PERSISTENT));
    entry->guarded = true;
  }
  entry->leaving = true;
  const Answer written = co_await connection.multi(parts)->wait(deadline);
  entry->leaving = false;
  if (!written.ok()) {
    entry->slots.clear();
    const Error error = error_of(written.code, connection);
    if (error.code == Errc::outcome_unknown) look_for_it(*entry);
    if (written.code == ZNONODE) co_return co_await look_at_queue(entry, deadline);
    co_return error;
  }
  for (std::size_t i = 0; i < claim.permits.wanted; ++i) entry->leases.push_back(written.parts[i].path);
  link->listen_no_more(entry->node, entry.get());
  entry->node = entry->leases.front();
  entry->watched = false;
  entry->czxid = 0;
  entry->links = connection.links();
  co_return co_await permits_taken(entry, deadline);
}

/// The token is the leases' own: that of the place in the queue is older.
awaitable<Result<ClaimState>> Sequential::permits_taken(SharedEntry entry, Deadline deadline) {
  if (entry->czxid == 0) {
    const Answer first = co_await entry->connection().exists(entry->node)->wait(deadline);
    if (first.code == ZNONODE) co_return entry->taken_away();
    if (!first.ok()) co_return read_error_of(first.code, entry->connection());
    entry->czxid = first.stat.czxid;
  }
  co_return co_await grant(entry, deadline);
}

}  // namespace pawl::store::zookeeper
