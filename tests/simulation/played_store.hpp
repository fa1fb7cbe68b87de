#pragma once

#include "base/simulated_runtime.hpp"
#include "store/store.hpp"
#include "tests/support/faulty_store.hpp"

#include <pawl/lock_view.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::test {

/// A store that a play is about, as the play needs it. Other stores' rules are played by another implementation of this.
/// Threads: one.
class PlayedStore {
 public:
  /// What a store keeps.
  struct Kept {
    std::size_t sessions = 0;
    std::size_t claims = 0;   ///< waiting and held
    std::size_t keys = 0;     ///< locks that are held, waited for, or shut
    std::string others = {};  ///< what belongs to none of these; nothing: that is all
  };

  virtual ~PlayedStore() = default;

  /// Of the scheme that is played.
  virtual const store::Capabilities& capabilities() const = 0;
  /// Its clock counts in these: lock-delays end so much too early at the most.
  virtual Duration tick() const { return Duration::zero(); }
  /// Its disasters may take all records, and it comes back as another store.
  virtual bool may_lose_all() const { return false; }
  /// How long a message is under way at the most, when nothing delays it.
  virtual Duration latency() const { return Duration::zero(); }
  /// A client's way to it.
  virtual std::shared_ptr<FaultyStore> connect(base::SimProcess& client, std::shared_ptr<FaultPlan> faults) = 0;
  /// All locks that are held or waited for, once what has expired is swept.
  virtual std::vector<LockView> locks() = 0;
  virtual Kept kept() = 0;
  /// How many requests were served, locks() and kept() included: nothing has moved where none was.
  virtual std::uint64_t requests() = 0;
  /// Ends that session as if its lease had run out.
  virtual void forget(store::SessionId session) = 0;
  /// Everything is lost, as on a server that keeps nothing on disk: it goes on under another id. The epoch of its grants
  /// from now on; nothing: this store has disasters of its own.
  virtual std::optional<std::uint64_t> forget_everything() { return std::nullopt; }
  /// A world may have several of them, clients of several connections, and an operator.
  virtual bool many() const { return false; }
  /// That client will never run again.
  virtual void died(const base::SimProcess& /*client*/) {}
  /// What must be so in the store's records after every request, and is not.
  virtual std::optional<std::string> complaint() { return std::nullopt; }
  struct Disaster {
    std::string what = {};  ///< nothing: there was none
    bool lost_all = false;  ///< all records are gone
  };
  /// A disaster of that store's own, perhaps to one client.
  virtual Disaster strike(const base::SimProcess& /*victim*/, const std::string& /*name*/) { return {}; }
};

/// The store's own clock and work are those of `server`.
using StoreMaker = std::function<std::shared_ptr<PlayedStore>(base::SimWorld& world, base::SimProcess& server)>;

std::shared_ptr<PlayedStore> play_memory(base::SimWorld& world, base::SimProcess& server);

}  // namespace pawl::test
