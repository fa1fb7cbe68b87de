#include "apps/cli/run/held.hpp"

#include "apps/cli/views.hpp"
#include "lock/hold_core.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace pawl::cli {

namespace {

std::string describe(const Hold& hold) {
  const Sequencer sequencer = hold.sequencer();
  return (sequencer.kind == Kind::election ? "the lead of " : "the lock ") + in_quotes(sequencer.name);
}

}  // namespace

std::vector<std::reference_wrapper<const Hold>> Held::all() const {
  if (const auto* one = std::get_if<Hold>(&held_)) return {*one};
  const auto& several = std::get<MultiHold>(held_);
  std::vector<std::reference_wrapper<const Hold>> holds;
  for (std::size_t i = 0; i < several.size(); ++i) holds.emplace_back(several[i]);
  return holds;
}

std::vector<Sequencer> Held::sequencers() const {
  std::vector<Sequencer> out;
  for (const Hold& hold : all()) {
    const std::size_t permits = std::max<std::size_t>(hold.permits(), 1);
    for (std::size_t permit = 0; permit < permits; ++permit) out.push_back(hold.sequencer(permit));
  }
  return out;
}

Duration Held::remaining() const {
  return std::visit([](const auto& held) { return held.remaining(); }, held_);
}

std::stop_token Held::lost() const {
  return std::visit([](const auto& held) { return held.lost(); }, held_);
}

std::stop_token Held::release_requested() const {
  return std::visit([](const auto& held) { return held.release_requested(); }, held_);
}

const Hold& Held::first() const {
  const auto holds = all();
  const auto rank = [](const Hold& hold) { return std::pair(hold.state() != HoldState::lost, hold.remaining()); };
  return *std::min_element(holds.begin(), holds.end(),
                           [&](const Hold& one, const Hold& other) { return rank(one) < rank(other); });
}

std::string Held::first_to_end() const { return describe(first()); }

std::string Held::loss() const {
  const Hold& hold = first();
  std::string why = lock::HoldCore::behind(hold)->hold().why_lost();
  // Not yet, but its time is nearly over.
  if (why.empty()) why = session::loss::not_renewed;
  return describe(hold) + " is lost: " + why;
}

std::string Held::asked_for() const {
  const auto holds = all();
  const auto asked = std::find_if(holds.begin(), holds.end(),
                                  [](const Hold& hold) { return hold.release_requested().stop_requested(); });
  return describe(asked == holds.end() ? holds.front() : *asked);
}

Result<void> Held::release() {
  return std::visit([](auto& held) { return held.release(); }, held_);
}

}  // namespace pawl::cli
