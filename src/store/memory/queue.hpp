#pragma once

#include "base/runtime.hpp"
#include "store/memory/memory_state.hpp"
#include "store/notices.hpp"
#include "store/scheme.hpp"

#include <memory>
#include <string>
#include <vector>

namespace pawl::store::memory {

/// The reference for every other scheme: fair, wakes exactly the next waiter, knows contention, lock-delay, revocable.
/// Nothing in it ever suspends.
class Queue final : public Scheme {
 public:
  static const Capabilities declared;

  Queue(std::shared_ptr<MemoryState> state, base::Runtime& runtime);

  const Capabilities& capabilities() const override { return declared; }

  awaitable<Result<ClaimState>> claim(Claim claim, Deadline deadline) override;
  awaitable<Result<Withdrawn>> withdraw(Claim claim, Withdrawal how, Deadline deadline) override;
  std::optional<Result<ClaimState>> claim_now(const Claim& claim) override;
  std::optional<Result<Withdrawn>> withdraw_now(const Claim& claim, Withdrawal how) override;
  awaitable<Result<Standing>> look(Claim claim, Deadline deadline) override;
  awaitable<Result<void>> downgrade(Claim claim, Deadline deadline) override;
  awaitable<Result<void>> relabel(Claim claim, Deadline deadline) override;
  void watch(ClaimId claim, Waker waker) override;
  void unwatch(ClaimId claim) override;
  awaitable<Result<LockView>> inspect(LockKey key, Deadline deadline) override;
  awaitable<Result<Succession>> succession(LockKey key, Token after, Deadline deadline) override;
  awaitable<Result<std::vector<LockView>>> list(std::string prefix, Deadline deadline) override;
  awaitable<Result<bool>> check(LockKey key, Token token, Deadline deadline) override;
  awaitable<Result<bool>> revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) override;

 private:
  const std::shared_ptr<MemoryState> state_;
  base::Runtime& runtime_;
  ClientNotices watched_;
};

}  // namespace pawl::store::memory
