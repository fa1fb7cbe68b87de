#include "store/rules.hpp"

#include "base/planted.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::store {

Result<void> check_sound(const Claim& claim, std::optional<std::uint32_t> agreed) {
  if (claim.mode == Mode::shared && claim.key.kind != Kind::rw) {
    return Error{Errc::invalid_argument, "only a SharedMutex can be shared"};
  }
  const Claim::Permits& permits = claim.permits;
  const bool counted = claim.key.kind == Kind::permits;
  const bool possible = permits.wanted > 0 && permits.wanted <= permits.of;
  if (counted && !possible) {
    return Error{Errc::invalid_argument, fmt::format("{} permits of {} can never be had", permits.wanted, permits.of)};
  }
  if (counted && agreed && *agreed != permits.of) {
    return Error{Errc::invalid_argument, fmt::format("{} has {} permits for those who use it now, not {}",
                                                     claim.key.name.quoted(), *agreed, permits.of)};
  }
  return {};
}

bool fits(Kind kind, Mode mode, std::uint32_t wanted, const Occupied& occupied) {
  if (kind == Kind::permits) return wanted <= occupied.free_permits;
  if (base::planted(base::Bug::reader_beside_writer) && mode == Mode::shared) return true;
  return mode == Mode::shared ? !occupied.by_exclusive : !occupied.by_anybody;
}

Waiting::Permits divide(std::uint32_t used, const std::vector<Ghost>& ghosts) {
  std::size_t of_ghosts = 0;
  for (const Ghost& ghost : ghosts) of_ghosts += ghost.slots.size();
  const auto in_lock_delay = static_cast<std::uint32_t>(std::min<std::size_t>(of_ghosts, used));
  return {.taken = used - in_lock_delay, .in_lock_delay = in_lock_delay};
}

bool may_pass(Errc code) { return code == Errc::store_unavailable || code == Errc::outcome_unknown; }

bool is_news_to_a_holder(Notice::What what) {
  return what != Notice::What::look_again && what != Notice::What::granted;
}

}  // namespace pawl::store
