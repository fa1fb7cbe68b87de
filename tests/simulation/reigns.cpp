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
    if (since <= most && now - reign->second.seen < remembered) return reign->first;
  }
  return std::nullopt;
}

Testimony::Complaint Testimony::told(const std::optional<Leader>& change, const Reigns& reigns, base::Time now) {
  const bool first = !std::exchange(begun_, true);
  const bool nobody_again = nobody_ && !change;
  nobody_ = !change;
  if (nobody_again) return "an observer was told twice in a row that nobody leads";
  if (!change) {
    if (first) last_ = reigns.newest();  // it may have led and gone before
    return {};
  }
  if (change->token <= told_) {
    return fmt::format("an observer was told of leader {} after {}", change->token.to_string(), told_.to_string());
  }
  const Reigns::Reign* known = reigns.find(change->token);
  if (known != nullptr && known->value != change->value) {
    return fmt::format("leader {} stands for \"{}\", not \"{}\"", change->token.to_string(), known->value,
                       change->value);
  }
  const std::optional<Token> missed = first ? std::nullopt : reigns.between(last_, change->token, now);
  told_ = change->token;
  last_ = std::max(last_, told_);
  if (missed) return fmt::format("an observer was not told of leader {}", missed->to_string());
  return {};
}

Testimony::Complaint Testimony::closed(const Reigns& reigns, base::Time now) const {
  if (!begun_) return "an observer was told nothing";
  if (!nobody_) return fmt::format("nobody leads, and an observer believes in {}", told_.to_string());
  const std::optional<Token> missed = reigns.between(last_, std::nullopt, now);
  if (missed) return fmt::format("an observer was not told of leader {}", missed->to_string());
  return {};
}

}  // namespace pawl::test
