#include "store/file/tables.hpp"

#include "store/file/planted.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace pawl::store::file {

using namespace std::chrono_literals;

Tables::Tables(Transaction& transaction, Time now, const Roll& roll) : ledger_(transaction), now_(now), roll_(roll) {}

// Everything that ended leaves first, then the locks are passed on: no grant goes to a session that is over as well.
void Tables::sweep() {
  for (; left_ > 0; --left_) {
    const auto ended = ledger_.take_ended(now_);
    if (!ended) break;
    if (!ended->lock.empty()) {
      unsettled_.push_back(ended->lock);
    } else if (const auto session = ledger_.session(ended->session)) {
      ledger_.end_session(ended->session, *session, session->ends);
    }
  }
  sweep_claims();
  settle();
}

/// There may be more sessions to end than one batch: one whose time is over ends when it is met.
std::optional<SessionRecord> Tables::session(SessionId id) {
  auto session = ledger_.session(id);
  if (!session || session->ends > now_) return session;
  ledger_.end_session(id, *session, session->ends);
  return std::nullopt;
}

bool Tables::has_session(SessionId id) { return more() ? session(id).has_value() : ledger_.has_session(id); }

Result<void> Tables::check_room() {
  if (!ledger_.transaction().crowded()) return {};
  bury_the_dead();  // for those who try again
  return Error{Errc::overloaded, "too many locks are held or waited for: they fill half of the store's database"};
}

Result<void> Tables::open_session(SessionId id, SessionRecord record) {
  if (auto room = check_room(); !room) return room;
  record.ends = base::after(now_, record.lease);
  ledger_.add_session(id, record);
  return {};
}

Result<Renewal> Tables::renew(SessionId id) {
  std::optional<SessionRecord> session = this->session(id);
  if (!session) {
    return Error{Errc::lost, "session " + to_string(id) + " has ended: its lease ran out or it was closed"};
  }
  std::vector<ClaimId> changed = ledger_.news_of(id, most_named + 1);
  if (!changed.empty()) ++session->changes;
  const Time from = planted(Fault::renewal_adds) ? session->ends : now_;
  ledger_.move_end(id, *session, base::after(from, session->lease));
  Renewal renewal{.changes = session->changes};
  if (changed.size() <= most_named) renewal.changed = std::move(changed);
  return renewal;
}

void Tables::close_session(SessionId id) {
  const auto session = this->session(id);
  if (!session) return;
  ledger_.end_session(id, *session, now_);
  sweep_claims();
  settle();
}

void Tables::bury(ProcessKey process) {
  if (roll_.alive(process)) return;
  retire(process);
  sweep_claims();
  settle();
}

bool Tables::bury_the_dead() {
  const std::vector<ProcessKey> processes = ledger_.processes(batch);
  for (const ProcessKey process : processes) bury(process);
  return !processes.empty();
}

Result<ClaimState> Tables::claim(const Claim& claim) {
  just_ahead_.clear();
  if (!has_session(claim.session)) {
    return Error{Errc::lost, "lock " + claim.key.name.quoted() + ": the session of this claim has ended"};
  }
  const std::string key = lock_key(claim.key);
  const std::optional<ClaimPlace> place = ledger_.place(claim.session, claim.id);
  if (place) ledger_.erase_news(claim.session, claim.id);
  if (place && place->tombstone) {
    return Error{Errc::not_owner,
                 "lock " + claim.key.name.quoted() + ": claim " + to_string(claim.id) + " was withdrawn or taken away"};
  }
  if (place && place->lock != key) {
    return Error{Errc::invalid_argument, "claim " + to_string(claim.id) + " is another lock's"};
  }
  if (place) return state(claim, key, place->ticket);
  std::optional<Open> taken = find_in_use(key, claim);
  const auto agreed = taken ? std::optional(taken->record.permits) : std::nullopt;
  if (auto sound = check_sound(claim, agreed); !sound) return sound.error();
  if (auto room = check_room(); !room)
    return {room.code(), "lock " + claim.key.name.quoted() + ": " + room.error().message};
  if (!taken) {
    taken = Open{key, {.key = claim.key, .number = ++counters().last_lock, .permits = claim.permits.of}};
    taken->record.taken.resize(claim.permits.of);
  }
  ClaimRecord record = make_record(claim);
  const bool in_turn = taken->record.waiters == 0 || planted(Fault::overtaking);
  if (in_turn && fits(taken->record, record)) return ClaimState{hold(std::move(record), *taken)};
  if (!claim.may_queue) return ClaimState{waiting(claim, taken->record, holders(taken->record), true)};
  return state(claim, key, join(std::move(record), *taken));
}

