#include "store/zookeeper/sequential.hpp"

#include "base/lock_name.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace pawl::store::zookeeper {

namespace {

constexpr std::size_t most_crowded = 1000;  // queues that are remembered as such

std::size_t leases_path_bytes(const std::string& folder) {
  return child_of(folder, "lease-").size() + numbering + around_a_path;
}

Error used_up() {
  return {
      Errc::store_unavailable,
      "counter used up: the folder of this lock has numbered its last node; it starts anew when it has been empty for "
      "a while, or is deleted"};
}

}  // namespace

constexpr Capabilities Sequential::declared = {
    .store = "zookeeper",
    .scheme = "sequential",
    .summary = "fair queue of numbered nodes, shared with Curator or kazoo (names=raw)",
    .fair = true,
    .wakes_waiters = true,
    .shared_mode = true,
    .permits = true,
    .election = true,
    .lock_delay = true,
    .revocable = true,
    .counts_to_inspect = true,
    .survives_restart = true,
    .needs_renewals = false,
    .shortest_lease = std::chrono::milliseconds(100),
    .longest_lease = std::chrono::hours(24),
    .token_source = "the transaction that made the node (czxid), with an epoch kept in a node",
    .on_client_death = "when its session ends: one and a half leases, two ticks at the least",
};

std::string Sequential::queue_of(const LockKey& key) const {
  return key.kind == Kind::permits ? path_of(key) + "/locks" : path_of(key);
}

std::string Sequential::leases_of(const LockKey& key) const { return path_of(key) + "/leases"; }

std::string Sequential::delays_of(const LockKey& key) const {
  return server_->path("/delays/" + base::fit_name(path_of(key), 1024));
}

std::string Sequential::guard_of(const Claim& claim) const {
  return child_of(delays_of(claim.key), to_string(claim.id));
}

std::string Sequential::ticket_of(ClaimId id) const { return server_->path("/tickets/" + to_string(id)); }

int Sequential::folder_mode() const {
  return server_->config().dialect == Dialect::kazoo ? ZOO_PERSISTENT : ZOO_CONTAINER;
}

awaitable<Result<ClaimState>> Sequential::claim(Claim claim, Deadline deadline) {
  Result<SharedEntry> known = co_await entry_of(claim, deadline);
  if (!known) co_return known.error();
  const SharedEntry entry = *known;
  if (entry->gone || (entry->held && entry->node.empty())) co_return entry->taken_away();
  if (entry->held) co_return Granted{entry->token, false, entry->slots};
  entry->looks = 0;
  if (!entry->node.empty()) {
    if (Result<void> counts = co_await check_number(entry, deadline); !counts) co_return counts.error();
    co_return co_await stand(entry, deadline);
  }
  if (claim.key.kind == Kind::permits) {
    if (auto fits = check_fits(*entry); !fits) co_return fits.error();
  }
  if (!claim.may_queue) {
    Result<std::optional<Waiting>> waiting = co_await busy(entry, deadline);
    if (!waiting) co_return waiting.error();
    if (*waiting) co_return **waiting;
  } else if (claim.key.kind == Kind::permits) {
    Result<std::optional<std::uint32_t>> of = co_await agreed(entry->session->link, claim.key, deadline);
    if (!of) co_return of.error();
    if (auto sound = check_sound(claim, *of); !sound) co_return sound.error();
  }
  if (auto room = entry->count_paths(path_bytes_of(claim)); !room) co_return room.error();
  co_return co_await join(entry, deadline);
}

/// Its place in the queue, its ticket, its permits.
std::size_t Sequential::path_bytes_of(const Claim& claim) const {
  const std::string name = stem(server_->config().dialect, claim.key.kind, claim.mode, claim.id);
  std::size_t bytes = child_of(queue_of(claim.key), name).size() + numbering + around_a_path;
  if (has_tickets(claim.key.kind)) bytes += ticket_of(claim.id).size() + around_a_path;
  if (claim.key.kind == Kind::permits) bytes += claim.permits.wanted * leases_path_bytes(leases_of(claim.key));
  return bytes;
}

