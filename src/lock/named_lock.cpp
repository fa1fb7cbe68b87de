#include "lock/named_lock.hpp"

#include "base/escaped.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace pawl::lock {

NamedLock::NamedLock(std::shared_ptr<ClientCore> client, store::LockKey key, LockAgreement agreed)
    : client_(std::move(client)), key_(std::move(key)), agreed_(agreed) {}

NamedLock::~NamedLock() {
  if (!runtime().inert()) client_->forget(key());
}

std::shared_ptr<local::LocalLock> NamedLock::queue(const local::Request& request) {
  const bool for_threads = key_.kind == Kind::mutex || key_.kind == Kind::rw;
  const bool apart = shared_ && shared_->full_of_readers(request);
  const bool share = for_threads && agreed_.bounds.passes > 0 && !apart;
  if (share && shared_) return shared_;
  auto queue = client_->make_queue(key_, agreed_);
  if (share) return shared_ = std::move(queue);
  if (own_.size() >= tidy_at_) {
    std::erase_if(own_, [](const auto& weak) { return weak.expired(); });
    tidy_at_ = std::max<std::size_t>(16, 2 * own_.size());
  }
  own_.push_back(queue);
  return queue;
}

void NamedLock::wake_on_close(const std::shared_ptr<base::Wakeup>& wakeup) {
  std::erase_if(wake_on_close_, [](const auto& weak) { return weak.expired(); });
  wake_on_close_.push_back(wakeup);
}

void NamedLock::close() {
  for (const auto& weak : wake_on_close_) {
    if (const auto wakeup = weak.lock()) wakeup->notify();
  }
  if (shared_) shared_->close();
  for (const auto& weak : own_) {
    if (const auto queue = weak.lock()) queue->close();
  }
}

void NamedLock::abandon(std::uint64_t thread) noexcept {
  if (runtime().inert()) return;
  const std::optional<Hold> hold = thread_holds_.take(thread);
  if (!hold) return;
  const char* const what = "a thread ended while it held the lock";
  base::or_out_of_memory([&] { client_->context().report(EventType::abandoned, key(), {hold->token(), {}, what}); });
}

}  // namespace pawl::lock
