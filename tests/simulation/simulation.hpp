#pragma once

#include "tests/simulation/cuts.hpp"
#include "tests/simulation/oracle.hpp"
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
  std::uint64_t together = 0;   ///< several locks, granted as one
  std::uint64_t told = 0;       ///< changes of leader, to observers
  std::uint64_t events = 0;     ///< told to observers of clients
  std::uint64_t checks = 0;     ///< of sequencers
  std::uint64_t recalled = 0;   ///< asked back or taken away
  std::uint64_t epochs = 0;     ///< begun by hand
  std::uint64_t forgotten = 0;  ///< everything, by a store
  std::uint64_t closed = 0;     ///< clients, in the middle of it all
  // As the clients count it:
  std::uint64_t lost = 0;
  std::uint64_t undone = 0;
  std::uint64_t local_passes = 0;

  Deeds& operator+=(const Deeds& other);
  std::string to_string() const;
};

/// What became of one simulated world.
struct Outcome {
  std::uint64_t seed = 0;
  Cuts cuts = {};
  std::vector<std::string> parts = {};  ///< what could be left out as well
  Complaint violation = {};
  std::vector<std::string> story = {};  ///< the last things that happened
  std::uint64_t steps = 0;
  Deeds deeds = {};
};

/// How to play it.
struct Playing {
  Cuts cuts = {};      ///< what to leave out
  bool tells = false;  ///< the story is told; it costs more than the play
  StoreMaker store = play_memory;
};

/// Plays one world: a few full clients with a few users each, on one or two stores behind a network that loses,
/// delays and repeats, while a nemesis pauses, crashes, cuts off, closes and expires them, and makes stores forget, and an
/// operator asks locks back, takes them away, and begins new epochs. The users want locks of all kinds, one or several
/// together: they lock, read, write and downgrade, take permits, stand for election, and have their sequencers checked,
/// while others observe who leads. In the end everything is healed, and everybody must get what they wait for. The same
/// seed gives the same play.
Outcome simulate(std::uint64_t seed, const Playing& how = {});
Outcome simulate(std::uint64_t seed, const StoreMaker& store);

}  // namespace pawl::test
