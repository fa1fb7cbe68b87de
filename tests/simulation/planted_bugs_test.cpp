#include "base/planted.hpp"
#include "tests/simulation/simulation.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <map>
#include <string>

namespace pawl::test {
namespace {

/// A checker that never failed proves nothing: each known bug must be caught in at least so many of the first 100 worlds. That
/// is about half of what it was when this was written, so that a simulation which has become blunt is noticed.
constexpr std::uint64_t worlds = 100;
const std::map<base::Bug, int> at_least = {
    {base::Bug::release_by_name, 27},
    {base::Bug::deadline_from_reply, 1},
    {base::Bug::renewal_creates, 9},
    {base::Bug::unknown_is_failure, 31},
    {base::Bug::hint_only, 30},
    {base::Bug::late_claim_accepted, 1},
    {base::Bug::timeout_leaves_claim, 25},
    {base::Bug::release_not_repeated, 16},
    {base::Bug::one_token_for_all, 16},
    {base::Bug::renew_after_lost, 19},
    {base::Bug::token_reused, 16},
    {base::Bug::reader_beside_writer, 18},
    {base::Bug::fitting_overtakes, 23},
    {base::Bug::slot_freed_twice, 6},
    {base::Bug::downgrade_requeues, 21},
    {base::Bug::sharer_releases_all, 14},
    {base::Bug::multi_in_any_order, 8},
    {base::Bug::multi_keeps_half, 5},
    {base::Bug::multi_half_lost, 5},
    {base::Bug::observer_repeats, 1},
    {base::Bug::observer_skips, 1},
    {base::Bug::no_drift_margin, 4},
    {base::Bug::local_lifo, 8},
};

class PlantedBug : public ::testing::TestWithParam<base::BugName> {
 protected:
  void SetUp() override { base::plant(GetParam().bug); }
  void TearDown() override { base::uproot_all(); }
};

TEST_P(PlantedBug, IsCaughtOftenEnough) {
  int caught = 0;
  std::string first;
  for (std::uint64_t seed = 0; seed < worlds; ++seed) {
    const Outcome outcome = simulate(seed);
    if (!outcome.violation) continue;
    if (caught++ == 0) first = "seed " + std::to_string(seed) + ": " + *outcome.violation;
  }
  std::cout << GetParam().name << " is caught in " << caught << " of " << worlds << " worlds, first by " << first
            << "\n";
  EXPECT_GE(caught, at_least.at(GetParam().bug));
}

INSTANTIATE_TEST_SUITE_P(Simulation, PlantedBug, ::testing::ValuesIn(base::bug_names),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace pawl::test
