#include "base/host.hpp"

#include <unistd.h>

#include <array>

namespace pawl::base {

namespace {

std::int64_t shown_pid = 0;  // 0: our own

}  // namespace

void speak_for(std::int64_t pid) { shown_pid = pid; }

Owner this_process() {
  std::array<char, 256> host{};
  Owner owner;
  if (::gethostname(host.data(), host.size() - 1) == 0) owner.host = host.data();
  owner.pid = shown_pid != 0 ? shown_pid : ::getpid();
  return owner;
}

}  // namespace pawl::base
