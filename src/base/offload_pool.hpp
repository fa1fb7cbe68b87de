#pragma once

#include "base/time.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace pawl::base {

/// Threads for calls that may block, in lanes: one for everything that can hang on the same thing (a folder, a server, a
/// name). A lane has a few threads of its own, which are started when they are needed and end when they are not, so one that
/// hangs delays no other.
/// Threads: all.
class OffloadPool {
 public:
  static constexpr std::size_t most_threads_in_a_lane = 4;

  explicit OffloadPool(Duration idle = std::chrono::seconds(10)) : patience_(idle) {}
  /// Waits for what was submitted.
  ~OffloadPool();
  OffloadPool(const OffloadPool&) = delete;
  OffloadPool& operator=(const OffloadPool&) = delete;

  /// Throws std::system_error where the lane has no thread and none can be started: then the job is not run.
  void submit(const std::string& lane, std::function<void()> job);

 private:
  using Threads = std::list<std::thread>;
  struct Lane {
    std::condition_variable wake = {};
    std::deque<std::function<void()>> jobs = {};
    std::size_t threads = 0;
    std::size_t idle = 0;
  };
  using Lanes = std::map<std::string, Lane>;
  void start(Lanes::iterator lane);
  void run(Lanes::iterator lane, Threads::iterator self);

  const Duration patience_;
  std::mutex mutex_;  // guards all below
  std::condition_variable all_ended_;
  Lanes lanes_;
  Threads threads_;
  Threads ended_;  // to be joined
  bool stop_ = false;
};

}  // namespace pawl::base
