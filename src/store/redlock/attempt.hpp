#pragma once

#include "base/wakeup.hpp"
#include "store/claim.hpp"
#include "store/redlock/cluster.hpp"
#include "store/redlock/release.hpp"
#include "store/redlock/vote.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace pawl::store::redlock {

/// What a claim may have on one node, by what its requests to take the lock (acquire.lua) have been answered.
class Trace {
 public:
  enum class Left : std::uint8_t {
    nothing,
    place,  ///< among those who wait
    vote,   ///< the lock, or it is not known
  };

  void ask(std::uint64_t link);
  void answer(const Result<Reply>& answer, bool may_queue);
  /// A release is on its way.
  void leave(bool goes_on_waiting) { left_ = goes_on_waiting ? Left::place : Left::nothing; }

  Left left() const { return unanswered_ > 0 ? Left::vote : left_; }
  const Unsettled& unsettled() const { return unsettled_; }

 private:
  Left left_ = Left::nothing;
  int unanswered_ = 0;  // requests of which it is not known what became
  Unsettled unsettled_ = {};
};

/// By node. Of all tries of a claim.
using SharedTraces = std::shared_ptr<std::vector<Trace>>;

/// One try to take a lock: a vote under way, and what is known of each node's requests. Shared with the answers that come
/// late.
struct Attempt {
  Attempt(Cluster& cluster, Claim of, SharedTraces traces, std::uint64_t number, Deadline deadline);

  /// What a node has said to acquire.lua, and to raise.lua with that target.
  void hear_acquired(std::size_t node, const Result<Reply>& answer);
  void hear_raised(std::size_t node, const Result<Reply>& answer, std::uint64_t target);
  /// acquire.lua goes to that node now: it may arrive late, and take the lock then.
  void asks_to_acquire(std::size_t node, std::uint64_t link);
  /// Nodes that have not answered anything for a while count as failed; all of them, behind the deadline.
  void give_up_on_the_silent(const Cluster& cluster);

  const Claim claim;
  const SharedTraces traces;
  const std::uint64_t number;
  const std::uint64_t epoch;
  const base::Time sent;
  const Deadline deadline;
  Vote vote;
  base::Wakeup wakeup;
  std::vector<int> outstanding;  // by node: answers that the vote waits for
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
