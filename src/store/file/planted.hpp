#pragma once

#include <atomic>
#include <cstdint>

/// As base/planted.hpp, for the rules of the file store: faults of one line, which the simulation on its tables must catch.
/// In the shipped library planted() is a constant and the wrong branches vanish.
namespace pawl::store::file {

enum class Fault : std::uint8_t {
  none,
  silent_grant,         ///< the next holder is not told
  overtaking,           ///< a claim that fits comes in past those who wait
  renewal_adds,         ///< a renewal adds the lease to the old end
  tombstone_forgotten,  ///< a withdrawal leaves none for a claim that may still arrive
  no_lock_delay,        ///< a holder that failed leaves nothing behind
  place_stays,          ///< what is swept of a session leaves its places behind
};

#ifdef PAWL_PLANT_BUGS
inline std::atomic<Fault> planted_fault{Fault::none};
inline bool planted(Fault fault) { return planted_fault.load(std::memory_order_relaxed) == fault; }
#else
constexpr bool planted(Fault) { return false; }
#endif

}  // namespace pawl::store::file
