#pragma once

#include "store/mysql/recorded.hpp"

namespace pawl::store::mysql {

/// A table with a unique index on the lock's name: INSERT takes the lock, and DELETE frees it. With owner, expiry (its session's)
/// and waiters, of which the first is told to try again when the row is deleted.
class Unique final : public Taken {
 public:
  static const Capabilities declared;
  using Taken::Taken;

  const Capabilities& capabilities() const override { return declared; }
  awaitable<Result<ClaimState>> claim(Claim claim, Deadline deadline) override;
};

}  // namespace pawl::store::mysql
