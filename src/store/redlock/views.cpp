#include "store/redlock/views.hpp"

#include "store/redis/answers.hpp"
#include "store/redlock/layout.hpp"

#include <algorithm>

namespace pawl::store::redlock {

namespace {

constexpr std::size_t words_of_record = 10;

}  // namespace

Owner owner_of(const std::vector<Reply>& items, std::size_t first) {
  Owner owner;
  owner.host = items[first].text;
  owner.pid = items[first + 1].number();
  owner.label = items[first + 2].text;
  return owner;
}

void SeenLock::hear(SeenClaim& seen, const std::string& id, const std::vector<Reply>& record, Duration left) {
  ++seen.nodes;
  seen.view.lease_left = std::max(seen.view.lease_left, left);
  if (record.size() != words_of_record) {
    if (seen.view.claim.empty()) seen.view.owner.foreign = true;
    return;
  }
  seen.view.claim = id;
  seen.view.owner = owner_of(record, 1);
  seen.view.age = std::max(seen.view.age, redis::from_milliseconds(record[5]));
  seen.view.release_requested = seen.view.release_requested || record[8].is("1");
  ++seen.tokens[{redis::whole(record[6].text), redis::whole(record[7].text)}];
}

void SeenLock::hear(const Reply& reply) {
  if (reply.items.size() != 4) return;
  const std::string& owner = reply.items[0].text;
  const Duration left = std::max(redis::from_milliseconds(reply.items[1]), Duration::zero());
  if (owner.starts_with(lock_delay_mark)) {
    ++shut_;
    shut_for_ = std::max(shut_for_, left);
  } else if (!owner.empty()) {
    hear(holders_[owner], owner, reply.items[2].items, left);
  }
  const std::vector<Reply>& waiters = reply.items[3].items;
  for (std::size_t i = 0; i + 1 < waiters.size(); i += 2) {
    const std::vector<Reply>& record = waiters[i + 1].items;
    if (record.size() != words_of_record) continue;
    hear(waiters_[waiters[i].text], waiters[i].text, record, redis::from_milliseconds(record[9]));
  }
}

// A node that was not raised has a lower counter than the token.
Token SeenLock::token_of(const SeenClaim& seen) {
  Token token;
  std::size_t most = 0;
  for (const auto& [candidate, nodes] : seen.tokens) {
    if (nodes <= most) continue;
    most = nodes;
    token = Token(candidate.first, candidate.second);
  }
  return token;
}

LockView SeenLock::view(const LockKey& key, std::string_view scheme, std::size_t majority) const {
  LockView view{.kind = key.kind, .scheme = std::string(scheme), .name = key.name.bytes()};
  for (const auto& [id, holder] : holders_) {
    if (holder.nodes < majority) continue;
    view.holders.push_back(holder.view);
    view.holders.back().token = token_of(holder);
  }
  for (const auto& [id, waiter] : waiters_) {
    if (waiter.nodes >= majority) view.waiters.push_back(waiter.view);
  }
  if (shut_ >= majority) view.shut_for = shut_for_;
  std::sort(view.waiters.begin(), view.waiters.end(),
            [](const ClaimView& one, const ClaimView& other) { return one.age > other.age; });
  return view;
}

}  // namespace pawl::store::redlock
