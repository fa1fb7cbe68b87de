#pragma once

#include "tests/simulation/player.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pawl::test {

/// Those who play, also the ones who have crashed or closed.
struct Cast {
  explicit Cast(Stage& with_stage) : stage(with_stage) {}
  void enter(const std::string& name) { players.push_back(std::make_unique<Player>(stage, name)); }

  Stage& stage;
  std::vector<std::unique_ptr<Player>> players = {};
};

/// What goes wrong beside the weather, until everything is healed.
class Nemesis {
 public:
  Nemesis(Stage& stage, Cast& cast) : stage_(stage), cast_(cast) {}
  awaitable<void> work();

 private:
  awaitable<void> strike(Dice& dice);
  void strike_store(Player& victim);
  awaitable<void> pause(Player& player, Duration duration);
  awaitable<void> slow_down(Player& player, Duration duration);
  awaitable<void> cut(Player& player, bool deaf, Duration duration);
  void expire(Player& player);
  awaitable<void> forget(std::size_t store, bool told_at_once);
  awaitable<void> reconnect(Duration silence);
  void crash(Player& player);
  void close(Player& player);
  void change_weather(const FaultRates& rates);
  Player* someone(Dice& dice);

  Stage& stage_;
  Cast& cast_;
};

}  // namespace pawl::test
