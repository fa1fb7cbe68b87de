#include "base/planted.hpp"
#include "tests/simulation/simulation.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <map>
#include <string>

namespace pawl::test {
namespace {

/// A checker that never failed proves nothing: each known bug must be caught in at least so many of the first 200 worlds. That
/// is about half of what it was when this was written, so that a simulation which has become blunt is noticed.
constexpr std::uint64_t worlds = 200;
const std::map<base::Bug, int> at_least = {
    {base::Bug::release_by_name, 59},
    {base::Bug::deadline_from_reply, 6},
    {base::Bug::renewal_creates, 18},
    {base::Bug::unknown_is_failure, 58},
    {base::Bug::hint_only, 61},
    {base::Bug::late_claim_accepted, 6},
    {base::Bug::timeout_leaves_claim, 44},
    {base::Bug::release_not_repeated, 34},
    {base::Bug::one_token_for_all, 38},
    {base::Bug::renew_after_lost, 48},
    {base::Bug::token_reused, 34},
    {base::Bug::reader_beside_writer, 42},
    {base::Bug::fitting_overtakes, 46},
    {base::Bug::slot_freed_twice, 9},
    {base::Bug::downgrade_requeues, 49},
    {base::Bug::sharer_releases_all, 32},
    {base::Bug::multi_in_any_order, 12},
    {base::Bug::multi_keeps_half, 10},
    {base::Bug::multi_half_lost, 10},
    {base::Bug::observer_repeats, 3},
    {base::Bug::observer_skips, 3},
    {base::Bug::no_drift_margin, 10},
    {base::Bug::local_lifo, 20},
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
