#pragma once

#include "store/redis/scripted.hpp"

#include <memory>
#include <string>
#include <vector>

namespace pawl::store::redis {

/// The fair scheme: one script to claim, one to withdraw; the releaser names its successor and tells its client.
class Queue final : public Scripted {
 public:
  static const Capabilities declared;

  using Scripted::Scripted;

  const Capabilities& capabilities() const override { return declared; }
  awaitable<Result<ClaimState>> claim(Claim claim, Deadline deadline) override;
  awaitable<Result<void>> downgrade(Claim claim, Deadline deadline) override;
  awaitable<Result<LockView>> inspect(LockKey key, Deadline deadline) override;
  awaitable<Result<Succession>> succession(LockKey key, Token after, Deadline deadline) override;
  awaitable<Result<std::vector<LockView>>> list(std::string prefix, Deadline deadline) override;
  awaitable<Result<bool>> check(LockKey key, Token token, Deadline deadline) override;

 private:
  std::string lock_id(const LockKey& key) const override;
};

}  // namespace pawl::store::redis
