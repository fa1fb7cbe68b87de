#pragma once

#include "apps/cli/bench/cases.hpp"
#include "apps/cli/bench/stage.hpp"

namespace pawl::cli {

/// The floor of a hand-off: a ring of processes, each of which waits for a datagram from the one before it, does the
/// store's bare work, and sends one to the next. Without `step`, the message alone.
double cost_of_ring(const Bench& bench, int processes, bool step);

/// The same for threads: a ring of semaphores.
double cost_of_thread_ring(const Bench& bench, int threads);

}  // namespace pawl::cli
