#pragma once

#include "base/wakeup.hpp"
#include "lock/client_core.hpp"
#include "lock/thread_holds.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pawl::lock {

/// What all handles of one lock in one client share: the local queue, who is inside by thread, and what they agreed on.
/// Threads: all.
class NamedLock {
 public:
  NamedLock(std::shared_ptr<ClientCore> client, store::LockKey key, LockAgreement agreed);
  ~NamedLock();

  const store::LockKey& key() const { return key_; }
  const LockAgreement& agreed() const { return agreed_; }
  ClientCore& client() const { return *client_; }
  Runtime& runtime() const { return client_->runtime(); }
  ThreadHolds& thread_holds() { return thread_holds_; }

  /// The queue for one more acquisition. All share one, unless nothing may be passed on: then each asks the store for
  /// itself, so that the store alone decides who is next. So it is with permits and candidates, too, and with a reader
  /// who cannot come in beside the others. On the executor only, like close().
  std::shared_ptr<local::LocalLock> queue(const local::Request& request);
  /// Notified by close(). On the executor only.
  void wake_on_close(const std::shared_ptr<base::Wakeup>& wakeup);
  /// Waiters are told `closed`, holds are lost.
  void close();

  /// The thread of that number has ended: what it still held is released.
  void abandon(std::uint64_t thread) noexcept;

 private:
  const std::shared_ptr<ClientCore> client_;
  const store::LockKey key_;
  const LockAgreement agreed_;
  ThreadHolds thread_holds_;

  std::shared_ptr<local::LocalLock> shared_;               // on the executor only, like the next two
  std::vector<std::weak_ptr<local::LocalLock>> own_ = {};  // one for each acquisition
  std::size_t tidy_at_ = 16;
  std::vector<std::weak_ptr<base::Wakeup>> wake_on_close_ = {};
};

}  // namespace pawl::lock
