// How claims leave the tables, and how the next one comes to hold.

#include "store/file/tables.hpp"

#include <utility>

namespace pawl::store::file {

void Tables::end_session(SessionId id, const SessionRecord& record, Time at) {
  for (const auto& [claim, place] : ledger_.places_of(id)) {
    ledger_.erase_place(id, claim);
    if (!place.tombstone) leave(place.lock, claim, place.ticket, at);
  }
  ledger_.erase_session(id, record);
}

void Tables::retire(ProcessKey process) {
  for (const SessionId id : ledger_.sessions_of(process)) {
    const auto session = ledger_.session(id);
    if (session) end_session(id, *session, now_);  // a death is stamped by whoever first sees it
  }
}

void Tables::leave(const std::string& key, ClaimId claim, std::uint64_t ticket, std::optional<Time> failed) {
  std::optional<Open> lock = find(key);
  if (!lock) return;
  LockRecord& record = lock->record;
  if (!record.holder || record.holder->id != claim) return leave_queue(*lock, ticket);
  const Duration delay = failed ? record.holder->lock_delay : Duration::zero();
  record.holder.reset();
  if (delay == Duration::zero() && record.waiters == 0) return ledger_.erase_lock(key);  // free
  if (failed && delay > Duration::zero()) shut(*lock, base::after(*failed, delay));
  ledger_.put_lock(key, record);
  unsettled_.push_back(key);
}

void Tables::leave_queue(Open& lock, std::uint64_t ticket) {
  const auto behind = ledger_.waiter_behind(lock.record.number, ticket);
  ledger_.erase_waiter(lock.record.number, ticket);
  if (lock.record.waiters > 0) --lock.record.waiters;
  ledger_.put_lock(lock.key, lock.record);
  if (!lock.record.holder) unsettled_.push_back(lock.key);
  // It watched the process of the one who leaves, and must learn whom to watch now.
  if (behind) tell(*behind, {.what = Notice::What::look_again});
}

void Tables::shut(Open& lock, Time until) {
  if (until <= now_) return;
  lock.record.shut_until = until;
  ledger_.add_shut(lock.key, until);
  // It waits for a holder that has gone; now it waits for the time.
  const auto head = ledger_.first_waiter(lock.record.number);
  if (head) tell(*head, {.what = Notice::What::look_again});
}

void Tables::settle() {
  while (!unsettled_.empty()) {
    const std::string key = std::move(unsettled_.back());
    unsettled_.pop_back();
    settle_one(key);
  }
}

void Tables::settle_one(const std::string& key) {
  std::optional<Open> lock = find(key);
  if (!lock || lock->record.holder || lock->record.shut_until > now_) return;
  const auto head = ledger_.first_waiter(lock->record.number);
  if (!head) return ledger_.erase_lock(key);
  const auto session = ledger_.session(head->session);
  if (!session) return leave_queue(*lock, head->ticket);  // never: a session takes its claims along
  if (!roll_.alive(session->process)) {
    retire(session->process);
    unsettled_.push_back(key);
    return;
  }
  ledger_.erase_waiter(lock->record.number, head->ticket);
  if (lock->record.waiters > 0) --lock->record.waiters;
  grant(lock->record, *head);
  ledger_.put_lock(key, lock->record);
  if (!lock->record.holder) return;  // out of tokens: all of this is undone
  tell(*lock->record.holder,
       {.what = Notice::What::granted, .grant = {lock->record.holder->token, lock->record.waiters > 0}});
}

void Tables::tell(const ClaimRecord& claim, Notice notice) {
  auto session = ledger_.session(claim.session);
  if (!session) return;
  letters_.push_back({session->process, session->mailbox, claim.id, notice});
  // A waiter asks again by itself; only a holder has nothing to ask but whether there is news.
  if (notice.what == Notice::What::look_again || notice.what == Notice::What::granted) return;
  ++session->changes;
  ledger_.put_session(claim.session, *session);
}

}  // namespace pawl::store::file