/// An answer may have been lost, or may still be on its way.
awaitable<Result<void>> Sequential::settle_creation(SharedEntry entry, Deadline deadline) {
  if (entry->creating) {
    const Answer made = co_await entry->creating->wait(deadline);
    if (made.code == ZOPERATIONTIMEOUT) co_return error_of(made.code, entry->connection());
    entry->creating.reset();
    Result<bool> there = joined(*entry, made);
    if (!there && there.code() != Errc::outcome_unknown) co_return there.error();
  }
  if (!entry->maybe_there) co_return Result<void>();
  Result<bool> found = co_await find_own_node(entry, deadline);
  if (!found) co_return found.error();
  entry->line.found(*found);
  entry->maybe_there = false;
  co_return Result<void>();
}

/// A request of unknown outcome has changed its nodes, or not: they are found again by its id.
void Sequential::look_for_it(Entry& entry) {
  entry.let_go_of_watches();
  entry.node.clear();
  entry.leases.clear();
  entry.line.creation_unknown();
  entry.maybe_there = true;
  entry.leaving = entry.watched = entry.two_there = false;
}

/// By its claim's id, and only if it is of this session.
awaitable<Result<bool>> Sequential::find_own_node(SharedEntry entry, Deadline deadline) {
  const LockKey key = entry->claim.key;
  const SharedLink link = entry->session->link;
  Connection& connection = *link->connection;
  const Answer alive = co_await connection.heartbeat()->wait(deadline);
  if (!alive.ok()) co_return read_error_of(alive.code, connection);
  std::vector<std::string> folders{queue_of(key)};
  if (key.kind == Kind::permits) folders.push_back(leases_of(key));
  std::vector<std::string> leases;
  for (const std::string& folder : folders) {
    const Answer names = co_await connection.children(folder)->wait(deadline);
    if (names.code == ZNONODE) continue;
    if (!names.ok()) co_return read_error_of(names.code, connection);
    std::vector<std::string> paths = children_of(folder, names.children);
    std::sort(paths.begin(), paths.end());
    Result<std::vector<Seen>> nodes = co_await read(link, std::move(paths), deadline);
    if (!nodes) co_return nodes.error();
    for (const Seen& seen : *nodes) {
      if (!entry->is_own(seen.record, seen.stat)) continue;
      if (folder != queue_of(key)) {
        if (leases.empty()) entry->slots.clear();
        leases.push_back(seen.path);
        entry->slots.insert(entry->slots.end(), seen.record->slots.begin(), seen.record->slots.end());
        entry->czxid = seen.stat.czxid;
        entry->node = leases.front();
        entry->links = connection.links();
      } else {
        const std::optional<Place> place = place_of(server_->config().dialect, key.kind, name_of(seen.path));
        if (!place) continue;
        entry->node = seen.path;
        entry->sequence = place->sequence;
        entry->claim.mode = place->mode;
        entry->czxid = seen.stat.czxid;
        entry->links = connection.links();
        entry->ticketed = has_tickets(key.kind);
        entry->session->link->listen(entry->node, entry);
      }
    }
  }
  entry->leases = std::move(leases);
  co_return !entry->node.empty();
}

/// For whoever does not want to leave a node if it cannot have the lock at once: would it have to wait?
awaitable<Result<std::optional<Waiting>>> Sequential::busy(SharedEntry entry, Deadline deadline) {
  const Claim& claim = entry->claim;
  const SharedLink link = entry->session->link;
  if (claim.key.kind == Kind::permits) co_return co_await permits_busy(entry, deadline);
  const std::string queue = queue_of(claim.key);
  const Answer names = co_await link->connection->children(queue)->wait(deadline);
  if (names.code == ZNONODE) co_return std::optional<Waiting>();
  if (!names.ok()) co_return read_error_of(names.code, *link->connection);
  const std::vector<Place> places = places_of(server_->config().dialect, claim.key.kind, names.children);
  const bool waits = std::any_of(places.begin(), places.end(), [&](const Place& place) {
    return claim.mode == Mode::exclusive || place.mode == Mode::exclusive;
  });
  if (!waits) co_return std::optional<Waiting>();
  std::vector<std::string> first{child_of(queue, places.front().name)};
  Result<std::vector<Seen>> holder = co_await read(link, std::move(first), deadline);
  if (!holder) co_return holder.error();
  Waiting waiting{at_the_latest};
  if (!holder->empty()) waiting.holder = owner_of(holder->front());
  co_return std::optional<Waiting>(std::move(waiting));
}

