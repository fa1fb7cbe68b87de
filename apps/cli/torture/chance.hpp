#pragma once

#include "apps/cli/torture/scene.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>

namespace pawl::torture {

/// All that is left to chance comes from a seed.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t number() { return engine_(); }
  std::size_t below(std::size_t count) { return engine_() % count; }
  bool one_in(std::size_t count) { return below(count) == 0; }
  Milliseconds between(Milliseconds least, Milliseconds most) {
    return least + Milliseconds(below(static_cast<std::size_t>((most - least).count()) + 1));
  }
  Milliseconds pick(std::initializer_list<Milliseconds> values) { return *(values.begin() + below(values.size())); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace pawl::torture