bool Tables::fits(const LockRecord& lock, const ClaimRecord& claim) {
  Occupied occupied;
  occupied.by_anybody = lock.holder || lock.sharers > 0 || !lock.ghosts.empty();
  occupied.by_exclusive = lock.holder || std::any_of(lock.ghosts.begin(), lock.ghosts.end(),
                                                     [](const Ghost& ghost) { return ghost.mode == Mode::exclusive; });
  occupied.free_permits = static_cast<std::uint32_t>(std::count(lock.taken.begin(), lock.taken.end(), false));
  return store::fits(lock.key.kind, claim.mode, claim.permits, occupied);
}

Granted Tables::hold(ClaimRecord claim, Open& lock) {
  const auto granted = grant(lock.record, std::move(claim));
  if (!granted) return {};  // out of tokens: all of this is undone
  ledger_.put_lock(lock.key, lock.record);
  ledger_.put_place(granted->session, granted->id, {.ticket = granted->ticket, .lock = lock.key});
  return {granted->token, false, granted->slots};
}

std::uint64_t Tables::join(ClaimRecord claim, Open& taken) {
  LockRecord& lock = taken.record;
  claim.ticket = ++counters().last_ticket;
  ledger_.put_waiter(lock.number, claim);
  ledger_.put_place(claim.session, claim.id, {.ticket = claim.ticket, .lock = taken.key});
  ++lock.waiters;
  ledger_.put_lock(taken.key, lock);
  if (lock.waiters > 1) return claim.ticket;
  for (const ClaimRecord& holder : holders(lock)) {
    tell(holder, {.what = Notice::What::contended, .grant = {holder.token, true}});
  }
  return claim.ticket;
}

std::vector<ClaimRecord> Tables::holders(const LockRecord& lock) {
  if (lock.holder) return {*lock.holder};
  return lock.sharers > 0 ? ledger_.sharers(lock.number) : std::vector<ClaimRecord>();
}

std::optional<ClaimRecord> Tables::find_holder(const LockRecord& lock, ClaimId claim) {
  for (const ClaimRecord& holder : holders(lock)) {
    if (holder.id == claim) return holder;
  }
  return std::nullopt;
}

/// Of a claim whose place is known: without looking at all of them.
std::optional<ClaimRecord> Tables::find_holder(const LockRecord& lock, ClaimId claim, std::uint64_t ticket) {
  if (lock.holder) return lock.holder->id == claim ? lock.holder : std::nullopt;
  return lock.sharers > 0 && ticket > 0 ? ledger_.sharer(lock.number, ticket) : std::nullopt;
}

void Tables::put_holder(Open& lock, const ClaimRecord& holder) {
  if (lock.record.holder) {
    lock.record.holder = holder;
    ledger_.put_lock(lock.key, lock.record);
  } else {
    ledger_.put_sharer(lock.record.number, holder);
  }
}

ClaimRecord Tables::make_record(const Claim& claim) const {
  ClaimRecord record{.id = claim.id, .session = claim.session, .since = now_, .lease = claim.lease};
  record.lock_delay = claim.lock_delay;
  record.mode = claim.mode;
  record.permits = claim.permits.wanted;
  record.label = claim.label;
  record.value = claim.value;
  return record;
}

