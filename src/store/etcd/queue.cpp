#include "store/etcd/queue.hpp"

#include "store/etcd/requests.hpp"
#include "store/rules.hpp"

#include <chrono>
#include <utility>

namespace pawl::store::etcd {

namespace {

constexpr int most_steps = 16;  // of one claim() in a line that changes while we look
constexpr Duration soon = std::chrono::milliseconds(1);

// What a transaction answers that a claim could not make.
constexpr int its_session = 0;
constexpr int its_key = 1;
constexpr int its_tombstone = 2;
constexpr int its_record = 3;

}  // namespace

constexpr Capabilities Queue::declared = {
    .store = "etcd",
    .scheme = "queue",
    .summary = "a fair line of keys, shared with Go's concurrency package and etcdctl lock (names=raw)",
    .fair = true,
    .wakes_waiters = true,
    .shared_mode = true,
    .permits = true,
    .election = true,
    .lock_delay = true,
    .revocable = true,
    .survives_restart = true,
    .shortest_lease = std::chrono::seconds(2),
    .longest_lease = std::chrono::hours(24),
    .token_source = "the revision that made the key (create_revision), with an epoch kept in a key",
    .on_client_death = "when its lease ends, in whole seconds, two at the least",
};

Error taken_away() { return {Errc::not_owner, "the key was taken away"}; }

Error session_over(const Session& session) { return {Errc::lost, "session " + to_string(session.id) + " has ended"}; }

Queue::Queue(std::shared_ptr<Server> server)
    : server_(std::move(server)),
      claimants_(std::make_shared<Claimants>(server_)),
      departures_(std::make_shared<Departures>(server_->runtime())) {
  claimants_->start();
}

awaitable<Result<ClaimState>> Queue::claim(Claim claim, Deadline deadline) {
  if (auto possible = check_kind(claim.key.kind, server_->config().raw_names); !possible) co_return possible.error();
  if (auto sound = check_sound(claim, std::nullopt); !sound) co_return sound.error();
  const SharedSession session = server_->session(claim.session);
  if (!session) co_return Error{Errc::lost, "session " + to_string(claim.session) + " has ended"};
  const SharedClaimant claimant = claimants_->of(claim, session);
  session->news.asked(claim.id);
  claimant->line.look_again();
  for (int i = 0; i < most_steps; ++i) {
    if (claimant->line.next() == Line::Step::keep) co_return ClaimState(claimant->grant);
    Step done = co_await step(claimant, deadline);
    if (!done) co_return done.error();
    if (*done) co_return co_await not_yet(claimant, std::move(**done), deadline);
  }
  Waiting changing{soon};
  co_return co_await not_yet(claimant, std::move(changing), deadline);
}

awaitable<Queue::Step> Queue::step(SharedClaimant claimant, Deadline deadline) {
  const bool counted = claimant->claim.key.kind == Kind::permits;
  switch (claimant->line.next()) {
    case Line::Step::find:
      claimant->line.found(false);  // the transaction that makes it finds it as well
      [[fallthrough]];
    case Line::Step::create: {
      std::string lock = layout().folder(claimant->claim.key);
      co_await departures_->all_answered(std::move(lock), deadline);
      if (counted) co_return co_await join_permits(claimant, deadline);
      co_return co_await join(claimant, deadline);
    }
    case Line::Step::list:
      if (counted) co_return co_await list_permits(claimant, deadline);
      co_return co_await list_line(claimant, deadline);
    case Line::Step::watch: co_return co_await watch_last(claimant, deadline);
    case Line::Step::take:
      if (counted) co_return co_await take_permits(claimant, deadline);
      co_return co_await take(claimant, deadline);
    case Line::Step::wait: co_return std::optional<Waiting>(Waiting{at_the_latest});
    case Line::Step::keep: co_return std::optional<Waiting>();
    case Line::Step::stop: break;
  }
  co_return taken_away();
}

/// Who does not want to wait leaves nothing behind.
awaitable<Result<ClaimState>> Queue::not_yet(SharedClaimant claimant, Waiting waiting, Deadline deadline) {
  const bool has_key = claimant->line.next() != Line::Step::create;
  if (!claimant->claim.may_queue && has_key) {
    Result<Withdrawn> left = co_await erase(claimant->claim, claimant, false, deadline);
    if (!left) co_return left.error();
  }
  if (!has_key) Server::leave_second_lease(*claimant->session, claimant->claim.id);
  co_return ClaimState(std::move(waiting));
}

Record Queue::record_of(const Claimant& claimant, Record::Stage stage) const {
  const Claim& claim = claimant.claim;
  Record record;
  record.id = claim.id;
  record.stage = stage;
  record.owner = claimant.session->owner;
  record.owner.label = claim.label;
  record.mode = claim.mode;
  record.permits = claim.permits;
  record.slots = claimant.grant.slots;
  record.lease = std::chrono::seconds(claimant.session->seconds);
  record.since = server_->runtime().unix_milliseconds();
  record.lock_delay = claim.lock_delay;
  record.epoch = server_->known_epoch();
  record.release_requested = claimant.release_requested;
  if (layout().hides_name(claim.key)) record.name = claim.key.name.bytes();
  return record;
}

std::string Queue::record_key(const Claimant& claimant) const {
  const Claim& claim = claimant.claim;
  return claim.key.kind == Kind::election ? layout().candidate(claim.key, claim.id) : claimant.key;
}

/// What every transaction needs that makes a claim a waiter or a holder. It answers what there is if it does nothing.
void Queue::require_usable(pb::TxnRequest& txn, const Claimant& claimant) const {
  const Session& session = *claimant.session;
  require_created(txn, session.key, session.created);
  require_created(txn, layout().refused(claimant.claim.id), 0);
  require_created(txn, claimant.key, claimant.created);
  // A late copy of this request must not undo a downgrade, nor may this one undo what another client has written.
  if (claimant.created != 0) require_unchanged(txn, record_key(claimant), claimant.changed);
  server_->require_epoch(txn);
  on_failure(txn, getting(session.key));
  on_failure(txn, getting(claimant.key));
  on_failure(txn, getting(layout().refused(claimant.claim.id)));
  on_failure(txn, getting(record_key(claimant)));
}

/// What others may have changed of it.
void Queue::read_record(Claimant& claimant, const pb::KeyValue* there) {
  claimant.changed = there == nullptr ? 0 : there->mod_revision();
  const std::optional<Record> record = there == nullptr ? std::nullopt : Record::parse(there->value());
  if (record) claimant.release_requested = record->release_requested;
}

/// Why such a transaction has done nothing. No error: the line says what is next.
awaitable<Result<void>> Queue::understand(SharedClaimant claimant, pb::TxnResponse refused, bool has_key,
                                          Deadline deadline) {
  const pb::KeyValue* session = found_one(refused, its_session);
  if (session == nullptr || session->create_revision() != claimant->session->created) {
    co_return session_over(*claimant->session);
  }
  if (found_one(refused, its_tombstone) != nullptr) {
    co_return Error{Errc::not_owner, "the claim was withdrawn before"};
  }
  const pb::KeyValue* own = found_one(refused, its_key);
  if (has_key && (own == nullptr || own->create_revision() != claimant->created)) {
    claimant->line.taken_away();
    co_return taken_away();
  }
  read_record(*claimant, found_one(refused, its_record));
  Result<void> epoch = co_await server_->learn_epoch(deadline);
  if (!epoch || has_key || own == nullptr) co_return epoch;
  // Made by a request whose answer was lost.
  claimant->created = own->create_revision();
  const std::optional<Record> record = Record::parse(own->value());
  const bool election = claimant->claim.key.kind == Kind::election;
  const bool holds = !election && record && record->stage == Record::Stage::held;
  claimant->line.created({}, false);
  claimant->line.was_not_alone();
  if (!holds || record->epoch != server_->known_epoch()) co_return epoch;
  claimant->grant.slots = record->slots;
  claimant->grant.token = Token(record->epoch, static_cast<std::uint64_t>(claimant->created));
  claimant->line.taken();
  co_return epoch;
}

awaitable<Result<std::int64_t>> Queue::lease_to_hold(SharedClaimant claimant, Deadline deadline) {
  const Claim& claim = claimant->claim;
  if (claim.lock_delay <= Duration::zero()) co_return claimant->session->lease;
  co_return co_await server_->second_lease(claimant->session, claim.lock_delay, claim.id, deadline);
}

/// One transaction: makes the key, and grants the lock if it is free.
pb::TxnRequest Queue::joining(const Claimant& claimant, std::int64_t holding_lease) const {
  const Claim& claim = claimant.claim;
  const Session& session = *claimant.session;
  const KeyRange others = blocking(layout().folder(claim.key), claim.mode);
  const std::string waiting = record_of(claimant, Record::Stage::waiting).to_text();
  const bool election = claim.key.kind == Kind::election;

  // A waiter writes its key there, so the next waiter finds its predecessor without listing all keys.
  const std::optional<std::string> tail = layout().tail(claim.key);

  pb::TxnRequest in_line;
  if (tail && claim.may_queue) require_created(in_line, *tail, 0);
  require_none(in_line, others);
  if (election) {
    // To lead, it must also be written into the history.
    on_success(in_line, putting(claimant.key, claim.value, session.lease));
    on_success(in_line, putting(record_key(claimant), waiting, session.lease));
  } else {
    const std::string held = record_of(claimant, Record::Stage::held).to_text();
    on_success(in_line, putting(claimant.key, held, holding_lease));
  }
  if (claim.may_queue) {
    pb::TxnRequest last;
    if (tail) require_created(last, *tail, 0);
    on_success(last, last_made(others, 1));
    if (tail) on_failure(last, getting(*tail));
    on_failure(in_line, nested(std::move(last)));
    on_failure(in_line, putting(claimant.key, election ? claim.value : waiting, session.lease));
    if (tail) on_failure(in_line, putting(*tail, claimant.key, session.lease));
    if (election) on_failure(in_line, putting(record_key(claimant), waiting, session.lease));
  } else {
    on_failure(in_line, first_made(others, 1));
  }
  pb::TxnRequest request;
  require_usable(request, claimant);
  on_success(request, nested(std::move(in_line)));
  return request;
}

awaitable<Queue::Step> Queue::join(SharedClaimant claimant, Deadline deadline) {
  Result<std::int64_t> holding_lease = co_await lease_to_hold(claimant, deadline);
  if (!holding_lease) co_return holding_lease.error();
  claimant->created = 0;
  const std::uint64_t epoch = server_->known_epoch();
  pb::TxnRequest request = joining(*claimant, *holding_lease);
  Result<pb::TxnResponse> answer = co_await server_->write(std::move(request), deadline);
  if (!answer) {
    if (answer.code() == Errc::outcome_unknown) claimant->line.creation_unknown();
    co_return answer.error();
  }
  if (!answer->succeeded()) {
    Result<void> understood = co_await understand(claimant, std::move(*answer), false, deadline);
    if (!understood) co_return understood.error();
    co_return std::optional<Waiting>();
  }
  const pb::TxnResponse in_line = answer->responses(0).response_txn();
  const bool free = in_line.succeeded();
  if (!free && !claimant->claim.may_queue) co_return co_await occupied(claimant, in_line, deadline);
  claimant->created = claimant->changed = answer->header().revision();
  claimant->grant.token = Token(epoch, static_cast<std::uint64_t>(claimant->created));
  joined(*claimant, in_line, free);
  co_return std::optional<Waiting>();
}

void Queue::joined(Claimant& claimant, const pb::TxnResponse& response, bool free) const {
  Line::Keys before;
  if (!free) {
    const pb::TxnResponse& last = response.responses(0).response_txn();
    const pb::KeyValue* there = found_one(last, 0);
    if (there != nullptr) before.push_back(last.succeeded() ? there->key() : there->value());
  }
  claimant.line.created(std::move(before), free);
  if (!free) claimant.line.was_not_alone();
  if (free && claimant.claim.key.kind != Kind::election) claimant.line.taken();
}

/// For a claim that does not wait: who is in the way? If it has failed and its delay is over, it no longer is.
awaitable<Queue::Step> Queue::occupied(SharedClaimant claimant, pb::TxnResponse response, Deadline deadline) {
  Waiting waiting{at_the_latest};
  const pb::KeyValue* first = found_one(response, 0);
  if (first == nullptr) co_return std::optional<Waiting>(std::move(waiting));
  Result<Look> look = co_await look_at(claimant->claim.key, first->key(), claimant->key, deadline);
  if (!look) co_return look.error();
  if (!look->seen) co_return std::optional<Waiting>();
  // One that was downgraded lets a reader in, who must stand in the line for that.
  const bool in_the_way = blocks(*look->seen, claimant->waiter());
  if (!in_the_way) {
    const bool may_queue = std::exchange(claimant->claim.may_queue, true);
    Step stood = co_await join(claimant, deadline);
    claimant->claim.may_queue = may_queue;
    co_return stood;
  }
  if (!look->seen->failed()) {
    waiting.holder = owner_of(*look->seen);
  } else {
    waiting.look_again_in = waiting.shut_for = shut_for(*look->seen);
    if (waiting.shut_for <= Duration::zero()) {
      Result<bool> laid = co_await lay(claimant->claim.key, *look->seen, deadline);
      if (!laid) co_return laid.error();
      co_return std::optional<Waiting>();
    }
  }
  co_return std::optional<Waiting>(std::move(waiting));
}

/// No key is before it. A write, so that it is certain: its own key, and with it its session, is still there.
awaitable<Queue::Step> Queue::take(SharedClaimant claimant, Deadline deadline) {
  const Claim& claim = claimant->claim;
  const bool election = claim.key.kind == Kind::election;
  const bool delays = claim.lock_delay > Duration::zero();
  Result<std::int64_t> lease = co_await lease_to_hold(claimant, deadline);
  if (!lease) co_return lease.error();
  const std::uint64_t epoch = server_->known_epoch();
  const Token token(epoch, static_cast<std::uint64_t>(claimant->created));
  pb::TxnRequest request;
  require_usable(request, *claimant);
  const std::string held = record_of(*claimant, Record::Stage::held).to_text();
  const std::string key = record_key(*claimant);
  on_success(request, delays || election ? putting(key, held, *lease) : rewriting(key, held));
  if (election) {
    if (delays) on_success(request, moving(claimant->key, *lease));
    Result<pb::RequestOp> entry = co_await history_entry(claimant, token, deadline);
    if (!entry) co_return entry.error();
    on_success(request, std::move(*entry));
  }
  Result<pb::TxnResponse> answer = co_await server_->write(std::move(request), deadline);
  if (!answer) co_return answer.error();
  if (!answer->succeeded()) {
    Result<void> understood = co_await understand(claimant, std::move(*answer), true, deadline);
    if (!understood) co_return understood.error();
    co_return std::optional<Waiting>();
  }
  claimants_->listen_only_to(*claimant, {});
  claimant->grant.token = token;
  claimant->line.taken();
  co_return std::optional<Waiting>();
}

// Back again.

awaitable<Result<Withdrawn>> Queue::withdraw(Claim claim, Withdrawal how, Deadline deadline) {
  const SharedSession session = server_->session(claim.session);
  if (!session) co_return Withdrawn::not_there;  // gone with its session, or shut for its delay
  session->news.asked(claim.id);
  const SharedClaimant claimant = claimants_->find(claim.id);
  const bool held = claimant && claimant->line.next() == Line::Step::keep;
  const bool stays = held && how.ending == Ending::failed && claim.lock_delay > Duration::zero();
  if (stays) co_return co_await fail(claimant, how.unsettled, deadline);
  co_return co_await erase(claim, claimant, how.unsettled, deadline);
}

awaitable<Result<Withdrawn>> Queue::erase(Claim claim, SharedClaimant claimant, bool unsettled, Deadline deadline) {
  const SharedSession session = server_->session(claim.session);
  if (!session) co_return Withdrawn::not_there;
  const std::string key = claimant ? claimant->key : layout().key(claim.key, claim.mode, session->lease, claim.id);
  pb::TxnRequest request;
  require_created(request, session->key, session->created);
  const bool known = claimant && claimant->created != 0;
  if (known && !unsettled) require_created(request, key, claimant->created);
  on_success(request, erasing(key));
  if (claim.key.kind == Kind::election) on_success(request, erasing(layout().candidate(claim.key, claim.id)));
  const std::optional<std::string> tail = layout().tail(claim.key);
  if (tail && claimant && claimant->line.waited()) {
    pb::TxnRequest last;
    require_value(last, *tail, key);
    on_success(last, erasing(*tail));
    on_success(request, nested(std::move(last)));
  }
  // A request of it may still be on its way: it finds this.
  const pb::TxnRequest without_tombstone = request;
  if (unsettled) on_success(request, putting(layout().refused(claim.id), "", session->lease));
  const Departures::Departure under_way(departures_, layout().folder(claim.key));
  Result<pb::TxnResponse> answer = co_await server_->write(std::move(request), deadline);
  if (unsettled && answer.code() == Errc::overloaded) {
    // No room for the tombstone, which is asked for again; the lock need not wait for that.
    pb::TxnRequest smaller = without_tombstone;
    [[maybe_unused]] const Result<pb::TxnResponse> erased = co_await server_->write(std::move(smaller), deadline);
  }
  if (!answer) co_return answer.error();
  if (claimant) let_go(*claimant);
  const bool there = answer->succeeded() && answer->responses(0).response_delete_range().deleted() > 0;
  co_return there ? Withdrawn::done : Withdrawn::not_there;
}

/// Its key stays for its delay, on a lease that nobody renews: waiters see from the record that it has failed.
awaitable<Result<Withdrawn>> Queue::fail(SharedClaimant claimant, bool unsettled, Deadline deadline) {
  Result<std::int64_t> lease = co_await server_->last_lease(claimant->claim.lock_delay, deadline);
  if (!lease) co_return lease.error();
  const Session& session = *claimant->session;
  const std::string failed = record_of(*claimant, Record::Stage::failed).to_text();
  pb::TxnRequest request;
  require_created(request, session.key, session.created);
  require_created(request, claimant->key, claimant->created);
  on_success(request, putting(record_key(*claimant), failed, *lease));
  if (claimant->claim.key.kind == Kind::election) on_success(request, moving(claimant->key, *lease));
  if (unsettled) on_success(request, putting(layout().refused(claimant->claim.id), "", session.lease));
  Result<pb::TxnResponse> answer = co_await server_->write(std::move(request), deadline);
  if (!answer) co_return answer.error();
  let_go(*claimant);
  co_return answer->succeeded() ? Withdrawn::done : Withdrawn::not_there;
}

void Queue::let_go(Claimant& claimant) {
  claimants_->listen_only_to(claimant, {});
  Server::leave_second_lease(*claimant.session, claimant.claim.id);
  claimant.line.withdrawn();
  claimant.created = claimant.changed = 0;
  claimant.release_requested = false;
  claimant.grant = {};
}

// Holders.

awaitable<Result<Standing>> Queue::look(Claim claim, Deadline deadline) {
  const SharedSession session = server_->session(claim.session);
  if (!session) co_return Error{Errc::lost, "session " + to_string(claim.session) + " has ended"};
  Standing standing;
  const SharedClaimant claimant = claimants_->find(claim.id);
  if (!claimant) co_return standing;
  Result<Look> look = co_await look_at(claimant->claim.key, claimant->key, claimant->key, deadline);
  if (!look) co_return look.error();
  session->news.asked(claim.id);
  if (!look->seen || look->seen->failed()) co_return standing;
  const Seen& own = *look->seen;
  const bool ours = claimant->created == 0 || own.created == claimant->created;
  if (!ours) co_return standing;
  standing.place = own.holds() ? Standing::Place::held : Standing::Place::waiting;
  if (own.record) standing.release_requested = own.record->release_requested;
  if (!own.holds()) co_return standing;
  standing.token = Token(own.record->epoch, static_cast<std::uint64_t>(own.created));
  standing.slots = own.record->slots;
  co_return standing;
}

/// Another client may be writing to it as well: it asks for the lock.
awaitable<Result<void>> Queue::rewrite(SharedClaimant claimant, Claim claim, Edit edit, Deadline deadline) {
  const std::string key = record_key(*claimant);
  for (int i = 0; i < attempts; ++i) {
    pb::TxnRequest question;
    on_success(question, getting(key));
    Result<pb::TxnResponse> answer = co_await server_->read(std::move(question), deadline);
    if (!answer) co_return answer.error();
    const pb::KeyValue* there = found_one(*answer, 0);
    std::optional<Record> record;
    if (there != nullptr) record = Record::parse(there->value());
    if (!record || claimant->created == 0) co_return taken_away();
    const bool must_write = edit(*record, claim);
    if (!must_write) co_return Result<void>();
    pb::TxnRequest request;
    require_created(request, claimant->key, claimant->created);
    require_unchanged(request, key, there->mod_revision());
    on_success(request, rewriting(key, record->to_text()));
    Result<pb::TxnResponse> written = co_await server_->write(std::move(request), deadline);
    if (!written) co_return written.error();
    if (!written->succeeded()) continue;
    claimant->changed = written->header().revision();
    co_return Result<void>();
  }
  co_return Error{Errc::store_unavailable, "the key keeps being changed"};
}

awaitable<Result<void>> Queue::relabel(Claim claim, Deadline deadline) {
  const SharedClaimant claimant = claimants_->find(claim.id);
  if (!claimant) co_return Error{Errc::not_owner, "there is no such claim"};
  claimant->claim.label = claim.label;
  const Edit edit = [](Record& record, const Claim& its) {
    return std::exchange(record.owner.label, its.label) != its.label;
  };
  co_return co_await rewrite(claimant, std::move(claim), edit, deadline);
}

/// The key stays where it is, and so does its token.
awaitable<Result<void>> Queue::downgrade(Claim claim, Deadline deadline) {
  const SharedClaimant claimant = claimants_->find(claim.id);
  const bool holds = claimant && claimant->line.next() == Line::Step::keep;
  if (!holds || claim.key.kind != Kind::rw) co_return Error{Errc::not_owner, "the claim does not hold the lock"};
  const Edit edit = [](Record& record, const Claim&) {
    return std::exchange(record.mode, Mode::shared) != Mode::shared;
  };
  Result<void> done = co_await rewrite(claimant, std::move(claim), edit, deadline);
  if (done) claimant->claim.mode = Mode::shared;
  co_return done;
}

}  // namespace pawl::store::etcd
