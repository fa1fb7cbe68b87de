#pragma once

#include "store/redis/script.hpp"

namespace pawl::store::redlock {

/// What the nodes run: lua/.
struct Scripts {
  Scripts();
  redis::Script hello, join, vouch, announce, acquire, raise, release, renew, look, check, inspect, names, relabel,
      revoke;
};

const Scripts& scripts();

}  // namespace pawl::store::redlock
