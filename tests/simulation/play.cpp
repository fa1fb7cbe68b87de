#include "tests/simulation/play.hpp"

#include "base/wakeup.hpp"
#include "tests/simulation/watchdog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace pawl::test {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t most_steps = 1'000'000;  // a play has a few thousand

}  // namespace

void Play::enter(const std::string& name) { players_.push_back(std::make_unique<Player>(stage_, name)); }

Player* Play::someone() {
  Player* player = players_[stage_.world.random() % players_.size()].get();
  return player->crashed ? nullptr : player;
}

awaitable<void> Play::nemesis() {
  for (int i = 0; i < stage_.script.disasters; ++i) {
    co_await base::sleep_for(stage_.server, stage_.dice.up_to(4s));
    co_await strike();
  }
  co_await base::sleep_for(stage_.server, stage_.dice.up_to(4s));
  heal();
}

awaitable<void> Play::strike() {
  Player* victim = someone();
  if (victim == nullptr) co_return;
  strike_store(*victim);
  const std::uint64_t what = stage_.world.random() % 10;
  if (what < 3) {
    co_await pause(*victim, stage_.dice.up_to(2 * stage_.script.lease));
  } else if (what < 6) {
    co_await cut(*victim, stage_.dice.up_to(2 * stage_.script.lease));
  } else if (what < 8) {
    co_await slow_down(*victim, stage_.dice.up_to(stage_.script.lease));
    co_await cut(*victim, 2 * stage_.script.lease);
  } else if (what < 9) {
    stage_.monitor.note("the store forgets the sessions of " + victim->name);
    stage_.monitor.excuse(victim->process, stage_.world.now() + stage_.script.longest_lease());
    for (const store::SessionId session : victim->store->sessions()) stage_.store->forget(session);
  } else {
    crash(*victim);
  }
}

void Play::strike_store(Player& victim) {
  const PlayedStore::Disaster disaster = stage_.store->strike(victim.process, victim.name);
  if (!disaster.what.empty()) stage_.monitor.note(disaster.what);
  if (!disaster.lost_all) return;
  stage_.monitor.forget_lock_delays();
  for (const auto& player : players_) {
    stage_.monitor.excuse(player->process, stage_.world.now() + stage_.script.longest_lease());
  }
}

awaitable<void> Play::pause(Player& player, Duration duration) {
  stage_.monitor.note(fmt::format("{} stands still for {} ms", player.name, duration / 1ms));
  player.process.pause();
  co_await base::sleep_for(stage_.server, duration);
  player.process.resume();
  stage_.monitor.note(player.name + " goes on");
}

// The last answers before a silence are the ones by which a client reckons until when it holds.
awaitable<void> Play::slow_down(Player& player, Duration duration) {
  stage_.monitor.note(fmt::format("{} gets its answers late for {} ms", player.name, duration / 1ms));
  FaultRates slow;
  slow.reply_delay = 1;
  slow.longest_delay = 900ms;
  player.faults->change(slow);
  co_await base::sleep_for(stage_.server, duration);
}

awaitable<void> Play::cut(Player& player, Duration duration) {
  // Half of the time only the way back is cut: the store hears everything, and the client nothing.
  const bool deaf = stage_.dice.chance(50);
  stage_.monitor.note(fmt::format("{} is {} for {} ms", player.name, deaf ? "deaf" : "cut off", duration / 1ms));
  FaultRates cut_off;
  cut_off.drop_notice = 1;
  (deaf ? cut_off.drop_reply : cut_off.drop_request) = 1;
  player.faults->change(cut_off);
  co_await base::sleep_for(stage_.server, duration);
  player.faults->change(stage_.script.weather);
}

void Play::crash(Player& player) {
  stage_.monitor.note(player.name + " crashes");
  player.crashed = true;
  player.process.crash();
  stage_.monitor.crashed(player.process);
  stage_.store->died(player.process);
  enter(player.name + "'");
}

void Play::heal() {
  stage_.monitor.note("good weather from now on");
  stage_.healed_at = stage_.world.now();
  for (auto& player : players_) player->faults->change(FaultRates{});
}

