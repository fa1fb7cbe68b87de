#pragma once

#include "lock/access.hpp"
#include "lock/named_lock.hpp"

#include <pawl/hold.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace pawl::lock {

/// What stands behind a Hold.
class HoldCore {
 public:
  HoldCore(std::shared_ptr<NamedLock> lock, std::shared_ptr<local::LocalLock> queue,
           std::shared_ptr<local::LocalHold> hold)
      : lock_(std::move(lock)),
        queue_(std::move(queue)),
        hold_(std::move(hold)),
        store_id_(lock_->client().store_id()) {}

  static Hold face(std::shared_ptr<HoldCore> core) { return Access::make<Hold>(std::move(core)); }
  static const std::shared_ptr<HoldCore>& behind(const Hold& hold) { return Access::core(hold); }

  const local::LocalHold& hold() const { return *hold_; }
  /// Of one of its permits; of the whole, where there are none.
  Sequencer sequencer(std::size_t permit) const;
  Runtime& runtime() const { return lock_->runtime(); }
  bool inert() const { return lock_->runtime().inert(); }

  /// The coroutine form of Hold::release().
  awaitable<Result<void>> release();
  /// In two parts: lets go without waiting, on the executor...
  Result<std::shared_ptr<claim::Settlement>> begin_release();
  /// ... and the rest.
  awaitable<Result<void>> settled(std::shared_ptr<claim::Settlement> settlement);
  Result<void> release_blocking();
  awaitable<Result<void>> downgrade();
  Result<void> downgrade_blocking();
  void send_downgrade() noexcept;
  /// Lets go without waiting for the store's word.
  void send_release() noexcept;

 private:
  static awaitable<void> finish_downgrade(std::shared_ptr<NamedLock> lock, std::shared_ptr<local::LocalLock> queue,
                                          std::shared_ptr<local::LocalHold> hold);
  Result<void> let_go();
  Result<void> wait_for_release();
  Result<void> can_be_shared() const;
  void send();

  const std::shared_ptr<NamedLock> lock_;
  const std::shared_ptr<local::LocalLock> queue_;  // where it was granted
  const std::shared_ptr<local::LocalHold> hold_;
  const std::uint64_t store_id_;  // at the grant: a store that comes back empty may have another one
};

}  // namespace pawl::lock
