#pragma once

#include "base/simulated_runtime.hpp"
#include "lock/settings.hpp"
#include "tests/simulation/played_store.hpp"
#include "tests/support/faults.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
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
  bool strict = false;        ///< nothing is passed on inside a client
  Duration pass_time = {};    ///< for how long it may be, while others wait elsewhere
  bool spin = false;          ///< whoever waits tries for a while before it queues up

  /// `rw lock0`
  std::string title() const { return std::string(to_string(kind)) + " " + name; }
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
  bool must = false;  ///< nothing but the store's own failure excuses that it is not granted

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
  std::vector<PlayedLock> locks = {};
  /// How many of a hundred turns: in some worlds none, in some most of them, for what happens only when they meet.
  int with_max_hold = 0;
  int with_lock_delay = 0;
  int with_other_lease = 0;
  int with_downgrade = 0;
  int with_several = 0;  ///< locks together
  int observers = 0;     ///< how many of a hundred clients observe the elections
  FaultRates weather = {};
  /// That of the store: several locks cannot be had together if each is lost before the next one is there.
  Duration latency = {};
};

/// The dice of one world.
class Dice {
 public:
  explicit Dice(base::SimWorld& world) : world_(world) {}

  /// From 0 to `most`.
  std::uint64_t roll(std::uint64_t most) { return world_.random() % (most + 1); }
  bool chance(int percent) { return roll(99) < static_cast<std::uint64_t>(percent); }
  Duration up_to(Duration longest) {
    return Duration(static_cast<Duration::rep>(roll(static_cast<std::uint64_t>(longest.count()))));
  }

  /// Of a client's clock, from too slow to too fast; half of the time as far off as can be.
  std::int64_t drift_ppm();
  /// Only what the scheme of that store can do.
  Script script(const PlayedStore& store);
  Wish wish(const Script& script, const std::string& who);

 private:
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[roll(choices.size() - 1)];
  }
  PlayedLock played_lock(const store::Capabilities& scheme);
  std::vector<const PlayedLock*> some_of(const Script& script);
  lock::Wanted wanted(const PlayedLock& lock, const std::string& who);
  FaultRates weather();

  base::SimWorld& world_;
};

}  // namespace pawl::test
