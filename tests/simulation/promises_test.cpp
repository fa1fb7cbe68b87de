#include "tests/simulation/shrink.hpp"
#include "tests/simulation/simulation.hpp"
#include "tests/support/sanitized.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <random>
#include <string>

namespace pawl::test {
namespace {

constexpr std::uint64_t shards = 4;
constexpr std::uint64_t seeds_per_shard = sanitized ? 250 : 1500;
constexpr std::uint64_t fresh_seeds = sanitized ? 50 : 1000;

class Promises : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Promises, AreKeptInEveryWorld) {
  Deeds deeds;
  for (std::uint64_t i = 0; i < seeds_per_shard; ++i) {
    const Outcome outcome = simulate(GetParam() * seeds_per_shard + i);
    ASSERT_FALSE(outcome.violation.has_value()) << tell_shrunk(outcome);
    deeds += outcome.deeds;
  }
  std::cout << deeds.to_string() << "\n";
  // A play in which nothing goes wrong proves nothing.
  EXPECT_GT(deeds.grants, seeds_per_shard * 10);
  EXPECT_GT(deeds.shared, seeds_per_shard);
  EXPECT_GT(deeds.permits, seeds_per_shard);
  EXPECT_GT(deeds.elected, seeds_per_shard / 2);
  EXPECT_GT(deeds.downgrades, seeds_per_shard / 4);
  EXPECT_GT(deeds.together, seeds_per_shard);
  EXPECT_GT(deeds.told, seeds_per_shard / 2);
  EXPECT_GT(deeds.lost, seeds_per_shard);
  EXPECT_GT(deeds.undone, seeds_per_shard / 10);
  EXPECT_GT(deeds.local_passes, deeds.grants / (sanitized ? 20 : 12));
  EXPECT_GT(deeds.events, seeds_per_shard * 10);
  EXPECT_GT(deeds.checks, seeds_per_shard / 4);
  EXPECT_GT(deeds.recalled, seeds_per_shard / 10);
  EXPECT_GT(deeds.epochs, seeds_per_shard / 10);
  EXPECT_GT(deeds.forgotten, seeds_per_shard / 10);
  EXPECT_GT(deeds.closed, seeds_per_shard);
}

INSTANTIATE_TEST_SUITE_P(Simulation, Promises, ::testing::Range<std::uint64_t>(0, shards));

// The seeds above are always the same. These are new in each run.
TEST(Simulation, PromisesAreKeptInFreshWorlds) {
  std::random_device chance;
  const std::uint64_t first = (static_cast<std::uint64_t>(chance()) << 32 | chance()) / 2;
  std::cout << "seeds " << first << " to " << first + fresh_seeds - 1 << std::endl;  // flushed: also if it dies
  for (std::uint64_t seed = first; seed < first + fresh_seeds; ++seed) {
    const Outcome outcome = simulate(seed);
    ASSERT_FALSE(outcome.violation.has_value()) << tell_shrunk(outcome);
  }
}

TEST(Simulation, TheSameSeedTellsTheSameStory) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Outcome first = simulate(seed, {.tells = true});
    const Outcome second = simulate(seed, {.tells = true});
    EXPECT_EQ(first.story, second.story);
    EXPECT_EQ(first.steps, second.steps);
    EXPECT_EQ(first.steps, simulate(seed).steps) << "also when nobody listens";
  }
}

TEST(Simulation, AnotherSeedTellsAnotherStory) {
  EXPECT_NE(simulate(1, {.tells = true}).story, simulate(2, {.tells = true}).story);
}

}  // namespace
}  // namespace pawl::test
