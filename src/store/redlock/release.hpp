#pragma once

#include "store/claim.hpp"
#include "store/redlock/layout.hpp"
#include "store/redlock/node.hpp"

#include <cstdint>
#include <string>

namespace pawl::store::redlock {

/// Requests to take a lock (acquire.lua) that were sent to one node, and of which it is not known what became. Over the
/// connection on which one was sent, whatever is sent now arrives behind it; over another one, it may overtake it.
class Unsettled {
 public:
  static Unsettled over_any_link();

  void add(std::uint64_t link);
  void add(const Unsettled& others);
  /// Can one of them arrive at the node behind what is sent over that connection now?
  bool may_arrive_behind(std::uint64_t link) const;

 private:
  enum class Over : std::uint8_t { none, one, several };
  Over over_ = Over::none;
  std::uint64_t link_ = 0;
};

/// How a claim's vote is taken back on one node (release.lua): a release, or the undo of a try.
struct Release {
  Duration lock_delay = {};
  /// What a later try of the claim has taken stays.
  std::uint64_t up_to_try = every_try;
  Unsettled unsettled = {};
  bool goes_on_waiting = false;

  /// Both in one, this one being older. Nothing that either takes back is left.
  void merge(const Release& newer);
};

/// The script's arguments. A tombstone is left where a request may arrive behind what is sent over that connection.
Words words_of(const Config& config, const Claim& claim, const Release& how, std::uint64_t link);

}  // namespace pawl::store::redlock
