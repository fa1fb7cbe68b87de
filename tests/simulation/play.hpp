#pragma once

#include "tests/simulation/player.hpp"
#include "tests/simulation/simulation.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pawl::test {

/// One simulated world from its first step to its verdict.
class Play {
 public:
  Play(std::uint64_t seed, const StoreMaker& store) : seed_(seed), stage_(seed, store) {}

  Outcome run();

 private:
  void enter(const std::string& name);
  awaitable<void> nemesis();
  awaitable<void> strike();
  void strike_store(Player& victim);
  awaitable<void> pause(Player& player, Duration duration);
  awaitable<void> slow_down(Player& player, Duration duration);
  awaitable<void> cut(Player& player, Duration duration);
  void crash(Player& player);
  void heal();
  bool over();
  bool run_until(const std::function<bool()>& done, Duration within);
  void drop_curtain();
  bool everybody_done() const;
  void check_nothing_is_left(std::size_t anchors);
  void question_observers();
  bool anybody_observes() const;
  Outcome verdict();

  Player* someone();

  const std::uint64_t seed_;
  Stage stage_;
  std::vector<std::unique_ptr<Player>> players_;
};

}  // namespace pawl::test
