#include "tests/simulation/nemesis.hpp"

#include "base/wakeup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

namespace pawl::test {

using namespace std::chrono_literals;

namespace {

// Requests and answers of the latency that there is at the most.
constexpr Duration enough_for_a_look = 300ms;

}  // namespace

Player* Nemesis::someone(Dice& dice) {
  Player* player = cast_.players[dice.roll(cast_.players.size() - 1)].get();
  return player->gone() ? nullptr : player;
}

awaitable<void> Nemesis::work() {
  for (int i = 0; i < stage_.script.disasters; ++i) {
    const std::string title = fmt::format("strike {}", i);
    Dice dice = stage_.dice(title);
    co_await base::sleep_for(stage_.server, dice.up_to(4s));
    if (!stage_.leaves_out(title)) co_await strike(dice);
  }
  Dice dice = stage_.dice("end");
  if (!stage_.script.quiet) co_await base::sleep_for(stage_.server, dice.up_to(4s));
  stage_.heal();
  change_weather(FaultRates{});
}

awaitable<void> Nemesis::strike(Dice& dice) {
  const Duration lease = stage_.script.lease;
  const std::uint64_t what = dice.roll(13);
  const Duration duration = dice.up_to(2 * lease);
  const bool coin = dice.chance(50);
  const std::size_t store = dice.roll(stage_.stores.size() - 1);
  if (what == 0) co_return co_await forget(store, coin);
  if (what == 1) co_return co_await reconnect(duration / 4);
  Player* victim = someone(dice);
  if (victim == nullptr) co_return;
  strike_store(*victim);
  if (what < 5) {
    co_await pause(*victim, duration);
  } else if (what < 8) {
    co_await cut(*victim, coin, duration);
  } else if (what < 10) {
    co_await slow_down(*victim, duration / 2);
    if (what == 8) co_return co_await cut(*victim, coin, 2 * lease);
    co_await pause(*victim, lease + duration / 2);  // answers come meanwhile
    victim->change_weather(stage_.script.weather);
  } else if (what < 11) {
    expire(*victim);
  } else if (what < 12) {
    close(*victim);
  } else {
    crash(*victim);
  }
}

void Nemesis::strike_store(Player& victim) {
  for (std::size_t store = 0; store < stage_.stores.size(); ++store) {
    const PlayedStore::Disaster disaster = stage_.stores[store]->strike(victim.process, victim.name);
    if (!disaster.what.empty()) stage_.monitor.note("{}", disaster.what);
    if (!disaster.lost_all) continue;
    for (const auto& player : cast_.players) {
      stage_.monitor.excuse(player->process, store, stage_.world.now() + stage_.script.longest_lease());
    }
    stage_.monitor.forgotten(store, 0, std::nullopt);
  }
}

awaitable<void> Nemesis::pause(Player& player, Duration duration) {
  stage_.monitor.note("{} stands still for {} ms", player.name, duration / 1ms);
  player.process.pause();
  co_await base::sleep_for(stage_.server, duration);
  player.process.resume();
  stage_.monitor.resumed(player.process);
  stage_.monitor.note("{} goes on", player.name);
}

// The last answers before a silence are the ones by which a client reckons until when it holds.
awaitable<void> Nemesis::slow_down(Player& player, Duration duration) {
  stage_.monitor.note("{} gets its answers late for {} ms", player.name, duration / 1ms);
  FaultRates slow;
  slow.reply_delay = 1;
  slow.longest_delay = 900ms;
  slow.latency = std::min(stage_.script.timeout, stage_.script.lease / 3) / 4;
  player.change_weather(slow);
  co_await base::sleep_for(stage_.server, duration);
}

// Half of the time only the way back is cut: the store hears everything, and the client nothing.
awaitable<void> Nemesis::cut(Player& player, bool deaf, Duration duration) {
  stage_.monitor.note("{} is {} for {} ms", player.name, deaf ? "deaf" : "cut off", duration / 1ms);
  FaultRates cut_off;
  cut_off.drop_notice = 1;
  (deaf ? cut_off.drop_reply : cut_off.drop_request) = 1;
  player.change_weather(cut_off);
  co_await base::sleep_for(stage_.server, duration);
  player.change_weather(stage_.script.weather);
}

void Nemesis::expire(Player& player) {
  stage_.monitor.note("the stores forget the sessions of {}", player.name);
  for (std::size_t store = 0; store < stage_.stores.size(); ++store) {
    stage_.monitor.excuse(player.process, store, stage_.world.now() + stage_.script.longest_lease());
  }
  player.expire_sessions();
}

// A client that is told at once, and has a good line, must find out at once.
awaitable<void> Nemesis::forget(std::size_t store, bool told_at_once) {
  if (told_at_once) {
    change_weather(FaultRates{});
    co_await base::sleep_for(stage_.server, longest_delay);
  }
  const std::optional<std::uint64_t> epoch = stage_.stores[store]->forget_everything();
  if (epoch) {
    stage_.monitor.note("store {} forgets everything", store);
    const base::Time now = stage_.world.now();
    for (const auto& player : cast_.players) {
      stage_.monitor.excuse(player->process, store, now + stage_.script.longest_lease());
      if (!player->gone() && told_at_once) player->doubt_sessions(store);
    }
    stage_.monitor.forgotten(store, *epoch, told_at_once ? std::optional(now + enough_for_a_look) : std::nullopt);
  }
  if (!told_at_once) co_return;
  co_await base::sleep_for(stage_.server, 2 * enough_for_a_look);
  change_weather(stage_.script.weather);
}

// Connections break and come back, and what was sent to clients meanwhile is lost; the stores keep everything.
awaitable<void> Nemesis::reconnect(Duration silence) {
  stage_.monitor.note("all connections are lost for {} ms", silence / 1ms);
  FaultRates lost;
  lost.refuse = 1;
  lost.drop_notice = 1;
  change_weather(lost);
  co_await base::sleep_for(stage_.server, silence);
  change_weather(stage_.script.weather);
  for (const auto& player : cast_.players) {
    if (player->gone()) continue;
    for (std::size_t store = 0; store < stage_.stores.size(); ++store) player->doubt_sessions(store);
  }
}

void Nemesis::crash(Player& player) {
  stage_.monitor.note("{} crashes", player.name);
  player.crashed = true;
  player.process.crash();
  stage_.monitor.crashed(player.process);
  for (const auto& store : stage_.stores) store->died(player.process);
  cast_.enter(player.name + "'");
}

void Nemesis::close(Player& player) {
  base::spawn(player.process, player.close());
  cast_.enter(player.name + "'");
}

void Nemesis::change_weather(const FaultRates& rates) {
  for (const auto& player : cast_.players) player->change_weather(rates);
}

}  // namespace pawl::test
