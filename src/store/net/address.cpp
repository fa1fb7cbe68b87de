#include "store/net/address.hpp"

#include "base/lock_name.hpp"

namespace pawl::store::net {

std::string Address::to_string() const {
  return path.empty() ? base::printable(host, 300) + ":" + std::to_string(port) : base::printable(path, 300);
}

}  // namespace pawl::store::net
