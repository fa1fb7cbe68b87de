// Who has nobody before it: what it must wait for, and what it writes before the lock is its own.

#include "store/zookeeper/sequential.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace pawl::store::zookeeper {

awaitable<Result<Sequential::Ghosts>> Sequential::ghosts(SharedLink link, LockKey key, std::vector<Seen> alive,
                                                         Deadline deadline) {
  const std::string folder = delays_of(key);
  const Answer names = co_await link->connection->children(folder)->wait(deadline);
  Ghosts ghosts;
  if (names.code == ZNONODE) co_return ghosts;
  if (!names.ok()) co_return read_error_of(names.code, *link->connection);
  std::vector<std::string> paths = children_of(folder, names.children);
  std::erase_if(ghosts_seen_, [&](const auto& seen) {
    return parent_of(seen.first) == folder && std::find(paths.begin(), paths.end(), seen.first) == paths.end();
  });
  Result<std::vector<Seen>> guards = co_await read(link, std::move(paths), deadline);
  if (!guards) co_return guards.error();
  const base::Time now = server_->runtime().now();
  for (const Seen& guard : *guards) {
    if (!guard.record) continue;
    const bool lives = std::any_of(alive.begin(), alive.end(), [&](const Seen& seen) {
      return seen.record && seen.record->id == guard.record->id;
    });
    if (lives) continue;
    const auto seen = ghosts_seen_.find(guard.path);
    const base::Time since = seen == ghosts_seen_.end() ? now : seen->second;
    ghosts.push_back(Ghost{guard.path, *guard.record, base::after(since, guard.record->lock_delay)});
  }
  co_return ghosts;
}

/// From now on they are waited for. Not earlier: whoever is only looked at may still live.
void Sequential::remember(const Ghosts& in_our_way) {
  const base::Time now = server_->runtime().now();
  for (const Ghost& ghost : in_our_way) ghosts_seen_.try_emplace(ghost.path, now);
}

/// Removes those whose time is over, until few enough are left to go together with a grant.
awaitable<Result<Sequential::Ghosts>> Sequential::sweep(SharedLink link, Ghosts over, Deadline deadline) {
  while (over.size() > most_swept) {
    std::vector<Part> parts;
    for (std::size_t i = over.size() - most_swept; i < over.size(); ++i) parts.push_back(removing(over[i].path));
    const std::string none;
    Result<bool> removed = co_await change_what_is_there(*link->connection, std::move(parts), none, none, deadline);
    if (!removed) co_return removed.error();
    over.resize(over.size() - most_swept);
  }
  co_return over;
}

/// Nobody is before us: the lock is ours, unless a holder has failed.
awaitable<Result<ClaimState>> Sequential::first_in_line(SharedEntry entry, Answer folder, Deadline deadline) {
  if (entry->claim.key.kind == Kind::permits) co_return co_await first_for_permits(entry, deadline);
  const LockKey key = entry->claim.key;
  const bool shared = entry->claim.mode == Mode::shared;
  // A leader has written into the folder after we came: we have waited, though we may not have seen it.
  const bool came_before = key.kind == Kind::election && folder.stat.mzxid > entry->czxid;
  if (came_before) entry->line.was_not_alone();
  Notes notes = Notes::parse(folder.data);
  // A folder without a word in it may be a new one: the old one was empty, and is gone with what it said.
  const bool unknown = folder.data.empty() || notes.foreign || notes.delayed;
  Ghosts over;
  if (!unknown) co_return co_await take(entry, std::move(folder), std::move(over), deadline);
  Result<std::vector<Seen>> alive = std::vector<Seen>();
  if (shared) alive = co_await see(entry->session->link, key, deadline);
  if (!alive) co_return alive.error();
  Result<Ghosts> ghosts = co_await this->ghosts(entry->session->link, key, std::move(*alive), deadline);
  if (!ghosts) co_return ghosts.error();
  const base::Time now = server_->runtime().now();
  Duration longest{};
  for (const Ghost& ghost : *ghosts) {
    const bool in_our_way = !shared || ghost.record.mode == Mode::exclusive;
    const bool is_own = ghost.record.id == entry->claim.id;  // of a request whose answer was lost
    if (!in_our_way || is_own) continue;
    longest = std::max(longest, ghost.until - now);
    over.push_back(ghost);
  }
  remember(over);
  if (longest > Duration::zero()) {
    entry->line.postponed();
    Waiting waiting{longest};
    waiting.shut_for = longest;
    co_return co_await not_yet(entry, waiting, deadline);
  }
  if (ghosts->empty() && !notes.foreign && (!shared || folder.data.empty())) {
    notes.delayed = false;
    folder.data = notes.to_text();
    // Nobody waits for it: should it get lost, the next one looks as well.
    entry->connection().set(queue_of(key), folder.data, folder.stat.version++);
  }
  co_return co_await take(entry, std::move(folder), std::move(over), deadline);
}

