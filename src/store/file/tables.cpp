#include "store/file/tables.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace pawl::store::file {

using namespace std::chrono_literals;

Tables::Tables(Transaction& transaction, Time now, const Roll& roll) : ledger_(transaction), now_(now), roll_(roll) {}

// Everything that ended leaves first, then the locks are passed on: no grant goes to a session that is over as well.
void Tables::sweep() {
  while (const auto ended = ledger_.take_ended(now_)) {
    if (!ended->lock.empty()) {
      unsettled_.push_back(ended->lock);
    } else if (const auto session = ledger_.session(ended->session)) {
      end_session(ended->session, *session, session->ends);
    }
  }
  settle();
}

void Tables::open_session(SessionId id, SessionRecord record) {
  record.ends = base::after(now_, record.lease);
  ledger_.add_session(id, record);
}

Result<Renewal> Tables::renew(SessionId id) {
  std::optional<SessionRecord> session = ledger_.session(id);
  if (!session) {
    return Error{Errc::lost, "session " + to_string(id) + " has ended: its lease ran out or it was closed"};
  }
  ledger_.move_end(id, *session, base::after(now_, session->lease));
  return Renewal{session->changes};
}

void Tables::close_session(SessionId id) {
  const auto session = ledger_.session(id);
  if (!session) return;
  end_session(id, *session, now_);
  settle();
}

void Tables::bury(ProcessKey process) {
  if (roll_.alive(process)) return;
  retire(process);
  settle();
}

void Tables::bury_the_dead() {
  for (const ProcessKey process : ledger_.processes()) bury(process);
}

Result<ClaimState> Tables::claim(const Claim& claim) {
  just_ahead_.reset();
  if (!ledger_.has_session(claim.session)) {
    return Error{Errc::lost, "lock " + claim.key.name.quoted() + ": the session of this claim has ended"};
  }
  if (claim.mode != Mode::exclusive) return Error{Errc::unsupported, "the file store's queue has no shared mode yet"};
  const std::string key = lock_key(claim.key);
  const std::optional<ClaimPlace> place = ledger_.place(claim.session, claim.id);
  if (place && place->tombstone) {
    return Error{Errc::not_owner,
                 "lock " + claim.key.name.quoted() + ": claim " + to_string(claim.id) + " was withdrawn or taken away"};
  }
  if (place && place->lock != key) {
    return Error{Errc::invalid_argument, "claim " + to_string(claim.id) + " is another lock's"};
  }
  if (place) return state(claim, key, place->ticket);
  std::optional<Open> taken = find_in_use(key);
  if (!taken) return ClaimState{hold(claim, key)};
  if (!claim.may_queue) return ClaimState{waiting(claim, taken->record, nullptr)};
  return state(claim, key, join(claim, *taken));
}

Granted Tables::hold(const Claim& claim, const std::string& key) {
  LockRecord lock{.key = claim.key, .number = ++counters().last_lock};
  grant(lock, make_record(claim));
  if (!lock.holder) return {};  // out of tokens: all of this is undone
  ledger_.put_lock(key, lock);
  ledger_.put_place(claim.session, claim.id, {.lock = key});
  return {lock.holder->token, false};
}

std::uint64_t Tables::join(const Claim& claim, Open& taken) {
  LockRecord& lock = taken.record;
  ClaimRecord record = make_record(claim);
  record.ticket = ++counters().last_ticket;
  ledger_.put_waiter(lock.number, record);
  ledger_.put_place(claim.session, claim.id, {.ticket = record.ticket, .lock = taken.key});
  ++lock.waiters;
  ledger_.put_lock(taken.key, lock);
  if (lock.waiters == 1 && lock.holder) {
    tell(*lock.holder, {.what = Notice::What::contended, .grant = {lock.holder->token, true}});
  }
  return record.ticket;
}

ClaimRecord Tables::make_record(const Claim& claim) const {
  ClaimRecord record{.id = claim.id, .session = claim.session, .since = now_, .lease = claim.lease};
  record.lock_delay = claim.lock_delay;
  record.mode = claim.mode;
  record.label = claim.label;
  return record;
}

void Tables::grant(LockRecord& lock, ClaimRecord claim) {
  Counters& counters = this->counters();
  if (counters.last_token >= counters.reserved) return ledger_.transaction().fail(Transaction::out_of_tokens);
  claim.token = Token(counters.epoch, ++counters.last_token);
  claim.since = now_;
  claim.release_requested = false;
  lock.holder = std::move(claim);
}

