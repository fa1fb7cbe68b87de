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
  session->changed.erase(claim.id);
  if (session->tombstones.contains(claim.id) && !planted(Bug::late_claim_accepted)) {
    return Error{Errc::not_owner,
                 "lock " + claim.key.name.quoted() + ": claim " + to_string(claim.id) + " was withdrawn or taken away"};
  }
  if (claims_.contains(claim.id)) {
    const Record* known = find(claim);
    if (known == nullptr) return Error{Errc::invalid_argument, "claim " + to_string(claim.id) + " is another lock's"};
    return state(*known, now);
  }
  const Lock* taken = find_lock(claim.key);  // a free lock has no record
  const auto agreed = taken != nullptr && taken->used() ? std::optional(taken->permits) : std::nullopt;
  if (auto sound = check_sound(claim, agreed); !sound) return sound.error();
  const bool in_turn = taken == nullptr || taken->queue.empty() || planted(Bug::fitting_overtakes);
  const bool free = taken == nullptr || (in_turn && fits(*taken, claim));
  if (!free && !claim.may_queue) return ClaimState{waiting(claim, *taken, true, now)};
  Record& record = add(claim, *session, now);
  if (free) {
    grant(record, now);
  } else {
    join(record);
  }
  return state(record, now);
}

bool QueueTable::fits(const Lock& lock, const Claim& claim) {
  if (lock.barred()) return false;
  const bool haunted = std::any_of(lock.ghosts.begin(), lock.ghosts.end(),
                                   [](const Ghost& ghost) { return ghost.mode == Mode::exclusive; });
  Occupied occupied;
  occupied.by_anybody = !lock.holders.empty() || !lock.ghosts.empty();
  // Whoever holds exclusively is alone.
  occupied.by_exclusive =
      haunted || (!lock.holders.empty() && lock.holders.begin()->second->claim.mode == Mode::exclusive);
  occupied.free_permits = static_cast<std::uint32_t>(lock.free_slots.size());
  return store::fits(lock.key.kind, claim.mode, claim.permits.wanted, occupied);
}

Withdrawn QueueTable::withdraw(const Claim& claim, Withdrawal how, Time now) {
  Session* session = sessions_.find(claim.session);
  if (session != nullptr) session->changed.erase(claim.id);
  if (session != nullptr && how.unsettled) session->tombstones.insert(claim.id);

  Record* record = find(claim);
  if (planted(Bug::release_by_name)) {
    const Lock* lock = find_lock(claim.key);
    if (record == nullptr && lock != nullptr && !lock->holders.empty()) record = lock->holders.begin()->second;
  }
  if (record == nullptr) return Withdrawn::not_there;

  if (record->held() && how.ending == Ending::failed) haunt(*record, now);
  remove(*record, now);
  settle(now);
  return Withdrawn::done;
}

Standing QueueTable::look(const Claim& claim) {
  if (Session* session = sessions_.find(claim.session)) session->changed.erase(claim.id);
  const Record* record = find(claim);
  if (record == nullptr) return {};
  if (!record->held()) return {.place = Standing::Place::waiting};
  return {.place = Standing::Place::held,
          .token = record->token,
          .contended = !record->lock->queue.empty(),
          .release_requested = record->release_requested,
          .slots = record->slots};
}

Result<void> QueueTable::downgrade(const Claim& claim, Time now) {
  Record* record = find(claim);
  if (record == nullptr || !record->held() || record->claim.key.kind != Kind::rw) {
    return Error{Errc::not_owner, "claim " + to_string(claim.id) + " does not hold " + claim.key.name.quoted()};
  }
  record->claim.mode = Mode::shared;
  if (planted(Bug::downgrade_requeues)) {
    record->lock->holders.erase(std::exchange(record->ticket, ++last_ticket_));
    record->lock->queue.emplace(record->ticket, record);
  }
  unsettle(*record->lock);
  settle(now);
  return {};
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
  if (lock == nullptr) return false;
  return std::any_of(lock->holders.begin(), lock->holders.end(),
                     [&](const auto& entry) { return entry.second->token == token.with_sub(0); });
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
  remove(*record, now);
  settle(now);
  return true;
}

