#include "lock/mutex_core.hpp"

#include "base/threads.hpp"
#include "lock/hold_core.hpp"

#include <utility>

namespace pawl::lock {

MutexCore::MutexCore(std::shared_ptr<ClientCore> client, std::shared_ptr<local::LocalLock> lock, Agreed agreed,
                     Defaults defaults)
    : client_(std::move(client)), lock_(std::move(lock)), agreed_(agreed), defaults_(std::move(defaults)) {}

MutexCore::~MutexCore() {
  if (!client_->runtime().inert()) client_->forget(lock_->key());
}

awaitable<Result<Hold>> MutexCore::acquire(AcquireOptions options, std::stop_token stop) {
  // Not a coroutine itself: the text in the options, and the last handle, may be gone before a coroutine would begin.
  Result<local::Request> request = make_request(options, defaults_, lock_->scheme().capabilities());
  return acquire_resolved(shared_from_this(), std::move(request), std::move(stop));
}

awaitable<Result<Hold>> MutexCore::acquire_resolved(std::shared_ptr<MutexCore> self, Result<local::Request> request,
                                                    std::stop_token stop) {
  if (!request) co_return request.error();
  if (auto usable = self->client_->usable(); !usable) co_return usable.error();
  const Runtime& runtime = self->client_->runtime();
  const base::Time began = runtime.now();
  Result<std::shared_ptr<local::LocalHold>> local = co_await self->lock_->acquire(std::move(*request), std::move(stop));
  Result<Hold> hold;
  if (local) {
    hold = HoldCore::face(std::make_shared<HoldCore>(self, *local));
  } else {
    hold = local.error();
  }
  self->count(hold, runtime.now() - began);
  co_return hold;
}

void MutexCore::count(const Result<Hold>& outcome, Duration waited) {
  base::Telemetry& telemetry = client_->context().telemetry;
  if (outcome.code() == Errc::busy) return base::tally(telemetry.busy);
  if (outcome.code() == Errc::timed_out) return base::tally(telemetry.timed_out);
  if (outcome.code() == Errc::cancelled) return base::tally(telemetry.cancelled);
  if (!outcome) return base::tally(telemetry.failed);
  base::tally(telemetry.granted);
  client_->context().report(EventType::granted, lock_->key(), {outcome->token(), waited});
}

Result<Hold> MutexCore::acquire_blocking(AcquireOptions options, std::stop_token stop) {
  if (auto usable = client_->usable(); !usable) return usable.error();
  if (thread_holds_.find(base::this_thread_number()) != nullptr) {
    return Error{Errc::would_deadlock, "this thread holds " + lock_->key().name.quoted() + " through lock() already"};
  }
  return client_->runtime().block_on(acquire(options, std::move(stop)));
}

bool MutexCore::lock(std::optional<Duration> wait) {
  const std::uint64_t thread = base::this_thread_number();
  if (auto usable = client_->usable(); !usable) throw Exception(usable.error());
  switch (thread_holds_.enter(thread)) {
    case ThreadHolds::Entry::again:
      return true;
    case ThreadHolds::Entry::lost:
      throw Exception(Error{Errc::lost, "this thread's hold of " + lock_->key().name.quoted() + " was lost"});
    case ThreadHolds::Entry::first:
      break;
  }
  AcquireOptions options;
  options.wait = wait;
  Result<Hold> hold = client_->runtime().block_on(acquire(options, {}));
  if (hold.code() == Errc::busy || (hold.code() == Errc::timed_out && wait)) return false;
  if (!hold) throw Exception(hold.error());
  thread_holds_.begin(thread, std::move(*hold));
  remember_for_thread_exit(shared_from_this());
  return true;
}

void MutexCore::unlock() noexcept {
  if (client_->runtime().inert()) return;
  bool inside = false;
  const std::optional<Hold> hold = thread_holds_.leave(base::this_thread_number(), inside);
  if (hold) return forget_for_thread_exit(this);  // its destructor releases
  if (inside) return;
  const char* const what = "unlock() by a thread that does not hold the lock";
  client_->context().report(EventType::unfinished, lock_->key(), {.message = what});
}

const Hold* MutexCore::this_thread_hold() const noexcept {
  if (client_->runtime().inert()) return nullptr;
  return thread_holds_.find(base::this_thread_number());
}

void MutexCore::abandon(std::uint64_t thread) noexcept {
  if (client_->runtime().inert()) return;
  const std::optional<Hold> hold = thread_holds_.take(thread);
  if (!hold) return;
  const char* const what = "a thread ended while it held the lock";
  client_->context().report(EventType::abandoned, lock_->key(), {hold->token(), {}, what});
}

}  // namespace pawl::lock
