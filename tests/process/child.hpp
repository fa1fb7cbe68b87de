#pragma once

#include "tests/support/threads.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace pawl::test {

/// ASan's allocator takes no care of fork(): a child finds it locked by a thread that it does not have.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool may_fork_while_busy = false;
#elif defined(__has_feature)
inline constexpr bool may_fork_while_busy = !__has_feature(address_sanitizer);
#else
inline constexpr bool may_fork_while_busy = true;
#endif

/// Until all other threads have slept for a while; not for ever, for some never do.
inline void let_the_others_rest() {
  const std::string self = std::to_string(::gettid());
  const auto rests = [&](const ThreadSeen& thread) {
    return thread.id == self || thread_status(thread, "State").starts_with('S');
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (int looks = 0; looks < 20 && std::chrono::steady_clock::now() < end; ++looks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::vector<ThreadSeen> threads = threads_seen();
    if (!std::all_of(threads.begin(), threads.end(), rests)) looks = 0;
  }
}

enum class Exit { quickly, fully };  ///< _exit(), exit()

/// What became of a forked process: its exit code, or one of these.
inline constexpr int hung = -1;
inline constexpr int killed = -2;

/// Waits for a child. One that hangs is killed.
inline int wait_for_child(pid_t child, std::chrono::seconds patience = std::chrono::seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + patience;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= end) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return hung;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : killed;
}

/// Forks. The child plays its part, which answers 0 when all is well and otherwise the number of the step that failed.
inline int in_child(const std::function<int()>& part, Exit how = Exit::quickly) {
  std::fflush(nullptr);  // or it would be written twice
  if (!may_fork_while_busy) let_the_others_rest();
  const pid_t child = ::fork();
  if (child != 0) return wait_for_child(child);
  int code = 99;
  try {
    code = part();
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "in the child: %s\n", exception.what());
  }
  if (how == Exit::fully) std::exit(code);
  ::_exit(code);
}

}  // namespace pawl::test
