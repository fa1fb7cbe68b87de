#pragma once

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

/// Real threads, as the kernel sees them.
namespace pawl::test {

/// Waits until it is so; false when it hangs. `so` must only look.
template <class Condition>
bool eventually(Condition so, std::chrono::seconds hang = std::chrono::seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + hang;
  while (!so()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

/// A thread of this process.
struct ThreadSeen {
  std::string id = {};
  std::string name = {};
};

inline std::vector<ThreadSeen> threads_seen() {
  std::vector<ThreadSeen> seen;
  std::error_code gone;  // a thread may end while we look
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    ThreadSeen thread;
    thread.id = entry.path().filename().string();
    std::ifstream comm(entry.path() / "comm");
    std::getline(comm, thread.name);
    seen.push_back(thread);
  }
  return seen;
}

/// Those that have started since; others may belong to tests that ran before in this process.
inline std::vector<ThreadSeen> threads_besides(const std::vector<ThreadSeen>& others) {
  std::vector<ThreadSeen> ours = threads_seen();
  std::erase_if(ours, [&](const ThreadSeen& thread) {
    return std::any_of(others.begin(), others.end(), [&](const ThreadSeen& other) { return other.id == thread.id; });
  });
  return ours;
}

/// One line of its /proc status, such as "SigBlk"; empty when the thread is gone.
inline std::string thread_status(const ThreadSeen& thread, std::string_view field) {
  std::ifstream status("/proc/self/task/" + thread.id + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(std::string(field) + ":")) continue;
    const auto begin = line.find_first_not_of(" \t", field.size() + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

/// As long as it lives, this process cannot start a thread: a stack of the default size does not fit anywhere.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge = before_;
    pthread_attr_setstacksize(&huge, std::size_t{1} << 47);
    pthread_setattr_default_np(&huge);
  }
  ~NoMoreThreads() { pthread_setattr_default_np(&before_); }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  pthread_attr_t before_;
};

/// How often it gave the processor away of its own accord.
inline std::uint64_t times_slept(const ThreadSeen& thread) {
  const std::string text = thread_status(thread, "voluntary_ctxt_switches");
  return text.empty() ? 0 : std::stoull(text);
}

}  // namespace pawl::test
