// The kernel sends HUP to a process group that becomes orphaned while one of its processes is stopped. Without a terminal all
// tests would be in one group: a test that stops a process would, through another test's `pawl run` (whose command has its
// parent in another group), end `make` itself. So each test program has a group of its own there. On a terminal the group is the
// shell's job, which is not orphaned, and must have its Ctrl-C.

#include <fcntl.h>
#include <unistd.h>

namespace {

[[maybe_unused]] const bool has_own_group = [] {
  const int terminal = ::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (terminal >= 0) ::close(terminal);
  return terminal < 0 && ::setpgid(0, 0) == 0;
}();

}  // namespace
