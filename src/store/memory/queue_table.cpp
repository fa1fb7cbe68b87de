#include "store/memory/queue_table.hpp"

#include "base/planted.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace pawl::store::memory {

using base::Bug;
using base::planted;
using namespace std::chrono_literals;

Result<ClaimState> QueueTable::claim(const Claim& claim, Time now) {
  Session* session = sessions_.find(claim.session);
  if (session == nullptr) {
    return Error{Errc::lost, "lock " + claim.key.name.quoted() + ": the session of this claim has ended"};
  }
  if (session->tombstones.contains(claim.id) && !planted(Bug::late_claim_accepted)) {
    return Error{Errc::not_owner,
                 "lock " + claim.key.name.quoted() + ": claim " + to_string(claim.id) + " was withdrawn or taken away"};
  }
  if (claim.mode != Mode::exclusive) {
    return Error{Errc::unsupported, "the memory store's queue has no shared mode"};
  }
  if (claims_.contains(claim.id)) {
    const Record* known = find(claim);
    if (known == nullptr) return Error{Errc::invalid_argument, "claim " + to_string(claim.id) + " is another lock's"};
    return state(*known, now);
  }
  const Lock* taken = find_lock(claim.key);  // a free lock has no record
  if (taken != nullptr && !claim.may_queue) return ClaimState{waiting(claim, *taken, true, now)};
  Record& record = add(claim, *session, now);
  if (taken == nullptr) {
    grant(record, now);
  } else {
    join(record);
  }
  return state(record, now);
}

Withdrawn QueueTable::withdraw(const Claim& claim, Withdrawal how, Time now) {
  Session* session = sessions_.find(claim.session);
  if (session != nullptr && how.unsettled) session->tombstones.insert(claim.id);

  Record* record = find(claim);
  if (planted(Bug::release_by_name)) {
    const Lock* lock = find_lock(claim.key);
    if (record == nullptr && lock != nullptr) record = lock->holder;
  }
  if (record == nullptr) return Withdrawn::not_there;

  if (record->held() && how.ending == Ending::failed) shut(*record->lock, base::after(now, record->claim.lock_delay));
  remove(*record);
  settle(now);
  return Withdrawn::done;
}

Standing QueueTable::look(const Claim& claim) const {
  const Record* record = find(claim);
  if (record == nullptr) return {};
  if (!record->held()) return {.place = Standing::Place::waiting};
  return {.place = Standing::Place::held,
          .token = record->token,
          .contended = !record->lock->queue.empty(),
          .release_requested = record->release_requested};
}

void QueueTable::relabel(const Claim& claim) {
  Record* record = find(claim);
  if (record != nullptr) record->claim.label = claim.label;
}

LockView QueueTable::inspect(const LockKey& key, Time now) const {
  const Lock* lock = find_lock(key);
  if (lock != nullptr) return view(*lock, now);
  return {.kind = key.kind, .scheme = "queue", .name = key.name.bytes()};
}

std::vector<LockView> QueueTable::list(std::string_view prefix, Time now) const {
  std::vector<LockView> views;
  for (const auto& [key, lock] : locks_) {
    if (key.name.bytes().starts_with(prefix)) views.push_back(view(lock, now));
  }
  return views;
}

bool QueueTable::check(const LockKey& key, Token token) const {
  const Lock* lock = find_lock(key);
  return lock != nullptr && lock->holder != nullptr && lock->holder->token == token.with_sub(0);
}

bool QueueTable::ask_to_release(const LockKey& key, ClaimId claim) {
  Record* record = find(claim, key);
  if (record == nullptr || !record->held()) return false;
  record->release_requested = true;
  tell(*record, {.what = Notice::What::release_requested});
  return true;
}

bool QueueTable::take_away(const LockKey& key, ClaimId claim, Time now) {
  Record* record = find(claim, key);
  if (record == nullptr) return false;
  // Its notice may be lost, and then its owner claims again: that must not put it back into the queue.
  sessions_.find(record->claim.session)->tombstones.insert(claim);
  tell(*record, {.what = Notice::What::gone});
  remove(*record);
  settle(now);
  return true;
}

void QueueTable::end_session(const Session& session, Time at, bool expired) {
  for (const ClaimId id : session.claims) {
    Record& record = claims_.at(id);
    if (record.held()) {
      shut(*record.lock, base::after(at, record.claim.lock_delay));
      if (expired) record.lock->expired = record.token;
    }
    leave(record);
  }
}

void QueueTable::settle(Time now) {
  while (!shut_.empty() && shut_.begin()->first.first <= now) {
    unsettle(*shut_.begin()->second);
    shut_.erase(shut_.begin());
  }
  for (Lock* lock : std::exchange(unsettled_, {})) settle_one(*lock, now);
}

void QueueTable::settle_one(Lock& lock, Time now) {
  lock.settling = false;
  if (lock.holder != nullptr) return;
  if (lock.shut_until > now) {
    // It waited for a holder that has gone, or behind somebody who has: now it waits for the time.
    if (!lock.queue.empty()) tell(*lock.queue.begin()->second, {.what = Notice::What::look_again});
    return;
  }
  if (lock.queue.empty()) {
    locks_.erase(locks_.find(lock.key));
    return;
  }
  Record& head = *lock.queue.begin()->second;
  lock.queue.erase(lock.queue.begin());
  grant(head, now);
  tell(head, {.what = Notice::What::granted, .grant = {head.token, !lock.queue.empty()}});
}

