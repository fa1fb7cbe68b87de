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

ThreadHolds::Entry ThreadHolds::enter(std::uint64_t thread, Mode mode) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(thread);
  if (found == records_.end()) return Entry::first;
  Record& record = found->second;
  if (!record.hold.valid()) return Entry::lost;
  if (mode == Mode::exclusive && record.exclusive == 0) return Entry::would_deadlock;
  ++record.count(mode);
  return Entry::again;
}

void ThreadHolds::begin(std::uint64_t thread, Mode mode, Hold hold) {
  const std::lock_guard lock(mutex_);
  Record record{std::move(hold)};
  record.count(mode) = 1;
  records_.emplace(thread, std::move(record));
}

ThreadHolds::Left ThreadHolds::leave(std::uint64_t thread, Mode mode) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(thread);
  if (found == records_.end() || found->second.count(mode) == 0) return {};
  Record& record = found->second;
  Left left{.was_inside = true};
  if (--record.count(mode) != 0) return left;
  if (record.exclusive == 0 && record.shared == 0) {
    left.hold.emplace(std::move(record.hold));
    records_.erase(found);
  } else if (mode == Mode::exclusive) {
    left.downgrade = &record.hold;  // stays where it is: only this thread takes it out
  }
  return left;
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
