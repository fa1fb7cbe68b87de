#include "tests/simulation/play.hpp"

#include "base/wakeup.hpp"
#include "tests/simulation/watchdog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace pawl::test {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t most_steps = 300'000;  // a play has a few thousand

}  // namespace

bool Play::everybody_done() const {
  if (!stage_.healed) return false;
  return std::all_of(cast_.players.begin(), cast_.players.end(),
                     [](const auto& player) { return player->crashed || player->done(); });
}

bool Play::everybody_closed() const {
  return std::all_of(cast_.players.begin(), cast_.players.end(), [](const auto& player) {
    return player->crashed || (player->closed() && player->observers() == 0);
  });
}

/// A promise is broken, or it does not come to an end.
bool Play::over() {
  if (stage_.world.steps() > most_steps) stage_.monitor.violated(Oracle::goes_round, "it goes round and round");
  return stage_.monitor.violation().has_value();
}

bool Play::run_until(const std::function<bool()>& done, Duration within) {
  return stage_.world.run_until([&] { return over() || done(); }, stage_.world.now() + within);
}

Outcome Play::run() {
  for (std::size_t i = 0; i < stage_.script.players; ++i) cast_.enter(std::string(1, static_cast<char>('a' + i)));
  base::spawn(stage_.server, nemesis_.work());
  base::spawn(stage_.server, operator_.work());
  // Then all that is left to do takes some minutes at the most.
  const bool healed = run_until([&] { return stage_.healed; }, 1h);
  if (!healed || !run_until([&] { return everybody_done(); }, 15min)) {
    for (const auto& player : cast_.players) {
      if (!player->crashed && !player->done()) stage_.monitor.note("{} is not done", player->name);
    }
    stage_.monitor.violated(Oracle::waits_for_ever, "somebody waits for ever");
  }
  if (!over()) drop_curtain();
  return verdict();
}

void Play::drop_curtain() {
  // Requests that were under way arrive, what must be undone is undone; the anchors keep all sessions alive meanwhile.
  const base::Time undone = stage_.world.now() + std::max<Duration>(4 * stage_.script.lease, 2 * longest_delay);
  run_until([&] { return stage_.world.now() >= undone; }, undone - stage_.world.now());
  if (over()) return;
  check_nothing_is_left(true);
  question_observers();
  stage_.curtain = true;
  for (auto& player : cast_.players) {
    if (!player->gone()) base::spawn(player->process, player->close());
  }
  if (!run_until([&] { return everybody_closed(); }, 1min)) {
    stage_.monitor.violated(Oracle::does_not_close, "a client does not close");
  }
  if (over()) return;
  check_nothing_is_left(false);
  for (const auto& store : stage_.stores) {
    if (store->kept().sessions != 0) stage_.monitor.violated(Oracle::session_left, "a session was left behind");
  }
}

void Play::question_observers() {
  for (const auto& player : cast_.players) {
    if (!player->gone()) player->question_observers();
  }
}

void Play::check_nothing_is_left(bool anchored) {
  for (std::size_t store = 0; store < stage_.stores.size(); ++store) {
    const auto& links = stage_.script.links;
    const auto anchors_of_one = static_cast<std::size_t>(std::count(links.begin(), links.end(), store));
    std::size_t anchors = 0;
    for (const auto& player : cast_.players) anchors += player->gone() || !anchored ? 0 : anchors_of_one;
    const PlayedStore::Kept kept = stage_.stores[store]->kept();
    if (!kept.others.empty()) stage_.monitor.violated(Oracle::claims_left, "left behind: " + kept.others);
    if (kept.claims == anchors && kept.keys == anchors) continue;
    stage_.monitor.violated(Oracle::claims_left, fmt::format("{} claims of {} locks are left where {} are held",
                                                             kept.claims, kept.keys, anchors));
  }
}

Outcome Play::verdict() {
  Outcome outcome;
  outcome.seed = stage_.seed;
  outcome.cuts = stage_.cuts;
  outcome.parts = stage_.parts;
  outcome.violation = stage_.monitor.violation();
  outcome.story.assign(stage_.monitor.story().begin(), stage_.monitor.story().end());
  outcome.steps = stage_.world.steps();
  outcome.deeds = stage_.monitor.deeds();
  for (const auto& player : cast_.players) {
    for (std::size_t link = 0; link < player->links(); ++link) {
      const Metrics metrics = player->metrics(link);
      outcome.deeds.lost += metrics.lost;
      outcome.deeds.undone += metrics.undone;
      outcome.deeds.local_passes += metrics.local_passes;
    }
  }
  return outcome;
}

Outcome simulate(std::uint64_t seed, const Playing& how) {
  const Watchdog watchdog(seed);
  Play play(seed, how);
  return play.run();
}

Outcome simulate(std::uint64_t seed, const StoreMaker& store) { return simulate(seed, Playing{.store = store}); }

}  // namespace pawl::test
