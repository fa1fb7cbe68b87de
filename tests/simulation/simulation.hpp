#pragma once

#include "tests/simulation/played_store.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pawl::test {

/// What was done, by kind and mode.
struct Deeds {
  std::uint64_t grants = 0;
  std::uint64_t shared = 0;   ///< of them
  std::uint64_t permits = 0;  ///< of them, of semaphores
  std::uint64_t elected = 0;  ///< of them
  std::uint64_t downgrades = 0;
  std::uint64_t together = 0;  ///< several locks, granted as one
  std::uint64_t told = 0;      ///< changes of leader, to observers

  Deeds& operator+=(const Deeds& other) {
    grants += other.grants;
    shared += other.shared;
    permits += other.permits;
    elected += other.elected;
    downgrades += other.downgrades;
    together += other.together;
    told += other.told;
    return *this;
  }
};

/// What became of one simulated world.
struct Outcome {
  std::uint64_t seed = 0;
  std::optional<std::string> violation = {};
  std::vector<std::string> story = {};  ///< the last things that happened
  std::uint64_t steps = 0;
  Deeds deeds = {};
  std::uint64_t lost = 0;
  std::uint64_t undone = 0;
  std::uint64_t local_passes = 0;
};

/// Plays one world: a few full clients with a few users each, on one store behind a network that loses, delays and
/// repeats, while a nemesis pauses, crashes, cuts off and expires them. The users want locks of all kinds, one or several
/// together: they lock, read, write and downgrade, take permits, and stand for election, while others observe who leads.
/// In the end everything is healed, and everybody must get what they wait for. The same seed on the same store gives the same play.
Outcome simulate(std::uint64_t seed, const StoreMaker& store = play_memory);

}  // namespace pawl::test
