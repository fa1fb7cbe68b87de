// What the nodes of a Redlock store say of one lock: a claim is shown where a majority has it, whatever a minority says.
// Input: what a Redis server sends; each reply is that of another node.

#include "store/redis/reply.hpp"
#include "store/redlock/views.hpp"
#include "store/redlock/vote.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::fuzz::redlock_views {

using namespace store;

constexpr std::size_t most_nodes = 7;

std::vector<redis::Reply> replies_of(std::string_view input) {
  redis::ReplyReader reader;
  reader.feed(input);
  std::vector<redis::Reply> replies;
  while (replies.size() < most_nodes) {
    auto next = reader.next();
    if (!next || !*next) break;
    replies.push_back(std::move(**next));
  }
  return replies;
}

/// On how many nodes each waits.
std::map<std::string, std::size_t> waiters_in(const std::vector<redis::Reply>& replies) {
  std::map<std::string, std::size_t> nodes;
  for (const redis::Reply& reply : replies) {
    if (reply.items.size() != 4) continue;
    const auto& waiters = reply.items[3].items;
    for (std::size_t i = 0; i + 1 < waiters.size(); i += 2) ++nodes[waiters[i].text];
  }
  return nodes;
}

void check_view(const LockView& view, const std::vector<redis::Reply>& replies, std::size_t majority) {
  must(view.holders.size() * majority <= replies.size(), "a holder has a majority");
  const auto waiters = waiters_in(replies);
  std::set<std::string> shown;
  for (const ClaimView& waiter : view.waiters) {
    const auto found = waiters.find(waiter.claim);
    must(found != waiters.end() && found->second >= majority, "a waiter that is shown waits on a majority");
    must(shown.insert(waiter.claim).second, "no waiter is shown twice");
  }
  must(std::is_sorted(view.waiters.begin(), view.waiters.end(),
                      [](const ClaimView& one, const ClaimView& other) { return one.age > other.age; }),
       "the waiter of the longest wait comes first");
  for (const ClaimView& holder : view.holders) must(holder.lease_left >= Duration::zero(), "no lease is negative");
  must(view.shut_for >= Duration::zero(), "no lock-delay is negative");
}

void run(std::string_view input) {
  static const LockKey key{Kind::mutex, LockName::make("job").value()};
  const std::vector<redis::Reply> replies = replies_of(input);
  redlock::SeenLock seen;
  for (const redis::Reply& reply : replies) seen.hear(reply);
  for (const std::size_t majority : {std::size_t{1}, std::size_t{2}, redlock::majority_of(5)}) {
    check_view(seen.view(key, "majority", majority), replies, majority);
  }
}

}  // namespace pawl::fuzz::redlock_views

PAWL_FUZZ_TARGET(redlock_views, pawl::fuzz::redlock_views::run);
