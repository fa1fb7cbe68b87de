// What people are shown.

#include "store/file/tables.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace pawl::store::file {

LockView Tables::inspect(const LockKey& key) {
  bury_the_dead();
  const auto lock = find(lock_key(key));
  if (lock) return view(lock->record);
  return {.kind = key.kind, .scheme = "queue", .name = key.name.bytes()};
}

std::vector<LockView> Tables::list(std::string_view prefix) {
  bury_the_dead();
  std::vector<LockView> views;
  ledger_.for_each_lock([&](const LockRecord& lock) {
    if (lock.key.name.bytes().starts_with(prefix)) views.push_back(view(lock));
  });
  std::sort(views.begin(), views.end(), [](const LockView& one, const LockView& other) {
    return std::tie(one.kind, one.name) < std::tie(other.kind, other.name);
  });
  return views;
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

LockView Tables::view(const LockRecord& lock) {
  LockView view{.kind = lock.key.kind, .scheme = "queue", .name = lock.key.name.bytes()};
  view.permits = lock.permits;
  for (const ClaimRecord& holder : holders(lock)) view.holders.push_back(this->view(holder));
  auto waiter = ledger_.first_waiter(lock.number);
  while (waiter) {
    view.waiters.push_back(this->view(*waiter));
    waiter = ledger_.waiter_behind(lock.number, waiter->ticket);
  }
  for (const Ghost& ghost : lock.ghosts) view.shut_for = std::max<Duration>(view.shut_for, ghost.until - now_);
  return view;
}

}  // namespace pawl::store::file
