#include "base/planted.hpp"
#include "tests/simulation/simulation.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

namespace pawl::test {
namespace {

/// A checker that never failed proves nothing: each known bug must be caught within the first 2,000 seeds.
class PlantedBug : public ::testing::TestWithParam<base::BugName> {
 protected:
  void SetUp() override { base::plant(GetParam().bug); }
  void TearDown() override { base::uproot_all(); }
};

TEST_P(PlantedBug, IsCaughtWithinTwoThousandSeeds) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Outcome outcome = simulate(seed);
    if (!outcome.violation) continue;
    std::cout << GetParam().name << " is caught by seed " << seed << ": " << *outcome.violation << "\n";
    return;
  }
  FAIL() << GetParam().name << " was not noticed";
}

INSTANTIATE_TEST_SUITE_P(Simulation, PlantedBug, ::testing::ValuesIn(base::bug_names),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace pawl::test
