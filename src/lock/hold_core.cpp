#include "lock/hold_core.hpp"

#include "base/escaped.hpp"

#include <optional>
#include <utility>

namespace pawl::lock {

Sequencer HoldCore::sequencer(std::size_t permit) const {
  const store::LockKey& key = lock_->key();
  Sequencer sequencer;
  sequencer.store_id = store_id_;
  sequencer.kind = key.kind;
  sequencer.mode = hold_->mode();
  if (permit < hold_->slots().size()) sequencer.slot = hold_->slots()[permit];
  sequencer.token = hold_->token();
  sequencer.name = key.name.bytes();
  return sequencer;
}

Result<void> HoldCore::let_go() {
  if (inert()) return Error{Errc::closed, "this hold belongs to the process before fork()"};
  if (hold_->released()) return Error{Errc::not_owner, "this hold was released already"};
  // From here on the release must be sent, or the lock stays taken for as long as the client lives.
  if (!base::or_out_of_memory([this] { return hold_->let_go(); })) return hold_->lost_before_release();
  return {};
}

awaitable<Result<void>> HoldCore::release() {
  const auto lock = lock_;
  const auto queue = queue_;
  if (auto ours = let_go(); !ours) co_return ours;
  awaitable<Result<void>> released = base::or_out_of_memory([this] { return queue_->release(hold_); });
  co_return co_await std::move(released);
}

Result<std::shared_ptr<claim::Settlement>> HoldCore::begin_release() {
  if (auto ours = let_go(); !ours) return ours.error();
  return base::or_out_of_memory([this] {
    auto settlement = std::make_shared<claim::Settlement>(lock_->runtime());
    queue_->send_release(hold_, settlement);
    return settlement;
  });
}

awaitable<Result<void>> HoldCore::settled(std::shared_ptr<claim::Settlement> settlement) {
  return queue_->settled(std::move(settlement));
}

Result<void> HoldCore::release_blocking() {
  if (auto ours = let_go(); !ours) return ours;
  return base::or_out_of_memory([this] { return wait_for_release(); });
}

Result<void> HoldCore::wait_for_release() {
  Runtime& runtime = lock_->runtime();
  if (!runtime.may_block()) {
    send();
    return {};
  }
  const auto settlement = std::make_shared<claim::Settlement>(runtime);
  Result<void> outcome = Error{Errc::outcome_unknown, "the release was not begun"};
  const bool sent = runtime.wait_here([&](const Runtime::Done& done) {
    queue_->send_release(hold_, settlement);
    if (settlement->outcome) {
      outcome = *settlement->outcome;
      return false;
    }
    queue_->wait_without_coroutine(settlement, [&outcome, done](Result<void> known) {
      outcome = std::move(known);
      done();
    });
    return true;
  });
  return sent ? outcome : runtime.block_on(queue_->release(hold_));
}

/// Before anything is done to the hold: its sequencers would say that it is shared from then on.
Result<void> HoldCore::can_be_shared() const {
  const Kind kind = lock_->key().kind;
  if (kind == Kind::rw) return {};
  return Error{Errc::unsupported, "only a hold of a SharedMutex can be downgraded; " + lock_->key().name.quoted() +
                                      " is of the kind " + std::string(to_string(kind))};
}

awaitable<Result<void>> HoldCore::downgrade() {
  const auto lock = lock_;
  const auto queue = queue_;
  if (inert()) co_return Error{Errc::closed, "this hold belongs to the process before fork()"};
  if (auto can = can_be_shared(); !can) co_return can;
  co_return co_await queue->downgrade(hold_);
}

Result<void> HoldCore::downgrade_blocking() {
  if (inert()) return Error{Errc::closed, "this hold belongs to the process before fork()"};
  return lock_->runtime().block_on(downgrade());
}

awaitable<void> HoldCore::finish_downgrade(std::shared_ptr<NamedLock> lock, std::shared_ptr<local::LocalLock> queue,
                                           std::shared_ptr<local::LocalHold> hold) {
  Result<void> done = co_await queue->downgrade(hold);
  if (done || done.code() == Errc::lost) co_return;
  const std::string message = "it could not be downgraded, others read when it is released: " + done.error().message;
  lock->client().context().report(EventType::unfinished, lock->key(), {hold->token(), {}, message});
}

void HoldCore::send_downgrade() noexcept {
  if (inert()) return;
  base::or_out_of_memory([this] {
    lock_->runtime().send([lock = lock_, queue = queue_, hold = hold_] {
      base::spawn(lock->runtime(), finish_downgrade(lock, queue, hold));
    });
  });
}

void HoldCore::send_release() noexcept {
  base::or_out_of_memory([this] {
    if (let_go()) send();
  });
}

void HoldCore::send() {
  const auto release = [queue = queue_, hold = hold_] { queue->send_release(hold, nullptr); };
  Runtime& runtime = lock_->runtime();
  if (!runtime.run_here(release, Runtime::Afterwards::leaves)) runtime.send(release);
}

}  // namespace pawl::lock
