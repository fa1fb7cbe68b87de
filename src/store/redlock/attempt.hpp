#pragma once

#include "base/wakeup.hpp"
#include "store/claim.hpp"
#include "store/redlock/cluster.hpp"
#include "store/redlock/vote.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace pawl::store::redlock {

/// One try to take a lock: a vote under way, and what is known of each node's requests. Shared with the answers that come
/// late.
struct Attempt {
  Attempt(Cluster& cluster, Claim of, std::uint64_t number, Deadline deadline);

  /// What a node has said to acquire.lua, and to raise.lua with that target.
  void hear_acquired(std::size_t node, const Result<Reply>& answer);
  void hear_raised(std::size_t node, const Result<Reply>& answer, std::uint64_t target);
  /// acquire.lua goes to that node now: it may arrive late, and take the lock then. (raise.lua takes nothing.)
  void asks_to_acquire(std::size_t node, std::uint64_t link);
  /// Nodes that have not answered anything for a while count as failed; all of them, behind the deadline.
  void give_up_on_the_silent(const Cluster& cluster);
  /// Can acquire.lua still arrive at that node behind what is sent to it now? Not on the same connection.
  bool may_arrive(std::size_t node, std::uint64_t link) const { return !settled[node] && links[node] != link; }

  const Claim claim;
  const std::uint64_t number;
  const std::uint64_t epoch;
  const base::Time sent;
  const Deadline deadline;
  Vote vote;
  base::Wakeup wakeup;
  std::vector<bool> settled;         // by node: it is known what became of acquire.lua
  std::vector<std::uint64_t> links;  // by node: over which connection it was sent
  std::vector<int> outstanding;      // by node: answers that the vote waits for
  bool over = false;
  bool gone = false;  // a node knows that the claim was withdrawn
  std::optional<Owner> holder = {};
  Duration left = {};  // of the key that is in the way
  bool in_lock_delay = false;
  Error trouble = {};

 private:
  bool is_late(std::size_t node);
  void hear_busy(std::size_t node, const std::vector<Reply>& items);
};

}  // namespace pawl::store::redlock
