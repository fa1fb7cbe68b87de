#pragma once

#include "tests/embedded_redis/scripts.hpp"
#include "tests/simulation/played_store.hpp"

#include <memory>
#include <string>

namespace pawl::test {

/// Clients with the Redis store's own code, down to the bytes of its protocol, on a server inside the simulation that runs
/// its scripts. Besides what happens to every store, its connections break, its scripts are forgotten, and it restarts.
/// `scheme`: queue, simple or redisson. `scripts` are kept: compiling them takes longer than a world.
StoreMaker play_redis(std::string scheme, std::shared_ptr<embedded::Scripts> scripts);

}  // namespace pawl::test
