#include "tests/simulation/simulation.hpp"
#include "tests/support/sanitized.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <random>
#include <string>

namespace pawl::test {
namespace {

constexpr std::uint64_t shards = 8;
constexpr std::uint64_t seeds_per_shard = sanitized ? 250 : 3500;

std::string tell(const Outcome& outcome) {
  std::string text = "play it again: build/pawl-sim --seed " + std::to_string(outcome.seed) + "\n";
  for (const std::string& line : outcome.story) text += line + "\n";
  return text;
}

class Promises : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Promises, AreKeptInEveryWorld) {
  Deeds deeds;
  std::uint64_t lost = 0;
  std::uint64_t undone = 0;
  for (std::uint64_t i = 0; i < seeds_per_shard; ++i) {
    const Outcome outcome = simulate(GetParam() * seeds_per_shard + i);
    ASSERT_FALSE(outcome.violation.has_value()) << *outcome.violation << "\n" << tell(outcome);
    deeds += outcome.deeds;
    lost += outcome.lost;
    undone += outcome.undone;
  }
  // A play in which nothing goes wrong proves nothing.
  EXPECT_GT(deeds.grants, seeds_per_shard * 10);
  EXPECT_GT(deeds.shared, seeds_per_shard);
  EXPECT_GT(deeds.permits, seeds_per_shard);
  EXPECT_GT(deeds.elected, seeds_per_shard / 2);
  EXPECT_GT(deeds.downgrades, seeds_per_shard / 4);
  EXPECT_GT(deeds.together, seeds_per_shard);
  EXPECT_GT(deeds.told, seeds_per_shard / 2);
  EXPECT_GT(lost, seeds_per_shard);
  EXPECT_GT(undone, seeds_per_shard / 10);
}

INSTANTIATE_TEST_SUITE_P(Simulation, Promises, ::testing::Range<std::uint64_t>(0, shards));

// The seeds above are always the same. These are new in each run.
TEST(Simulation, PromisesAreKeptInFreshWorlds) {
  constexpr std::uint64_t fresh = sanitized ? 50 : 1000;
  std::random_device chance;
  const std::uint64_t first = (static_cast<std::uint64_t>(chance()) << 32 | chance()) / 2;
  std::cout << "seeds " << first << " to " << first + fresh - 1 << std::endl;  // flushed: also if it dies
  for (std::uint64_t seed = first; seed < first + fresh; ++seed) {
    const Outcome outcome = simulate(seed);
    ASSERT_FALSE(outcome.violation.has_value()) << *outcome.violation << "\n" << tell(outcome);
  }
}

TEST(Simulation, TheSameSeedTellsTheSameStory) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Outcome first = simulate(seed);
    const Outcome second = simulate(seed);
    EXPECT_EQ(first.story, second.story);
    EXPECT_EQ(first.steps, second.steps);
  }
}

TEST(Simulation, AnotherSeedTellsAnotherStory) { EXPECT_NE(simulate(1).story, simulate(2).story); }

}  // namespace
}  // namespace pawl::test
