#pragma once

#include "lock/client_core.hpp"
#include "tests/simulation/stage.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace pawl::test {

using base::awaitable;

/// Somebody who asks locks back, takes them away, and begins new epochs, as with the command; on a good line, so that it is
/// known when each of these is done.
class Operator {
 public:
  explicit Operator(Stage& stage);
  /// Now and then, in all weathers.
  awaitable<void> work();

 private:
  awaitable<void> recall(const PlayedLock& lock, bool take_away, Dice& dice);
  awaitable<void> raise_epoch(std::size_t store);

  Stage& stage_;
  base::SimProcess& process_;
  std::vector<std::shared_ptr<lock::ClientCore>> clients_;  // of each store
};

}  // namespace pawl::test
