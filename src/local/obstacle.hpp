#pragma once

#include "store/claim.hpp"

#include <cstdint>
#include <string>

namespace pawl::local {

/// Why a lock was not granted, as the end of a sentence about it: "is held by web1 (pid 4711), nightly backup", "is in
/// lock-delay for 3s: its last holder failed", "has 3 of 4 permits taken and 1 in lock-delay".
/// `seen`: what the store said last. `permits`: how many there are, of a semaphore.
std::string describe_obstacle(Kind kind, std::uint32_t permits, const store::Waiting& seen);

/// The same where a thread of this client has it.
std::string describe_own_hold(Kind kind);

}  // namespace pawl::local
