#include "store/zookeeper/nodes.hpp"

#include "base/lock_name.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace pawl::store::zookeeper {

namespace {

constexpr std::size_t longest_name = 1024;
constexpr std::size_t many_parts = 10;  // of a transaction
/// A hold that is over sooner than this is not worth a watch of its node.
constexpr Duration short_hold = std::chrono::milliseconds(1);

std::string kind_name(Kind kind) {
  switch (kind) {
    case Kind::mutex: return "mutex";
    case Kind::rw: return "rw";
    case Kind::permits: return "permits";
    case Kind::election: return "election";
  }
  return {};
}

}  // namespace

namespace {

awaitable<Result<void>> find_missing(Connection& connection, const std::vector<Part>& parts,
                                     std::set<std::string>& missing, Deadline deadline) {
  for (std::size_t begin = 0; begin < parts.size(); begin += most_requests) {
    const std::size_t end = std::min(begin + most_requests, parts.size());
    std::vector<SharedRequest> asked;
    for (std::size_t i = begin; i < end; ++i) asked.push_back(connection.exists(parts[i].path));
    for (std::size_t i = begin; i < end; ++i) {
      const Answer answer = co_await asked[i - begin]->wait(deadline);
      if (answer.code == ZNONODE) missing.insert(parts[i].path);
      if (!answer.ok() && answer.code != ZNONODE) co_return read_error_of(answer.code, connection);
    }
  }
  co_return Result<void>();
}

}  // namespace

awaitable<Result<bool>> change_what_is_there(Connection& connection, std::vector<Part> parts, std::string own,
                                             std::string only_with, Deadline deadline) {
  bool own_was_there = true;
  while (!parts.empty()) {
    const bool simple = parts.size() == 1 && parts.front().what == Part::What::remove;
    const SharedRequest asked = simple ? connection.remove(parts.front().path) : connection.multi(parts);
    const Answer answer = co_await asked->wait(deadline);
    if (answer.ok()) break;
    if (answer.code != ZNONODE) co_return error_of(answer.code, connection);
    std::size_t missing = 0;
    while (missing + 1 < parts.size() && answer.parts[missing].code != ZNONODE) ++missing;
    std::set<std::string> gone{parts[missing].path};
    // An answer names the first one only: of many it is sooner known by asking for each.
    if (parts.size() > many_parts) {
      Result<void> known = co_await find_missing(connection, parts, gone, deadline);
      if (!known) co_return known.error();
    }
    if (gone.contains(own) || gone.contains(only_with)) own_was_there = false;
    std::erase_if(parts, [&](const Part& part) {
      return gone.contains(part.path) || (gone.contains(only_with) && part.path == own);
    });
    // Who is not there any more has nothing to say.
    if (!own_was_there) std::erase_if(parts, [](const Part& part) { return part.what == Part::What::set; });
  }
  co_return own_was_there;
}

Result<void> Entry::count_paths(std::size_t bytes) {
  const std::size_t others = session->path_bytes - path_bytes;
  if (others + bytes > most_path_bytes) {
    return Error{Errc::overloaded,
                 fmt::format("the locks of this session have node paths of {} bytes together, and {} more are over the "
                             "limit of {}: hold fewer at a time, use shorter names, or use several clients",
                             others, bytes, most_path_bytes)};
  }
  session->path_bytes = others + bytes;
  path_bytes = bytes;
  return {};
}

Error Entry::taken_away() {
  gone = true;
  line.taken_away();
  return {Errc::not_owner, "the node was taken away"};
}

void Entry::heard(const Event& event) {
  if (event.path == watching) {
    // A watch is for one event only: whatever it was, it must be set anew.
    news = event.what == Event::What::deleted;
    // From a later link it would mean that a ticket of that name was made anew.
    passed_on = event.what == Event::What::changed && rings_on == connection().links();
    tell(Notice::What::look_again);
  }
  const bool own = event.path == node || event.path == ticket;
  if (!own || leaving || event.path.empty()) return;
  watched = false;
  if (event.what == Event::What::changed) {
    base::spawn(session->runtime(), read_own_node(shared_from_this()));
  } else if (event.what == Event::What::deleted) {
    gone = true;
    tell(Notice::What::gone);
  }
}

void Entry::over() {
  gone = gone || held;
  tell(held ? Notice::What::gone : Notice::What::look_again);
}

