#pragma once

#include "base/simulated_runtime.hpp"
#include "lock/settings.hpp"
#include "tests/simulation/cuts.hpp"
#include "tests/simulation/played_store.hpp"
#include "tests/support/faults.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::test {

inline constexpr Duration longest_delay = std::chrono::seconds(5);
/// A little less than what leases allow for (1 % + 2 ms).
inline constexpr std::int64_t most_drift_ppm = 9'900;

/// One of the locks that a play is about.
struct PlayedLock {
  Kind kind = Kind::mutex;
  std::string name = {};
  std::uint32_t permits = 0;  ///< how many there are, of a semaphore
  std::size_t link = 0;       ///< which of their connections all clients use for it
  std::size_t store = 0;      ///< to which store that leads
  bool strict = false;        ///< nothing is passed on inside a client
  std::uint32_t passes = 64;  ///< how often it may be, while others wait elsewhere
  Duration pass_time = {};    ///< ... and for how long
  bool spin = false;          ///< whoever waits tries for a while before it queues up

  /// `rw lock0`, and of the second store `rw lock0@1`
  std::string title() const {
    return std::string(to_string(kind)) + " " + name + (store > 0 ? "@" + std::to_string(store) : "");
  }
};

/// What a user wants, in one turn.
struct Wish {
  struct Part {
    const PlayedLock* lock = nullptr;
    lock::Wanted wanted = {};
  };
  std::vector<Part> parts = {};  ///< several: together
  AcquireOptions options = {};
  std::optional<Duration> cancel_after = {};
  bool as_thread = false;  ///< without a coroutine, as a thread waits
  bool must = false;       ///< nothing but the store's own failure excuses that it is not granted

  /// `mutex lock0 + rw lock0`
  std::string title() const;
};

/// What the seed has chosen for a world.
struct Script {
  Duration lease = {};
  Duration longest_lease() const { return 2 * lease; }
  Duration timeout = {};  ///< for one request
  bool drift = false;     ///< the clients' clocks run at different speeds
  std::size_t players = 0;
  int users = 0;
  int rounds = 0;
  Duration rest = {};  ///< how long a user does something else between two turns, at the most
  int disasters = 0;
  bool quiet = false;  ///< nothing goes wrong from beginning to end, and everybody is in a hurry
  std::size_t stores = 1;
  std::vector<std::size_t> links = {};  ///< every client has so many connections, to these stores
  Duration latency = {};        ///< of a request and of an answer, at the most; it differs from client to client
  Duration store_latency = {};  ///< ... and at least
  int commands = 0;             ///< of an operator
  std::vector<PlayedLock> locks = {};
  /// How many of a hundred turns: in some worlds none, in some most of them, for what happens only when they meet.
  int with_max_hold = 0;
  int with_lock_delay = 0;
  int with_other_lease = 0;
  int with_downgrade = 0;
  int with_several = 0;  ///< locks together
  int with_check = 0;    ///< of the sequencer
  int observers = 0;     ///< how many of a hundred clients observe the elections
  int watched = 0;       ///< how many of a hundred clients have an observer for their events...
  Duration slow = {};    ///< ... which takes so long for each, at the most
  FaultRates weather = {};

  /// What of it can be left out, by name, and goes wrong or is unusual in this one.
  std::vector<std::string> parts() const;
  void leave_out(const Cuts& cuts);
};

/// Random numbers for one purpose, which do not depend on how many were used for others: what is left out of a world
/// changes little of the rest.
class Dice {
 public:
  Dice(std::uint64_t seed, std::string_view purpose);

  std::uint64_t random();

  /// From 0 to `most`.
  std::uint64_t roll(std::uint64_t most) { return random() % (most + 1); }
  bool chance(int percent) { return roll(99) < static_cast<std::uint64_t>(percent); }
  Duration up_to(Duration longest) {
    return Duration(static_cast<Duration::rep>(roll(static_cast<std::uint64_t>(longest.count()))));
  }

  /// Of a client's clock, from too slow to too fast; half of the time as far off as can be.
  std::int64_t drift_ppm();
  /// Only what the scheme of that store can do.
  Script script(const PlayedStore& store);
  Wish wish(const Script& script, const std::string& who);
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[roll(choices.size() - 1)];
  }

 private:
  void add_locks(Script& script, const store::Capabilities& scheme);
  PlayedLock played_lock(const store::Capabilities& scheme);
  std::vector<const PlayedLock*> some_of(const Script& script);
  lock::Wanted wanted(const PlayedLock& lock, const std::string& who);
  FaultRates weather();

  std::uint64_t state_;
};

}  // namespace pawl::test