/// True: it has a place. Errors: outcome_unknown (the answer was lost), and what speaks against it.
Result<bool> Sequential::joined(Entry& entry, const Answer& made) {
  if (made.code == ZNONODE) return false;
  const bool ticketed = !made.parts.empty();
  if (made.code == ZNODEEXISTS && (!ticketed || made.parts.front().code == ZNODEEXISTS)) return used_up();
  if (!made.ok()) {
    const Error error = error_of(made.code, entry.connection());
    entry.maybe_there = error.code == Errc::outcome_unknown;
    if (entry.maybe_there) entry.line.creation_unknown();
    return error;
  }
  entry.node = ticketed ? made.parts.front().path : made.path;
  entry.czxid = ticketed ? made.parts.back().stat.mzxid : made.stat.czxid;
  entry.ticketed = ticketed;
  const std::optional<Place> place = place_of(server_->config().dialect, entry.claim.key.kind, name_of(entry.node));
  entry.links = entry.connection().links();
  entry.sequence = place ? place->sequence : -1;
  entry.line.created({}, false);
  return true;
}

/// The last number of all can be somebody else's as well: it is no place, and is given back.
awaitable<Result<void>> Sequential::check_number(SharedEntry entry, Deadline deadline) {
  if (!entry->leases.empty() || (entry->sequence >= 0 && entry->sequence < last_sequence)) co_return Result<void>();
  Result<Withdrawn> left = co_await leave(entry, Ending::clean, deadline);
  if (!left) co_return left.error();
  co_return used_up();
}

/// The lock's own, which the servers remove when it is empty; or that of all tickets.
awaitable<Result<void>> Sequential::make_folders(SharedLink link, LockKey key, bool tickets, Deadline deadline) {
  if (tickets) co_return co_await link->make(server_->path("/tickets"), ZOO_PERSISTENT, deadline);
  Result<void> made = co_await link->make(path_of(key), folder_mode(), deadline);
  if (made && key.kind == Kind::permits) made = co_await link->make(queue_of(key), folder_mode(), deadline);
  co_return made;
}

awaitable<Result<ClaimState>> Sequential::join(SharedEntry entry, Deadline deadline) {
  const LockKey key = entry->claim.key;
  Connection& connection = entry->connection();
  for (int i = 0; i < attempts; ++i) {
    entry->creating = ask_for_place(*entry);
    // The second is on its way before the first is answered: one round trip for both. Is there anybody else? In a crowd
    // there is.
    const SharedRequest asked = crowded_.contains(queue_of(key)) ? nullptr : connection.get(queue_of(key));
    const Answer made = co_await entry->creating->wait(deadline);
    if (made.code == ZOPERATIONTIMEOUT) co_return error_of(made.code, connection);
    entry->creating.reset();
    Result<bool> there = joined(*entry, made);
    if (!there) co_return there.error();
    if (!*there) {
      const bool tickets = made.parts.size() > 1 && made.parts[1].code == ZNONODE;
      Result<void> folder = co_await make_folders(entry->session->link, key, tickets, deadline);
      if (!folder) co_return folder.error();
      continue;
    }
    if (Result<void> counts = co_await check_number(entry, deadline); !counts) co_return counts.error();
    if (!asked) co_return co_await guess_place(entry, false, deadline);
    const Answer folder = co_await asked->wait(deadline);
    if (!folder.ok()) co_return read_error_of(folder.code, connection);
    if (folder.stat.numChildren == 1) {
      entry->line.created({}, true);
      co_return co_await first_in_line(entry, folder, deadline);
    }
    co_return co_await guess_place(entry, folder.stat.numChildren == 2, deadline);
  }
  co_return Error{Errc::store_unavailable, "the folder of this lock is deleted all the time"};
}