bool Play::everybody_done() const {
  if (!stage_.healed_at) return false;
  for (const auto& player : players_) {
    if (!player->crashed && !player->done()) return false;
  }
  return true;
}

/// A promise is broken, or it does not come to an end.
bool Play::over() {
  if (stage_.world.steps() > most_steps) stage_.monitor.violated("it goes round and round");
  return stage_.monitor.violation().has_value();
}

bool Play::run_until(const std::function<bool()>& done, Duration within) {
  return stage_.world.run_until([&] { return over() || done(); }, stage_.world.now() + within);
}

Outcome Play::run() {
  for (std::size_t i = 0; i < stage_.script.players; ++i) enter(std::string(1, static_cast<char>('a' + i)));
  base::spawn(stage_.server, nemesis());
  // Then all that is left to do takes some minutes at the most.
  const bool healed = run_until([&] { return stage_.healed_at.has_value(); }, 1h);
  if (!healed || !run_until([&] { return everybody_done(); }, 15min)) {
    for (const auto& player : players_) {
      if (!player->crashed && !player->done()) stage_.monitor.note(player->name + " is not done");
    }
    stage_.monitor.violated("somebody waits for ever");
  }
  if (!over()) drop_curtain();
  return verdict();
}

void Play::drop_curtain() {
  // Requests that were under way arrive, what must be undone is undone; the anchors keep all sessions alive meanwhile.
  const base::Time undone = stage_.world.now() + std::max<Duration>(4 * stage_.script.lease, 2 * longest_delay);
  run_until([&] { return stage_.world.now() >= undone; }, undone - stage_.world.now());
  if (over()) return;
  std::size_t anchors = 0;
  for (const auto& player : players_) anchors += player->crashed ? 0 : 1;
  check_nothing_is_left(anchors);
  question_observers();
  stage_.curtain = true;
  std::size_t open = anchors;
  for (auto& player : players_) {
    if (player->crashed) continue;
    base::spawn(player->process, [](Player& last, std::size_t& left) -> awaitable<void> {
      [[maybe_unused]] auto closed = co_await last.core->close(10s);
      --left;
    }(*player, open));
  }
  if (!run_until([&] { return open == 0 && !anybody_observes(); }, 1min)) {
    stage_.monitor.violated("a client does not close");
  }
  if (over()) return;
  check_nothing_is_left(0);
  if (stage_.store->kept().sessions != 0) stage_.monitor.violated("a session was left behind");
}

void Play::question_observers() {
  for (const auto& player : players_) {
    if (!player->crashed) player->question_observers();
  }
}

bool Play::anybody_observes() const {
  return std::any_of(players_.begin(), players_.end(),
                     [](const auto& player) { return !player->crashed && player->observers() > 0; });
}

void Play::check_nothing_is_left(std::size_t anchors) {
  const PlayedStore::Kept kept = stage_.store->kept();
  if (kept.claims != anchors || kept.keys != anchors) {
    return stage_.monitor.violated(
        fmt::format("{} claims of {} locks are left where {} are held", kept.claims, kept.keys, anchors));
  }
  if (!kept.others.empty()) stage_.monitor.violated("left behind: " + kept.others);
}

Outcome Play::verdict() {
  Outcome outcome;
  outcome.seed = seed_;
  outcome.violation = stage_.monitor.violation();
  outcome.story.assign(stage_.monitor.story().begin(), stage_.monitor.story().end());
  outcome.steps = stage_.world.steps();
  outcome.deeds = stage_.monitor.deeds();
  for (const auto& player : players_) {
    const Metrics metrics = player->core->context().telemetry.snapshot();
    outcome.lost += metrics.lost;
    outcome.undone += metrics.undone;
    outcome.local_passes += metrics.local_passes;
  }
  return outcome;
}

Outcome simulate(std::uint64_t seed, const StoreMaker& store) {
  const Watchdog watchdog(seed);
  Play play(seed, store);
  return play.run();
}

}  // namespace pawl::test
