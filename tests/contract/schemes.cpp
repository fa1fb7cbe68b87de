#include "tests/contract/schemes.hpp"

#include "tests/support/real_world.hpp"
#include "tests/support/virtual_world.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <ostream>

namespace pawl::contract {

using namespace std::chrono_literals;
using scene::RealPlace;
using scene::RealWorld;
using scene::VirtualWorld;
using scene::World;

namespace {

std::unique_ptr<World> memory_queue_virtual() { return std::make_unique<VirtualWorld>("queue"); }

std::unique_ptr<World> memory_queue_real() {
  static std::atomic<int> worlds = 0;
  const std::string url = "memory:contract-" + std::to_string(++worlds);
  return std::make_unique<RealWorld>(RealPlace{url, "queue", 400ms, 500ms});
}

}  // namespace

const std::vector<Line>& all_schemes() {
  static const std::vector<Line> table = {
      {"memory_queue_virtual", memory_queue_virtual, false},
      {"memory_queue_real", memory_queue_real, true},
  };
  return table;
}

std::vector<Line> blocking_schemes() {
  std::vector<Line> lines;
  std::copy_if(all_schemes().begin(), all_schemes().end(), std::back_inserter(lines),
               [](const Line& line) { return line.blocks; });
  return lines;
}

void PrintTo(const Line& line, std::ostream* out) { *out << line.name; }

}  // namespace pawl::contract
