#include "lock/lock_core.hpp"

#include "base/escaped.hpp"
#include "base/threads.hpp"
#include "lock/hold_core.hpp"

#include <utility>

namespace pawl::lock {

namespace {

void count(ClientCore& client, const store::LockKey& key, const Result<Hold>& outcome, base::Time began) {
  base::Telemetry& telemetry = client.context().telemetry;
  if (outcome.code() == Errc::busy) return base::tally(telemetry.busy);
  if (outcome.code() == Errc::timed_out) return base::tally(telemetry.timed_out);
  if (outcome.code() == Errc::cancelled) return base::tally(telemetry.cancelled);
  if (!outcome) return base::tally(telemetry.failed);
  base::tally(telemetry.granted);
  if (!telemetry.observed()) return;
  client.context().report(EventType::granted, key, {outcome->token(), client.runtime().now() - began});
}

Result<Hold> face_of(const std::shared_ptr<NamedLock>& lock, const std::shared_ptr<local::LocalLock>& queue,
                     Result<std::shared_ptr<local::LocalHold>> local, base::Time began) {
  Result<Hold> hold;
  if (local) {
    hold = HoldCore::face(std::make_shared<HoldCore>(lock, queue, std::move(*local)));
  } else {
    hold = local.error();
  }
  count(lock->client(), lock->key(), hold, began);
  if (hold) lock->client().look_for_other_kinds(lock->key(), *lock->agreed().scheme);
  return hold;
}

// The lock is granted: an exception here would leave it without an owner.
Result<Hold> conclude(const std::shared_ptr<NamedLock>& lock, const std::shared_ptr<local::LocalLock>& queue,
                      Result<std::shared_ptr<local::LocalHold>> local, base::Time began) {
  return base::or_out_of_memory([&] { return face_of(lock, queue, std::move(local), began); });
}

}  // namespace

awaitable<Result<Hold>> LockCore::acquire(AcquireOptions options, std::stop_token stop, const Wanted& wanted) {
  // Not a coroutine itself: the text in the options, and the last handle, may be gone before a coroutine would begin.
  Result<local::Request> request = this->request(options, wanted);
  const Begun begun{.since = stopwatch()};
  return acquire_resolved(lock_, std::move(request), std::move(stop), begun);
}

awaitable<Result<Hold>> LockCore::acquire(AcquireOptions options, std::stop_token stop) {
  const Wanted exclusive;
  return acquire(options, std::move(stop), exclusive);
}

Result<local::Request> LockCore::request(const AcquireOptions& options, const Wanted& wanted) const {
  Result<local::Request> request = make_request(options, wanted, defaults_, lock_->agreed().scheme->capabilities());
  if (request) request->spin = lock_->agreed().waiting == WaitStyle::spin;
  return request;
}

/// Only where somebody wants to know.
base::Time LockCore::stopwatch() const {
  return lock_->client().context().telemetry.observed() ? lock_->runtime().now() : base::Time{};
}

awaitable<Result<Hold>> LockCore::acquire_resolved(std::shared_ptr<NamedLock> lock, Result<local::Request> request,
                                                   std::stop_token stop, Begun begun) {
  if (!request) co_return request.error();
  if (auto usable = lock->client().usable(); !usable) co_return usable.error();
  if (!begun.queue) begun.queue = lock->queue(*request);
  Result<std::shared_ptr<local::LocalHold>> local =
      co_await begun.queue->acquire(std::move(*request), std::move(stop), std::move(begun.place));
  Result<Hold> hold = conclude(lock, begun.queue, std::move(local), begun.since);
  co_return hold;
}

Result<Hold> LockCore::acquire_blocking(AcquireOptions options, std::stop_token stop, const Wanted& wanted) {
  if (auto usable = lock_->client().usable(); !usable) return usable.error();
  if (auto outside = not_inside(); !outside) return outside.error();
  return acquire_here(options, std::move(stop), wanted);
}

Result<void> LockCore::not_inside() const {
  if (lock_->thread_holds().find(base::this_thread_number()) == nullptr) return {};
  return Error{Errc::would_deadlock, "this thread holds " + lock_->key().name.quoted() + " through lock() already"};
}

// What needs no waiting is done by this thread alone: a free lock of an embedded store costs no coroutine.
Result<Hold> LockCore::acquire_here(AcquireOptions options, std::stop_token stop, const Wanted& wanted) {
  Result<local::Request> request = this->request(options, wanted);
  if (!request) return request.error();
  Begun begun{.since = stopwatch()};
  Result<std::shared_ptr<local::LocalHold>> local = nullptr;
  const auto ask = [&](const Runtime::Done& done) {
    const auto settled = [&](Result<std::shared_ptr<local::LocalHold>> outcome) {
      local = std::move(outcome);
      return false;
    };
    if (auto usable = lock_->client().usable(); !usable) return settled(usable.error());
    begun.queue = lock_->queue(*request);
    Result<local::LocalLock::Place> place = begun.queue->queue_up(*request, stop);
    if (!place) return settled(place.error());
    begun.place = std::move(*place);
    if (const auto& hold = local::LocalLock::granted(begun.place)) return settled(hold);
    if (stop.stop_possible()) return false;
    begun.queue->wait_without_coroutine(begun.place,
                                        [&local, &done](Result<std::shared_ptr<local::LocalHold>> outcome) {
                                          local = std::move(outcome);
                                          done();
                                        });
    return true;
  };
  const bool asked = lock_->runtime().wait_here(ask);
  // A hold whose time is over by now (a long pause) is asked for again, the long way.
  const bool decided = asked && (!local || (*local && (*local)->remaining() > Duration::zero()));
  if (decided) return conclude(lock_, begun.queue, std::move(local), begun.since);
  return lock_->runtime().block_on(acquire_resolved(lock_, std::move(request), std::move(stop), begun));
}

bool LockCore::lock(std::optional<Duration> wait, Mode mode) {
  const std::uint64_t thread = base::this_thread_number();
  if (auto usable = lock_->client().usable(); !usable) throw Exception(usable.error());
  switch (lock_->thread_holds().enter(thread, mode)) {
    case ThreadHolds::Entry::again: return true;
    case ThreadHolds::Entry::lost:
      throw Exception(Error{Errc::lost, "this thread's hold of " + lock_->key().name.quoted() + " was lost"});
    case ThreadHolds::Entry::would_deadlock:
      throw Exception(Error{Errc::would_deadlock, "this thread shares " + lock_->key().name.quoted() +
                                                      " already: it would wait for itself; unlock_shared() first"});
    case ThreadHolds::Entry::first: break;
  }
  AcquireOptions options;
  options.wait = wait;
  Result<Hold> hold = acquire_here(options, {}, {.mode = mode});
  if (hold.code() == Errc::busy || (hold.code() == Errc::timed_out && wait)) return false;
  if (!hold) throw Exception(hold.error());
  base::or_out_of_memory([&] {
    lock_->thread_holds().begin(thread, mode, std::move(*hold));
    remember_for_thread_exit(lock_);
  });
  return true;
}

void LockCore::unlock(Mode mode) noexcept {
  if (lock_->runtime().inert()) return;
  const ThreadHolds::Left left = lock_->thread_holds().leave(base::this_thread_number(), mode);
  if (left.downgrade != nullptr) HoldCore::behind(*left.downgrade)->send_downgrade();
  if (left.hold) return forget_for_thread_exit(lock_.get());  // its destructor releases
  if (left.was_inside) return;
  const char* const what = "unlock by a thread that does not hold the lock";
  base::or_out_of_memory(
      [&] { lock_->client().context().report(EventType::unfinished, lock_->key(), {.message = what}); });
}

const Hold* LockCore::this_thread_hold() const noexcept {
  if (lock_->runtime().inert()) return nullptr;
  return lock_->thread_holds().find(base::this_thread_number());
}

}  // namespace pawl::lock
