#pragma once

#include <pawl/hold.hpp>
#include <pawl/multi_lock.hpp>

#include <functional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

namespace pawl::cli {

/// What a command runs under: one lock, several locks together, or the lead of an election.
/// Threads: one at a time.
class Held {
 public:
  Held() = default;
  Held(Hold hold) : held_(std::move(hold)) {}
  Held(MultiHold holds) : held_(std::move(holds)) {}

  /// Of every lock, in the order in which they were named; of a semaphore one for each permit.
  std::vector<Sequencer> sequencers() const;

  /// Of whichever of them ends first.
  Duration remaining() const;
  std::stop_token lost() const;
  std::stop_token release_requested() const;

  /// For sentences: `the lock "backup"`, `the lead of "api"`. The one that is lost, or will be first.
  std::string first_to_end() const;
  /// What has become of that one: `the lock "backup" is lost: its lease could not be renewed in time`.
  std::string loss() const;
  /// The one that somebody has asked for.
  std::string asked_for() const;

  Result<void> release();

 private:
  std::vector<std::reference_wrapper<const Hold>> all() const;
  const Hold& first() const;

  std::variant<Hold, MultiHold> held_;
};

}  // namespace pawl::cli
