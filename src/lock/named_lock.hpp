#pragma once

#include "lock/client_core.hpp"
#include "lock/thread_holds.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace pawl::lock {

/// What all handles of one lock in one client share: the local queue, who is inside by thread, and what they agreed on.
/// Threads: all.
class NamedLock {
 public:
  NamedLock(std::shared_ptr<ClientCore> client, std::shared_ptr<local::LocalLock> queue, LockAgreement agreed);
  ~NamedLock();

  const store::LockKey& key() const { return queue_->key(); }
  const LockAgreement& agreed() const { return agreed_; }
  ClientCore& client() const { return *client_; }
  Runtime& runtime() const { return client_->runtime(); }
  const std::shared_ptr<local::LocalLock>& queue() const { return queue_; }
  ThreadHolds& thread_holds() { return thread_holds_; }

  /// The thread of that number has ended: what it still held is released.
  void abandon(std::uint64_t thread) noexcept;

 private:
  const std::shared_ptr<ClientCore> client_;
  const std::shared_ptr<local::LocalLock> queue_;
  const LockAgreement agreed_;
  ThreadHolds thread_holds_;
};

}  // namespace pawl::lock