/// Nothing: out of tokens. The lock's record is not written yet.
std::optional<ClaimRecord> Tables::grant(LockRecord& lock, ClaimRecord claim) {
  Counters& counters = this->counters();
  if (counters.last_token >= counters.reserved) {
    ledger_.transaction().fail(Transaction::out_of_tokens);
    return std::nullopt;
  }
  claim.token = Token(counters.epoch, ++counters.last_token);
  claim.since = now_;
  claim.release_requested = false;
  const bool beside_others = claim.mode == Mode::shared || lock.key.kind == Kind::permits;
  if (beside_others) {
    share(lock, claim);
  } else {
    lock.holder = claim;
  }
  if (lock.key.kind == Kind::election) {
    Chronicle chronicle = ledger_.chronicle(lock_key(lock.key));
    chronicle.begin({.value = claim.value, .token = claim.token, .owner = owner(claim)}, now_);
    ledger_.put_chronicle(lock_key(lock.key), chronicle);
  }
  return claim;
}

void Tables::share(LockRecord& lock, ClaimRecord& claim) {
  if (claim.ticket == 0) claim.ticket = ++counters().last_ticket;
  claim.slots = lock.take_slots(claim.permits);
  ++lock.sharers;
  ledger_.put_sharer(lock.number, claim);
}

Result<void> Tables::downgrade(const Claim& claim) {
  const std::string key = lock_key(claim.key);
  const std::optional<ClaimPlace> place = find_place(claim, key);
  std::optional<Open> lock = place ? find(key) : std::nullopt;
  std::optional<ClaimRecord> holder = lock ? find_holder(lock->record, claim.id, place->ticket) : std::nullopt;
  if (!holder || claim.key.kind != Kind::rw) {
    return Error{Errc::not_owner, "claim " + to_string(claim.id) + " does not hold " + claim.key.name.quoted()};
  }
  if (holder->mode == Mode::shared) return {};
  holder->mode = Mode::shared;
  lock->record.holder.reset();
  share(lock->record, *holder);
  ledger_.put_place(claim.session, claim.id, {.ticket = holder->ticket, .lock = key});
  ledger_.put_lock(key, lock->record);
  unsettled_.push_back(key);
  settle();
  return {};
}

Withdrawn Tables::withdraw(const Claim& claim, Withdrawal how) {
  const std::string key = lock_key(claim.key);
  const std::optional<ClaimPlace> place = find_place(claim, key);
  ledger_.erase_news(claim.session, claim.id);
  if (how.unsettled && !planted(Fault::tombstone_forgotten) && has_session(claim.session)) {
    ledger_.put_place(claim.session, claim.id, {.tombstone = true, .lock = key});
  } else if (place) {
    ledger_.erase_place(claim.session, claim.id);
  }
  if (!place) return Withdrawn::not_there;
  const bool failed = how.ending == Ending::failed;
  leave(key, claim.id, place->ticket, failed ? std::optional<Time>(now_) : std::nullopt);
  settle();
  return Withdrawn::done;
}

Standing Tables::look(const Claim& claim) {
  const std::string key = lock_key(claim.key);
  const auto place = find_place(claim, key);
  ledger_.erase_news(claim.session, claim.id);
  if (!place) return {};
  const auto lock = find(key);
  const auto holder = lock ? find_holder(lock->record, claim.id, place->ticket) : std::nullopt;
  if (!holder) return {.place = Standing::Place::waiting};
  return {.place = Standing::Place::held,
          .token = holder->token,
          .contended = lock->record.waiters > 0,
          .release_requested = holder->release_requested,
          .slots = holder->slots};
}

