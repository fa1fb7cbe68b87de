#pragma once

#include "tests/simulation/simulation.hpp"

#include <cstddef>
#include <string>

namespace pawl::test {

/// The same violation in a smaller world: leaves out one part after the other, and keeps the world without it if the same
/// promise is broken there. Plays `most` worlds at the most. The answer has its story.
Outcome shrink(const Outcome& failed, const StoreMaker& store = play_memory, std::size_t most = 600);

/// How to play it again, and its story.
std::string tell(const Outcome& outcome);
/// The same of the smallest world in which that promise is broken.
std::string tell_shrunk(const Outcome& failed, const StoreMaker& store = play_memory);

}  // namespace pawl::test
