#include "store/redlock/release_queue.hpp"

#include "store/answered.hpp"
#include "store/redlock/scripts.hpp"

#include <algorithm>
#include <utility>

namespace pawl::store::redlock {

ReleaseQueue::ReleaseQueue(base::Runtime& runtime, Config config, std::shared_ptr<Node> node, std::weak_ptr<void> owner)
    : runtime_(runtime),
      config_(std::move(config)),
      node_(std::move(node)),
      owner_(std::move(owner)),
      wakeup_(runtime) {}

void ReleaseQueue::add(const Claim& claim, const Release& how, bool patient, Hear hear) {
  const base::Time until = base::after(runtime_.now(), life_of(config_, claim));
  const auto [found, fresh] = entries_.try_emplace(claim.id, claim, how, until);
  Entry& entry = found->second;
  if (!fresh) {
    entry.how.merge(how);
    entry.until = std::max(entry.until, until);
  }
  ++entry.version;
  send(claim.id, entry, patient, std::move(hear));
}

void ReleaseQueue::connected() {
  for (auto& [id, entry] : entries_) entry.again_at = runtime_.now();
  wakeup_.notify();
}

void ReleaseQueue::wind_up(base::Time until) {
  end_ = until;
  wakeup_.notify();
}

void ReleaseQueue::send(ClaimId id, Entry& entry, bool patient, Hear hear) {
  ++entry.under_way;
  ++under_way_;
  // In turn with Cluster::ask(): the next claim's request must not arrive before this release.
  base::spawn_in_turn(runtime_, tell(shared_from_this(), owner_.lock(), id, patient, std::move(hear)));
}

awaitable<void> ReleaseQueue::tell(std::shared_ptr<ReleaseQueue> self, std::shared_ptr<void> owner, ClaimId id,
                                   bool patient, Hear hear) {
  std::size_t version = 0;
  // As it is when it is sent: what came meanwhile goes along, and the connection may be another one.
  Node::MakeWords words = [self, id, &version](std::uint64_t link) {
    const Entry& entry = self->entries_.at(id);  // which stays while a request is under way
    version = entry.version;
    return words_of(self->config_, entry.claim, entry.how, link);
  };
  const Deadline deadline = Deadline::in(runtime_.now(), config_.timeout);
  Result<Reply> answer = co_await answered(node_->run(scripts().release, std::move(words), patient, deadline));
  heard(id, version, answer.has_value());
  if (hear) hear(answer);
  if (entries_.empty() || std::exchange(again_, true)) co_return;
  base::spawn(runtime_, tell_again(self, std::move(owner)));
}

void ReleaseQueue::heard(ClaimId id, std::size_t version, bool done) {
  --under_way_;
  const auto found = entries_.find(id);
  Entry& entry = found->second;
  --entry.under_way;
  if (done) {
    entry.confirmed = std::max(entry.confirmed, version);
    wakeup_.notify();
  } else {
    entry.again_at = base::after(runtime_.now(), config_.node_timeout);
  }
  if (entry.is_over()) entries_.erase(found);
}

void ReleaseQueue::drop_ended() {
  const base::Time now = runtime_.now();
  std::erase_if(entries_, [&](const auto& entry) {
    return entry.second.under_way == 0 && now >= std::min(entry.second.until, end_);
  });
}

void ReleaseQueue::send_some() {
  constexpr std::size_t most_at_once = 100;
  const base::Time now = runtime_.now();
  for (auto& [id, entry] : entries_) {
    if (under_way_ >= most_at_once) return;
    if (entry.under_way == 0 && now >= entry.again_at) send(id, entry, false, {});
  }
}

// When the connection is back, or now and then.
awaitable<void> ReleaseQueue::tell_again([[maybe_unused]] std::shared_ptr<ReleaseQueue> self,
                                         [[maybe_unused]] std::shared_ptr<void> owner) {
  while (!entries_.empty()) {
    base::Time next = base::after(runtime_.now(), config_.node_timeout);
    if (runtime_.now() < end_) next = std::min(next, end_);
    co_await wakeup_.wait(next);
    drop_ended();
    if (node_->is_up()) send_some();
  }
  again_ = false;
}

}  // namespace pawl::store::redlock
