#pragma once

#include "store/zookeeper/nodes.hpp"

#include <vector>

namespace pawl::store::zookeeper {

/// The simplest lock: everybody makes the same node, and whoever succeeds has the lock; the others watch it and try again
/// when it is gone. Unfair, and all of them wake for one release.
///
/// Each claim has another node elsewhere, its ticket, named by its id. It shows that somebody waits; and as both go
/// together, nobody ever deletes the lock's node when it is the next holder's by now.
class Ephemeral final : public Nodes {
 public:
  static const Capabilities declared;

  using Nodes::Nodes;

  const Capabilities& capabilities() const override { return declared; }
  awaitable<Result<ClaimState>> claim(Claim claim, Deadline deadline) override;
  awaitable<Result<Withdrawn>> withdraw(Claim claim, Withdrawal how, Deadline deadline) override;
  awaitable<Result<void>> downgrade(Claim claim, Deadline deadline) override;
  awaitable<Result<Succession>> succession(LockKey key, Token after, Deadline deadline) override;

 private:
  std::vector<Part> taking(Entry& entry) const;
  awaitable<Result<bool>> held_by_another(SharedEntry entry, Answer refused, Deadline deadline);
  awaitable<Result<void>> settle_creation(SharedEntry entry, Deadline deadline) override;
  void has_node(Entry& entry, const Stat& stat) const;
  awaitable<Result<bool>> clear_away(SharedEntry entry, Answer refused, Deadline deadline);
  awaitable<Result<ClaimState>> wait_for_holder(SharedEntry entry, Deadline deadline);
  awaitable<Result<void>> take_ticket(SharedEntry entry, Deadline deadline);
  std::string tickets_of(const LockKey& key) const;
  std::string ticket_of(const LockKey& key, ClaimId id) const;

  awaitable<Result<std::vector<SeenLock>>> see_all(SharedLink link, std::vector<LockKey> keys,
                                                   Deadline deadline) override;
  awaitable<Result<std::vector<Duration>>> shut_for(SharedLink link, std::vector<LockKey> keys,
                                                    std::vector<SeenLock> nodes, Deadline deadline) override;
  std::vector<Kind> kinds() const override { return {Kind::mutex}; }
};

}  // namespace pawl::store::zookeeper
