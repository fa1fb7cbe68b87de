#pragma once

#include "apps/cli/run/held.hpp"
#include "apps/cli/run/run_log.hpp"

#include <string>

namespace pawl::cli {

/// Of a command that is not our child; null in the log.
inline constexpr int code_unknown = -1;

/// How the time under the lock has ended.
struct HoldEnd {
  int code = 0;           ///< the exit code
  std::string lost = {};  ///< why the lock could not be kept; empty: it was held to the end
};

/// Releases the lock and writes the last event of the log: released, lost or release_failed. Answers the exit code: 122
/// also when only the release finds out that the lock was lost.
int let_go(Held& held, const HoldEnd& end, RunLog& log);

}  // namespace pawl::cli
