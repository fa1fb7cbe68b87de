#include "tests/simulation/shrink.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::test {

namespace {

bool same(const Outcome& one, const Outcome& other) {
  return one.violation && other.violation && one.violation->oracle == other.violation->oracle;
}

/// What takes most along comes first: a user with all its turns, before each of these.
std::vector<std::string> in_order(std::vector<std::string> parts) {
  std::stable_partition(parts.begin(), parts.end(), [](const std::string& part) { return !part.starts_with("turn "); });
  std::stable_partition(parts.begin(), parts.end(), [](const std::string& part) { return part.starts_with("user "); });
  return parts;
}

}  // namespace

Outcome shrink(const Outcome& failed, const StoreMaker& store, std::size_t most) {
  Outcome best = failed;
  std::size_t played = 0;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const std::string& part : in_order(best.parts)) {
      if (best.cuts.has(part)) continue;
      if (std::find(best.parts.begin(), best.parts.end(), part) == best.parts.end()) continue;
      if (played++ >= most) break;
      Outcome without = simulate(best.seed, {.cuts = best.cuts.with(part), .store = store});
      if (!same(failed, without)) continue;
      best = std::move(without);
      smaller = true;
    }
  }
  return simulate(best.seed, {.cuts = best.cuts, .tells = true, .store = store});
}

std::string tell(const Outcome& outcome) {
  std::string text = fmt::format("play it again: build/pawl-sim --seed {}", outcome.seed);
  if (outcome.cuts.size() > 0) text += fmt::format(" --without '{}'", outcome.cuts.text());
  text += "\n";
  for (const std::string& line : outcome.story) text += line + "\n";
  return text;
}

std::string tell_shrunk(const Outcome& failed, const StoreMaker& store) {
  const Outcome small = shrink(failed, store);
  return fmt::format("seed {}: {}\n{}", failed.seed, failed.violation ? failed.violation->text : "", tell(small));
}

}  // namespace pawl::test
