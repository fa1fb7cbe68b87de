#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::test {

/// What can be found broken in a world. For each of them a known bug is planted by which it is seen at least once
/// (planted_bugs_test.cpp); one that cannot be seen would prove nothing.
enum class Oracle : std::uint8_t {
  two_holders,
  lost_came_back,
  loss_not_told,
  unknown_to_store,
  shared_for_store,
  other_value,
  store_order,
  token_did_not_grow,
  epoch_not_raised,
  wrong_permits,
  granted_too_early,
  fence_refuses_holder,
  fence_admits_overtaken,
  fence_admits_after_downgrade,
  downgrade_denied,
  exclusive_after_downgrade,
  local_order,
  too_many_passes,
  passed_on_though_asked_back,
  granted_in_part,
  granted_half_lost,
  valid_in_part,
  loss_in_part_not_told,
  refused_and_kept,
  not_asked_back,
  taken_away_and_valid,
  forgotten_and_valid,
  check_denies,
  check_confirms,
  leader_told_late,
  leader_with_other_value,
  leader_not_told,
  nobody_told_twice,
  observer_told_nothing,
  observer_believes,
  cannot_observe,
  order_of_events,
  event_after_close,
  valid_after_close,
  granted_after_close,
  does_not_close,
  refused,
  waits_for_ever,
  goes_round,
  claims_left,
  session_left,
  records,  ///< of other stores than the memory store: their own tests break it
};
inline constexpr std::size_t oracle_count = static_cast<std::size_t>(Oracle::records) + 1;

std::string_view to_string(Oracle oracle) noexcept;

/// A promise that was not kept.
struct Violation {
  Oracle oracle;
  std::string text;
};
using Complaint = std::optional<Violation>;

}  // namespace pawl::test
