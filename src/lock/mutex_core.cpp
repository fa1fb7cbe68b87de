#include "lock/mutex_core.hpp"

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

Result<Hold> conclude(const std::shared_ptr<NamedLock>& lock, const std::shared_ptr<local::LocalLock>& queue,
                      Result<std::shared_ptr<local::LocalHold>> local, base::Time began) {
  Result<Hold> hold;
  if (local) {
    hold = HoldCore::face(std::make_shared<HoldCore>(lock, queue, std::move(*local)));
  } else {
    hold = local.error();
  }
  count(lock->client(), lock->key(), hold, began);
  return hold;
}

}  // namespace

awaitable<Result<Hold>> MutexCore::acquire(AcquireOptions options, std::stop_token stop) {
  // Not a coroutine itself: the text in the options, and the last handle, may be gone before a coroutine would begin.
  Result<local::Request> request = make_request(options, defaults_, lock_->agreed().scheme->capabilities());
  const Begun begun{.since = stopwatch()};
  return acquire_resolved(lock_, std::move(request), std::move(stop), begun);
}

/// Only where somebody wants to know.
base::Time MutexCore::stopwatch() const {
  return lock_->client().context().telemetry.observed() ? lock_->runtime().now() : base::Time{};
}

awaitable<Result<Hold>> MutexCore::acquire_resolved(std::shared_ptr<NamedLock> lock, Result<local::Request> request,
                                                    std::stop_token stop, Begun begun) {
  if (!request) co_return request.error();
  if (auto usable = lock->client().usable(); !usable) co_return usable.error();
  if (!begun.queue) begun.queue = lock->queue();
  Result<std::shared_ptr<local::LocalHold>> local =
      co_await begun.queue->acquire(std::move(*request), std::move(stop), std::move(begun.place));
  Result<Hold> hold = conclude(lock, begun.queue, std::move(local), begun.since);
  co_return hold;
}

Result<Hold> MutexCore::acquire_blocking(AcquireOptions options, std::stop_token stop) {
  if (auto usable = lock_->client().usable(); !usable) return usable.error();
  if (lock_->thread_holds().find(base::this_thread_number()) != nullptr) {
    return Error{Errc::would_deadlock, "this thread holds " + lock_->key().name.quoted() + " through lock() already"};
  }
  return acquire_here(options, std::move(stop));
}

// What needs no waiting is done by this thread alone: a free lock of an embedded store costs no coroutine.
Result<Hold> MutexCore::acquire_here(AcquireOptions options, std::stop_token stop) {
  Result<local::Request> request = make_request(options, defaults_, lock_->agreed().scheme->capabilities());
  if (!request) return request.error();
  Begun begun{.since = stopwatch()};
  Result<std::shared_ptr<local::LocalHold>> local = nullptr;
  const auto ask = [&] {
    if (auto usable = lock_->client().usable(); !usable) return void(local = usable.error());
    begun.queue = lock_->queue();
    Result<local::LocalLock::Place> place = begun.queue->queue_up(*request, stop);
    if (!place) return void(local = place.error());
    begun.place = std::move(*place);
    local = local::LocalLock::granted(begun.place);
  };
  const bool asked = lock_->runtime().run_here(ask, Runtime::Afterwards::may_wait);
  // A hold whose time is over by now (a long pause) is asked for again, the long way.
  const bool decided = asked && (!local || (*local && (*local)->remaining() > Duration::zero()));
  if (decided) return conclude(lock_, begun.queue, std::move(local), begun.since);
  return lock_->runtime().block_on(acquire_resolved(lock_, std::move(request), std::move(stop), begun));
}

bool MutexCore::lock(std::optional<Duration> wait) {
  const std::uint64_t thread = base::this_thread_number();
  if (auto usable = lock_->client().usable(); !usable) throw Exception(usable.error());
  switch (lock_->thread_holds().enter(thread)) {
    case ThreadHolds::Entry::again: return true;
    case ThreadHolds::Entry::lost:
      throw Exception(Error{Errc::lost, "this thread's hold of " + lock_->key().name.quoted() + " was lost"});
    case ThreadHolds::Entry::first: break;
  }
  AcquireOptions options;
  options.wait = wait;
  Result<Hold> hold = acquire_here(options, {});
  if (hold.code() == Errc::busy || (hold.code() == Errc::timed_out && wait)) return false;
  if (!hold) throw Exception(hold.error());
  lock_->thread_holds().begin(thread, std::move(*hold));
  remember_for_thread_exit(lock_);
  return true;
}

void MutexCore::unlock() noexcept {
  if (lock_->runtime().inert()) return;
  bool inside = false;
  const std::optional<Hold> hold = lock_->thread_holds().leave(base::this_thread_number(), inside);
  if (hold) return forget_for_thread_exit(lock_.get());  // its destructor releases
  if (inside) return;
  const char* const what = "unlock() by a thread that does not hold the lock";
  lock_->client().context().report(EventType::unfinished, lock_->key(), {.message = what});
}

const Hold* MutexCore::this_thread_hold() const noexcept {
  if (lock_->runtime().inert()) return nullptr;
  return lock_->thread_holds().find(base::this_thread_number());
}

}  // namespace pawl::lock
