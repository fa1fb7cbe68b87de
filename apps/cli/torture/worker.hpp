#pragma once

#include "apps/cli/torture/scene.hpp"

#include <pawl/client.hpp>

namespace pawl::torture {

/// The permits that a claim of a semaphore wants: one of them, or two.
Result<Hold> acquire(Client& client, const LockSpec& lock, Mode mode, std::uint32_t permits, AcquireOptions options);

/// One worker process, to its end: it contends for the locks until the run is calm, then takes each of them once more.
/// The store is in PAWL_STORE. Throws what the library throws.
int work(const Orders& orders);

}  // namespace pawl::torture
