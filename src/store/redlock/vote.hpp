#pragma once

#include "base/time.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pawl::store::redlock {

/// How many of so many nodes are a majority.
constexpr std::size_t majority_of(std::size_t nodes) { return nodes / 2 + 1; }

/// One question that each node answers with yes or no, or not at all. Decided as early as it can be.
class Poll {
 public:
  enum class Verdict : std::uint8_t {
    open,
    yes,      ///< of a majority
    no,       ///< so many have said no that a majority of yes is out of reach, whatever the others would say
    silence,  ///< too few say yes, and those that do not answer might
  };

  explicit Poll(std::size_t nodes) : nodes_(nodes) {}

  void yes() { ++yes_; }
  void no() { ++no_; }
  void failed() { ++failed_; }

  Verdict verdict() const;
  std::size_t agreed() const { return yes_; }
  std::size_t pending() const { return nodes_ - yes_ - no_ - failed_; }
  /// That have said yes or no.
  std::size_t answered() const { return yes_ + no_; }
  /// That have not, or not yet.
  std::size_t silent() const { return nodes_ - answered(); }

 private:
  std::size_t nodes_;
  std::size_t yes_ = 0, no_ = 0, failed_ = 0;
};

/// The vote on one try to take a lock: answers of N nodes in, verdict out. It asks no server and reads no clock.
///
/// A node votes for a token when its counter rises to that number, strictly, while the lock is ours there. A token is
/// ours with the votes of a majority: two majorities share a node, and no counter rises to a number twice. So tokens are
/// unique, and a try that begins after another one was granted gets a larger one, whatever became of the locks.
///
/// Taking the lock raises a node's counter by itself, so nodes that agree cost one round trip. Otherwise those that are
/// behind are raised to the highest of them (the write-back), again and again while the lease lasts.
///
/// | step    | meaning                                                                          |
/// |---------|----------------------------------------------------------------------------------|
/// | wait    | for more answers                                                                 |
/// | raise   | to_raise() are to be raised to target()                                          |
/// | granted | with token(), valid for remaining()                                              |
/// | refused | a majority is out of reach: see why()                                            |
class Vote {
 public:
  enum class Step : std::uint8_t { wait, raise, granted, refused };
  enum class Why : std::uint8_t {
    held,         ///< another claim has the lock on a majority, as far as they answer
    split,        ///< some have it and none has a majority: a tie, or a minority is in the way
    unreachable,  ///< too few nodes answer
    too_late,     ///< the lease has run out meanwhile
  };

  /// `margin`: for clocks that run apart.
  Vote(std::size_t nodes, base::Time sent, Duration lease, Duration margin);

  /// The lock is ours there, and its counter has risen to `counter`.
  void taken(std::size_t node, std::uint64_t counter);
  /// The lock is another claim's there.
  void busy(std::size_t node, const std::string& holder);
  /// No answer to anything that it was asked, or an error, or it may not vote.
  void failed(std::size_t node);
  /// Its counter has risen to the target that was asked for.
  void risen(std::size_t node, std::uint64_t target);
  /// Not, since its counter was at `counter` already.
  void not_risen(std::size_t node, std::uint64_t counter);
  /// Not, since the lock is not ours there any more.
  void lost(std::size_t node);

  Step next(base::Time now) const;
  std::uint64_t token() const;
  std::uint64_t target() const { return highest_; }
  /// Which nodes have to be asked to rise to target(); they count as asked from now on.
  std::vector<std::size_t> to_raise();
  Why why(base::Time now) const;
  /// Of the lease, from before the first node was asked.
  Duration remaining(base::Time now) const;
  /// On how many nodes it is ours, as far as is known.
  std::size_t ours() const;

 private:
  enum class State : std::uint8_t { asked, ours, busy, failed };
  struct Node {
    State state = State::asked;
    std::uint64_t counter = 0;  // as it was seen last
    bool raising = false;
  };
  std::size_t count(State state) const;
  std::optional<std::uint64_t> won() const;
  void see(std::uint64_t counter);

  const base::Time sent_;
  const Duration lease_, margin_;
  std::vector<Node> nodes_;
  std::map<std::uint64_t, std::set<std::size_t>> votes_;  // by token
  std::map<std::string, std::size_t> holders_;            // others, and on how many nodes
  std::uint64_t raised_to_ = 0;                           // the highest that nodes were asked to rise to
  std::uint64_t highest_ = 0;                             // what those who are behind are to be raised to
};

}  // namespace pawl::store::redlock