void Tables::relabel(const Claim& claim) {
  const std::string key = lock_key(claim.key);
  const auto place = find_place(claim, key);
  auto lock = find(key);
  if (!place || !lock) return;
  if (auto holder = find_holder(lock->record, claim.id, place->ticket)) {
    holder->label = claim.label;
    return put_holder(*lock, *holder);
  }
  auto waiter = ledger_.waiter(lock->record.number, place->ticket);
  if (!waiter) return;
  waiter->label = claim.label;
  ledger_.put_waiter(lock->record.number, *waiter);
}

Succession Tables::succession(const LockKey& key, Token after) {
  find_living(lock_key(key));
  return ledger_.chronicle(lock_key(key)).after(after, now_);
}

bool Tables::check(const LockKey& key, Token token) {
  const auto lock = find_living(lock_key(key));
  const std::vector<ClaimRecord> all = lock ? holders(lock->record) : std::vector<ClaimRecord>();
  return std::any_of(all.begin(), all.end(),
                     [&](const ClaimRecord& holder) { return holder.token == token.with_sub(0) && !is_over(holder); });
}

bool Tables::ask_to_release(const LockKey& key, ClaimId claim) {
  auto lock = find(lock_key(key));
  std::optional<ClaimRecord> holder = lock ? find_holder(lock->record, claim) : std::nullopt;
  if (!holder) return false;
  holder->release_requested = true;
  put_holder(*lock, *holder);
  tell(*holder, {.what = Notice::What::release_requested});
  return true;
}

bool Tables::take_away(const LockKey& key, ClaimId claim) {
  const auto lock = find(lock_key(key));
  if (!lock) return false;
  std::optional<ClaimRecord> taken = find_holder(lock->record, claim);
  if (!taken) taken = find_waiter(lock->record, claim);
  if (!taken) return false;
  // Its notice may be lost, and then its owner claims again: that must not put it back into the queue.
  ledger_.put_place(taken->session, claim, {.tombstone = true, .lock = lock->key});
  tell(*taken, {.what = Notice::What::gone});
  leave(lock->key, claim, taken->ticket, std::nullopt);
  settle();
  return true;
}

std::optional<Tables::Open> Tables::find(std::string_view key) {
  auto record = ledger_.lock(key);
  if (!record) return std::nullopt;
  return Open{std::string(key), std::move(*record)};
}

std::optional<Tables::Open> Tables::find_in_use(std::string_view key, const Claim& claim) {
  for (;;) {
    auto lock = find(key);
    if (!lock) return lock;
    const bool agrees = claim.key.kind != Kind::permits || lock->record.permits == claim.permits.of;
    const bool in_the_way = !fits(lock->record, make_record(claim));
    const std::vector<ClaimRecord> first = first_waiter(lock->record);
    if (agrees && !in_the_way && first.empty()) return lock;
    if (evict_dead(lock->key, holders(lock->record))) continue;
    if (evict_dead(lock->key, agrees ? first : waiters(lock->record))) continue;
    return lock;
  }
}

/// Without holders that are dead.
std::optional<Tables::Open> Tables::find_living(const std::string& key) {
  auto lock = find(key);
  while (lock && evict_dead(key, holders(lock->record))) lock = find(key);
  return lock;
}

std::vector<ClaimRecord> Tables::first_waiter(const LockRecord& lock) {
  const auto first = ledger_.first_waiter(lock.number);
  return first ? std::vector{*first} : std::vector<ClaimRecord>();
}

std::vector<ClaimRecord> Tables::waiters(const LockRecord& lock) {
  std::vector<ClaimRecord> all;
  for (auto one = ledger_.first_waiter(lock.number); one; one = ledger_.waiter_behind(lock.number, one->ticket)) {
    all.push_back(*one);
  }
  return all;
}

/// Has its session ended, or its process died?
bool Tables::is_over(const ClaimRecord& claim) {
  const auto session = this->session(claim.session);
  if (!session) return true;
  if (known_alive_.contains(session->process)) return false;
  if (roll_.alive(session->process)) {
    known_alive_.insert(session->process);
    return false;
  }
  retire(session->process);
  return true;
}