awaitable<void> Entry::read_own_node([[maybe_unused]] std::shared_ptr<Entry> self) {
  const Deadline deadline = Deadline::in(session->runtime().now(), session->lease);
  const std::string path = shown();
  const Answer own = co_await connection().get(path, Watch::yes)->wait(deadline);
  if (path != shown()) co_return;  // it has another one by now
  watched = own.ok();
  const bool away = own.code == ZNONODE || (own.ok() && is_other(path, own.stat));
  if (away && !leaving) {
    gone = true;
    tell(Notice::What::gone);
  }
  if (away || !own.ok()) co_return;
  const std::optional<Record> record = Record::parse(own.data);
  const bool by_curator = own.data == curator_revoke;
  const bool asked = by_curator || (record && record->release_requested);
  if (asked) tell(Notice::What::release_requested);
  std::optional<Record> written = Record::parse(text);
  if (!by_curator || !written) co_return;
  written->release_requested = true;  // it has written over who we are
  connection().set(path, written->to_text(), own.stat.version);
}

void Entry::tell(Notice::What what) const {
  if (is_news_to_a_holder(what)) ++session->news;
  notices->tell(claim.id, {.what = what});
}

void Entry::watch_for(const std::string& path) {
  if (path == watching) return;
  if (!watching.empty()) session->link->listen_no_more(watching, this);
  watching = path;
  news = passed_on = false;
  rings_on = 0;
  if (!path.empty()) session->link->listen(path, shared_from_this());
}

void Entry::let_go_of_watches() {
  watch_for({});
  if (!node.empty()) session->link->listen_no_more(node, this);
  if (!ticket.empty()) session->link->listen_no_more(ticket, this);
  watch_later.reset();
}

std::string Nodes::folder_of(Kind kind) const {
  return server_->path(child_of("/" + std::string(capabilities().scheme), kind_name(kind)));
}

std::string Nodes::path_of(const LockKey& key) const {
  if (server_->config().raw_names) return server_->config().chroot + key.name.bytes();
  return child_of(folder_of(key.kind), base::fit_name(key.name.bytes(), longest_name));
}

Result<void> Nodes::check_name(const LockKey& key) const {
  if (!server_->config().raw_names) return {};
  if (auto fine = check_path(key.name.bytes()); !fine) return fine;
  return check_path(path_of(key));
}

Nodes::SharedEntry Nodes::find_entry(ClaimId id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second;
}

awaitable<Result<Nodes::SharedEntry>> Nodes::entry_of(Claim claim, Deadline deadline) {
  if (auto sound = check_sound(claim, std::nullopt); !sound) co_return sound.error();
  if (auto fine = check_name(claim.key); !fine) co_return fine.error();
  const auto session = server_->session(claim.session);
  if (!session) co_return Error{Errc::lost, "session " + to_string(claim.session) + " has ended"};
  Result<void> ready = co_await session->connection().ready(deadline);
  if (!ready) co_return ready.error();
  if (session->refused.contains(claim.id)) co_return Error{Errc::not_owner, "the claim was withdrawn before"};
  SharedEntry entry = find_entry(claim.id);
  if (!entry) {
    entry = std::make_shared<Entry>(claim, session, notices_);
    entries_[claim.id] = entry;
  }
  entry->claim.may_queue = claim.may_queue;
  Result<void> settled = co_await settle_creation(entry, deadline);
  if (!settled) co_return settled.error();
  co_return entry;
}

awaitable<Result<Nodes::SharedEntry>> Nodes::entry_to_withdraw(Claim claim, Withdrawal how, Deadline deadline) {
  const auto session = server_->session(claim.session);
  if (!session) co_return SharedEntry();  // gone with its session
  if (how.unsettled) session->refused.insert(claim.id);
  const SharedEntry entry = find_entry(claim.id);
  if (!entry) co_return entry;
  Result<void> ready = co_await session->connection().ready(deadline);
  if (!ready) co_return ready.error();
  Result<void> settled = co_await settle_creation(entry, deadline);
  if (!settled && may_pass(settled.code())) co_return settled.error();
  co_return entry;
}

