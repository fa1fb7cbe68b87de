#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// Known bugs of other libraries, to be planted by name in a test-only build (PAWL_PLANT_BUGS): the simulation must catch
/// each of them, or it proves nothing. In the shipped library planted() is a constant and the wrong branches vanish.
/// Limit: PAWL_PLANT_BUGS must be the same for every file of one program.
namespace pawl::base {

enum class Bug : std::uint8_t {
  release_by_name,       ///< a release removes whoever holds the lock
  deadline_from_reply,   ///< the lease is counted from the reply, not from before the request
  renewal_creates,       ///< renewing a session that has ended brings it back
  unknown_is_failure,    ///< a lost reply is taken for "not applied" and nothing is undone
  hint_only,             ///< a waiter that misses its notice never looks again
  late_claim_accepted,   ///< a claim that arrives after its withdrawal is queued all the same
  timeout_leaves_claim,  ///< whoever stops waiting leaves the claim in the queue
  release_not_repeated,  ///< a release whose reply was lost is not sent again
  one_token_for_all,     ///< threads that pass the lock on share one token
  renew_after_lost,      ///< a session goes on being renewed after its holds were reported lost
  token_reused,          ///< the holder after an expired one gets the same token
  reader_beside_writer,  ///< a reader does not look whether somebody writes
  fitting_overtakes,     ///< whoever fits comes in past those who wait: a writer, one who wants many permits
  slot_freed_twice,      ///< a failed holder's permits are free at once, and again when its lock-delay is over
  downgrade_requeues,    ///< a downgrade takes a new place, behind the writers who wait
  sharer_releases_all,   ///< the first of the readers of one client to let go lets go for all of them
  multi_in_any_order,    ///< several locks are taken in the order in which they were named
  multi_keeps_half,      ///< what was taken is not let go when the next one cannot be had
  multi_half_lost,       ///< several locks are given while one of them was lost over the wait for the others
  observer_repeats,      ///< an observer is told the last leader again
  observer_skips,        ///< an observer is told the newest leader only
  no_drift_margin,       ///< a holder trusts that its clock runs as fast as the store's
  local_lifo,            ///< of the threads of one client, the last one to ask is served first
};

struct BugName {
  Bug bug;
  std::string_view name;
};

inline constexpr std::array<BugName, 23> bug_names = {{
    {Bug::release_by_name, "release_by_name"},
    {Bug::deadline_from_reply, "deadline_from_reply"},
    {Bug::renewal_creates, "renewal_creates"},
    {Bug::unknown_is_failure, "unknown_is_failure"},
    {Bug::hint_only, "hint_only"},
    {Bug::late_claim_accepted, "late_claim_accepted"},
    {Bug::timeout_leaves_claim, "timeout_leaves_claim"},
    {Bug::release_not_repeated, "release_not_repeated"},
    {Bug::one_token_for_all, "one_token_for_all"},
    {Bug::renew_after_lost, "renew_after_lost"},
    {Bug::token_reused, "token_reused"},
    {Bug::reader_beside_writer, "reader_beside_writer"},
    {Bug::fitting_overtakes, "fitting_overtakes"},
    {Bug::slot_freed_twice, "slot_freed_twice"},
    {Bug::downgrade_requeues, "downgrade_requeues"},
    {Bug::sharer_releases_all, "sharer_releases_all"},
    {Bug::multi_in_any_order, "multi_in_any_order"},
    {Bug::multi_keeps_half, "multi_keeps_half"},
    {Bug::multi_half_lost, "multi_half_lost"},
    {Bug::observer_repeats, "observer_repeats"},
    {Bug::observer_skips, "observer_skips"},
    {Bug::no_drift_margin, "no_drift_margin"},
    {Bug::local_lifo, "local_lifo"},
}};

constexpr std::optional<Bug> parse_bug(std::string_view name) {
  for (const BugName& known : bug_names) {
    if (known.name == name) return known.bug;
  }
  return std::nullopt;
}

constexpr std::string_view to_string(Bug bug) { return bug_names[static_cast<std::size_t>(bug)].name; }

#ifdef PAWL_PLANT_BUGS

/// One bit per bug, for the whole process.
inline std::atomic<std::uint32_t> planted_bugs{0};

inline bool planted(Bug bug) {
  return (planted_bugs.load(std::memory_order_relaxed) >> static_cast<unsigned>(bug)) & 1U;
}
inline void plant(Bug bug) { planted_bugs.fetch_or(1U << static_cast<unsigned>(bug)); }
inline void uproot_all() { planted_bugs.store(0); }

#else

constexpr bool planted(Bug) { return false; }

#endif

}  // namespace pawl::base
