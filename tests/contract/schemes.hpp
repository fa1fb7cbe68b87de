#pragma once

#include "tests/support/world.hpp"

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace pawl::contract {

/// One line of the table: a scheme of a store, and a world to try it in.
struct Line {
  std::string name;
  std::unique_ptr<scene::World> (*make_world)();
  bool blocks = false;  ///< real threads: the blocking face can be used
};

void PrintTo(const Line& line, std::ostream* out);

/// Every scheme of every store.
const std::vector<Line>& all_schemes();
/// Those on real threads.
std::vector<Line> blocking_schemes();

}  // namespace pawl::contract