/// Its node, and its ticket.
SharedRequest Sequential::ask_for_place(Entry& entry) const {
  const LockKey& key = entry.claim.key;
  const std::string name = stem(server_->config().dialect, key.kind, entry.claim.mode, entry.claim.id);
  const std::string path = child_of(queue_of(key), name);
  const int in_line = ZOO_EPHEMERAL | ZOO_SEQUENCE;
  entry.text = record_of(entry).to_text();
  if (!has_tickets(key.kind)) return entry.connection().create(path, entry.text, in_line);
  const std::string ticket = ticket_of(entry.claim.id);
  std::vector<Part> parts{making(path, entry.text, in_line), making(ticket, "", ZOO_EPHEMERAL)};
  parts.push_back(setting(ticket, ""));  // tells which transaction it was
  return entry.connection().multi(parts);
}

/// Who is before it? Where every number is somebody's, it is the one with the number before, most likely.
awaitable<Result<ClaimState>> Sequential::guess_place(SharedEntry entry, bool two_there, Deadline deadline) {
  const Kind kind = entry->claim.key.kind;
  const bool numbered_densely = server_->config().dialect == Dialect::curator && kind != Kind::rw;
  const bool must_know = !entry->claim.may_queue;
  if (must_know || !numbered_densely || entry->sequence == 0) co_return co_await look_at_queue(entry, deadline);
  // Whether there was such a node, and whether it is the only one before us, the watch will tell.
  entry->line.created({numbered(stem(Dialect::curator, kind, Mode::exclusive, {}), entry->sequence - 1)}, false);
  entry->two_there = two_there;
  co_return co_await wait_for_last(entry, deadline);
}

/// Asked again, because there is news or because it is time.
awaitable<Result<ClaimState>> Sequential::stand(SharedEntry entry, Deadline deadline) {
  if (!entry->leases.empty()) co_return co_await permits_taken(entry, deadline);
  // News of that one, and of no other: should a request fail now, we begin with who is left.
  const bool left = std::exchange(entry->news, false) || entry->passed_on;
  if (left) entry->line.left(entry->passed_on);
  entry->line.look_again();
  co_return co_await next_step(entry, deadline);
}

awaitable<Result<ClaimState>> Sequential::next_step(SharedEntry entry, Deadline deadline) {
  const Line::Step next = entry->line.next();
  if (next == Line::Step::watch) co_return co_await wait_for_last(entry, deadline);
  if (next == Line::Step::take) co_return co_await take_turn(entry, deadline);
  co_return co_await look_at_queue(entry, deadline);
}

/// Nobody is left before us.
awaitable<Result<ClaimState>> Sequential::take_turn(SharedEntry entry, Deadline deadline) {
  // Had our own node been taken away, we would have been told before this, if we watch it.
  if (!entry->watched) co_return co_await look_at_queue(entry, deadline);
  const bool must_write = entry->claim.lock_delay > Duration::zero() || entry->claim.key.kind == Kind::election;
  if (entry->passed_on && !must_write) co_return co_await grant(entry, deadline);
  const Answer folder = co_await entry->connection().get(queue_of(entry->claim.key))->wait(deadline);
  if (folder.code == ZNONODE) co_return entry->taken_away();
  if (!folder.ok()) co_return read_error_of(folder.code, entry->connection());
  co_return co_await first_in_line(entry, folder, deadline);
}

