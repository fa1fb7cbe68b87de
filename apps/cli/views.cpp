#include "apps/cli/views.hpp"

#include "apps/cli/table.hpp"
#include "base/lock_name.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace pawl::cli {

std::vector<LockView> views_of(Client& client, std::string_view name, std::optional<Kind> kind) {
  std::vector<LockView> views;
  for (const Kind each : {Kind::mutex, Kind::rw, Kind::permits, Kind::election}) {
    if (kind && *kind != each) continue;
    Result<LockView> view = client.inspect(name, each);
    if (view.code() == Errc::unsupported && !kind) continue;
    LockView seen = value_or_fail(std::move(view));
    const bool in_use = !seen.holders.empty() || !seen.waiters.empty() || seen.shut_for > Duration::zero();
    if (in_use) views.push_back(std::move(seen));
  }
  return views;
}

std::string format_who(const ClaimView& claim) {
  std::string text = format_owner(claim.owner);
  if (!claim.owner.label.empty()) text += ": " + base::printable(claim.owner.label);
  return text;
}

std::string in_quotes(std::string_view name) { return "\"" + base::printable(name) + "\""; }

}  // namespace pawl::cli
