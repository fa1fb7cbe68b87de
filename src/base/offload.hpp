#pragma once

#include "base/runtime.hpp"

#include <functional>
#include <string>

namespace pawl::base {

/// Runtime::offload() for what must be done in the end: tries again while no thread can be started.
awaitable<void> offload_when_possible(Runtime& runtime, std::string lane, std::function<void()> work);

}  // namespace pawl::base
