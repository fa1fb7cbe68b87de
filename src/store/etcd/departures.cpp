#include "store/etcd/departures.hpp"

#include <algorithm>
#include <utility>

namespace pawl::store::etcd {

Departures::Departure::Departure(std::shared_ptr<Departures> all, std::string lock)
    : all_(std::move(all)), lock_(std::move(lock)) {
  ++all_->locks_[lock_].under_way;
}

Departures::Departure::~Departure() {
  const auto found = all_->locks_.find(lock_);
  if (--found->second.under_way > 0) return;
  const auto waiting = std::move(found->second.waiting);
  all_->locks_.erase(found);
  for (const auto& wakeup : waiting) wakeup->notify();
}

base::awaitable<void> Departures::all_answered(std::string lock, base::Deadline deadline) {
  const auto self = shared_from_this();
  const auto found = locks_.find(lock);
  if (found == locks_.end()) co_return;
  const auto answered = std::make_shared<base::Wakeup>(runtime_);
  found->second.waiting.push_back(answered);
  co_await answered->wait(deadline.at);
  const auto still = locks_.find(lock);
  if (still != locks_.end()) std::erase(still->second.waiting, answered);
}

}  // namespace pawl::store::etcd
