// How claims leave the tables, and how the next one comes to hold.

#include "store/file/planted.hpp"
#include "store/file/tables.hpp"

#include <utility>
#include <vector>

namespace pawl::store::file {

void Tables::retire(ProcessKey process) {
  for (const SessionId id : ledger_.sessions_of(process, batch)) {
    const auto session = this->session(id);
    if (session) ledger_.end_session(id, *session, now_);  // a death is stamped by whoever first sees it
  }
}

/// What sessions that have ended left behind, as far as the batch goes.
void Tables::sweep_claims() {
  while (left_ > 0 && counters().ended > 0) {
    const auto session = ledger_.first_ended();
    if (!session) return;  // only in a transaction that has failed
    const std::optional<Time> at = ledger_.ended(*session);
    for (const auto& [claim, place] : ledger_.places_of(*session, left_)) {
      --left_;
      if (!planted(Fault::place_stays)) forget(*session, claim);
      if (!place.tombstone) leave(place.lock, claim, place.ticket, at);
    }
    if (left_ > 0) ledger_.forget_ended(*session);
  }
}

void Tables::forget(SessionId session, ClaimId claim) {
  ledger_.erase_place(session, claim);
  ledger_.erase_news(session, claim);
}

void Tables::evict(const std::string& key, const ClaimRecord& claim) {
  --left_;
  forget(claim.session, claim.id);
  leave(key, claim.id, claim.ticket, ledger_.ended(claim.session).value_or(now_));
}

void Tables::leave(const std::string& key, ClaimId claim, std::uint64_t ticket, std::optional<Time> failed) {
  std::optional<Open> lock = find(key);
  if (!lock) return;
  const std::optional<ClaimRecord> holder = find_holder(lock->record, claim, ticket);
  if (!holder) return leave_queue(*lock, ticket);
  if (lock->record.holder) {
    lock->record.holder.reset();
    if (lock->record.key.kind == Kind::election) {
      Chronicle chronicle = ledger_.chronicle(key);
      chronicle.end(failed.value_or(now_));
      ledger_.put_chronicle(key, chronicle);
      ledger_.add_shut(key, base::after(now_, Chronicle::kept));  // then it may be forgotten
    }
  } else {
    ledger_.erase_sharer(lock->record.number, ticket);
    --lock->record.sharers;
  }
  if (failed && holder->lock_delay > Duration::zero() && !planted(Fault::no_lock_delay)) {
    haunt(*lock, *holder, *failed);
  } else {
    lock->record.free_slots(holder->slots);
  }
  if (!lock->record.in_use()) return ledger_.erase_lock(key);  // free
  ledger_.put_lock(key, lock->record);
  unsettled_.push_back(key);
}

void Tables::leave_queue(Open& lock, std::uint64_t ticket) {
  const auto behind = ledger_.waiter_behind(lock.record.number, ticket);
  ledger_.erase_waiter(lock.record.number, ticket);
  if (lock.record.waiters > 0) --lock.record.waiters;
  ledger_.put_lock(lock.key, lock.record);
  unsettled_.push_back(lock.key);  // whoever is behind it may fit
  // It watched the process of the one who leaves, and must learn whom to watch now.
  if (behind) tell(*behind, {.what = Notice::What::look_again});
}

void Tables::haunt(Open& lock, const ClaimRecord& holder, Time from) {
  const Time until = base::after(from, holder.lock_delay);
  if (until <= now_) return lock.record.free_slots(holder.slots);
  lock.record.ghosts.push_back({until, holder.mode, holder.slots});
  ledger_.add_shut(lock.key, until);
}

/// True: one has gone.
bool Tables::exorcise(LockRecord& lock) const {
  return std::erase_if(lock.ghosts, [&](const Ghost& ghost) {
           if (ghost.until > now_) return false;
           lock.free_slots(ghost.slots);
           return true;
         }) > 0;
}

void Tables::settle() {
  while (!unsettled_.empty()) {
    const std::string key = std::move(unsettled_.back());
    unsettled_.pop_back();
    if (left_ > 0) {
      settle_one(key);
    } else {
      ledger_.add_shut(key, now_);  // with the next batch
    }
  }
}

void Tables::settle_one(const std::string& key) {
  std::optional<Open> lock = find(key);
  if (!lock) return forget_election(key);
  LockRecord& record = lock->record;
  bool changed = exorcise(record);
  bool granted_one = false;
  auto head = ledger_.first_waiter(record.number);
  for (; head && left_ > 0 && fits(record, *head); head = ledger_.first_waiter(record.number)) {
    --left_;
    ledger_.erase_waiter(record.number, head->ticket);
    if (record.waiters > 0) --record.waiters;
    changed = true;
    if (is_over(*head)) {
      forget(head->session, head->id);
      continue;
    }
    granted_one = true;
    const auto granted = grant(record, *head);
    if (!granted) return;  // out of tokens: all of this is undone
    if (!planted(Fault::silent_grant)) tell_granted(record, *granted);
  }
  if (!record.in_use()) return ledger_.erase_lock(key);
  if (changed) ledger_.put_lock(key, record);
  if (left_ == 0) ledger_.add_shut(key, now_);  // with the next batch
  // It waited for a holder that has gone; now it waits for the time. Or for several holders: it must learn whom to watch.
  const bool news = !record.ghosts.empty() || (granted_one && record.sharers > 0);
  if (head && news) tell(*head, {.what = Notice::What::look_again});
}

void Tables::forget_election(const std::string& key) {
  if (is_election(key) && ledger_.chronicle(key).stale(now_)) ledger_.erase_chronicle(key);
}

void Tables::tell_granted(const LockRecord& lock, const ClaimRecord& holder) {
  Notice notice{.what = Notice::What::look_again};  // a letter has no room for slots
  if (lock.key.kind != Kind::permits) {
    notice = {.what = Notice::What::granted, .grant = {holder.token, lock.waiters > 0}};
  }
  tell(holder, notice);
}

void Tables::tell(const ClaimRecord& claim, Notice notice) {
  const auto session = ledger_.session(claim.session);
  if (!session) return;
  letters_.push_back({session->process, session->mailbox, claim.id, notice});
  ledger_.add_news(claim.session, claim.id);
}

}  // namespace pawl::store::file
