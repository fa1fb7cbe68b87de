#pragma once

#include <pawl/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What a server says about itself, in its answer to INFO.
namespace pawl::store::redis {

/// One life of a server: one process, and master without a break. Both halves change when it is started, the second also
/// when it becomes a master: it may have been a replica in between, with other data.
using Life = std::string;

/// The life of a server that can take locks, or why it cannot.
Result<Life> life_of(std::string_view info);

/// The master of a replica that has all that its master had when they met; nothing of any other server.
struct Upstream {
  std::string host = {};
  std::uint16_t port = 0;
};
std::optional<Upstream> upstream_of(std::string_view info);

/// The eviction policy, if the server may throw locks away; else empty.
std::string dangerous_policy(std::string_view info);

}  // namespace pawl::store::redis
