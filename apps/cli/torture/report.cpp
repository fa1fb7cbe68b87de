#include "apps/cli/torture/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace pawl::torture {

namespace {

struct Figures {
  std::size_t grants = 0, hand_overs = 0, lost = 0, timed_out = 0, unreachable = 0;
  Nanoseconds longest_wait = 0, longest_wait_again = 0;
  std::size_t writes = 0, refused = 0;
};

std::size_t hand_overs_in(std::vector<const Turn*> turns) {
  std::sort(turns.begin(), turns.end(), [](auto* a, auto* b) { return *a->granted < *b->granted; });
  std::size_t count = 0;
  for (std::size_t i = 1; i < turns.size(); ++i) count += turns[i]->actor != turns[i - 1]->actor ? 1 : 0;
  return count;
}

Figures figures_of(const History& history) {
  Figures figures;
  std::map<std::string, std::vector<const Turn*>> granted;
  for (const Turn& turn : history.turns) {
    figures.timed_out += turn.failed == "timed_out" || turn.failed == "busy" ? 1 : 0;
    figures.unreachable += turn.failed == "store_unavailable" || turn.failed == "outcome_unknown" ? 1 : 0;
    figures.lost += turn.invalid ? 1 : 0;
    if (!turn.granted) continue;
    ++figures.grants;
    Nanoseconds& longest = turn.again ? figures.longest_wait_again : figures.longest_wait;
    longest = std::max(longest, *turn.granted - turn.asked);
    granted[turn.resource()].push_back(&turn);
  }
  for (const auto& [resource, turns] : granted) figures.hand_overs += hand_overs_in(turns);
  for (const Call& call : history.calls)
    figures.refused += call.outcome == "overtaken" || call.outcome == "other_store" ? 1 : 0;
  for (const auto& [resource, entries] : history.resources) figures.writes += entries.size();
  return figures;
}

double seconds(Nanoseconds time) { return static_cast<double>(time) / 1e9; }

std::string row(const std::string& name, const std::string& text) { return fmt::format("  {:<14}{}\n", name, text); }

std::string told(const std::map<std::string, std::size_t>& faults) {
  std::string text;
  for (const auto& [name, count] : faults) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  return text;
}

std::string kinds_text(const std::vector<Kind>& kinds) {
  std::string text;
  for (const Kind kind : kinds) text += (text.empty() ? "" : ", ") + std::string(to_string(kind));
  return text;
}

}  // namespace

std::string report(const Plan& plan, const Outcome& outcome) {
  const Figures figures = figures_of(outcome.history);
  const Orders& orders = plan.crew.orders;
  std::string text =
      fmt::format("{}, seed {}: {} workers for {} s, lease {} ms, kinds {}\n", plan.title, plan.seed, plan.crew.places,
                  plan.time.count() / 1000, orders.lease.count(), kinds_text(orders.kinds));
  text +=
      row("grants", fmt::format("{}, {} of them handed over to another worker", figures.grants, figures.hand_overs));
  text += row("not granted", fmt::format("{} in time, {} because the store could not be reached", figures.timed_out,
                                         figures.unreachable));
  text += row("lost", fmt::format("{} holds, of which their holders knew", figures.lost));
  text += row("longest wait", fmt::format("{:.1f} s, and {:.1f} s after the faults", seconds(figures.longest_wait),
                                          seconds(figures.longest_wait_again)));
  text += row("writes", fmt::format("{} made, {} calls refused by a fence", figures.writes, figures.refused));
  text += row("faults", told(outcome.faults));
  if (outcome.complaints.empty()) return text + row("verdict", "clean");
  text += row("verdict", fmt::format("{} complaints", outcome.complaints.size()));
  constexpr std::size_t most = 20;
  for (std::size_t i = 0; i < std::min(most, outcome.complaints.size()); ++i)
    text += fmt::format("    {}: {}\n", outcome.complaints[i].oracle, outcome.complaints[i].sentence);
  return text;
}

}  // namespace pawl::torture
