#include "store/redlock/membership.hpp"

#include "store/redlock/vote.hpp"

#include <algorithm>

namespace pawl::store::redlock {

Assessment assess(const std::vector<NodeRecord>& nodes) {
  Assessment seen;
  std::size_t reached = 0;
  bool used = false;
  for (const NodeRecord& node : nodes) {
    if (!node.reached) continue;
    ++reached;
    used = used || node.used;
    seen.epoch = std::max(seen.epoch, node.epoch);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeRecord& node = nodes[i];
    if (!node.reached) continue;
    const bool outsider = !node.of_this_life || node.epoch == 0;
    auto& where = outsider ? seen.outsiders : (node.epoch == seen.epoch ? seen.members : seen.lagging);
    where.push_back(i);
  }
  const std::size_t majority = majority_of(nodes.size());
  using State = Assessment::State;
  const std::size_t knowing = seen.members.size() + seen.lagging.size();
  if (reached < majority) {
    seen.state = State::unreachable;
  } else if (seen.members.size() >= majority) {
    seen.state = State::ready;
  } else if (knowing >= majority) {
    seen.state = State::adopt;
  } else if (!used) {
    seen.state = reached == nodes.size() ? State::found : State::incomplete;
  } else {
    const std::size_t not_reached = nodes.size() - reached;
    seen.state = knowing + not_reached >= majority ? State::unreachable : State::forgotten;
  }
  return seen;
}

std::uint64_t next_epoch(const std::vector<NodeRecord>& nodes, std::uint64_t known, std::uint64_t clock) {
  std::uint64_t highest = known;
  for (const NodeRecord& node : nodes) highest = std::max(highest, node.epoch);
  return std::max(highest + 1, clock);
}

Admission admit(std::size_t nodes, const std::vector<Voucher>& vouchers, Duration asking) {
  Admission admission;
  Duration shortest = Duration::max();
  for (const Voucher& voucher : vouchers) {
    admission.longest = std::max(admission.longest, voucher.longest);
    shortest = std::min(shortest, voucher.known_for);
    for (const auto& [bucket, counter] : voucher.counters) {
      std::uint64_t& highest = admission.counters[bucket];
      highest = std::max(highest, counter);
    }
  }
  // A claim that counts on what the node has forgotten is over by then: granted, and known to the others, or given up.
  const Duration needed = admission.longest + base::drift(admission.longest) + asking;
  admission.wait = std::max(needed - shortest, Duration::zero());
  admission.granted = vouchers.size() >= majority_of(nodes) && shortest >= needed;
  return admission;
}

}  // namespace pawl::store::redlock
