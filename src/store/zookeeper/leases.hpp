#pragma once

#include "store/record.hpp"
#include "store/zookeeper/connection.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pawl::store::zookeeper {

/// The nodes of the permits that one claim takes, in the order in which they are made: each names one slot, and the first
/// says everything else as well. (Clients of the first release wrote the same into each of them, with all slots.)
std::vector<Part> making_leases(const std::string& folder, const Record& record);

/// A request of more bytes is refused by servers with the usual `jute.maxbuffer` (1,048,575), with the connection. Less
/// than that: they add something of their own before they hand it to each other.
constexpr std::size_t most_bytes = 1'000'000;
/// What such a part adds to a request, at the most.
std::size_t bytes_of(const Part& part);

/// How many permits such a claim can take at once, when this is in the same request. `record`: without slots.
std::uint32_t most_leases(const std::string& folder, const Record& record, const std::vector<Part>& others);

}  // namespace pawl::store::zookeeper
