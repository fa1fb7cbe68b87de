#pragma once

#include "tests/simulation/played_store.hpp"

namespace pawl::test {

/// The file store's rules, see FileFolder. A client runs its requests itself, and is dead when it has crashed.
std::shared_ptr<PlayedStore> play_file(base::SimWorld& world, base::SimProcess& server);

}  // namespace pawl::test
