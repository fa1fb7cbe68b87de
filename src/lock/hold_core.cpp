#include "lock/hold_core.hpp"

namespace pawl::lock {

Sequencer HoldCore::sequencer() const {
  const store::LockKey& key = lock_->key();
  Sequencer sequencer;
  sequencer.store_id = lock_->client().store_id();
  sequencer.kind = key.kind;
  sequencer.token = hold_->token();
  sequencer.name = key.name.bytes();
  return sequencer;
}

Result<void> HoldCore::let_go() {
  if (inert()) return Error{Errc::closed, "this hold belongs to the process before fork()"};
  if (hold_->state() == HoldState::released) return Error{Errc::not_owner, "this hold was released already"};
  if (!hold_->let_go()) return Error{Errc::lost, "the hold was lost before it was released"};
  return {};
}

awaitable<Result<void>> HoldCore::release() {
  const auto lock = lock_;
  const auto queue = queue_;
  const auto hold = hold_;
  if (auto ours = let_go(); !ours) co_return ours;
  co_return co_await queue->release(hold);
}

Result<void> HoldCore::release_blocking() {
  Runtime& runtime = lock_->runtime();
  if (!inert() && runtime.may_block()) return runtime.block_on(release());
  auto ours = let_go();
  if (ours) runtime.send([queue = queue_, hold = hold_] { queue->send_release(hold); });
  return ours;
}

void HoldCore::send_release() noexcept {
  if (!let_go()) return;
  lock_->runtime().send([queue = queue_, hold = hold_] { queue->send_release(hold); });
}

}  // namespace pawl::lock
