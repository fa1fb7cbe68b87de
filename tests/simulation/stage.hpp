#pragma once

#include "tests/simulation/monitor.hpp"
#include "tests/simulation/played_store.hpp"
#include "tests/simulation/script.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::test {

/// What all who play share.
struct Stage {
  Stage(std::uint64_t seed, const Playing& how);

  Dice dice(std::string_view purpose) const { return {seed, purpose}; }
  /// Whether that part of the world is left out; it is one of those that can be.
  bool leaves_out(std::string part);
  /// From now on nothing goes wrong any more.
  void heal();

  const std::uint64_t seed;
  const Cuts cuts;
  base::SimWorld world;
  base::SimProcess& server;  ///< the stores, the network, the nemesis: never paused
  const std::shared_ptr<PlayedStore> first_store;
  const Script script;
  const Monitor::Stores stores;
  Monitor monitor;
  std::vector<std::string> parts;  ///< that were not left out
  bool healed = false;
  bool curtain = false;
};

}  // namespace pawl::test