awaitable<Result<ClaimState>> Sequential::look_at_queue(SharedEntry entry, Deadline deadline) {
  const LockKey key = entry->claim.key;
  Connection& connection = entry->connection();
  const SharedRequest asked = connection.children(queue_of(key));
  // After the list: whoever was before us has written into it what there is to say of a delay.
  const SharedRequest folder_asked = connection.get(queue_of(key));
  const Answer names = co_await asked->wait(deadline);
  const Answer folder = co_await folder_asked->wait(deadline);
  if (names.code != ZNONODE && !names.ok()) co_return read_error_of(names.code, connection);
  if (folder.code != ZNONODE && !folder.ok()) co_return read_error_of(folder.code, connection);
  const std::vector<Place> places = places_of(server_->config().dialect, key.kind, names.children);
  const std::string own_name = name_of(entry->node);
  const auto own =
      std::find_if(places.begin(), places.end(), [&](const Place& place) { return place.name == own_name; });
  if (own == places.end()) co_return entry->taken_away();
  Line::Keys before;
  for (const Place& place : places) {
    if (blocks(place, *own)) before.push_back(place.name);
  }
  // The number of a writer may come back as a reader's, by a downgrade, and a writer waits for that as well.
  const bool writes = key.kind == Kind::rw && entry->claim.mode == Mode::exclusive;
  const bool all = before.empty() || !writes;
  entry->two_there = false;
  entry->line.listed(std::move(before), all);
  if (entry->line.next() == Line::Step::take) co_return co_await first_in_line(entry, folder, deadline);
  co_return co_await wait_for_last(entry, deadline);
}

/// Its ticket, if it has one. Answers whether it is there.
awaitable<Result<Answer>> Sequential::watch_last(SharedEntry entry, Deadline deadline) {
  Connection& connection = entry->connection();
  const std::string last = child_of(queue_of(entry->claim.key), entry->line.last());
  entry->news = entry->passed_on = false;  // of somebody else, so far
  std::string ticket;
  std::int64_t made_by = 0;
  if (has_tickets(entry->claim.key.kind)) {
    const Answer node = co_await connection.get(last)->wait(deadline);
    if (node.code == ZNONODE) co_return node;
    if (!node.ok()) co_return read_error_of(node.code, connection);
    const std::optional<Record> record = Record::parse(node.data);
    if (record) ticket = ticket_of(record->id);
    made_by = node.stat.czxid;
  }
  Answer there;
  there.code = ZNONODE;
  // To read it leaves no watch on what is not there.
  if (!ticket.empty()) {
    entry->watch_for(ticket);
    entry->rings_on = connection.links();
    entry->news = entry->passed_on = false;
    there = co_await connection.get(ticket, Watch::yes)->wait(deadline);
    // Made by another transaction than its node, it is of another try of the same claim.
    if (there.ok() && there.stat.czxid != made_by) there.code = ZNONODE;
  }
  if (there.code == ZNONODE) {
    entry->watch_for(last);
    entry->news = false;
    there = co_await connection.get(last, Watch::yes)->wait(deadline);
  }
  if (!there.ok() && there.code != ZNONODE) co_return read_error_of(there.code, connection);
  co_return there;
}

/// First watch it; that also tells whether it is there.
awaitable<Result<ClaimState>> Sequential::wait_for_last(SharedEntry entry, Deadline deadline) {
  if (!entry->claim.may_queue) {
    const Waiting behind_others{at_the_latest};
    co_return co_await not_yet(entry, behind_others, deadline);
  }
  Connection& connection = entry->connection();
  SharedRequest own;
  if (!entry->watched) {
    entry->watched = true;
    entry->session->link->listen(entry->node, entry);
    own = connection.get(entry->node, Watch::yes);
  }
  Result<Answer> there = co_await watch_last(entry, deadline);
  if (own) {
    const Answer seen = co_await own->wait(deadline);
    entry->watched = entry->watched && seen.ok();
    if (entry->gone || seen.code == ZNONODE) co_return entry->taken_away();
    if (!seen.ok()) co_return read_error_of(seen.code, connection);
  }
  if (!there) co_return there.error();
  if (there->code == ZNONODE) {  // gone between the list and the watch, or never there
    entry->watch_for({});
    entry->line.watched(Line::Seen::gone);
    if (++entry->looks > most_looks) co_return Waiting{soon};
    co_return co_await next_step(entry, deadline);
  }
  // Of two, the other one is that before us, and holds the lock or is about to.
  entry->line.watched(entry->two_there ? Line::Seen::holding : Line::Seen::there);
  co_return Waiting{at_the_latest};
}

