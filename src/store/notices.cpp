#include "store/notices.hpp"

#include <utility>
#include <vector>

namespace pawl::store {

void Notices::watch(ClaimId claim, Waker waker) {
  auto shared = std::make_shared<const Waker>(std::move(waker));
  const std::lock_guard lock(mutex_);
  wakers_[claim].swap(shared);  // what was there ends after the mutex is released
}

void Notices::unwatch(ClaimId claim) {
  SharedWaker last;
  const std::lock_guard lock(mutex_);
  const auto found = wakers_.find(claim);
  if (found == wakers_.end()) return;
  last = std::move(found->second);
  wakers_.erase(found);
}

bool Notices::watched(ClaimId claim) const {
  const std::lock_guard lock(mutex_);
  return wakers_.contains(claim);
}

std::size_t Notices::size() const {
  const std::lock_guard lock(mutex_);
  return wakers_.size();
}

void Notices::tell(ClaimId claim, const Notice& notice) const {
  SharedWaker waker;
  {
    const std::lock_guard lock(mutex_);
    const auto found = wakers_.find(claim);
    if (found != wakers_.end()) waker = found->second;
  }
  if (waker) (*waker)(notice);
}

void Notices::tell_all_to_look() const {
  std::vector<SharedWaker> wakers;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [claim, waker] : wakers_) wakers.push_back(waker);
  }
  for (const SharedWaker& waker : wakers) (*waker)({.what = Notice::What::look_again});
}

ClientNotices::~ClientNotices() {
  for (const auto& [claim, notices] : watched_) {
    if (const auto still = notices.lock()) still->unwatch(claim);
  }
}

void ClientNotices::watch(const std::shared_ptr<Notices>& notices, ClaimId claim, Waker waker) {
  watched_[claim] = notices;
  notices->watch(claim, std::move(waker));
}

void ClientNotices::unwatch(ClaimId claim) {
  const auto found = watched_.find(claim);
  if (found == watched_.end()) return;
  if (const auto still = found->second.lock()) still->unwatch(claim);
  watched_.erase(found);
}

}  // namespace pawl::store
