#pragma once

#include "store/mysql/recorded.hpp"
#include "store/net/backoff.hpp"

#include <map>

namespace pawl::store::mysql {

/// Optimistic: reads the lock's version, and takes the lock by an UPDATE that only finds the row while its version is still that.
/// Who loses tries again, after a pause that grows.
class Version final : public Taken {
 public:
  static const Capabilities declared;
  using Taken::Taken;

  const Capabilities& capabilities() const override { return declared; }
  awaitable<Result<ClaimState>> claim(Claim claim, Deadline deadline) override;
  void unwatch(ClaimId claim) override;

 private:
  struct Seen {
    std::string version = {};
    bool held = false;   ///< by another claim, of a client that lives
    bool waits = false;  ///< the claim is known to wait
  };
  awaitable<Result<Seen>> read(Claim claim, Deadline deadline);
  awaitable<Result<ClaimState>> compare_and_update(Claim claim, std::string version, Deadline deadline);
  Waiting lost(const Claim& claim);

  std::map<ClaimId, net::Backoff> losers_ = {};
};

}  // namespace pawl::store::mysql
