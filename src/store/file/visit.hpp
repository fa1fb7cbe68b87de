#pragma once

#include "base/runtime.hpp"
#include "store/file/environment.hpp"

#include <memory>
#include <string>

namespace pawl::store::file {

/// One transaction, from a coroutine: at once if the writer's mutex is free, else on a thread that may sleep for it
/// until the deadline.
/// Errors: store_unavailable (somebody is stopped inside; the disk is full), lost (the folder is gone), overloaded.
awaitable<Result<void>> visit(std::shared_ptr<Environment> environment, base::Runtime& runtime, Environment::Work work,
                              Deadline deadline);

/// The same for a piece of work that blocks on the disk with that folder. `busy` is tried again until the deadline.
using Blocking = std::function<Result<void>()>;
awaitable<Result<void>> block(base::Runtime& runtime, std::string folder, Blocking work, Deadline deadline);

/// After a transaction: what it left to do, in the background: tokens to reserve when they are few, more to sweep.
void tidy_up(const std::shared_ptr<Environment>& environment, base::Runtime& runtime);

/// As long as this may a transaction sleep for the mutex on the executor: a hand-over to another thread costs more.
inline constexpr Duration short_sleep = std::chrono::milliseconds(1);

}  // namespace pawl::store::file
