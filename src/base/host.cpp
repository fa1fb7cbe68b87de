#include "base/host.hpp"

#include <unistd.h>

#include <array>

namespace pawl::base {

Owner this_process() {
  std::array<char, 256> host{};
  Owner owner;
  if (::gethostname(host.data(), host.size() - 1) == 0) owner.host = host.data();
  owner.pid = ::getpid();
  return owner;
}

}  // namespace pawl::base
