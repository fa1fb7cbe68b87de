#include "store/redis/answers.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>
#include <vector>

namespace pawl::store::redis {

namespace {

Owner owner_of(const Reply& host, const Reply& pid, const Reply& label) {
  Owner owner;
  owner.host = host.text;
  owner.pid = pid.number();
  owner.label = label.text;
  return owner;
}

Owner foreigner() {
  Owner owner;
  owner.foreign = true;
  return owner;
}

Waiting::Permits permits_of(const Reply& taken, const Reply& in_lock_delay) {
  return {static_cast<std::uint32_t>(taken.number()), static_cast<std::uint32_t>(in_lock_delay.number())};
}

Waiting waiting_of(const std::vector<Reply>& items) {
  Waiting waiting{from_milliseconds(items[1])};
  if (items[2].number() >= 0) waiting.ahead = static_cast<std::uint64_t>(items[2].number());
  if (items.size() == 4) waiting.holder = foreigner();
  if (items.size() == 5 && items[3].is("shut")) waiting.shut_for = from_milliseconds(items[4]);
  if (items.size() == 6) waiting.holder = owner_of(items[3], items[4], items[5]);
  if (items.size() == 7 && items[3].is("permits")) waiting.permits = permits_of(items[5], items[6]);
  return waiting;
}

ClaimView claim_view(const std::vector<Reply>& items) {
  ClaimView view;
  if (items.size() == 2) {
    view.owner = foreigner();
    view.lease_left = std::max<Duration>(from_milliseconds(items[1]), Duration::zero());
    return view;
  }
  view.claim = items[0].text;
  view.mode = items[1].is("s") ? Mode::shared : Mode::exclusive;
  view.owner = owner_of(items[2], items[3], items[4]);
  view.age = from_milliseconds(items[5]);
  view.token = token_of(items[6], items[7]);
  view.slots = slots_of(items[8]);
  view.permits = static_cast<std::uint32_t>(items[9].number());
  view.value = items[10].text;
  view.lease_left = std::max<Duration>(from_milliseconds(items[11]), Duration::zero());
  view.release_requested = items[12].is("1");
  return view;
}

std::vector<ClaimView> claim_views(const Reply& reply) {
  std::vector<ClaimView> views;
  for (const Reply& item : reply.items) {
    if (item.items.size() == 13 || item.items.size() == 2) views.push_back(claim_view(item.items));
  }
  return views;
}

}  // namespace

std::string milliseconds(Duration duration) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

Duration from_milliseconds(const Reply& reply) {
  constexpr std::int64_t longest = std::chrono::floor<std::chrono::milliseconds>(Duration::max()).count();
  return std::chrono::milliseconds(std::clamp(reply.number(), -longest, longest));
}

std::uint64_t whole(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Token token_of(const Reply& epoch, const Reply& counter) { return {whole(epoch.text), whole(counter.text)}; }

Slots slots_of(const Reply& reply) {
  Slots slots;
  const std::string_view text = reply.text;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    slots.push_back(static_cast<std::uint32_t>(whole(text.substr(begin, end - begin))));
    begin = end + 1;
  }
  return slots;
}

Error unexpected() { return {Errc::store_unavailable, "the server does not answer as expected"}; }

Result<ClaimState> state_of(const Reply& reply, const Claim& claim) {
  const std::vector<Reply>& items = reply.items;
  const std::string name = claim.key.name.quoted();
  if (items.empty()) return unexpected();
  if (items[0].is("granted") && items.size() == 5) {
    return ClaimState{Granted{token_of(items[1], items[2]), items[3].number() == 1, slots_of(items[4])}};
  }
  if (items[0].is("waiting") && items.size() >= 3) return ClaimState{waiting_of(items)};
  if (items[0].is("lost")) return Error{Errc::lost, "lock " + name + ": the session of this claim has ended"};
  if (items[0].is("gone")) {
    return Error{Errc::not_owner, "lock " + name + ": claim " + to_string(claim.id) + " was withdrawn or taken away"};
  }
  if (items[0].is("permits") && items.size() == 2) {
    const auto agreed = static_cast<std::uint32_t>(items[1].number());
    if (auto sound = check_sound(claim, agreed); !sound) return sound.error();
  }
  if (items[0].is("other")) {
    return Error{Errc::invalid_argument, "claim " + to_string(claim.id) + " is another lock's"};
  }
  return unexpected();
}

Standing standing_of(const Reply& reply) {
  const std::vector<Reply>& items = reply.items;
  Standing standing;
  if (items.empty()) return standing;
  if (items[0].is("waiting")) standing.place = Standing::Place::waiting;
  if (!items[0].is("held") || items.size() != 6) return standing;
  standing.place = Standing::Place::held;
  standing.token = token_of(items[1], items[2]);
  standing.contended = items[3].number() == 1;
  standing.release_requested = items[4].is("1");
  standing.slots = slots_of(items[5]);
  return standing;
}

Renewal renewal_of(const Reply& reply) {
  Renewal renewal;
  renewal.changes = whole(reply.items[1].text);
  if (reply.items.size() == 3 && reply.items[2].is("many")) return renewal;
  std::vector<ClaimId>& claims = renewal.changed.emplace();
  for (std::size_t i = 2; i < reply.items.size(); ++i) {
    ClaimId claim;
    if (base::parse_hex(reply.items[i].text, claim.high, claim.low)) claims.push_back(claim);
  }
  return renewal;
}

std::optional<LockView> view_of(const LockKey& key, std::string_view scheme, const Reply& reply) {
  if (reply.items.size() != 5) return std::nullopt;
  LockView view{.kind = key.kind, .scheme = std::string(scheme), .name = key.name.bytes()};
  view.permits = static_cast<std::uint32_t>(reply.items[1].number());
  view.shut_for = from_milliseconds(reply.items[2]);
  view.holders = claim_views(reply.items[3]);
  view.waiters = claim_views(reply.items[4]);
  return view;
}

}  // namespace pawl::store::redis