/// Those of that lock's claims that are over leave, as far as the batch goes. False: there was none.
bool Tables::evict_dead(const std::string& key, const std::vector<ClaimRecord>& claims) {
  bool some = false;
  for (const ClaimRecord& claim : claims) {
    if (left_ == 0) break;
    if (!is_over(claim)) continue;
    evict(key, claim);
    some = true;
  }
  if (!some) return false;
  sweep_claims();
  settle();
  return true;
}

/// Nothing unless id, session and lock are the claim's, and the session lives.
std::optional<ClaimPlace> Tables::find_place(const Claim& claim, std::string_view key) {
  std::optional<ClaimPlace> place;
  if (more() && !has_session(claim.session)) return place;
  place = ledger_.place(claim.session, claim.id);
  if (place && (place->tombstone || place->lock != key)) place.reset();
  return place;
}

std::optional<ClaimRecord> Tables::find_waiter(const LockRecord& lock, ClaimId claim) {
  auto waiter = ledger_.first_waiter(lock.number);
  while (waiter && waiter->id != claim) waiter = ledger_.waiter_behind(lock.number, waiter->ticket);
  return waiter;
}

ClaimState Tables::state(const Claim& claim, const std::string& key, std::uint64_t ticket) {
  for (;;) {
    const auto lock = find(key);
    if (!lock) return Waiting{1ms};  // only in a transaction that has failed
    const auto holder = find_holder(lock->record, claim.id, ticket);
    if (holder) return Granted{holder->token, lock->record.waiters > 0, holder->slots};
    const auto before = ledger_.waiter_before(lock->record.number, ticket);
    const std::vector<ClaimRecord> ahead = before ? std::vector{*before} : holders(lock->record);
    if (evict_dead(key, ahead)) continue;
    for (const ClaimRecord& one : ahead) {
      if (const auto session = ledger_.session(one.session)) just_ahead_.insert(session->process);
    }
    Waiting answer = waiting(claim, lock->record, ahead, !before);
    count_ahead(answer, lock->record, ticket, !before);
    if (more()) answer.look_again_in = 1ms;  // some of those ahead may be over
    return answer;
  }
}

// A waiter must come back when something can have happened that nobody tells it: the lease of the one ahead may be over
// (a stopped process), or the lock-delay.
Waiting Tables::waiting(const Claim& claim, const LockRecord& lock, const std::vector<ClaimRecord>& ahead, bool next) {
  Time wake = Time::max();
  for (const ClaimRecord& one : ahead) {
    if (const auto session = ledger_.session(one.session)) wake = std::min(wake, session->ends);
  }
  if (next) {
    for (const Ghost& ghost : lock.ghosts) wake = std::min(wake, ghost.until);
  }
  const Duration lease = claim.lease > 0ns ? claim.lease : Duration(30s);
  Waiting answer{.look_again_in = std::max<Duration>(std::min<Duration>(wake - now_ + 1ms, lease / 3), 1ms)};
  if (lock.holder) answer.holder = owner(*lock.holder);
  if (!lock.holder && next && !ahead.empty()) answer.holder = owner(ahead.front());
  for (const Ghost& ghost : lock.ghosts) answer.shut_for = std::max<Duration>(answer.shut_for, ghost.until - now_);
  const auto used = static_cast<std::uint32_t>(std::count(lock.taken.begin(), lock.taken.end(), true));
  if (lock.permits > 0) answer.permits = divide(used, lock.ghosts);
  return answer;
}

/// Its place in the middle would have to be counted; the two ends are known.
void Tables::count_ahead(Waiting& answer, const LockRecord& lock, std::uint64_t ticket, bool next) {
  const std::uint64_t holders = lock.holder ? 1 : lock.sharers;
  if (next) {
    answer.ahead = holders;
  } else if (!ledger_.waiter_behind(lock.number, ticket)) {
    answer.ahead = holders + lock.waiters - 1;
  }
}

}  // namespace pawl::store::file
