#include "store/zookeeper/leases.hpp"

#include <algorithm>
#include <limits>

namespace pawl::store::zookeeper {

namespace {

/// Lengths, flags, the access list with its user, and what the servers put behind the name and into their log.
constexpr std::size_t around_a_part = 160;

Part making_lease(const std::string& folder, const Record& record) {
  return making(folder + "/lease-", record.to_text(), ZOO_EPHEMERAL | ZOO_SEQUENCE);
}

/// What must be known of each permit.
Record short_record(const Record& whole, std::uint32_t slot) {
  Record record;
  record.id = whole.id;
  record.permits = whole.permits;
  record.slots = {slot};
  record.lease = whole.lease;
  record.epoch = whole.epoch;
  return record;
}

}  // namespace

std::vector<Part> making_leases(const std::string& folder, const Record& record) {
  std::vector<Part> parts;
  parts.reserve(record.slots.size());
  for (const std::uint32_t slot : record.slots) {
    if (!parts.empty()) {
      parts.push_back(making_lease(folder, short_record(record, slot)));
      continue;
    }
    Record first = record;
    first.slots = {slot};
    parts.push_back(making_lease(folder, first));
  }
  return parts;
}

std::size_t bytes_of(const Part& part) { return around_a_part + part.path.size() + part.data.size(); }

std::uint32_t most_leases(const std::string& folder, const Record& record, const std::vector<Part>& others) {
  Record first = record;
  first.permits.wanted = record.permits.of;  // the limit is the same whatever is wanted
  first.slots = {record.permits.of};
  std::size_t used = bytes_of(making_lease(folder, first));
  for (const Part& other : others) used += bytes_of(other);
  if (used > most_bytes) return 0;
  // Of a lock-delay there is another node, which names all slots.
  const std::size_t named = std::to_string(record.permits.of).size() + 1;
  const std::size_t each = bytes_of(making_lease(folder, short_record(first, record.permits.of))) + named;
  const std::size_t fit = 1 + (most_bytes - used) / each;
  return static_cast<std::uint32_t>(std::min<std::size_t>(fit, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace pawl::store::zookeeper
