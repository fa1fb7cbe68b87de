#pragma once

#include "apps/cli/run/front.hpp"
#include "apps/cli/run/signals.hpp"

#include <functional>

namespace pawl::cli {

/// `pawl run` is two processes, so that one of them can end the command when the other one dies or is stopped:
///
/// | process | started by | its part                                                                             |
/// |---------|------------|--------------------------------------------------------------------------------------|
/// | front   | the user   | passes signals on to the keeper, keeps it going, ends last with its exit code          |
/// | keeper  | the front  | holds the lock; parent of the command and subreaper of all its descendants             |
/// | command | the keeper | in the front's process group, so that it is the terminal's job like any other command  |
///
/// | what happens                 | what follows                                                                |
/// |------------------------------|-----------------------------------------------------------------------------|
/// | the front is killed          | the keeper kills the command and its descendants, then releases             |
/// | the front is stopped         | the same, if it is stopped for a lease                                      |
/// | the keeper is killed         | the kernel kills the command, the front its descendants                     |
/// | the keeper is stopped        | the front continues it                                                      |
///
/// Runs `part` in a new keeper. Returns in both processes: in the front with the keeper's exit code.
/// Must be called before any thread is started. The front calls `begun` when the command has begun.
int run_in_keeper(const Signals& signals, const std::function<int(const Front&)>& part, std::function<void()> begun);

/// Its own process group: the terminal's signals are for the front and the command. It may write to the terminal all the
/// same.
void become_keeper();

}  // namespace pawl::cli
