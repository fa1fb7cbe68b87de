#include "lock/hold_core.hpp"

#include <optional>

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
  if (hold_->released()) return Error{Errc::not_owner, "this hold was released already"};
  if (!hold_->let_go()) return Error{Errc::lost, "the hold was lost before it was released"};
  return {};
}

awaitable<Result<void>> HoldCore::release() {
  const auto lock = lock_;
  const auto queue = queue_;
  if (auto ours = let_go(); !ours) co_return ours;
  co_return co_await queue->release(hold_);
}

Result<void> HoldCore::release_blocking() {
  if (auto ours = let_go(); !ours) return ours;
  Runtime& runtime = lock_->runtime();
  if (!runtime.may_block()) {
    send();
    return {};
  }
  const auto settlement = std::make_shared<claim::Settlement>(runtime);
  std::optional<Result<void>> outcome;
  const bool begun = runtime.run_here(
      [&] {
        queue_->send_release(hold_, settlement);
        outcome = settlement->outcome;
      },
      Runtime::Afterwards::may_wait);
  if (outcome) return *outcome;
  return runtime.block_on(begun ? queue_->settled(settlement) : queue_->release(hold_));
}

void HoldCore::send_release() noexcept {
  if (let_go()) send();
}

void HoldCore::send() {
  const auto release = [queue = queue_, hold = hold_] { queue->send_release(hold, nullptr); };
  Runtime& runtime = lock_->runtime();
  if (!runtime.run_here(release, Runtime::Afterwards::leaves)) runtime.send(release);
}

}  // namespace pawl::lock
