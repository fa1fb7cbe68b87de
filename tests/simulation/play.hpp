#pragma once

#include "lock/client_core.hpp"
#include "store/memory/memory_store.hpp"
#include "tests/simulation/monitor.hpp"
#include "tests/simulation/simulation.hpp"
#include "tests/support/faulty_store.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace pawl::test {

using base::awaitable;

/// One client in a process of its own, with its users.
struct Player {
  std::string name;
  base::SimProcess* process;
  std::shared_ptr<RandomFaults> faults = {};
  std::shared_ptr<FaultyStore> store = {};
  std::shared_ptr<lock::ClientCore> core = {};
  int users = 0;  ///< who have not finished
  bool anchored = false;
  bool crashed = false;
};

/// One simulated world from its first step to its verdict.
class Play {
 public:
  explicit Play(std::uint64_t seed);

  Outcome run();

 private:
  /// What the seed has chosen for this world.
  struct Script {
    std::size_t players;
    int users;
    int locks;
    int rounds;
    int disasters;
    FaultRates weather;
  };
  static Script write_script(base::SimWorld& world);

  void enter(const std::string& name);
  awaitable<void> user(Player& player, int number);
  awaitable<void> turn(Player& player, std::string who);
  awaitable<void> work(Player& player, const Hold& hold);
  awaitable<void> anchor(Player& player);
  awaitable<void> nemesis();
  awaitable<void> strike();
  awaitable<void> pause(Player& player, Duration duration);
  awaitable<void> slow_down(Player& player, Duration duration);
  awaitable<void> cut(Player& player, Duration duration);
  void crash(Player& player);
  void heal();
  void drop_curtain();
  bool everybody_done() const;
  void check_nothing_is_left(std::size_t anchors);
  Outcome verdict();

  bool chance(int percent) { return world_.random() % 100 < static_cast<std::uint64_t>(percent); }
  Duration up_to(Duration longest);
  Player* someone();

  base::SimWorld world_;
  base::SimProcess& server_;  // the store, the network, the nemesis: never paused
  std::shared_ptr<store::memory::MemoryState> state_;
  Monitor monitor_;
  Script script_;
  std::vector<std::unique_ptr<Player>> players_;
  std::uint64_t seed_;
  bool healed_ = false;
  base::Time healed_at_ = {};
  bool curtain_ = false;
};

}  // namespace pawl::test
