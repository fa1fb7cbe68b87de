#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Processes as /proc shows them, and the end of all that descend from this one.
namespace pawl::cli {

struct ProcessSeen {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = 0;           ///< as in ps: R, S, D, T (stopped), t (traced), Z (zombie)
  std::uint64_t start = 0;  ///< with the pid it names one process for good
  std::string name = {};
};

/// /proc is there, and of our pid namespace. Otherwise nothing below sees any process.
bool proc_is_readable();

std::optional<ProcessSeen> process_seen(pid_t pid);
/// Stopped by a signal or a debugger.
bool is_stopped(pid_t pid);
bool descends_from(pid_t pid, pid_t ancestor);
/// Its children, their children and so on, without zombies.
std::vector<ProcessSeen> descendants_of(pid_t ancestor);
/// For sentences: `sleep (pid 12), sh (pid 34) and 5 more`.
std::string format_processes(const std::vector<ProcessSeen>& processes);

/// Never reaches another process that has got the number meanwhile. False: we may not signal it.
bool send_to(const ProcessSeen& process, int signal);

/// From now on the orphans below this process become its children.
void adopt_orphans();

/// Kills and reaps all descendants of this process until there are none, or until `give_up` (asked now and then) when
/// some of them cannot be killed. Those below `spared` are left alone. Answers who is left.
/// Without /proc it says so on stderr, kills only `known` (a child, or minus a process group, as for kill(); 0: none) and
/// waits until there are no children, or until `give_up` when nothing of `known` is left.
/// Needs SIGCHLD blocked.
std::vector<ProcessSeen> end_descendants(const std::vector<pid_t>& spared, pid_t known,
                                         const std::function<bool()>& give_up);

/// TERM to all descendants, also to those that are stopped; without /proc to the group in `known`.
void ask_descendants_to_end(pid_t known);

}  // namespace pawl::cli
