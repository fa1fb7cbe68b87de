#pragma once

#include "lock/client_core.hpp"
#include "tests/simulation/stage.hpp"
#include "tests/simulation/witness.hpp"
#include "tests/support/faulty_store.hpp"

#include <pawl/multi_lock.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace pawl::test {

using base::awaitable;

/// One process with a client or two, and their users.
/// Limit: the stage must outlive it, and it must stay where it is.
class Player {
 public:
  /// Its users begin at once.
  Player(Stage& stage, std::string name);
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  /// Its users have all their turns behind them, and every client has a session, or is closed.
  bool done() const;
  bool gone() const { return crashed || closing_; }
  /// Nobody leads any more: what do the observers believe?
  void question_observers();
  int observers() const { return observers_; }

  /// From now on its requests fare so.
  void change_weather(const FaultRates& rates);
  /// Its stores may have forgotten its sessions.
  void doubt_sessions(std::size_t store);
  void expire_sessions();
  /// Closes its clients, whatever its users are doing.
  awaitable<void> close();
  bool closed() const { return closed_; }
  Metrics metrics(std::size_t link) const { return links_[link]->core->context().telemetry.snapshot(); }
  std::size_t links() const { return links_.size(); }

  const std::string name;
  base::SimProcess& process;
  bool crashed = false;

 private:
  /// A client.
  struct Link {
    PlayedLock anchor;
    Duration latency;
    std::shared_ptr<RandomFaults> faults;
    std::shared_ptr<FaultyStore> store;
    std::shared_ptr<lock::ClientCore> core = {};
    Witness witness = {};
    bool anchored = false;
  };
  void connect(std::size_t index, Dice& dice);
  std::function<void(const Event&)> observer_of(Link& link);
  Link& link_of(const PlayedLock& lock) const { return *links_[lock.link]; }

  awaitable<void> user(int number);
  awaitable<void> turn(std::string who, Dice dice);
  awaitable<void> turn_with_one(Wish wish, std::string who, Dice& dice);
  awaitable<void> turn_with_several(Wish wish, std::string who, Dice& dice);
  awaitable<void> let_go(const Wish& wish, const std::string& who, Hold hold, Dice& dice);
  void refused(const Wish& wish, const std::string& who, const Error& error, bool was_fair);
  std::shared_ptr<lock::LockCore> handle_of(const PlayedLock& played) const;
  awaitable<Result<Hold>> acquire(const Wish& wish);
  awaitable<Result<Hold>> acquire_as_thread(const Wish& wish);
  awaitable<Result<MultiHold>> acquire_together(const Wish& wish);
  awaitable<void> work(const Hold& hold, const PlayedLock& lock, Dice& dice);
  awaitable<void> work(const MultiHold& holds, Dice& dice);
  base::Time end_of_work(Dice& dice) const;
  awaitable<void> check(const Hold& hold, const PlayedLock& lock);
  awaitable<void> downgrade(const Hold& hold, Dice& dice);
  awaitable<void> anchor(Link& link);
  /// Watches an election until the client is closed, now and then with a rest.
  awaitable<void> observe(const PlayedLock& election, Testimony& testimony);

  Stage& stage_;
  Monitor& monitor_;
  std::vector<std::unique_ptr<Link>> links_;
  int users_;  // who have not finished
  int labels_ = 0;
  int observers_ = 0;  // who have not finished
  bool closing_ = false;
  bool closed_ = false;
  std::deque<std::pair<const PlayedLock*, Testimony>> testimonies_;
};

}  // namespace pawl::test
