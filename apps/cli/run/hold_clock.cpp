#include "apps/cli/run/hold_clock.hpp"

#include "base/duration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pawl::cli {

using namespace std::chrono_literals;

HoldClock::HoldClock(const Held& held, Terms terms) : held_(held), terms_(std::move(terms)) {}

Duration HoldClock::look() {
  const Duration left = held_.remaining();
  longest_ = std::max(longest_, left);
  return left;
}

Duration HoldClock::grace() const {
  const Duration expected = std::min(terms_.lease, terms_.max_hold.value_or(terms_.lease));
  const double share = std::chrono::duration<double>(longest_) / std::chrono::duration<double>(expected);
  if (share > 0.9) return terms_.grace;
  return std::chrono::duration_cast<Duration>(terms_.grace * share * 0.9);
}

Duration HoldClock::margin() const { return std::min<Duration>(100ms, grace() / 2); }

Duration HoldClock::patience(bool told_to_end) const { return held_.remaining() - (told_to_end ? margin() : grace()); }

std::string HoldClock::of_max_hold() const {
  const Duration imprecision = terms_.lease / 10;  // the hold has begun a little earlier
  if (!terms_.max_hold || Clock::now() - begin_ + grace() + imprecision < *terms_.max_hold) return {};
  return fmt::format("{} has been held for as long as --max-hold {} allows", held_.first_to_end(),
                     base::format_duration(*terms_.max_hold));
}

std::string HoldClock::why_it_must_end() const {
  const std::string why = of_max_hold();
  return why.empty() ? held_.first_to_end() + " cannot be renewed" : why;
}

std::string HoldClock::why_it_was_killed() const {
  const std::string why = of_max_hold();
  return why.empty() ? held_.loss() : why;
}

}  // namespace pawl::cli
