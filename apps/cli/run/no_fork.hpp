#pragma once

#include "apps/cli/run/supervisor.hpp"
#include "apps/cli/run/under_lock.hpp"

#include <functional>

namespace pawl::cli {

/// `pawl run --no-fork`: the process that the user has started becomes the command, with its pid and its parent.
///
/// | process    | started by     | its part                                                                           |
/// |------------|----------------|------------------------------------------------------------------------------------|
/// | front      | the user       | passes signals on to the keeper while it waits; when the lock is held, the command   |
/// | go-between | the front      | parent of the keeper, so that the command has no child that it does not know: one    |
/// |            |                | that waits for all of its children would wait for ever. Has the keeper's exit code  |
/// |            |                | where the lock is not granted; killed when it is                                    |
/// | keeper     | the go-between | holds the lock, watches the front by its pidfd, releases the lock when it has ended |
///
/// | what happens                                   | the command gets |
/// |------------------------------------------------|------------------|
/// | somebody asks for the lock (`pawl revoke`)     | TERM             |
/// | the grace time is left, no renewal confirmed   | TERM             |
/// | nearly nothing is left, lost, or taken away    | KILL             |
/// | it is stopped for a lease                      | KILL             |
/// | the keeper is killed, or stopped for a lease   | nothing          |
///
/// Only the command itself, none of its descendants. Calls `begun` before it becomes the command. Answers the exit code where there was no lock; throws Failure.
int run_without_fork(const UnderLockOptions& options, const Context& context, const Errand& errand,
                     const Supervisor::Terms& terms, const Signals& signals, const std::function<void()>& begun);

}  // namespace pawl::cli
