#pragma once

#include "base/runtime.hpp"
#include "store/net/address.hpp"

#include <pawl/result.hpp>

#include <string>
#include <utility>
#include <vector>

namespace pawl::store::zookeeper {

/// The servers by their names, and what these mean. The official client is given addresses only: names it would look up on
/// the thread that drives it, and again whenever it connects.
class Servers {
 public:
  explicit Servers(std::vector<net::Address> names) : names_(std::move(names)), known_(names_.size()) {}

  /// Where a name cannot be looked up, what was known of it stays. Errors: store_unavailable (none can).
  base::awaitable<Result<void>> look_up(base::Runtime& runtime, base::Deadline deadline);
  /// "10.0.0.1:2181,10.0.0.2:2181"
  std::string addresses() const;

 private:
  const std::vector<net::Address> names_;
  std::vector<std::string> known_;  // the addresses of each of them
};

}  // namespace pawl::store::zookeeper
