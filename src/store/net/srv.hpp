#pragma once

#include "base/runtime.hpp"
#include "store/net/address.hpp"

#include <pawl/result.hpp>

#include <netinet/in.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::net {

/// One DNS SRV record (RFC 2782).
struct SrvRecord {
  std::uint16_t priority = 0;
  std::uint16_t weight = 0;
  std::uint16_t port = 0;
  std::string host = {};
};

/// The SRV records in the answer section of a DNS message. Errors: store_unavailable (not a DNS answer).
Result<std::vector<SrvRecord>> read_srv_answer(std::string_view message);

/// In the order in which to try: by priority, and within one at random, heavier ones sooner.
std::vector<Address> in_order(std::vector<SrvRecord> records, const std::function<std::uint64_t()>& random);

/// Asks the system's resolver for the SRV records of a name ("_etcd-client._tcp.example.com"), on another thread, which is left
/// alone when the deadline comes first. A name without such records is an empty answer.
/// `dns`: this server instead of the system's.
/// Errors: store_unavailable.
base::awaitable<Result<std::vector<Address>>> look_up_srv(base::Runtime& runtime, std::string name,
                                                          base::Deadline deadline,
                                                          std::optional<sockaddr_in> dns = std::nullopt);

}  // namespace pawl::store::net