void QueueTable::end_session(const Session& session, Time at, bool expired) {
  for (const ClaimId id : session.claims) {
    Record& record = claims_.at(id);
    if (record.held()) {
      haunt(record, at);
      if (expired) record.lock->expired = record.token;
    }
    leave(record, at);
  }
}

Succession QueueTable::succession(const LockKey& key, Token after, Time now) const {
  const auto found = chronicles_.find(key);
  return found == chronicles_.end() ? Succession() : found->second.after(after, now);
}

void QueueTable::forget_elections(Time now) {
  for (; !vacated_.empty() && vacated_.front().first <= now; vacated_.pop_front()) {
    const auto found = chronicles_.find(vacated_.front().second);
    if (found != chronicles_.end() && found->second.stale(now)) chronicles_.erase(found);
  }
}

void QueueTable::settle(Time now) {
  exorcise(now);
  forget_elections(now);
  for (Lock* lock : std::exchange(unsettled_, {})) settle_one(*lock, now);
}

void QueueTable::settle_one(Lock& lock, Time now) {
  lock.settling = false;
  while (!lock.queue.empty() && fits(lock, lock.queue.begin()->second->claim)) {
    Record& head = *lock.queue.begin()->second;
    lock.queue.erase(lock.queue.begin());
    grant(head, now);
    const bool permits = lock.key.kind == Kind::permits;
    const Notice granted{.what = Notice::What::granted, .grant = {head.token, !lock.queue.empty()}};
    tell(head, permits ? Notice{.what = Notice::What::look_again} : granted);
  }
  if (!lock.used() && !lock.barred()) {
    locks_.erase(locks_.find(lock.key));
    return;
  }
  // It waited for a holder that has gone, or behind somebody who has: now it waits for the time.
  if (!lock.queue.empty() && (!lock.ghosts.empty() || lock.barred())) {
    tell(*lock.queue.begin()->second, {.what = Notice::What::look_again});
  }
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

void QueueTable::bar(const LockKey& key, Time until, Time now) {
  Lock& lock = use_lock(key);
  lock.barred_until = std::max(lock.barred_until, until);
  haunted_.emplace(std::pair(until, lock.number), &lock);
  unsettle(lock);
  settle(now);
}

QueueTable::Record& QueueTable::add(const Claim& claim, Session& session, Time now) {
  session.claims.insert(claim.id);
  Lock& lock = use_lock(claim.key);
  if (!lock.used()) {  // those who use it from now on agree on this number
    lock.permits = claim.permits.of;
    lock.free_slots.clear();
    for (std::uint32_t slot = 0; slot < lock.permits; ++slot) lock.free_slots.insert(slot);
  }
  Record record{.claim = claim, .lock = &lock, .ticket = ++last_ticket_, .since = now};
  return claims_.emplace(claim.id, std::move(record)).first->second;
}

void QueueTable::grant(Record& record, Time now) {
  Lock& lock = *record.lock;
  lock.holders.emplace(record.ticket, &record);
  record.since = now;
  for (std::uint32_t i = 0; i < record.claim.permits.wanted; ++i) {
    record.slots.push_back(*lock.free_slots.begin());
    lock.free_slots.erase(lock.free_slots.begin());
  }
  if (planted(Bug::token_reused) && lock.expired) {
    record.token = *lock.expired;
  } else {
    record.token = Token(epoch_, ++counter_);
  }
  lock.expired.reset();
  if (lock.key.kind == Kind::election) {
    chronicles_[lock.key].begin({.value = record.claim.value, .token = record.token, .owner = owner(record)}, now);
  }
}

void QueueTable::join(Record& record) {
  Lock& lock = *record.lock;
  const bool first = lock.queue.empty();
  lock.queue.emplace(record.ticket, &record);
  if (!first) return;
  for (const auto& [ticket, holder] : lock.holders) {
    tell(*holder, {.what = Notice::What::contended, .grant = {holder->token, true}});
  }
}

void QueueTable::remove(Record& record, Time now) {
  Session* session = sessions_.find(record.claim.session);
  if (session != nullptr) session->claims.erase(record.claim.id);
  leave(record, now);
}

void QueueTable::leave(Record& record, Time now) {
  Lock& lock = *record.lock;
  if (lock.holders.erase(record.ticket) == 0) {
    lock.queue.erase(record.ticket);
  } else if (lock.key.kind == Kind::election) {
    chronicles_[lock.key].end(now);
    vacated_.emplace_back(base::after(now, Chronicle::kept), lock.key);
  }
  lock.free_slots.insert(record.slots.begin(), record.slots.end());
  unsettle(lock);
  claims_.erase(record.claim.id);
}

// Before it leaves: its slots go with the ghost.
void QueueTable::haunt(Record& record, Time from) {
  if (record.claim.lock_delay <= 0ns) return;
  Lock& lock = *record.lock;
  const Time until = base::after(from, record.claim.lock_delay);
  if (planted(Bug::slot_freed_twice)) lock.free_slots.insert(record.slots.begin(), record.slots.end());
  lock.ghosts.push_back({until, record.claim.mode, std::exchange(record.slots, {})});
  haunted_.emplace(std::pair(until, lock.number), &lock);
}

void QueueTable::exorcise(Time now) {
  while (!haunted_.empty() && haunted_.begin()->first.first <= now) {
    Lock& lock = *haunted_.begin()->second;
    haunted_.erase(haunted_.begin());
    std::erase_if(lock.ghosts, [&](const Ghost& ghost) {
      if (ghost.until > now) return false;
      lock.free_slots.insert(ghost.slots.begin(), ghost.slots.end());
      return true;
    });
    if (lock.barred_until <= now) lock.barred_until = Time::min();
    unsettle(lock);
  }
}

void QueueTable::unsettle(Lock& lock) {
  if (std::exchange(lock.settling, true)) return;
  unsettled_.push_back(&lock);
}

void QueueTable::tell(const Record& record, Notice notice) {
  sessions_.find(record.claim.session)->changed.insert(record.claim.id);
  mail_.push_back({record.claim.id, notice});
}

ClaimState QueueTable::state(const Record& record, Time now) const {
  const Lock& lock = *record.lock;
  if (record.held()) return Granted{record.token, !lock.queue.empty(), record.slots};
  const bool next = lock.queue.begin()->second == &record;
  Waiting answer = waiting(record.claim, lock, next, now);
  // Its place in the middle would have to be counted; the two ends are known.
  const std::uint64_t holders = lock.holders.size();
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
  if (next) {
    for (const Ghost& ghost : lock.ghosts) wake = std::min(wake, ghost.until);
    if (lock.barred()) wake = std::min(wake, lock.barred_until);
  }
  const Duration lease = claim.lease > 0ns ? claim.lease : sessions_.find(claim.session)->lease;
  Waiting answer{.look_again_in = std::max<Duration>(std::min<Duration>(wake - now + 1ms, lease / 3), 1ms)};
  if (!lock.holders.empty()) answer.holder = owner(*lock.holders.begin()->second);
  for (const Ghost& ghost : lock.ghosts) answer.shut_for = std::max<Duration>(answer.shut_for, ghost.until - now);
  if (lock.barred()) answer.shut_for = std::max<Duration>(answer.shut_for, lock.barred_until - now);
  const auto used = static_cast<std::uint32_t>(lock.permits - lock.free_slots.size());
  if (lock.permits > 0) answer.permits = divide(used, lock.ghosts);
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
          .slots = record.slots,
          .permits = record.claim.permits.wanted,
          .value = record.claim.value,
          .lease_left = sessions_.find(record.claim.session)->ends - now,
          .release_requested = record.release_requested};
}

LockView QueueTable::view(const Lock& lock, Time now) const {
  LockView view{.kind = lock.key.kind, .scheme = "queue", .name = lock.key.name.bytes(), .permits = lock.permits};
  for (const auto& [ticket, record] : lock.holders) view.holders.push_back(this->view(*record, now));
  for (const auto& [ticket, record] : lock.queue) view.waiters.push_back(this->view(*record, now));
  for (const Ghost& ghost : lock.ghosts) view.shut_for = std::max<Duration>(view.shut_for, ghost.until - now);
  if (lock.barred()) view.shut_for = std::max<Duration>(view.shut_for, lock.barred_until - now);
  return view;
}

}  // namespace pawl::store::memory
