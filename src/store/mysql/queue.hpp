#pragma once

#include "store/mysql/recorded.hpp"

namespace pawl::store::mysql {

/// The fair scheme: one CALL to claim, one to withdraw; the releaser grants the lock to its successor, and wakes its client.
class Queue final : public Recorded {
 public:
  static const Capabilities declared;
  using Recorded::Recorded;

  const Capabilities& capabilities() const override { return declared; }
  awaitable<Result<ClaimState>> claim(Claim claim, Deadline deadline) override;
  awaitable<Result<void>> downgrade(Claim claim, Deadline deadline) override;
  awaitable<Result<Succession>> succession(LockKey key, Token after, Deadline deadline) override;
};

}  // namespace pawl::store::mysql
