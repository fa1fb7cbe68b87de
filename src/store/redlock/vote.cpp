#include "store/redlock/vote.hpp"

#include <algorithm>

namespace pawl::store::redlock {

Poll::Verdict Poll::verdict() const {
  const std::size_t majority = majority_of(nodes_);
  if (yes_ >= majority) return Verdict::yes;
  if (nodes_ - no_ < majority) return Verdict::no;
  return yes_ + pending() >= majority ? Verdict::open : Verdict::silence;
}

Vote::Vote(std::size_t nodes, base::Time sent, Duration lease, Duration margin)
    : sent_(sent), lease_(lease), margin_(margin), nodes_(nodes) {}

void Vote::see(std::uint64_t counter) { highest_ = std::max(highest_, counter); }

void Vote::taken(std::size_t node, std::uint64_t counter) {
  nodes_[node].state = State::ours;
  nodes_[node].counter = counter;
  votes_[counter].insert(node);
  see(counter);
}

void Vote::busy(std::size_t node, const std::string& holder) {
  nodes_[node].state = State::busy;
  ++holders_[holder];
}

void Vote::failed(std::size_t node) { nodes_[node].state = State::failed; }

void Vote::risen(std::size_t node, std::uint64_t target) {
  nodes_[node].counter = std::max(nodes_[node].counter, target);
  nodes_[node].raising = false;
  votes_[target].insert(node);
}

void Vote::not_risen(std::size_t node, std::uint64_t counter) {
  nodes_[node].counter = counter;
  nodes_[node].raising = false;
  // That number is another claim's, perhaps: there can be no more votes for it here.
  see(counter + 1);
}

void Vote::lost(std::size_t node) {
  nodes_[node].state = State::busy;
  nodes_[node].raising = false;
}

std::size_t Vote::count(State state) const {
  return static_cast<std::size_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [state](const Node& node) { return node.state == state; }));
}

std::size_t Vote::ours() const { return count(State::ours); }

std::optional<std::uint64_t> Vote::won() const {
  const std::size_t majority = majority_of(nodes_.size());
  // What was raised past a number says so already: it would be a token that no node remembers.
  for (auto vote = votes_.lower_bound(raised_to_); vote != votes_.end(); ++vote) {
    const auto& [token, voters] = *vote;
    // Votes of nodes where it was lost since count for nothing: the lock must be ours on a majority as well.
    const auto still = std::count_if(voters.begin(), voters.end(),
                                     [this](std::size_t node) { return nodes_[node].state == State::ours; });
    if (static_cast<std::size_t>(still) >= majority) return token;
  }
  return std::nullopt;
}

Vote::Step Vote::next(base::Time now) const {
  if (remaining(now) <= Duration::zero()) return Step::refused;
  if (won()) return Step::granted;
  const std::size_t majority = majority_of(nodes_.size());
  if (ours() + count(State::asked) < majority) return Step::refused;
  if (ours() < majority) return Step::wait;
  const bool behind = std::any_of(nodes_.begin(), nodes_.end(), [this](const Node& node) {
    return node.state == State::ours && !node.raising && node.counter < highest_;
  });
  return behind ? Step::raise : Step::wait;
}

std::uint64_t Vote::token() const { return won().value_or(0); }

std::vector<std::size_t> Vote::to_raise() {
  raised_to_ = highest_;
  std::vector<std::size_t> behind;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (node.state != State::ours || node.raising || node.counter >= highest_) continue;
    node.raising = true;
    behind.push_back(i);
  }
  return behind;
}

Vote::Why Vote::why(base::Time now) const {
  const std::size_t majority = majority_of(nodes_.size());
  if (remaining(now) <= Duration::zero()) return Why::too_late;
  if (nodes_.size() - count(State::failed) < majority) return Why::unreachable;
  const bool held =
      std::any_of(holders_.begin(), holders_.end(), [majority](const auto& other) { return other.second >= majority; });
  return held ? Why::held : Why::split;
}

Duration Vote::remaining(base::Time now) const { return base::after(sent_, lease_) - margin_ - now; }

}  // namespace pawl::store::redlock
