// What people are shown.

#include "store/file/tables.hpp"

#include <algorithm>
#include <chrono>

namespace pawl::store::file {

Tables::Page Tables::inspect(const LockKey& key, Bookmark from) {
  Page page{.continues = from.inside};
  // All holders are looked at for the first page only: for each page, that would be too much where there are very many.
  const auto lock = from.inside ? find(lock_key(key)) : find_living(lock_key(key));
  if (lock) {
    page.views.push_back(view(lock->record, from));
  } else if (!from.inside) {
    page.views.push_back({.kind = key.kind, .scheme = "queue", .name = key.name.bytes()});
  }
  if (lock && from.inside) page.next = std::move(from);
  return page;
}

Tables::Page Tables::list(std::string_view prefix, Bookmark from) {
  Page page;
  if (from.inside) {
    const auto lock = find(from.lock);
    page.continues = lock.has_value();
    if (lock) page.views.push_back(view(lock->record, from));
    if (!lock) from.inside = false;
  }
  while (room_ > 0 && !from.inside) {
    const auto key = ledger_.lock_after(from.lock);
    if (!key) return page;
    --room_;
    from = {.lock = *key};
    const auto lock = find_living(*key);
    if (!lock || !lock->record.key.name.bytes().starts_with(prefix)) continue;
    page.views.push_back(view(lock->record, from));
  }
  page.next = std::move(from);
  return page;
}

Owner Tables::owner(const ClaimRecord& claim) {
  const auto session = ledger_.session(claim.session);
  Owner owner = session ? session->owner : Owner{};
  if (!claim.label.empty()) owner.label = claim.label;
  return owner;
}

ClaimView Tables::view(const ClaimRecord& claim) {
  const auto session = ledger_.session(claim.session);
  return {.claim = to_string(claim.id),
          .mode = claim.mode,
          .owner = owner(claim),
          .age = now_ - claim.since,
          .token = claim.token,
          .slots = claim.slots,
          .permits = claim.permits,
          .value = claim.value,
          .lease_left = session ? session->ends - now_ : Duration::zero(),
          .release_requested = claim.release_requested};
}

/// From the bookmark on, which moves.
LockView Tables::view(const LockRecord& lock, Bookmark& at) {
  LockView view{.kind = lock.key.kind, .scheme = "queue", .name = lock.key.name.bytes()};
  view.permits = lock.permits;
  const auto show = [this](std::vector<ClaimView>& where, const ClaimRecord& claim) {
    if (room_ > 0) --room_;
    if (!is_over(claim)) where.push_back(this->view(claim));
  };
  if (lock.holder && !at.inside) show(view.holders, *lock.holder);
  while (room_ > 0) {
    const auto holder = ledger_.sharer_behind(lock.number, at.holder);
    if (!holder) break;
    at.holder = holder->ticket;
    show(view.holders, *holder);
  }
  while (room_ > 0) {
    const auto waiter = ledger_.waiter_behind(lock.number, at.waiter);
    if (!waiter) break;
    at.waiter = waiter->ticket;
    show(view.waiters, *waiter);
  }
  at.inside = room_ == 0;
  for (const Ghost& ghost : lock.ghosts) view.shut_for = std::max<Duration>(view.shut_for, ghost.until - now_);
  return view;
}

}  // namespace pawl::store::file
