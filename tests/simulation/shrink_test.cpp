#include "tests/simulation/shrink.hpp"
#include "base/planted.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace pawl::test {
namespace {

using base::Bug;

class Shrink : public ::testing::TestWithParam<Bug> {
 protected:
  void SetUp() override { base::plant(GetParam()); }
  void TearDown() override { base::uproot_all(); }

  static Outcome first_failure() {
    for (std::uint64_t seed = 0;; ++seed) {
      Outcome outcome = simulate(seed, {.tells = true});
      if (outcome.violation) return outcome;
    }
  }
};

// Fails if shrink() keeps a part without which the same promise is broken, or takes another violation for the same one.
TEST_P(Shrink, LeavesOutWhateverTheViolationDoesNotNeed) {
  const Outcome failed = first_failure();
  const Outcome small = shrink(failed);
  ASSERT_TRUE(small.violation.has_value());
  EXPECT_EQ(small.violation->oracle, failed.violation->oracle);
  EXPECT_LT(small.parts.size(), failed.parts.size() / 2);
  EXPECT_LE(small.story.size(), failed.story.size());
  for (const std::string& part : small.parts) {
    const Outcome without = simulate(small.seed, {.cuts = small.cuts.with(part)});
    EXPECT_FALSE(without.violation && without.violation->oracle == small.violation->oracle) << part;
  }
}

TEST_P(Shrink, SaysHowToPlayTheSmallWorldAgain) {
  const Outcome small = shrink(first_failure());
  const Outcome again = simulate(small.seed, {.cuts = Cuts::parse(small.cuts.text()), .tells = true});
  EXPECT_EQ(again.story, small.story);
  EXPECT_NE(tell(small).find("--seed " + std::to_string(small.seed) + " --without '" + small.cuts.text() + "'"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Simulation, Shrink,
                         ::testing::Values(Bug::release_by_name, Bug::release_not_repeated, Bug::multi_in_any_order),
                         [](const auto& info) { return std::string(to_string(info.param)); });

// Which request was lost is what one wants to know of a story in which one was.
TEST(Story, TellsWhatHappenedToWhichRequest) {
  base::plant(Bug::release_not_repeated);
  for (std::uint64_t seed = 0;; ++seed) {
    const Outcome outcome = simulate(seed);
    if (!outcome.violation || outcome.violation->oracle != Oracle::waits_for_ever) continue;
    const Outcome small = shrink(outcome);
    const auto told = [](const std::string& line) {
      const bool unanswered = line.find("lost") != std::string::npos || line.find("refused") != std::string::npos ||
                              line.find("thrown") != std::string::npos || line.find(" in ") != std::string::npos;
      return line.find(", withdraw, ") != std::string::npos && unanswered;
    };
    EXPECT_TRUE(std::any_of(small.story.begin(), small.story.end(), told)) << tell(small);
    break;
  }
  base::uproot_all();
}

}  // namespace
}  // namespace pawl::test
