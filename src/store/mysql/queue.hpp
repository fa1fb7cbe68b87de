#pragma once

#include "store/mysql/server.hpp"
#include "store/scheme.hpp"

#include <memory>
#include <string>
#include <vector>

namespace pawl::store::mysql {

/// The fair scheme: one CALL to claim, one to withdraw; the releaser grants the lock to its successor, and wakes its client.
class Queue final : public Scheme {
 public:
  static const Capabilities declared;

  explicit Queue(std::shared_ptr<Server> server) : server_(std::move(server)) {}

  const Capabilities& capabilities() const override { return declared; }
  awaitable<Result<ClaimState>> claim(Claim claim, Deadline deadline) override;
  awaitable<Result<Withdrawn>> withdraw(Claim claim, Withdrawal how, Deadline deadline) override;
  awaitable<Result<Standing>> look(Claim claim, Deadline deadline) override;
  awaitable<Result<void>> downgrade(Claim claim, Deadline deadline) override;
  awaitable<Result<void>> relabel(Claim claim, Deadline deadline) override;
  void watch(ClaimId claim, Waker waker) override { server_->watch(claim, std::move(waker)); }
  void unwatch(ClaimId claim) override { server_->unwatch(claim); }
  awaitable<Result<LockView>> inspect(LockKey key, Deadline deadline) override;
  awaitable<Result<std::vector<LockView>>> list(std::string prefix, Deadline deadline) override;
  awaitable<Result<Succession>> succession(LockKey key, Token after, Deadline deadline) override;
  awaitable<Result<bool>> check(LockKey key, Token token, Deadline deadline) override;
  awaitable<Result<bool>> revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) override;

 private:
  /// As the tables call it.
  std::string lock_id(const LockKey& key) const;
  std::vector<std::string> words_of(const Claim& claim) const;

  const std::shared_ptr<Server> server_;
};

}  // namespace pawl::store::mysql
