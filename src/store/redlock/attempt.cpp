#include "store/redlock/attempt.hpp"

#include "store/redis/answers.hpp"
#include "store/redlock/layout.hpp"
#include "store/redlock/question.hpp"
#include "store/redlock/views.hpp"

#include <algorithm>
#include <utility>

namespace pawl::store::redlock {

void Trace::ask(std::uint64_t link) {
  ++unanswered_;
  unsettled_.add(link);
}

// One that was not answered stays unsettled, whatever becomes of those that are sent behind it.
void Trace::answer(const Result<Reply>& answer, bool may_queue) {
  const bool nothing = nothing_was_done(answer);
  if (!answer && !nothing) return;
  if (--unanswered_ == 0) unsettled_ = {};
  if (nothing || answer->items.empty()) return;
  if (answer->items[0].is("taken")) left_ = Left::vote;
  if (answer->items[0].is("busy")) left_ = may_queue || left_ != Left::nothing ? Left::place : Left::nothing;
}

Attempt::Attempt(Cluster& cluster, Claim of, SharedTraces left, std::uint64_t of_try, Deadline until)
    : claim(std::move(of)),
      traces(std::move(left)),
      number(of_try),
      epoch(cluster.epoch()),
      sent(cluster.runtime().now()),
      deadline(until),
      vote(cluster.size(), sent, claim.lease, base::drift(claim.lease)),
      wakeup(cluster.runtime()),
      outstanding(cluster.size()) {}

void Attempt::asks_to_acquire(std::size_t node, std::uint64_t link) { (*traces)[node].ask(link); }

// Too late for the vote: it is over, or has given the node up.
bool Attempt::is_late(std::size_t node) {
  if (over || outstanding[node] == 0) return true;
  --outstanding[node];
  wakeup.notify();
  return false;
}

void Attempt::hear_acquired(std::size_t node, const Result<Reply>& answer) {
  (*traces)[node].answer(answer, claim.may_queue);
  if (is_late(node)) return;
  if (!answer) {
    trouble = answer.error();
    return vote.failed(node);
  }
  const std::vector<Reply>& items = answer->items;
  if (items.size() == 2 && items[0].is("taken")) return vote.taken(node, redis::whole(items[1].text));
  if (items.size() >= 3 && items[0].is("busy")) return hear_busy(node, items);
  gone = gone || (!items.empty() && items[0].is("gone"));
  vote.failed(node);
}

void Attempt::hear_busy(std::size_t node, const std::vector<Reply>& items) {
  vote.busy(node, items[1].text);
  left = std::max(left, redis::from_milliseconds(items[2]));
  in_lock_delay = items[1].text.starts_with(lock_delay_mark);
  if (items.size() == 6) holder = owner_of(items, 3);
  if (items.size() == 3 && !in_lock_delay && !holder) {
    holder.emplace();
    holder->foreign = true;
  }
}

void Attempt::hear_raised(std::size_t node, const Result<Reply>& answer, std::uint64_t target) {
  if (is_late(node)) return;
  if (!answer || answer->items.empty()) return vote.failed(node);
  if (answer->items[0].is("risen")) return vote.risen(node, target);
  if (answer->items.size() == 2) return vote.not_risen(node, redis::whole(answer->items[1].text));
  vote.lost(node);
}

void Attempt::give_up_on_the_silent(const Cluster& cluster) {
  const bool all = deadline.passed(cluster.runtime().now());
  for (std::size_t i = 0; i < outstanding.size(); ++i) {
    if (!all && !cluster.is_silent(i)) continue;
    if (std::exchange(outstanding[i], 0) > 0) vote.failed(i);
  }
}

}  // namespace pawl::store::redlock
