#pragma once

namespace pawl::cli {

/// What `pawl run` and `pawl elect` promise: the same words stand in the manual page and in docs/command.md.
inline constexpr const char* promise =
    "Until every descendant of the command is gone, no other client is granted the lock,\n"
    "unless both pawl processes are stopped or killed, everything is frozen past the lease,\n"
    "or a descendant cannot be killed (another user's, stuck in the kernel) when the lease\n"
    "ends; use --lock-delay or a fence for those.\n"
    "Work that is handed to systemd-run, docker, at or a running tmux is no descendant.\n"
    "\"pawl revoke --now\" takes the lock away before the command is killed. Where /proc cannot\n"
    "be read, only the command's process group can be killed, on a terminal only the command;\n"
    "pawl says so, and holds the lock until the others end, or it is lost.\n";

}  // namespace pawl::cli
