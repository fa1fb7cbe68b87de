#pragma once

#include "lock/named_lock.hpp"

#include <pawl/hold.hpp>

#include <memory>

namespace pawl::lock {

/// What stands behind a Hold.
class HoldCore {
 public:
  HoldCore(std::shared_ptr<NamedLock> lock, std::shared_ptr<local::LocalLock> queue,
           std::shared_ptr<local::LocalHold> hold)
      : lock_(std::move(lock)), queue_(std::move(queue)), hold_(std::move(hold)) {}

  static Hold face(std::shared_ptr<HoldCore> core) { return Hold(std::move(core)); }
  static const std::shared_ptr<HoldCore>& behind(const Hold& hold) { return hold.core_; }

  const local::LocalHold& hold() const { return *hold_; }
  Sequencer sequencer() const;
  bool inert() const { return lock_->runtime().inert(); }

  /// The coroutine form of Hold::release().
  awaitable<Result<void>> release();
  Result<void> release_blocking();
  /// Lets go without waiting for the store's word.
  void send_release() noexcept;

 private:
  Result<void> let_go();
  void send();

  const std::shared_ptr<NamedLock> lock_;
  const std::shared_ptr<local::LocalLock> queue_;  // where it was granted
  const std::shared_ptr<local::LocalHold> hold_;
};

}  // namespace pawl::lock