awaitable<Result<ClaimState>> Sequential::not_yet(SharedEntry entry, Waiting waiting, Deadline deadline) {
  if (entry->claim.may_queue) co_return waiting;
  Result<Withdrawn> left = co_await leave(entry, Ending::clean, deadline);
  if (!left) co_return left.error();
  co_return waiting;
}

awaitable<Result<Withdrawn>> Sequential::withdraw(Claim claim, Withdrawal how, Deadline deadline) {
  Result<SharedEntry> known = co_await entry_to_withdraw(claim, how, deadline);
  if (!known) co_return known.error();
  const SharedEntry entry = *known;
  if (!entry || entry->node.empty()) co_return Withdrawn::not_there;
  if (Result<void> ours = co_await recognize_all(entry, deadline); !ours) co_return ours.error();
  const bool nothing_left = entry->gone && entry->leases.empty() && !entry->guarded && !entry->ticketed;
  if (nothing_left) co_return Withdrawn::not_there;
  co_return co_await leave(entry, how.ending, deadline);
}

/// Where one of several permits is gone, the others must be looked for.
awaitable<Result<void>> Sequential::recognize_all(SharedEntry entry, Deadline deadline) {
  Result<void> known = co_await recognize(entry, deadline);
  if (!known || !entry->gone || entry->leases.empty()) co_return known;
  look_for_it(*entry);
  co_return co_await settle_creation(entry, deadline);
}

/// All that goes when the claim goes.
std::vector<Part> Sequential::parting(const Entry& entry, Ending ending) const {
  const LockKey& key = entry.claim.key;
  std::vector<Part> parts;
  if (entry.leases.empty()) {
    if (!entry.gone) parts.push_back(removing(entry.node));
  } else {
    for (const std::string& lease : entry.leases) parts.push_back(removing(lease));
  }
  const bool clean = ending == Ending::clean;
  if (entry.ticketed) {
    const std::string ticket = ticket_of(entry.claim.id);
    if (clean && entry.held && !entry.gone) parts.push_back(setting(ticket, ""));
    parts.push_back(removing(ticket));
  }
  if (!clean) return parts;
  if (entry.guarded) parts.push_back(removing(guard_of(entry.claim)));
  const bool held_alone = entry.held && !entry.gone && entry.claim.mode == Mode::exclusive && entry.leases.empty();
  // In an election so that the next one sees whether it was there before we left: first_in_line().
  const bool leads = key.kind == Kind::election;
  if (held_alone && (leads || (entry.guarded && !entry.notes.foreign))) {
    Notes notes = entry.notes;
    notes.delayed = false;
    parts.push_back(setting(queue_of(key), notes.to_text()));
  }
  return parts;
}

awaitable<Result<Withdrawn>> Sequential::leave(SharedEntry entry, Ending ending, Deadline deadline) {
  Connection& connection = entry->connection();
  entry->leaving = true;
  entry->watch_for({});
  const std::string own = entry->leases.empty() ? entry->node : entry->leases.front();
  const std::string only_with = entry->ticketed && !entry->gone ? ticket_of(entry->claim.id) : "";
  Result<bool> own_was_there =
      co_await change_what_is_there(connection, parting(*entry, ending), own, only_with, deadline);
  if (own_was_there && !*own_was_there && !only_with.empty()) own_was_there = co_await remove_if_own(entry, deadline);
  if (!own_was_there) {
    if (own_was_there.code() == Errc::outcome_unknown) look_for_it(*entry);
    entry->leaving = false;
    co_return own_was_there.error();
  }
  const bool downgraded = !*own_was_there && entry->leases.empty() && entry->node != own;
  if (downgraded) {  // just now, by a request before ours
    entry->leaving = false;
    Result<void> settled = co_await settle_creation(entry, deadline);
    if (!settled) co_return settled.error();
    if (!entry->node.empty()) co_return co_await leave(entry, ending, deadline);
  }
  const bool crowd = entry->line.waited() && entry->claim.may_queue && has_tickets(entry->claim.key.kind);
  if (!crowd) crowded_.erase(queue_of(entry->claim.key));
  if (crowd && crowded_.size() < most_crowded) crowded_.insert(queue_of(entry->claim.key));
  entry->let_go_of_watches();
  entry->node.clear();
  entry->leases.clear();
  entry->line.withdrawn();
  entry->held = entry->leaving = entry->watched = entry->guarded = entry->ticketed = false;
  co_return *own_was_there && !entry->gone ? Withdrawn::done : Withdrawn::not_there;
}