awaitable<Result<void>> Nodes::recognize(SharedEntry entry, Deadline deadline) {
  Connection& connection = entry->connection();
  const std::uint64_t links = connection.links();
  if (entry->gone || entry->node.empty() || entry->links == links || entry->czxid == 0) co_return Result<void>();
  const std::string path = entry->node;
  const Answer own = co_await connection.exists(path)->wait(deadline);
  if (!own.ok() && own.code != ZNONODE) co_return read_error_of(own.code, connection);
  entry->gone = entry->gone || own.code == ZNONODE || entry->is_other(path, own.stat);
  entry->links = links;
  co_return Result<void>();
}

/// Somebody else may have a node of the same name by now.
awaitable<Result<bool>> Nodes::remove_if_own(SharedEntry entry, Deadline deadline) {
  Connection& connection = entry->connection();
  const std::string path = entry->node;
  const Answer node = co_await connection.get(path)->wait(deadline);
  if (!node.ok() && node.code != ZNONODE) co_return read_error_of(node.code, connection);
  const bool made_by_us = entry->czxid != 0 && node.stat.czxid == entry->czxid;
  if (!node.ok() || !(made_by_us || entry->is_own(Record::parse(node.data), node.stat))) co_return false;
  const Answer removed = co_await connection.remove(path)->wait(deadline);
  if (!removed.ok() && removed.code != ZNONODE) co_return error_of(removed.code, connection);
  co_return removed.ok();
}

void Nodes::unwatch(ClaimId claim) {
  notices_->unwatch(claim);
  const SharedEntry entry = find_entry(claim);
  if (!entry) return;
  entry->let_go_of_watches();
  entries_.erase(claim);
}

Record Nodes::record_of(const Entry& entry) const {
  Record record;
  record.id = entry.claim.id;
  record.owner = entry.session->owner;
  record.owner.label = entry.claim.label;
  record.mode = entry.claim.mode;
  record.permits = entry.claim.permits;
  record.value = entry.claim.value;
  record.lease = entry.connection().session_timeout();
  record.lock_delay = entry.claim.lock_delay;
  record.slots = entry.slots;
  record.epoch = entry.session->link->known_epoch();
  const std::string& name = entry.claim.key.name.bytes();
  if (name_of(path_of(entry.claim.key)) != base::encode_name(name)) record.name = name;
  return record;
}

awaitable<Result<ClaimState>> Nodes::grant(SharedEntry entry, Deadline deadline) {
  Result<std::uint64_t> epoch = co_await server_->epoch_of(entry->session->link, deadline);
  if (!epoch) co_return epoch.error();
  if (entry->connection().over()) co_return Error{Errc::lost, "the session has ended"};
  if (entry->gone) co_return entry->taken_away();
  entry->held = true;
  entry->line.taken();
  entry->token = Token(*epoch, static_cast<std::uint64_t>(entry->czxid));
  entry->watch_for({});
  if (!entry->watched) {
    base::Runtime& runtime = server_->runtime();
    entry->session->link->listen(entry->node, entry);
    entry->watch_later = std::make_unique<base::Timer>(runtime, [weak = std::weak_ptr(entry)] {
      const auto held = weak.lock();
      if (!held || held->leaving || held->watched) return;
      held->heard(Event{Event::What::changed, held->node});
    });
    entry->watch_later->set(base::after(runtime.now(), short_hold));
  }
  co_return Granted{entry->token, false, entry->slots};
}

awaitable<Result<Standing>> Nodes::look(Claim claim, Deadline deadline) {
  const auto session = server_->session(claim.session);
  if (!session) co_return Error{Errc::lost, "session " + to_string(claim.session) + " has ended"};
  const SharedEntry entry = find_entry(claim.id);
  Standing standing;
  const bool unsettled = entry && (entry->creating || entry->maybe_there);
  if (unsettled) {
    Result<void> settled = co_await settle_creation(entry, deadline);
    if (!settled) co_return settled.error();
  }
  if (!entry || entry->gone || entry->shown().empty()) co_return standing;
  const std::string path = entry->shown();
  const Answer own = co_await entry->connection().get(path, Watch::yes)->wait(deadline);
  if (path != entry->shown()) co_return Error{Errc::store_unavailable, "the claim was just changing: look again"};
  if (own.code == ZNONODE || (own.ok() && entry->is_other(path, own.stat))) {
    entry->gone = entry->gone || !entry->leaving;
    co_return standing;
  }
  if (!own.ok()) co_return read_error_of(own.code, entry->connection());
  entry->watched = true;
  if (path == entry->node && entry->czxid == 0) entry->czxid = own.stat.czxid;
  const std::optional<Record> record = Record::parse(own.data);
  standing.place = entry->held ? Standing::Place::held : Standing::Place::waiting;
  standing.token = entry->token;
  standing.slots = entry->slots;
  standing.release_requested = record ? record->release_requested : own.data == curator_revoke;
  co_return standing;
}

