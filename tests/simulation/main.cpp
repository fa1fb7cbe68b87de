// Plays simulated worlds: pawl-sim --seed N plays one again and tells its story.

#include "base/planted.hpp"
#include "tests/simulation/shrink.hpp"
#include "tests/simulation/simulation.hpp"

#ifdef PAWL_STORE_FILE
#include "tests/simulation/played_file.hpp"
#endif
#ifdef PAWL_EMBEDDED_REDIS
#include "tests/embedded_redis/played_redis.hpp"
#endif

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace pawl;

constexpr std::string_view usage =
    R"(usage: pawl-sim [--store NAME] [--seed N] [--seeds COUNT] [--bug NAME] [--shrink] [--without PARTS] [--story]

Plays COUNT simulated worlds (default 1), beginning with seed N (default 0), and stops at the first one in which a
promise is broken: exit code 1, with its seed and its story. The same seed gives the same play.

  --store NAME     memory (default), file, redis/queue, redis/simple, redis/redisson
  --bug NAME       plant a known bug first; --bug help lists them
  --shrink         leave out of a failing world whatever it fails without, and tell what remains
  --without PARTS  leave these parts out, as --shrink has named them
  --story          tell the story of every world
)";

/// Nothing: there is none of that name, or it was not built.
std::optional<test::StoreMaker> find_store(std::string_view name) {
  if (name == "memory") return test::play_memory;
#ifdef PAWL_STORE_FILE
  if (name == "file") return test::play_file;
#endif
#ifdef PAWL_EMBEDDED_REDIS
  for (const std::string_view scheme : {"queue", "simple", "redisson"}) {
    if (name != "redis/" + std::string(scheme)) continue;
    return test::play_redis(std::string(scheme), std::make_shared<test::embedded::Scripts>());
  }
#endif
  return std::nullopt;
}

struct Wish {
  test::StoreMaker store = test::play_memory;
  std::uint64_t seed = 0;
  std::uint64_t seeds = 1;
  bool story = false;
  bool shrink = false;
  test::Cuts without = {};
};

bool parse_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

void list_bugs() {
  for (const base::BugName& known : base::bug_names) fmt::print("{}\n", known.name);
}

bool plant_bug(std::string_view name) {
  const std::optional<base::Bug> bug = base::parse_bug(name);
  if (bug) base::plant(*bug);
  return bug.has_value();
}

bool choose_store(std::string_view name, Wish& wish) {
  const std::optional<test::StoreMaker> store = find_store(name);
  if (store) wish.store = *store;
  return store.has_value();
}

int complain(std::string_view what) {
  fmt::print(stderr, "pawl-sim: {}\n{}", what, usage);
  return 125;
}

int fail(const Wish& wish, const test::Outcome& outcome) {
  const test::Playing again{.cuts = wish.without, .tells = true, .store = wish.store};
  fmt::print("{}", test::tell(wish.shrink ? test::shrink(outcome, wish.store) : test::simulate(outcome.seed, again)));
  fmt::print("seed {}: {} ({})\n", outcome.seed, outcome.violation->text, to_string(outcome.violation->oracle));
  return 1;
}

int play(const Wish& wish) {
  test::Deeds deeds;
  std::uint64_t steps = 0;
  for (std::uint64_t seed = wish.seed; seed < wish.seed + wish.seeds; ++seed) {
    const test::Outcome outcome =
        test::simulate(seed, {.cuts = wish.without, .tells = wish.story, .store = wish.store});
    if (outcome.violation) return fail(wish, outcome);
    if (wish.story) fmt::print("{}", test::tell(outcome));
    steps += outcome.steps;
    deeds += outcome.deeds;
  }
  fmt::print("{} worlds, every promise kept: {} steps, {}\n", wish.seeds, steps, deeds.to_string());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  Wish wish;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    const std::string_view value = i + 1 < count ? arguments[i + 1] : "";
    if (word == "--story" || word == "--shrink") {
      (word == "--story" ? wish.story : wish.shrink) = true;
      continue;
    }
    if (word == "--help" || word == "-h") return fmt::print("{}", usage), 0;
    if (word == "--bug" && value == "help") return list_bugs(), 0;
    const bool known = word == "--store"     ? choose_store(value, wish)
                       : word == "--seed"    ? parse_number(value, wish.seed)
                       : word == "--seeds"   ? parse_number(value, wish.seeds)
                       : word == "--bug"     ? plant_bug(value)
                       : word == "--without" ? (wish.without = test::Cuts::parse(value), true)
                                             : false;
    if (!known) return complain(fmt::format("\"{} {}\" is not understood", word, value));
    ++i;
  }
  return play(wish);
}
