#include "lock/named_lock.hpp"

#include <optional>
#include <utility>

namespace pawl::lock {

NamedLock::NamedLock(std::shared_ptr<ClientCore> client, std::shared_ptr<local::LocalLock> queue, LockAgreement agreed)
    : client_(std::move(client)), queue_(std::move(queue)), agreed_(agreed) {}

NamedLock::~NamedLock() {
  if (!runtime().inert()) client_->forget(key());
}

void NamedLock::abandon(std::uint64_t thread) noexcept {
  if (runtime().inert()) return;
  const std::optional<Hold> hold = thread_holds_.take(thread);
  if (!hold) return;
  const char* const what = "a thread ended while it held the lock";
  client_->context().report(EventType::abandoned, key(), {hold->token(), {}, what});
}

}  // namespace pawl::lock