QueueTable::Record* QueueTable::find(const Claim& claim) {
  Record* record = find(claim.id, claim.key);
  return record != nullptr && record->claim.session == claim.session ? record : nullptr;
}

const QueueTable::Record* QueueTable::find(const Claim& claim) const {
  return const_cast<QueueTable*>(this)->find(claim);
}

QueueTable::Record* QueueTable::find(ClaimId id, const LockKey& key) {
  const auto found = claims_.find(id);
  return found != claims_.end() && found->second.claim.key == key ? &found->second : nullptr;
}

const QueueTable::Lock* QueueTable::find_lock(const LockKey& key) const {
  const auto found = locks_.find(key);
  return found == locks_.end() ? nullptr : &found->second;
}

QueueTable::Lock& QueueTable::use_lock(const LockKey& key) {
  const auto found = locks_.find(key);
  if (found != locks_.end()) return found->second;
  return locks_.emplace(key, Lock{.key = key, .number = ++last_number_}).first->second;
}

QueueTable::Record& QueueTable::add(const Claim& claim, Session& session, Time now) {
  session.claims.insert(claim.id);
  Record record{.claim = claim, .lock = &use_lock(claim.key), .ticket = ++last_ticket_, .since = now};
  return claims_.emplace(claim.id, std::move(record)).first->second;
}

void QueueTable::grant(Record& record, Time now) {
  Lock& lock = *record.lock;
  lock.holder = &record;
  record.since = now;
  if (planted(Bug::token_reused) && lock.expired) {
    record.token = *lock.expired;
  } else {
    record.token = Token(epoch_, ++counter_);
  }
  lock.expired.reset();
}

void QueueTable::join(Record& record) {
  Lock& lock = *record.lock;
  const bool first = lock.queue.empty();
  lock.queue.emplace(record.ticket, &record);
  if (first && lock.holder != nullptr) {
    tell(*lock.holder, {.what = Notice::What::contended, .grant = {lock.holder->token, true}});
  }
}

void QueueTable::remove(Record& record) {
  Session* session = sessions_.find(record.claim.session);
  if (session != nullptr) session->claims.erase(record.claim.id);
  leave(record);
}

void QueueTable::leave(Record& record) {
  Lock& lock = *record.lock;
  if (record.held()) {
    lock.holder = nullptr;
  } else {
    lock.queue.erase(record.ticket);
  }
  unsettle(lock);
  claims_.erase(record.claim.id);
}

void QueueTable::shut(Lock& lock, Time until) {
  shut_.erase({lock.shut_until, lock.number});
  lock.shut_until = until;
  shut_.emplace(std::pair(until, lock.number), &lock);
}

void QueueTable::unsettle(Lock& lock) {
  if (std::exchange(lock.settling, true)) return;
  unsettled_.push_back(&lock);
}

void QueueTable::tell(const Record& record, Notice notice) {
  // A waiter asks again by itself; only a holder has nothing to ask but whether there is news.
  const bool to_waiter = notice.what == Notice::What::look_again || notice.what == Notice::What::granted;
  if (!to_waiter) ++sessions_.find(record.claim.session)->changes;
  mail_.push_back({record.claim.id, notice});
}

ClaimState QueueTable::state(const Record& record, Time now) const {
  const Lock& lock = *record.lock;
  if (record.held()) return Granted{record.token, !lock.queue.empty()};
  const bool next = lock.queue.begin()->second == &record;
  Waiting answer = waiting(record.claim, lock, next, now);
  // Its place in the middle would have to be counted; the two ends are known.
  const std::uint64_t holders = lock.holder != nullptr ? 1 : 0;
  if (next) {
    answer.ahead = holders;
  } else if (lock.queue.rbegin()->second == &record) {
    answer.ahead = holders + lock.queue.size() - 1;
  }
  return answer;
}

// A waiter must come back when something can have happened that nobody tells it: a session may have expired (then the
// first request of anybody sweeps it), or the lock-delay is over.
Waiting QueueTable::waiting(const Claim& claim, const Lock& lock, bool next, Time now) const {
  Time wake = sessions_.first_end();
  if (next && lock.holder == nullptr) wake = std::min(wake, lock.shut_until);
  const Duration lease = claim.lease > 0ns ? claim.lease : sessions_.find(claim.session)->lease;
  Waiting answer{.look_again_in = std::max<Duration>(std::min<Duration>(wake - now + 1ms, lease / 3), 1ms)};
  if (lock.holder != nullptr) answer.holder = owner(*lock.holder);
  return answer;
}

Owner QueueTable::owner(const Record& record) const {
  Owner owner = sessions_.find(record.claim.session)->owner;
  if (!record.claim.label.empty()) owner.label = record.claim.label;
  return owner;
}

ClaimView QueueTable::view(const Record& record, Time now) const {
  return {.claim = to_string(record.claim.id),
          .mode = record.claim.mode,
          .owner = owner(record),
          .age = now - record.since,
          .token = record.token,
          .lease_left = sessions_.find(record.claim.session)->ends - now,
          .release_requested = record.release_requested};
}

LockView QueueTable::view(const Lock& lock, Time now) const {
  LockView view{.kind = lock.key.kind, .scheme = "queue", .name = lock.key.name.bytes()};
  if (lock.holder != nullptr) view.holders.push_back(this->view(*lock.holder, now));
  for (const auto& [ticket, record] : lock.queue) view.waiters.push_back(this->view(*record, now));
  view.shut_for = std::max<Duration>(lock.shut_until == Time::min() ? 0ns : lock.shut_until - now, 0ns);
  return view;
}

}  // namespace pawl::store::memory
