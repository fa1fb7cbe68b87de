#pragma once

#include "store/claim.hpp"
#include "store/redlock/config.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

/// What a lock is called on the nodes, and how long what belongs to it stays there. lua/common.lua has the table of keys.
namespace pawl::store::redlock {

/// The value of a lock's key, with the claim behind it, while its holder's lock-delay lasts.
inline constexpr std::string_view lock_delay_mark = "lock-delay of ";

/// How long a node refuses a request that arrives behind its own undo.
inline constexpr Duration tombstone_life = std::chrono::seconds(60);
/// For the tombstone of a claim that is over: all of its tries.
inline constexpr std::uint64_t every_try = 1'000'000'000'000;

/// What the records of a lock have in their names, and its counter is chosen by.
std::string lock_id(const LockKey& key);
/// The key that is the lock.
std::string key_of(const Config& config, const LockKey& key);
/// Of names, each with a counter: different locks seldom share one. The same in every client.
std::uint32_t bucket_of(std::string_view lock);
/// How long a lock's key lives without a renewal: the lease, and what is added for clocks that run faster.
Duration lease_on_nodes(const Config& config, const Claim& claim);
/// The same with the lock-delay, for which the lock stays shut when its holder has failed.
Duration life_of(const Config& config, const Claim& claim);

}  // namespace pawl::store::redlock
