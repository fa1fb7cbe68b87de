// Preloaded into a Child: a disk that is slow to sync, a kernel without inotify, and something that happens in the middle
// of a call to the store: the process stops, or a shell command runs. What is asked for is in the environment:
//
// | variable               | effect                                                                             |
// |------------------------|------------------------------------------------------------------------------------|
// | PAWL_TEST_SYNC_MS      | every fsync and fdatasync takes so long                                            |
// | PAWL_TEST_SYNC_WHILE   | and every one of them hangs as long as this file exists                            |
// | PAWL_TEST_SYNC_OF      | but only of files with this in their path                                          |
// | PAWL_TEST_SYNC_LOG     | each of them adds a line to this file                                              |
// | PAWL_TEST_STEP         | before the step of this number (from 1, counted from arm_steps() on)...            |
// | PAWL_TEST_STEP_COMMAND | ...this command runs; if there is none, the process stops                          |
// | PAWL_TEST_WATCH_WHILE  | pidfd_open hangs as long as this file exists, and makes FILE.there before           |
// | PAWL_TEST_NO_INOTIFY   | inotify_init1 fails, as when the user has as many instances as are allowed         |

#include "preload.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

struct Wanted {
  long sync_ms = std::atol(variable("PAWL_TEST_SYNC_MS").c_str());
  std::string sync_while = variable("PAWL_TEST_SYNC_WHILE");
  std::string sync_of = variable("PAWL_TEST_SYNC_OF");
  std::string sync_log = variable("PAWL_TEST_SYNC_LOG");
  int step = std::atoi(variable("PAWL_TEST_STEP").c_str());
  std::string command = variable("PAWL_TEST_STEP_COMMAND");
  std::string watch_while = variable("PAWL_TEST_WATCH_WHILE");
  bool no_inotify = !variable("PAWL_TEST_NO_INOTIFY").empty();
};

const Wanted& wanted() {
  static const Wanted& all = *new Wanted;
  return all;
}

std::atomic<int> until{0};  // 0: not counted

// The calls by which a process finds and changes files, and takes rights.
void step() {
  if (until.load() == 0 || until.fetch_sub(1) != 1) return;
  if (wanted().command.empty()) {
    ::raise(SIGSTOP);
  } else {
    ::unsetenv("LD_PRELOAD");
    (void)!std::system(wanted().command.c_str());
  }
}

void hang_while(const std::string& file) {
  const timespec a_moment{0, 1'000'000};
  while (!file.empty() && ::access(file.c_str(), F_OK) == 0) ::nanosleep(&a_moment, nullptr);
}

void watch_slowly() {
  const std::string& file = wanted().watch_while;
  if (file.empty() || ::access(file.c_str(), F_OK) != 0) return;
  ::close(::creat((file + ".there").c_str(), 0600));
  hang_while(file);
}

void sync_slowly(int descriptor) {
  char path[4096] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  (void)!::readlink(link.c_str(), path, sizeof path - 1);
  if (std::string(path).find(wanted().sync_of) == std::string::npos) return;
  if (!wanted().sync_log.empty()) {
    const int log = ::open(wanted().sync_log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    (void)!::write(log, "x\n", 2);
    ::close(log);
  }
  timespec left{wanted().sync_ms / 1000, wanted().sync_ms % 1000 * 1'000'000};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
  hang_while(wanted().sync_while);
}

int before_call(const char* call) {
  if (std::string_view(call) == "inotify_init1") return wanted().no_inotify ? EMFILE : 0;
  step();
  return 0;
}

}  // namespace

extern "C" {

void arm_steps() { until = wanted().step; }

int fsync(int descriptor) {
  static const auto real = next(&::fsync, "fsync");
  step();
  sync_slowly(descriptor);
  return real(descriptor);
}

int fdatasync(int descriptor) {
  static const auto real = next(&::fdatasync, "fdatasync");
  step();
  sync_slowly(descriptor);
  return real(descriptor);
}

/// For pidfd_open, which has no wrapper in older C libraries.
long syscall(long number, ...) noexcept {
  static const auto real = next(&::syscall, "syscall");
  va_list rest;
  va_start(rest, number);
  long words[6];
  for (long& word : words) word = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_pidfd_open) watch_slowly();
  return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

int fcntl(int descriptor, int command, ...) {
  static const auto real = next(&::fcntl, "fcntl");
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  if (command == F_SETLK) step();
  return real(descriptor, command, argument);
}

int bind(int socket, const sockaddr* address, socklen_t size) noexcept {
  static const auto real = next(&::bind, "bind");
  step();
  return real(socket, address, size);
}

int chmod(const char* path, mode_t mode) noexcept {
  static const auto real = next(&::chmod, "chmod");
  step();
  return real(path, mode);
}

int fchmod(int descriptor, mode_t mode) noexcept {
  static const auto real = next(&::fchmod, "fchmod");
  step();
  return real(descriptor, mode);
}

int fchmodat(int folder, const char* path, mode_t mode, int flags) noexcept {
  static const auto real = next(&::fchmodat, "fchmodat");
  step();
  return real(folder, path, mode, flags);
}

int fchownat(int folder, const char* path, uid_t user, gid_t group, int flags) noexcept {
  static const auto real = next(&::fchownat, "fchownat");
  step();
  return real(folder, path, user, group, flags);
}

}  // extern "C"
