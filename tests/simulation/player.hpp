#pragma once

#include "lock/client_core.hpp"
#include "tests/simulation/monitor.hpp"
#include "tests/simulation/played_store.hpp"
#include "tests/support/faulty_store.hpp"

#include <pawl/multi_lock.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace pawl::test {

using base::awaitable;

/// What all who play share.
struct Stage {
  Stage(std::uint64_t seed, const StoreMaker& maker);

  base::SimWorld world;
  base::SimProcess& server;  ///< the store, the network, the nemesis: never paused
  const std::shared_ptr<PlayedStore> store;
  Monitor monitor;
  Dice dice;
  const Script script;
  std::optional<base::Time> healed_at = {};  ///< since when the weather is good
  bool curtain = false;
};

/// One client in a process of its own, with its users.
/// Limit: the stage must outlive it, and it must stay where it is.
class Player {
 public:
  /// Its users begin at once.
  Player(Stage& stage, std::string name);
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  /// Every user has had all its turns, and the client has a session.
  bool done() const { return users_ == 0 && anchored_; }
  /// Nobody leads any more: what do the observers believe?
  void question_observers();
  int observers() const { return observers_; }

  const std::string name;
  base::SimProcess& process;
  const std::shared_ptr<RandomFaults> faults;
  const std::shared_ptr<FaultyStore> store;
  const std::shared_ptr<lock::ClientCore> core;
  bool crashed = false;

 private:
  awaitable<void> user(int number);
  awaitable<void> turn(std::string who);
  awaitable<void> turn_with_one(const Wish& wish, const std::string& who);
  awaitable<void> turn_with_several(Wish wish, const std::string& who);
  /// In good weather: nothing excuses a failure, and all is undone at once.
  bool fine() const;
  void refused(const Wish& wish, const std::string& who, const Error& error, bool was_fine);
  std::shared_ptr<lock::LockCore> handle_of(const PlayedLock& played) const;
  awaitable<Result<Hold>> acquire(const Wish& wish);
  awaitable<Result<MultiHold>> acquire_together(const Wish& wish);
  awaitable<void> work(const Hold& hold);
  awaitable<void> work(const MultiHold& holds);
  base::Time end_of_work();
  awaitable<void> downgrade(const Hold& hold);
  awaitable<void> anchor();
  /// Watches an election until the client is closed, now and then with a rest.
  awaitable<void> observe(const PlayedLock& election, Testimony& testimony);

  Stage& stage_;
  const PlayedLock anchor_;
  int users_;  // who have not finished
  bool anchored_ = false;
  int labels_ = 0;
  int observers_ = 0;  // who have not finished
  std::deque<std::pair<const PlayedLock*, Testimony>> testimonies_;
};

}  // namespace pawl::test
