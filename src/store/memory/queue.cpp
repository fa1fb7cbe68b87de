#include "store/memory/queue.hpp"

#include <chrono>
#include <utility>

namespace pawl::store::memory {

using Visit = MemoryState::Visit;

constexpr Capabilities Queue::declared = {
    .store = "memory",
    .scheme = "queue",
    .summary = "a queue inside this process: for tests, and for threads that may one day be processes",
    .fair = true,
    .wakes_waiters = true,
    .knows_contention = true,
    .shared_mode = true,
    .permits = true,
    .election = true,
    .lock_delay = true,
    .revocable = true,
    .has_server = false,
    .shortest_lease = std::chrono::milliseconds(10),
    .longest_lease = std::chrono::hours(24),
    .token_source = "counter in memory",
    .on_client_death = "when its lease ends",
};

Queue::Queue(std::shared_ptr<MemoryState> state, base::Runtime& runtime)
    : state_(std::move(state)), runtime_(runtime) {}

std::optional<Result<ClaimState>> Queue::claim_now(const Claim& claim) {
  Visit visit(*state_, runtime_);
  return visit.queue().claim(claim, visit.now());
}

std::optional<Result<Withdrawn>> Queue::withdraw_now(const Claim& claim, Withdrawal how) {
  Visit visit(*state_, runtime_);
  return visit.queue().withdraw(claim, how, visit.now());
}

awaitable<Result<ClaimState>> Queue::claim(Claim claim, Deadline) { co_return *claim_now(claim); }

awaitable<Result<Withdrawn>> Queue::withdraw(Claim claim, Withdrawal how, Deadline) {
  co_return *withdraw_now(claim, how);
}

awaitable<Result<Standing>> Queue::look(Claim claim, Deadline) {
  Visit visit(*state_, runtime_);
  co_return visit.queue().look(claim);
}

awaitable<Result<void>> Queue::downgrade(Claim claim, Deadline) {
  Visit visit(*state_, runtime_);
  co_return visit.queue().downgrade(claim, visit.now());
}

awaitable<Result<void>> Queue::relabel(Claim claim, Deadline) {
  Visit visit(*state_, runtime_);
  visit.queue().relabel(claim);
  co_return Result<void>();
}

void Queue::watch(ClaimId claim, Waker waker) {
  const std::shared_ptr<Notices> notices(state_, &state_->notices());
  watched_.watch(notices, claim, std::move(waker));
}

void Queue::unwatch(ClaimId claim) { watched_.unwatch(claim); }

awaitable<Result<LockView>> Queue::inspect(LockKey key, Deadline) {
  Visit visit(*state_, runtime_);
  co_return visit.queue().inspect(key, visit.now());
}

awaitable<Result<Succession>> Queue::succession(LockKey key, Token after, Deadline) {
  Visit visit(*state_, runtime_);
  co_return visit.queue().succession(key, after, visit.now());
}

awaitable<Result<std::vector<LockView>>> Queue::list(std::string prefix, Deadline) {
  Visit visit(*state_, runtime_);
  co_return visit.queue().list(prefix, visit.now());
}

awaitable<Result<bool>> Queue::check(LockKey key, Token token, Deadline) {
  Visit visit(*state_, runtime_);
  co_return visit.queue().check(key, token);
}

awaitable<Result<bool>> Queue::revoke(LockKey key, ClaimId claim, bool now, Deadline) {
  Visit visit(*state_, runtime_);
  if (now) co_return visit.queue().take_away(key, claim, visit.now());
  co_return visit.queue().ask_to_release(key, claim);
}

}  // namespace pawl::store::memory
