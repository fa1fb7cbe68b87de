// Nodes that have lost their data, or lag behind, become members again.

#include "store/redis/answers.hpp"
#include "store/redlock/cluster.hpp"
#include "store/redlock/scripts.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace pawl::store::redlock {

namespace {

/// What members say of an outsider.
struct Vouching {
  explicit Vouching(base::Runtime& runtime) : wakeup(runtime) {}
  std::vector<Voucher> vouchers = {};
  std::size_t asked = 0;
  std::size_t heard = 0;
  base::Wakeup wakeup;
};

Voucher voucher_of(const Reply& reply) {
  Voucher voucher;
  voucher.known_for = redis::from_milliseconds(reply.items[1]);
  voucher.longest = redis::from_milliseconds(reply.items[2]);
  for (std::size_t i = 3; i + 1 < reply.items.size(); i += 2) {
    const auto bucket = static_cast<std::uint32_t>(redis::whole(reply.items[i].text));
    voucher.counters[bucket] = redis::whole(reply.items[i + 1].text);
  }
  return voucher;
}

}  // namespace

// No claim waits for it.
Duration Cluster::help_timeout() const { return std::min(4 * config_.node_timeout, config_.timeout); }

// One that is in doubt has no record here: it is neither an outsider nor lagging before it was greeted again.
bool Cluster::needs_help(const Assessment& seen) const {
  if (seen.state != Assessment::State::ready) return false;
  const bool in_doubt =
      std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->is_up() && node->is_in_doubt(); });
  return in_doubt || !seen.outsiders.empty() || !seen.lagging.empty();
}

void Cluster::help_outsiders() {
  if (!needs_help(assess(records())) || std::exchange(helping_, true)) return;
  base::spawn(runtime_, help(shared_from_this()));
}

awaitable<void> Cluster::help([[maybe_unused]] std::shared_ptr<Cluster> self) {
  co_await greet_all(false, Deadline::in(runtime_.now(), help_timeout()));
  const Assessment seen = assess(records());
  const bool ready = seen.state == Assessment::State::ready;
  if (ready && !seen.lagging.empty()) {
    const Deadline deadline = Deadline::in(runtime_.now(), help_timeout());
    co_await join_all(seen.lagging, seen.epoch, deadline);
  }
  for (const std::size_t outsider : seen.outsiders) {
    if (!ready) break;
    const Deadline until = Deadline::in(runtime_.now(), help_timeout());
    co_await help_one(outsider, seen.members, seen.epoch, until);
  }
  helping_ = false;
}

awaitable<void> Cluster::help_one(std::size_t outsider, std::vector<std::size_t> members, std::uint64_t epoch,
                                  Deadline deadline) {
  const auto self = shared_from_this();
  const std::string nonce = nodes_[outsider]->record().nonce;
  if (nonce.empty()) co_return;
  const auto vouching = std::make_shared<Vouching>(runtime_);
  const Hear hear = [vouching](std::size_t, const Result<Reply>& answer) {
    ++vouching->heard;
    if (answer && answer->items.size() >= 3) vouching->vouchers.push_back(voucher_of(*answer));
    vouching->wakeup.notify();
  };
  for (const std::size_t i : members) {
    ++vouching->asked;
    Words words{nonce};
    ask(i, epoch, scripts().vouch, std::move(words), deadline, hear);
  }
  while (vouching->heard < vouching->asked && !deadline.passed(runtime_.now())) {
    co_await vouching->wakeup.wait(deadline.at);
  }
  const Admission admission = admit(size(), vouching->vouchers, help_timeout());
  if (!admission.granted) co_return;
  Words words{std::to_string(epoch), base::hex(store_id_), "1", redis::milliseconds(admission.longest)};
  for (const auto& [bucket, counter] : admission.counters) {
    words.push_back(std::to_string(bucket));
    words.push_back(std::to_string(counter));
  }
  ++greeting_;
  const Deadline until = Deadline::in(runtime_.now(), help_timeout());
  co_await join_one(self, outsider, nonce, std::move(words), until);
}

}  // namespace pawl::store::redlock
