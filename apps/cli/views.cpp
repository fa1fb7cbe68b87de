#include "apps/cli/views.hpp"

#include "apps/cli/table.hpp"
#include "base/lock_name.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace pawl::cli {

bool in_use(const LockView& view) {
  return !view.holders.empty() || !view.waiters.empty() || view.shut_for > Duration::zero();
}

std::vector<LockView> views_of(Client& client, std::string_view name, std::optional<Kind> kind) {
  std::vector<LockView> views;
  for (const Kind each : all_kinds) {
    if (kind && *kind != each) continue;
    Result<LockView> view = client.inspect(name, each);
    if (view.code() == Errc::unsupported && !kind) continue;
    LockView seen = value_or_fail(std::move(view));
    if (in_use(seen)) views.push_back(std::move(seen));
  }
  return views;
}

std::string format_who(const ClaimView& claim) {
  std::string text = format_owner(claim.owner);
  if (!claim.owner.label.empty()) text += ": " + base::printable(claim.owner.label);
  return text;
}

std::string in_quotes(std::string_view name) { return "\"" + base::printable(name) + "\""; }

std::string as_line(std::string_view text) {
  const std::string safe = base::printable(text, std::string_view::npos);
  std::string out;
  for (std::size_t i = 0; i < safe.size(); ++i) {
    const bool escape = safe[i] == '\\' && i + 1 < safe.size();
    if (!escape || safe[i + 1] != '"') out += safe[i];
    if (escape) out += safe[++i];
  }
  return out;
}

std::size_t permits_held(const LockView& view) {
  std::size_t held = 0;
  for (const ClaimView& holder : view.holders) held += holder.slots.size();
  return held;
}

std::string format_slots(const std::vector<std::uint32_t>& slots) {
  std::string text;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < slots.size() && slots[i + 1] == slots[i] + 1) ++i;
    text += (text.empty() ? "" : ", ") + std::to_string(slots[first]);
    if (i > first) text += "-" + std::to_string(slots[i]);
  }
  return text;
}

}  // namespace pawl::cli