awaitable<Result<void>> Nodes::relabel(Claim claim, Deadline deadline) {
  const SharedEntry entry = find_entry(claim.id);
  if (!entry || entry->node.empty() || entry->gone) co_return Error{Errc::not_owner, "there is no such claim"};
  entry->claim.label = claim.label;
  const Answer own = co_await entry->connection().get(entry->node)->wait(deadline);
  if (!own.ok()) co_return read_error_of(own.code, entry->connection());
  std::optional<Record> record = Record::parse(own.data);
  if (!record) co_return Result<void>();  // somebody has written over it
  if (record->id != claim.id) co_return Error{Errc::not_owner, "the node is somebody else's"};
  record->owner.label = claim.label;
  entry->text = record->to_text();
  std::vector<Part> parts{setting(entry->node, entry->text, own.stat.version)};
  if (!entry->ticket.empty()) parts.push_back(checking(entry->ticket));
  const Answer written = co_await entry->connection().multi(parts)->wait(deadline);
  // Perhaps it has another one by now: whether it is gone, its watch tells.
  if (written.code == ZNONODE) co_return Error{Errc::not_owner, "the node is gone"};
  if (!written.ok()) co_return error_of(written.code, entry->connection());
  co_return Result<void>();
}

awaitable<Result<std::vector<Nodes::Seen>>> Nodes::read(SharedLink link, std::vector<std::string> paths,
                                                        Deadline deadline) {
  std::vector<Seen> all;
  for (std::size_t begin = 0; begin < paths.size(); begin += most_requests) {
    const std::size_t end = std::min(begin + most_requests, paths.size());
    std::vector<SharedRequest> asked;
    for (std::size_t i = begin; i < end; ++i) asked.push_back(link->connection->get(paths[i]));
    for (std::size_t i = begin; i < end; ++i) {
      const Answer answer = co_await asked[i - begin]->wait(deadline);
      if (answer.code == ZNONODE) continue;
      if (!answer.ok()) co_return read_error_of(answer.code, *link->connection);
      all.push_back(seen_as(paths[i], answer));
    }
  }
  co_return all;
}

Nodes::Seen Nodes::seen_as(const std::string& path, const Answer& answer) {
  Seen seen;
  seen.path = path;
  seen.record = Record::parse(answer.data);
  seen.stat = answer.stat;
  if (seen.record) seen.mode = seen.record->mode;
  if (seen.record) seen.slots = seen.record->slots;
  return seen;
}

Owner Nodes::owner_of(const Seen& seen) {
  if (seen.record) return seen.record->owner;
  Owner foreigner;
  foreigner.foreign = true;
  return foreigner;
}

ClaimId Nodes::id_of(const Seen& seen) {
  return seen.record ? seen.record->id : ClaimId{0, static_cast<std::uint64_t>(seen.stat.czxid)};
}

ClaimView Nodes::view_of(const Seen& seen, std::uint64_t epoch) const {
  ClaimView view;
  view.mode = seen.mode;
  const auto now = static_cast<std::int64_t>(server_->runtime().unix_milliseconds());
  view.age = std::chrono::milliseconds(std::max<std::int64_t>(now - seen.stat.ctime, 0));
  const auto counter = static_cast<std::uint64_t>(seen.stat.czxid);
  view.owner = owner_of(seen);
  view.claim = to_string(id_of(seen));
  if (!seen.record) {
    if (seen.holds) view.token = Token(epoch, counter);
    return view;
  }
  const Record& record = *seen.record;
  if (seen.holds) view.token = record.token != Token() ? record.token : Token(record.epoch, counter);
  view.lease_left = record.lease;
  view.release_requested = record.release_requested;
  view.value = record.value;
  view.permits = record.permits.wanted;
  if (seen.holds) view.slots = seen.slots;
  return view;
}

