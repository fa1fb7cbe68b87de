#pragma once

#include "base/simulated_runtime.hpp"
#include "store/store.hpp"
#include "tests/support/faulty_store.hpp"

#include <pawl/lock_view.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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
  /// A client's way to it.
  virtual std::shared_ptr<FaultyStore> connect(base::SimProcess& client, std::shared_ptr<FaultPlan> faults) = 0;
  /// All locks that are held or waited for, once what has expired is swept.
  virtual std::vector<LockView> locks() = 0;
  virtual Kept kept() = 0;
  /// How many requests were served, locks() and kept() included: nothing has moved where none was.
  virtual std::uint64_t requests() = 0;
  /// Ends that session as if its lease had run out.
  virtual void forget(store::SessionId session) = 0;
  /// That client will never run again.
  virtual void died(const base::SimProcess& /*client*/) {}
};

/// The store's own clock and work are those of `server`.
using StoreMaker = std::function<std::shared_ptr<PlayedStore>(base::SimWorld& world, base::SimProcess& server)>;

std::shared_ptr<PlayedStore> play_memory(base::SimWorld& world, base::SimProcess& server);

}  // namespace pawl::test
