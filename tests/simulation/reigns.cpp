#include "tests/simulation/reigns.hpp"

#include "store/chronicle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace pawl::test {

using namespace std::chrono_literals;

namespace {

// Less than what is promised: a leader may be seen here later than by the store, or not at all.
constexpr Duration remembered = store::Chronicle::kept - 10s;
constexpr std::size_t most = store::Chronicle::most - 8;

Violation not_told(Token leader) {
  return {Oracle::leader_not_told, fmt::format("an observer was not told of leader {}", leader.to_string())};
}

}  // namespace

const Reigns::Reign* Reigns::find(Token token) const {
  const auto found = all_.find(token);
  return found == all_.end() ? nullptr : &found->second;
}

std::optional<Token> Reigns::between(Token before, std::optional<Token> after, base::Time now) const {
  if (after && *after <= before) return std::nullopt;
  const auto end = after ? all_.lower_bound(*after) : all_.end();
  for (auto reign = all_.upper_bound(before); reign != end; ++reign) {
    const auto since = static_cast<std::size_t>(std::distance(reign, all_.end()));
    if (reign->first.epoch() >= epoch_ && since <= most && now - reign->second.seen < remembered) return reign->first;
  }
  return std::nullopt;
}

Complaint Testimony::told(const std::optional<Leader>& change, const Reigns& reigns, base::Time now) {
  const bool first = !std::exchange(begun_, true);
  const bool nobody_again = nobody_ && !change;
  nobody_ = !change;
  if (nobody_again) {
    return Violation{Oracle::nobody_told_twice, "an observer was told twice in a row that nobody leads"};
  }
  if (!change) {
    if (first) last_ = reigns.newest();  // it may have led and gone before
    return {};
  }
  if (change->token <= told_) {
    return Violation{Oracle::leader_told_late, fmt::format("an observer was told of leader {} after {}",
                                                           change->token.to_string(), told_.to_string())};
  }
  const Reigns::Reign* known = reigns.find(change->token);
  if (known != nullptr && known->value != change->value) {
    return Violation{
        Oracle::leader_with_other_value,
        fmt::format("leader {} stands for \"{}\", not \"{}\"", change->token.to_string(), known->value, change->value)};
  }
  const std::optional<Token> missed = first ? std::nullopt : reigns.between(last_, change->token, now);
  told_ = change->token;
  last_ = std::max(last_, told_);
  if (missed) return not_told(*missed);
  return {};
}

Complaint Testimony::closed(const Reigns& reigns, base::Time now) const {
  if (!begun_) return Violation{Oracle::observer_told_nothing, "an observer was told nothing"};
  if (!nobody_) {
    return Violation{Oracle::observer_believes,
                     fmt::format("nobody leads, and an observer believes in {}", told_.to_string())};
  }
  const std::optional<Token> missed = reigns.between(last_, std::nullopt, now);
  if (missed) return not_told(*missed);
  return {};
}

}  // namespace pawl::test
