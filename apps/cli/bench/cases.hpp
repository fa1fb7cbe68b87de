#pragma once

#include "apps/cli/bench/floors.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pawl::cli {

/// Where it is measured, and for how long.
struct Bench {
  std::string url;
  std::filesystem::path folder;  ///< for floors and peers
  const Floor* floor = nullptr;  ///< null: the store has none
  bool many_processes = true;    ///< false: the store lives in one process
  std::chrono::milliseconds slice{};
  int rounds = 3;
};

/// One line of the outcome. All times are nanoseconds: per acquisition and release, or per hand-off.
struct Figure {
  std::string name;
  double pawl = 0;
  std::optional<double> floor = {};
  std::string floor_is = {};
  std::optional<double> goal = {};    ///< the ratio must not be above it
  std::optional<double> flock = {};   ///< flock(2) at the same work, for comparison
  std::optional<double> socket = {};  ///< a message through a Unix socket alone

  std::optional<double> ratio() const { return floor ? std::optional(pawl / *floor) : std::nullopt; }
  std::optional<bool> met() const { return goal && floor ? std::optional(*ratio() <= *goal) : std::nullopt; }
};

/// Acquire and release with nobody else there: median and p99.
std::vector<Figure> measure_uncontended(const Bench& bench);
/// Processes that all want the lock.
Figure measure_processes(const Bench& bench, int processes);
/// Threads of one process that all want it: they pass it on without asking the store.
Figure measure_threads(const Bench& bench, int threads);
/// So many clients in the store's queue. The floor is the cost with ten of them: it should stay flat.
std::vector<Figure> measure_waiters(const Bench& bench);

}  // namespace pawl::cli
