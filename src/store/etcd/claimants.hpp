#pragma once

#include "store/etcd/server.hpp"
#include "store/etcd/sight.hpp"
#include "store/line.hpp"
#include "store/notices.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::store::etcd {

/// A claim of this client, and its key.
struct Claimant {
  Claimant(Claim of, SharedSession in, std::string its_key)
      : claim(std::move(of)), session(std::move(in)), key(std::move(its_key)) {}

  Claim claim;
  const SharedSession session;
  const std::string key;
  Line line = {};
  std::int64_t created = 0;  ///< the revision that made the key; 0: not known
  std::int64_t changed = 0;  ///< the revision that wrote its record last, as far as is known
  bool release_requested = false;
  Granted grant = {};  ///< while the line says keep
  /// Whose changes it hears of: its predecessor's key, and what else decides how long that one is in the way.
  std::map<std::string, Cluster::WatchId> watches = {};

  Waiter waiter() const { return {created, claim.mode, claim.key.kind}; }
};
using SharedClaimant = std::shared_ptr<Claimant>;

/// All claims of this client, and what they hear.
/// Threads: on the executor only.
class Claimants : public std::enable_shared_from_this<Claimants> {
 public:
  explicit Claimants(const std::shared_ptr<Server>& server) : server_(server) {}
  /// Letters to the sessions are delivered here. Each renewal looks whether the keys that hold locks are still there: one
  /// that was deleted by hand ends its hold.
  void start();

  SharedClaimant find(ClaimId id) const;
  SharedClaimant of(const Claim& claim, const SharedSession& session);
  void watch(ClaimId claim, Waker waker) { notices_.watch(claim, std::move(waker)); }
  void unwatch(ClaimId claim);

  /// It hears of that key; with `range_end`, of all up to there.
  void listen(const SharedClaimant& claimant, const std::string& key, const std::string& range_end = {});
  void listen_only_to(Claimant& claimant, const std::vector<std::string>& keys);

 private:
  void deliver(Session& session, const std::optional<Letter>& letter);
  std::vector<SharedClaimant> next_held(const SharedSession& session);
  awaitable<void> look_at_held(std::shared_ptr<Claimants> self, SharedSession session);
  void heard(const SharedClaimant& claimant, const std::string& key, const Heard& heard);

  const std::weak_ptr<Server> server_;
  Notices notices_;
  std::map<ClaimId, SharedClaimant> claimants_;
};

}  // namespace pawl::store::etcd