awaitable<Result<void>> Sequential::downgrade(Claim claim, Deadline deadline) {
  const SharedEntry entry = find_entry(claim.id);
  if (!entry || !entry->held || entry->gone || entry->leaving || claim.key.kind != Kind::rw) {
    co_return Error{Errc::not_owner, "the claim does not hold the lock"};
  }
  Result<void> settled = co_await settle_creation(entry, deadline);
  if (!settled) co_return settled;
  if (entry->node.empty()) co_return entry->taken_away();
  if (entry->claim.mode == Mode::exclusive) {
    Result<void> reads = co_await become_reader(entry, deadline);
    if (!reads) co_return reads;
  }
  if (entry->watched) co_return Result<void>();
  Connection& connection = entry->connection();
  const std::string path = entry->node;
  entry->session->link->listen(path, entry);
  const Answer own = co_await connection.get(path, Watch::yes)->wait(deadline);
  if (path != entry->node) co_return Error{Errc::not_owner, "the claim was withdrawn meanwhile"};
  if (own.code == ZNONODE && !entry->leaving) entry->tell(Notice::What::gone);
  if (own.code == ZNONODE) co_return entry->taken_away();
  // If not: it is a reader by now all the same, and when there is a connection again it is looked at.
  entry->watched = own.ok();
  entry->czxid = own.ok() ? own.stat.czxid : 0;
  entry->links = connection.links();
  co_return Result<void>();
}

/// A reader's node with the writer's number takes its place: whoever waits behind it sees no gap.
awaitable<Result<void>> Sequential::become_reader(SharedEntry entry, Deadline deadline) {
  const Claim& claim = entry->claim;
  Connection& connection = entry->connection();
  const Dialect dialect = server_->config().dialect;
  const std::string reader =
      child_of(queue_of(claim.key), numbered(stem(dialect, Kind::rw, Mode::shared, claim.id), entry->sequence));
  Record record = record_of(*entry);
  record.mode = Mode::shared;
  record.token = entry->token;
  entry->text = record.to_text();
  std::vector<Part> parts;
  parts.push_back(making(reader, record.to_text(), ZOO_EPHEMERAL));
  parts.push_back(removing(entry->node));
  if (claim.lock_delay > Duration::zero()) {
    parts.push_back(setting(guard_of(claim), record.to_text()));
  }
  entry->leaving = true;
  const Answer done = co_await connection.multi(parts)->wait(deadline);
  entry->leaving = false;
  const bool before = !done.ok() && !done.parts.empty() && done.parts.front().code == ZNODEEXISTS;
  if (!done.ok() && !before) {
    const Error error = error_of(done.code, connection);
    if (error.code == Errc::outcome_unknown) look_for_it(*entry);
    const bool away = done.parts.size() > 1 && (done.parts[0].code == ZNONODE || done.parts[1].code == ZNONODE);
    if (!away) co_return error;
    entry->tell(Notice::What::gone);  // its watch may have told it while we were leaving
    co_return entry->taken_away();
  }
  entry->session->link->listen_no_more(entry->node, entry.get());
  entry->node = reader;
  entry->czxid = 0;
  entry->claim.mode = Mode::shared;
  entry->watched = false;
  co_return Result<void>();
}

}  // namespace pawl::store::zookeeper
