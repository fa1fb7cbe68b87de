#include "store/redlock/layout.hpp"

#include "base/lock_name.hpp"

#include <cstddef>

namespace pawl::store::redlock {

namespace {

constexpr std::size_t longest_name = 1024;  // in a key; the claim's record has the whole name
constexpr std::uint32_t buckets = 1024;

}  // namespace

std::string lock_id(const LockKey& key) { return "majority:mutex:" + base::fit_name(key.name.bytes(), longest_name); }

std::string key_of(const Config& config, const LockKey& key) {
  return config.raw_names ? key.name.bytes() : config.prefix + lock_id(key);
}

// FNV-1a.
std::uint32_t bucket_of(std::string_view lock) {
  std::uint32_t hash = 2166136261U;
  for (const char c : lock) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash % buckets;
}

Duration lease_on_nodes(const Config& config, const Claim& claim) { return claim.lease + config.drift; }

Duration life_of(const Config& config, const Claim& claim) { return lease_on_nodes(config, claim) + claim.lock_delay; }

}  // namespace pawl::store::redlock