awaitable<Result<Nodes::SeenLock>> Nodes::see(SharedLink link, LockKey key, Deadline deadline) {
  std::vector<LockKey> keys{std::move(key)};
  Result<std::vector<SeenLock>> locks = co_await see_all(std::move(link), std::move(keys), deadline);
  if (!locks) co_return locks.error();
  co_return std::move(locks->front());
}

awaitable<Result<std::vector<LockView>>> Nodes::views(SharedLink link, std::vector<LockKey> keys, Deadline deadline) {
  Result<std::uint64_t> epoch = co_await server_->epoch_of(link, deadline);
  if (!epoch) co_return epoch.error();
  Result<std::vector<SeenLock>> locks = co_await see_all(link, keys, deadline);
  if (!locks) co_return locks.error();
  Result<std::vector<Duration>> shut = co_await shut_for(link, keys, *locks, deadline);
  if (!shut) co_return shut.error();
  std::vector<LockView> views;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    LockView view{.kind = keys[i].kind, .scheme = std::string(capabilities().scheme), .name = keys[i].name.bytes()};
    for (const Seen& seen : (*locks)[i]) {
      if (seen.record && seen.record->permits.of != 0) view.permits = seen.record->permits.of;
      (seen.holds ? view.holders : view.waiters).push_back(view_of(seen, *epoch));
    }
    view.shut_for = (*shut)[i];
    views.push_back(std::move(view));
  }
  co_return views;
}

awaitable<Result<LockView>> Nodes::inspect(LockKey key, Deadline deadline) {
  if (auto fine = check_name(key); !fine) co_return fine.error();
  Result<SharedLink> link = co_await server_->any(deadline);
  if (!link) co_return link.error();
  std::vector<LockKey> keys{std::move(key)};
  Result<std::vector<LockView>> found = co_await views(*link, std::move(keys), deadline);
  if (!found) co_return found.error();
  co_return std::move(found->front());
}

/// Of a lock whose path is too short for its name. Empty: nobody uses it.
awaitable<Result<std::string>> Nodes::full_name(SharedLink link, std::string path, Deadline deadline) {
  std::vector<std::string> paths{path};
  const std::vector<std::string> folders{path, path + "/locks", path + "/leases"};
  for (const std::string& folder : folders) {
    const Answer names = co_await link->connection->children(folder)->wait(deadline);
    if (!names.ok() && names.code != ZNONODE) co_return read_error_of(names.code, *link->connection);
    for (const std::string& name : names.children) paths.push_back(child_of(folder, name));
  }
  Result<std::vector<Seen>> nodes = co_await read(link, std::move(paths), deadline);
  if (!nodes) co_return nodes.error();
  for (const Seen& seen : *nodes) {
    if (seen.record && !seen.record->name.empty()) co_return seen.record->name;
  }
  co_return std::string();
}

/// Those that begin so, of that kind.
awaitable<Result<std::vector<LockKey>>> Nodes::keys_of(SharedLink link, Kind kind, std::string prefix,
                                                       Deadline deadline) {
  const Answer names = co_await link->connection->children(folder_of(kind))->wait(deadline);
  std::vector<LockKey> keys;
  if (names.code == ZNONODE) co_return keys;
  if (!names.ok()) co_return read_error_of(names.code, *link->connection);
  for (const std::string& encoded : names.children) {
    Result<std::string> bytes = base::decode_name(encoded);
    if (!bytes) bytes = co_await full_name(link, child_of(folder_of(kind), encoded), deadline);
    if (!bytes) co_return bytes.error();
    const Result<LockName> name = LockName::make(*bytes);
    if (name && name->bytes().starts_with(prefix)) keys.push_back(LockKey{kind, *name});
  }
  std::sort(keys.begin(), keys.end(), [](const LockKey& one, const LockKey& other) { return one.name < other.name; });
  co_return keys;
}

