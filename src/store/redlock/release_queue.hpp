#pragma once

#include "store/redlock/release.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>

namespace pawl::store::redlock {

/// What one node is still to be told of claims that have left it: each until the node has confirmed it, or until what is
/// there has ended by itself. One entry for each claim, whatever the number of its tries, and one coroutine that asks again.
/// Threads: on the executor only.
class ReleaseQueue : public std::enable_shared_from_this<ReleaseQueue> {
 public:
  using Hear = std::function<void(const Result<Reply>&)>;

  /// `owner` of the node lives on while something is left to tell it.
  ReleaseQueue(base::Runtime& runtime, Config config, std::shared_ptr<Node> node, std::weak_ptr<void> owner);

  /// Tells the node now. `hear` gets the first answer; without a connection, and unless `patient`, that is at once.
  void add(const Claim& claim, const Release& how, bool patient, Hear hear);
  /// The connection is back: what is left is sent again.
  void connected();
  /// Nobody uses the store any more: goes on for that long at the most.
  void wind_up(base::Time until);

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Entry(Claim of, Release first, base::Time end) : claim(std::move(of)), how(first), until(end) {}
    Claim claim;
    Release how;
    base::Time until;
    std::size_t version = 0;    // rises with each addition
    std::size_t confirmed = 0;  // the highest version that the node has done
    std::size_t under_way = 0;  // requests
    base::Time again_at = {};
    bool is_over() const { return under_way == 0 && confirmed == version; }
  };

  void send(ClaimId id, Entry& entry, bool patient, Hear hear);
  awaitable<void> tell(std::shared_ptr<ReleaseQueue> self, std::shared_ptr<void> owner, ClaimId id, bool patient,
                       Hear hear);
  void heard(ClaimId id, std::size_t version, bool done);
  awaitable<void> tell_again(std::shared_ptr<ReleaseQueue> self, std::shared_ptr<void> owner);
  void send_some();
  void drop_ended();

  base::Runtime& runtime_;
  const Config config_;
  const std::shared_ptr<Node> node_;
  const std::weak_ptr<void> owner_;
  std::map<ClaimId, Entry> entries_;
  base::Time end_ = base::Time::max();
  std::size_t under_way_ = 0;
  bool again_ = false;  // tell_again() runs
  base::Wakeup wakeup_;
};

}  // namespace pawl::store::redlock
