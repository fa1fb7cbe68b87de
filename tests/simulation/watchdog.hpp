#pragma once

#include <cstdint>

namespace pawl::test {

/// While it lives: if the process dies, or a world is not over after two minutes of real time, its seed is printed. The
/// second ends the process: a world takes milliseconds.
/// Limit: one at a time.
class Watchdog {
 public:
  explicit Watchdog(std::uint64_t seed);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();
};

}  // namespace pawl::test