/// Who is elected, or was before.
awaitable<Result<void>> Sequential::enter_reign(SharedEntry entry, Deadline deadline) {
  Result<std::uint64_t> epoch = co_await server_->epoch_of(entry->session->link, deadline);
  if (!epoch) co_return epoch.error();
  std::vector<Notes::Reign>& reigns = entry->notes.reigns;
  Notes::Reign reign;
  reign.leader.value = entry->claim.value;
  reign.leader.token = Token(*epoch, static_cast<std::uint64_t>(entry->czxid));
  reign.leader.owner = record_of(*entry).owner;
  reign.since = server_->runtime().unix_milliseconds();
  reign.after_nobody = !entry->line.waited();
  const bool known = !reigns.empty() && reigns.back().leader.token.counter() == reign.leader.token.counter();
  if (!known) reigns.push_back(std::move(reign));
  if (reigns.size() > Chronicle::most) reigns.erase(reigns.begin());
  co_return Result<void>();
}

/// What must be written before the lock is ours: our own delay, whom we have outlived, and who leads.
awaitable<Result<ClaimState>> Sequential::take(SharedEntry entry, Answer folder, Ghosts ghosts, Deadline deadline) {
  const LockKey key = entry->claim.key;
  const std::string guard = guard_of(entry->claim);
  Connection& connection = entry->connection();
  const bool delays = entry->claim.lock_delay > Duration::zero();
  const bool leads = key.kind == Kind::election;
  Result<Ghosts> few_left = co_await sweep(entry->session->link, std::move(ghosts), deadline);
  if (!few_left) co_return few_left.error();
  ghosts = std::move(*few_left);
  bool guarded = !delays;  // for certain
  entry->guarded = entry->guarded || delays;
  for (int i = 0; i < attempts; ++i) {
    entry->notes = Notes::parse(folder.data);
    const bool was_delayed = entry->notes.delayed;
    if (!delays && !leads && ghosts.empty()) co_return co_await grant(entry, deadline);
    entry->notes.delayed = delays || (entry->notes.delayed && entry->claim.mode == Mode::shared);
    if (leads) {
      Result<void> entered = co_await enter_reign(entry, deadline);
      if (!entered) co_return entered.error();
    }
    std::vector<Part> parts;
    if (!guarded) parts.push_back(making(guard, record_of(*entry).to_text(), ZOO_PERSISTENT));
    for (const Ghost& ghost : ghosts) parts.push_back(removing(ghost.path));
    if (!entry->notes.foreign || leads) {
      parts.push_back(setting(queue_of(key), entry->notes.to_text(), folder.stat.version));
    }
    if (parts.empty()) co_return co_await grant(entry, deadline);
    const Answer written = co_await connection.multi(parts)->wait(deadline);
    if (written.ok()) {
      for (const Ghost& ghost : ghosts) ghosts_seen_.erase(ghost.path);
      co_return co_await grant(entry, deadline);
    }
    const int first = written.parts.empty() ? ZOK : written.parts.front().code;
    if (!guarded && first == ZNODEEXISTS) {
      guarded = true;  // by a request whose answer was lost
    } else if (!guarded && first == ZNONODE) {
      Result<void> made = co_await entry->session->link->make(delays_of(key), ZOO_CONTAINER, deadline);
      if (!made) co_return made.error();
    } else if (written.code == ZNONODE) {
      ghosts.clear();  // somebody else has laid them, or the folder is gone
    } else if (written.code != ZBADVERSION) {
      co_return error_of(written.code, connection);
    }
    folder = co_await connection.get(queue_of(key))->wait(deadline);
    if (folder.code == ZNONODE) co_return entry->taken_away();
    if (!folder.ok()) co_return read_error_of(folder.code, connection);
    // Somebody has held it meanwhile, and may have failed.
    const bool delayed = Notes::parse(folder.data).delayed && !was_delayed;
    if (delayed && ++entry->looks <= most_looks) co_return co_await first_in_line(entry, std::move(folder), deadline);
  }
  co_return Error{Errc::store_unavailable, "the folder of this lock is changed all the time"};
}

}  // namespace pawl::store::zookeeper