awaitable<Result<std::vector<LockView>>> Nodes::list(std::string prefix, Deadline deadline) {
  if (server_->config().raw_names) {
    co_return Error{Errc::unsupported, "with names=raw nobody knows which nodes are locks"};
  }
  std::vector<LockView> all;
  for (const Kind kind : kinds()) {
    Result<SharedLink> link = co_await server_->any(deadline);
    if (!link) co_return link.error();
    Result<std::vector<LockKey>> keys = co_await keys_of(*link, kind, prefix, deadline);
    if (!keys) co_return keys.error();
    for (std::size_t begin = 0; begin < keys->size(); begin += most_requests) {
      const std::size_t end = std::min(begin + most_requests, keys->size());
      std::vector<LockKey> some(keys->begin() + static_cast<std::ptrdiff_t>(begin),
                                keys->begin() + static_cast<std::ptrdiff_t>(end));
      Result<std::vector<LockView>> found = co_await views(*link, std::move(some), deadline);
      if (!found) co_return found.error();
      for (LockView& view : *found) {
        const bool used = !view.holders.empty() || !view.waiters.empty() || view.shut_for > Duration::zero();
        if (used) all.push_back(std::move(view));
      }
    }
  }
  co_return all;
}

awaitable<Result<bool>> Nodes::check(LockKey key, Token token, Deadline deadline) {
  if (auto fine = check_name(key); !fine) co_return fine.error();
  Result<SharedLink> link = co_await server_->any(deadline);
  if (!link) co_return link.error();
  // A follower may be behind: after this it is as new as the leader was just now.
  const Answer current = co_await (*link)->connection->heartbeat()->wait(deadline);
  if (!current.ok()) co_return read_error_of(current.code, *(*link)->connection);
  std::vector<LockKey> keys{std::move(key)};
  Result<std::vector<LockView>> found = co_await views(*link, std::move(keys), deadline);
  if (!found) co_return found.error();
  const std::vector<ClaimView>& holders = found->front().holders;
  co_return std::any_of(holders.begin(), holders.end(), [&](const ClaimView& holder) {
    return holder.token.counter() == token.counter() && token.epoch() >= holder.token.epoch();
  });
}

awaitable<Result<Nodes::Revoked>> Nodes::revoke_seen(SharedLink link, Seen seen, bool now, Deadline deadline) {
  Connection& connection = *link->connection;
  const bool bound = !seen.only_with.empty();
  std::vector<Part> parts;
  if (now) {
    parts.push_back(removing(seen.path));
    for (const std::string& path : seen.more) parts.push_back(removing(path));
    if (bound) parts.push_back(removing(seen.only_with));
  } else {
    if (seen.record) seen.record->release_requested = true;
    const std::string text = seen.record ? seen.record->to_text() : std::string(curator_revoke);
    parts.push_back(setting(seen.path, text, seen.stat.version));
    if (bound) parts.push_back(checking(seen.only_with));
  }
  if (now && !bound) {
    const std::string alone;
    Result<bool> done = co_await change_what_is_there(connection, std::move(parts), seen.path, alone, deadline);
    if (!done) co_return done.error();
    co_return Revoked::perhaps;  // by now it may hold what it has waited for
  }
  const Answer done = co_await connection.multi(parts)->wait(deadline);
  if (done.ok()) co_return Revoked::done;
  if (done.code != ZNONODE && done.code != ZBADVERSION) co_return error_of(done.code, connection);
  const bool without = bound && !done.parts.empty() && done.parts.back().code == ZNONODE;
  co_return without ? Revoked::without_ticket : Revoked::perhaps;
}

awaitable<Result<bool>> Nodes::revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) {
  if (auto fine = check_name(key); !fine) co_return fine.error();
  Result<SharedLink> link = co_await server_->any(deadline);
  if (!link) co_return link.error();
  bool found = false;
  std::int64_t without_ticket = 0;  // the transaction that made the node
  const Error unknown{Errc::outcome_unknown, "whether the claim is revoked is not known"};
  for (int i = 0; i < attempts; ++i) {
    Result<std::vector<Seen>> nodes = co_await see(*link, key, deadline);
    if (!nodes) co_return found ? unknown : nodes.error();
    bool look_again = false;
    for (Seen& seen : *nodes) {
      if (id_of(seen) != claim) continue;
      found = true;
      const std::int64_t made_by = seen.stat.czxid;
      // It is still there, though its ticket was gone before: taken away by one who took it for a waiter.
      if (made_by == without_ticket) seen.only_with.clear();
      Result<Revoked> revoked = co_await revoke_seen(*link, std::move(seen), now, deadline);
      if (!revoked) co_return revoked.error();
      look_again = look_again || *revoked != Revoked::done;
      if (*revoked == Revoked::without_ticket) without_ticket = made_by;
    }
    if (!look_again) co_return found;
  }
  co_return unknown;  // it changes all the time
}

}  // namespace pawl::store::zookeeper
