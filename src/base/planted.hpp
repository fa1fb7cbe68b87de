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
  release_by_name,          ///< a release removes whoever holds the lock
  deadline_from_reply,      ///< the lease is counted from the reply, not from before the request
  renewal_creates,          ///< renewing a session that has ended brings it back
  unknown_is_failure,       ///< a lost reply is taken for "not applied" and nothing is undone
  hint_only,                ///< a waiter that misses its notice never looks again
  late_claim_accepted,      ///< a claim that arrives after its withdrawal is queued all the same
  timeout_leaves_claim,     ///< whoever stops waiting leaves the claim in the queue
  release_not_repeated,     ///< a release whose reply was lost is not sent again
  one_token_for_all,        ///< threads that pass the lock on share one token
  renew_after_lost,         ///< a session goes on being renewed after its holds were reported lost
  token_reused,             ///< the holder after an expired one gets the same token
  reader_beside_writer,     ///< a reader does not look whether somebody writes
  fitting_overtakes,        ///< whoever fits comes in past those who wait: a writer, one who wants many permits
  slot_freed_twice,         ///< a failed holder's permits are free at once, and again when its lock-delay is over
  downgrade_requeues,       ///< a downgrade takes a new place, behind the writers who wait
  sharer_releases_all,      ///< the first of the readers of one client to let go lets go for all of them
  multi_in_any_order,       ///< several locks are taken in the order in which they were named
  multi_keeps_half,         ///< what was taken is not let go when the next one cannot be had
  multi_half_lost,          ///< several locks are given while one of them was lost over the wait for the others
  observer_repeats,         ///< an observer is told the last leader again
  observer_skips,           ///< an observer is told the newest leader only
  no_drift_margin,          ///< a holder trusts that its clock runs as fast as the store's
  local_lifo,               ///< of the threads of one client, the last one to ask is served first
  late_confirmation,        ///< a renewal whose answer comes after the deadline brings the hold back
  jeopardy_stays,           ///< the end of a jeopardy is told again and again, and the next one is not
  unbounded_passes,         ///< threads of one client pass the lock on for as long as they like
  asked_back_is_passed,     ///< a lock that was asked back is passed on inside the client
  loss_not_told,            ///< lost() never fires
  observers_share_thread,   ///< observers are called on the thread that tells of losses
  events_after_close,       ///< the observer is called after close()
  doubt_ignored,            ///< a store that may have forgotten its sessions is not asked at once
  taken_away_is_kept,       ///< a holder ignores that its claim was taken away
  downgrade_unseen,         ///< a hold that was downgraded says that it is exclusive
  downgrade_says_lost,      ///< a downgrade answers that the hold was lost
  multi_in_part,            ///< several locks are given, and one is missing
  multi_any_valid,          ///< several locks are valid as long as one of them is
  multi_loss_untold,        ///< the loss of one of several locks is not told, unless it is the first one
  multi_keeps_order,        ///< several locks are waited for in the order that there was before a store came back empty
  observer_mute,            ///< an observer is told nothing
  observer_misses_vacancy,  ///< an observer is not told that nobody leads any more
  observer_nobody_again,    ///< an observer is told again and again that nobody leads
  observer_impatient,       ///< an observer does not ask again after an error that may pass
  session_not_closed,       ///< a session is not closed at the store
  close_never_over,         ///< close() waits for sessions that have ended
  close_keeps_waiters,      ///< close() lets those who wait go on
  close_is_lazy,            ///< close() ends nothing
  no_backoff,               ///< a request that was refused is sent again without a pause
  tries_only,               ///< whoever would wait is refused
  fence_admits_equal,       ///< the fence admits a writer that has become a reader
  fence_admits_overtaken,   ///< the fence admits everybody
  fence_mixes_slots,        ///< the fence has one mark for all permits
  // Of a store that lies: see tests/simulation/lying_store.hpp.
  store_grants_shared,       ///< the store takes writers for readers
  store_drops_value,         ///< the store does not keep what a candidate stands for
  store_counts_wrong,        ///< the store gives one permit too few
  store_forgets_lock_delay,  ///< the store ignores the lock-delay
  store_asks_nobody,         ///< the store does not tell a holder that its lock is asked back
  store_denies,              ///< the store denies grants that were passed on inside their client
  store_confirms,            ///< the store confirms every sequencer
  store_keeps_epoch,         ///< the store answers with a new epoch and keeps the old one
  store_mixes_leaders,       ///< the store tells observers of a leader with the value of another
};

struct BugName {
  Bug bug;
  std::string_view name;
};

inline constexpr std::array<BugName, 60> bug_names = {{
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
    {Bug::late_confirmation, "late_confirmation"},
    {Bug::jeopardy_stays, "jeopardy_stays"},
    {Bug::unbounded_passes, "unbounded_passes"},
    {Bug::asked_back_is_passed, "asked_back_is_passed"},
    {Bug::loss_not_told, "loss_not_told"},
    {Bug::observers_share_thread, "observers_share_thread"},
    {Bug::events_after_close, "events_after_close"},
    {Bug::doubt_ignored, "doubt_ignored"},
    {Bug::taken_away_is_kept, "taken_away_is_kept"},
    {Bug::downgrade_unseen, "downgrade_unseen"},
    {Bug::downgrade_says_lost, "downgrade_says_lost"},
    {Bug::multi_in_part, "multi_in_part"},
    {Bug::multi_any_valid, "multi_any_valid"},
    {Bug::multi_loss_untold, "multi_loss_untold"},
    {Bug::multi_keeps_order, "multi_keeps_order"},
    {Bug::observer_mute, "observer_mute"},
    {Bug::observer_misses_vacancy, "observer_misses_vacancy"},
    {Bug::observer_nobody_again, "observer_nobody_again"},
    {Bug::observer_impatient, "observer_impatient"},
    {Bug::session_not_closed, "session_not_closed"},
    {Bug::close_never_over, "close_never_over"},
    {Bug::close_keeps_waiters, "close_keeps_waiters"},
    {Bug::close_is_lazy, "close_is_lazy"},
    {Bug::no_backoff, "no_backoff"},
    {Bug::tries_only, "tries_only"},
    {Bug::fence_admits_equal, "fence_admits_equal"},
    {Bug::fence_admits_overtaken, "fence_admits_overtaken"},
    {Bug::fence_mixes_slots, "fence_mixes_slots"},
    {Bug::store_grants_shared, "store_grants_shared"},
    {Bug::store_drops_value, "store_drops_value"},
    {Bug::store_counts_wrong, "store_counts_wrong"},
    {Bug::store_forgets_lock_delay, "store_forgets_lock_delay"},
    {Bug::store_asks_nobody, "store_asks_nobody"},
    {Bug::store_denies, "store_denies"},
    {Bug::store_confirms, "store_confirms"},
    {Bug::store_keeps_epoch, "store_keeps_epoch"},
    {Bug::store_mixes_leaders, "store_mixes_leaders"},
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
inline std::atomic<std::uint64_t> planted_bugs{0};

inline bool planted(Bug bug) {
  return (planted_bugs.load(std::memory_order_relaxed) >> static_cast<unsigned>(bug)) & 1U;
}
inline void plant(Bug bug) { planted_bugs.fetch_or(std::uint64_t{1} << static_cast<unsigned>(bug)); }
inline void uproot_all() { planted_bugs.store(0); }

#else

constexpr bool planted(Bug) { return false; }

#endif

}  // namespace pawl::base
