#pragma once

#include "base/simulated_runtime.hpp"
#include "store/store.hpp"

#include <pawl/lock_view.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace pawl::test {

/// A store that a play is about, as the play needs it. Other stores' rules are played by another implementation of this.
/// Threads: one.
class PlayedStore {
 public:
  /// What a store keeps.
  struct Kept {
    std::size_t sessions = 0;
    std::size_t claims = 0;  ///< waiting and held
    std::size_t keys = 0;    ///< locks that are held, waited for, or shut
  };

  virtual ~PlayedStore() = default;

  /// A client's connection, behind the network.
  virtual std::shared_ptr<store::Store> connect() = 0;
  /// All locks that are held or waited for, once what has expired is swept.
  virtual std::vector<LockView> locks() = 0;
  virtual Kept kept() = 0;
  /// How many requests were served, locks() and kept() included: nothing has moved where none was.
  virtual std::uint64_t requests() = 0;
};

/// The store's own clock and work are those of `server`.
std::shared_ptr<PlayedStore> make_played_store(base::SimWorld& world, base::SimProcess& server);

}  // namespace pawl::test
