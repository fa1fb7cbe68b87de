#include "lock/thread_holds.hpp"

#include "base/threads.hpp"
#include "lock/named_lock.hpp"

#include <utility>
#include <vector>

namespace pawl::lock {

namespace {

class HeldByThisThread {
 public:
  ~HeldByThisThread() {
    for (const auto& entry : std::exchange(held_, {})) {
      if (const auto lock = entry.second.lock()) lock->abandon(base::this_thread_number());
    }
  }
  void add(const std::shared_ptr<NamedLock>& lock) { held_.emplace_back(lock.get(), lock); }
  void remove(const NamedLock* lock) {
    std::erase_if(held_, [&](const auto& entry) { return entry.first == lock; });
  }

 private:
  std::vector<std::pair<const NamedLock*, std::weak_ptr<NamedLock>>> held_;
};

thread_local HeldByThisThread held_by_this_thread;

}  // namespace

void remember_for_thread_exit(const std::shared_ptr<NamedLock>& lock) { held_by_this_thread.add(lock); }
void forget_for_thread_exit(const NamedLock* lock) { held_by_this_thread.remove(lock); }

ThreadHolds::Entry ThreadHolds::enter(std::uint64_t thread) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(thread);
  if (found == records_.end()) return Entry::first;
  if (!found->second.hold.valid()) return Entry::lost;
  ++found->second.count;
  return Entry::again;
}

void ThreadHolds::begin(std::uint64_t thread, Hold hold) {
  const std::lock_guard lock(mutex_);
  records_.emplace(thread, Record{std::move(hold)});
}

std::optional<Hold> ThreadHolds::leave(std::uint64_t thread, bool& inside) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(thread);
  inside = found != records_.end();
  if (!inside || --found->second.count != 0) return std::nullopt;
  std::optional<Hold> hold(std::move(found->second.hold));
  records_.erase(found);
  return hold;
}

std::optional<Hold> ThreadHolds::take(std::uint64_t thread) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(thread);
  if (found == records_.end()) return std::nullopt;
  std::optional<Hold> hold(std::move(found->second.hold));
  records_.erase(found);
  return hold;
}

const Hold* ThreadHolds::find(std::uint64_t thread) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(thread);
  return found == records_.end() ? nullptr : &found->second.hold;
}

}  // namespace pawl::lock
