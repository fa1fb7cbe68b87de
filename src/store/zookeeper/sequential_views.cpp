// What anybody can see of the queues.

#include "store/zookeeper/sequential.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

namespace pawl::store::zookeeper {

namespace {

/// Each node of a claim names one. (In the first release each named all of them.)
void add_slots(Slots& all, const Slots& more) {
  for (const std::uint32_t slot : more) {
    const auto at = std::lower_bound(all.begin(), all.end(), slot);
    if (at == all.end() || *at != slot) all.insert(at, slot);
  }
}

}  // namespace

awaitable<Result<std::vector<Nodes::SeenLock>>> Sequential::see_all(SharedLink link, std::vector<LockKey> keys,
                                                                    Deadline deadline) {
  struct Folder {
    std::size_t lock;
    std::string path;
    SharedRequest names;
    bool leases = false;
  };
  std::vector<Folder> folders;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].kind == Kind::permits) folders.push_back({i, leases_of(keys[i]), nullptr, true});
    folders.push_back({i, queue_of(keys[i]), nullptr});
  }
  for (Folder& folder : folders) folder.names = link->connection->children(folder.path);
  std::vector<std::string> paths;
  std::map<std::string, const Folder*> folder_of_path;
  for (const Folder& folder : folders) {
    const Answer names = co_await folder.names->wait(deadline);
    if (names.code == ZNONODE) continue;
    if (!names.ok()) co_return read_error_of(names.code, *link->connection);
    std::vector<std::string> children = names.children;
    if (folder.leases) {
      std::sort(children.begin(), children.end());
    } else {
      children.clear();
      for (Place& place : places_of(server_->config().dialect, keys[folder.lock].kind, names.children)) {
        children.push_back(std::move(place.name));
      }
    }
    for (const std::string& name : children) {
      paths.push_back(child_of(folder.path, name));
      folder_of_path[paths.back()] = &folder;
    }
  }
  Result<std::vector<Seen>> nodes = co_await read(link, std::move(paths), deadline);
  if (!nodes) co_return nodes.error();
  std::vector<SeenLock> locks(keys.size());
  for (Seen& seen : *nodes) {
    const Folder& folder = *folder_of_path[seen.path];
    add_to(locks[folder.lock], std::move(seen), keys[folder.lock].kind, folder.leases);
  }
  for (SeenLock& lock : locks) {
    std::stable_partition(lock.begin(), lock.end(), [](const Seen& seen) { return seen.holds; });
  }
  co_return locks;
}

/// The next one, in the order of the queue, behind all leases.
void Sequential::add_to(SeenLock& lock, Seen seen, Kind kind, bool is_lease) const {
  if (kind == Kind::permits) {
    seen.holds = is_lease;
    const auto same =
        std::find_if(lock.begin(), lock.end(), [&](const Seen& other) { return id_of(other) == id_of(seen); });
    if (same == lock.end()) {
      lock.push_back(std::move(seen));
    } else if (is_lease) {
      same->more.push_back(seen.path);
      add_slots(same->slots, seen.slots);
    }
    return;  // one that has its leases and still stands in the queue was granted between the two lists
  }
  if (has_tickets(kind) && seen.record) seen.more.push_back(ticket_of(seen.record->id));
  const std::optional<Place> place = place_of(server_->config().dialect, kind, name_of(seen.path));
  seen.mode = place ? place->mode : Mode::exclusive;
  seen.holds = std::all_of(lock.begin(), lock.end(),
                           [&](const Seen& other) { return seen.mode == Mode::shared && other.mode == Mode::shared; });
  lock.push_back(std::move(seen));
}

/// With raw names all kinds but semaphores are in one folder, and a claim waits for the nodes whose names it knows.
bool Sequential::waits_for(Kind ours, Kind other, Mode mode) const {
  if (ours == other) return true;
  if (!server_->config().raw_names || ours == Kind::permits || other == Kind::permits) return false;
  const Dialect dialect = server_->config().dialect;
  return place_of(dialect, ours, numbered(stem(dialect, other, mode, {}), 0)).has_value();
}

awaitable<Result<std::vector<Duration>>> Sequential::shut_for(SharedLink link, std::vector<LockKey> keys,
                                                              std::vector<SeenLock> nodes, Deadline deadline) {
  std::vector<Duration> shut(keys.size());
  const Answer names = co_await link->connection->children(server_->path("/delays"))->wait(deadline);
  if (names.code == ZNONODE) co_return shut;
  if (!names.ok()) co_return read_error_of(names.code, *link->connection);
  const std::set<std::string> delayed(names.children.begin(), names.children.end());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!delayed.contains(name_of(delays_of(keys[i])))) continue;
    Result<Ghosts> ghosts = co_await this->ghosts(link, keys[i], nodes[i], deadline);
    if (!ghosts) co_return ghosts.error();
    const base::Time now = server_->runtime().now();
    for (const Ghost& ghost : *ghosts) shut[i] = std::max(shut[i], ghost.until - now);
  }
  co_return shut;
}

awaitable<Result<Succession>> Sequential::succession(LockKey key, Token after, Deadline deadline) {
  if (auto fine = check_name(key); !fine) co_return fine.error();
  Result<SharedLink> link = co_await server_->any(deadline);
  if (!link) co_return link.error();
  const Answer folder = co_await (*link)->connection->get(queue_of(key))->wait(deadline);
  Succession succession;
  if (folder.code == ZNONODE) co_return succession;
  if (!folder.ok()) co_return read_error_of(folder.code, *(*link)->connection);
  const Notes notes = Notes::parse(folder.data);
  Result<std::vector<Seen>> nodes = co_await see(*link, key, deadline);
  if (!nodes) co_return nodes.error();
  const auto now = static_cast<std::int64_t>(server_->runtime().unix_milliseconds());
  for (const Notes::Reign& reign : notes.reigns) {
    if (reign.leader.token <= after) continue;
    succession.reigns.push_back(Reign{reign.leader, reign.after_nobody});
    const std::int64_t age = now - static_cast<std::int64_t>(reign.since);
    succession.reigns.back().leader.age = std::chrono::milliseconds(std::max<std::int64_t>(age, 0));
  }
  // Whoever is first in line leads as soon as it has written so, unless it must wait for a delay.
  const bool led = !nodes->empty() && !notes.reigns.empty() &&
                   notes.reigns.back().leader.token.counter() == static_cast<std::uint64_t>(nodes->front().stat.czxid);
  succession.vacant = nodes->empty() || (!led && notes.delayed);
  co_return succession;
}

}  // namespace pawl::store::zookeeper