Withdrawn Tables::withdraw(const Claim& claim, Withdrawal how) {
  const std::string key = lock_key(claim.key);
  const std::optional<ClaimPlace> place = find_place(claim, key);
  if (how.unsettled && ledger_.has_session(claim.session)) {
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
  if (!find_place(claim, key)) return {};
  const auto lock = find(key);
  if (!lock || !lock->record.holder || lock->record.holder->id != claim.id) {
    return {.place = Standing::Place::waiting};
  }
  return {.place = Standing::Place::held,
          .token = lock->record.holder->token,
          .contended = lock->record.waiters > 0,
          .release_requested = lock->record.holder->release_requested};
}

void Tables::relabel(const Claim& claim) {
  const std::string key = lock_key(claim.key);
  const auto place = find_place(claim, key);
  auto lock = find(key);
  if (!place || !lock) return;
  if (lock->record.holder && lock->record.holder->id == claim.id) {
    lock->record.holder->label = claim.label;
    return ledger_.put_lock(key, lock->record);
  }
  auto waiter = ledger_.waiter(lock->record.number, place->ticket);
  if (!waiter) return;
  waiter->label = claim.label;
  ledger_.put_waiter(lock->record.number, *waiter);
}

bool Tables::check(const LockKey& key, Token token) {
  const auto lock = find_in_use(lock_key(key));
  return lock && lock->record.holder && lock->record.holder->token == token.with_sub(0);
}

bool Tables::ask_to_release(const LockKey& key, ClaimId claim) {
  auto lock = find(lock_key(key));
  if (!lock || !lock->record.holder || lock->record.holder->id != claim) return false;
  lock->record.holder->release_requested = true;
  ledger_.put_lock(lock->key, lock->record);
  tell(*lock->record.holder, {.what = Notice::What::release_requested});
  return true;
}

bool Tables::take_away(const LockKey& key, ClaimId claim) {
  const auto lock = find(lock_key(key));
  if (!lock) return false;
  const bool holds = lock->record.holder && lock->record.holder->id == claim;
  const std::optional<ClaimRecord> taken = holds ? lock->record.holder : find_waiter(lock->record, claim);
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

std::optional<Tables::Open> Tables::find_in_use(std::string_view key) {
  for (;;) {
    auto lock = find(key);
    if (!lock || !lock->record.holder) return lock;
    const auto session = ledger_.session(lock->record.holder->session);
    if (!session || roll_.alive(session->process)) return lock;
    bury(session->process);
  }
}

/// Nothing unless id, session and lock are the claim's.
std::optional<ClaimPlace> Tables::find_place(const Claim& claim, std::string_view key) {
  auto place = ledger_.place(claim.session, claim.id);
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
    const std::optional<ClaimRecord>& holder = lock->record.holder;
    if (holder && holder->id == claim.id) return Granted{holder->token, lock->record.waiters > 0};
    const auto before = ledger_.waiter_before(lock->record.number, ticket);
    const std::optional<ClaimRecord>& ahead = before ? before : holder;
    const auto session = ahead ? ledger_.session(ahead->session) : std::nullopt;
    if (session && !roll_.alive(session->process)) {
      bury(session->process);
      continue;
    }
    if (session) just_ahead_ = session->process;
    Waiting answer = waiting(claim, lock->record, ahead ? &*ahead : nullptr);
    count_ahead(answer, lock->record, ticket, !before);
    return answer;
  }
}

// A waiter must come back when something can have happened that nobody tells it: the lease of the one ahead may be over
// (a stopped process), or the lock-delay.
Waiting Tables::waiting(const Claim& claim, const LockRecord& lock, const ClaimRecord* ahead) {
  Time wake = Time::max();
  const auto session = ahead != nullptr ? ledger_.session(ahead->session) : std::nullopt;
  if (session) wake = session->ends;
  if (!lock.holder) wake = std::min(wake, lock.shut_until);
  const Duration lease = claim.lease > 0ns ? claim.lease : Duration(30s);
  Waiting answer{.look_again_in = std::max<Duration>(std::min<Duration>(wake - now_ + 1ms, lease / 3), 1ms)};
  if (lock.holder) answer.holder = owner(*lock.holder);
  return answer;
}

/// Its place in the middle would have to be counted; the two ends are known.
void Tables::count_ahead(Waiting& answer, const LockRecord& lock, std::uint64_t ticket, bool next) {
  const std::uint64_t holders = lock.holder ? 1 : 0;
  if (next) {
    answer.ahead = holders;
  } else if (!ledger_.waiter_behind(lock.number, ticket)) {
    answer.ahead = holders + lock.waiters - 1;
  }
}

}  // namespace pawl::store::file
