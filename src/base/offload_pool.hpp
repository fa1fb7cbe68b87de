#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace pawl::base {

/// A few threads for calls that may block. None exists before the first call.
class OffloadPool {
 public:
  OffloadPool() = default;
  ~OffloadPool();
  OffloadPool(const OffloadPool&) = delete;
  OffloadPool& operator=(const OffloadPool&) = delete;

  void submit(std::function<void()> job);

 private:
  void run();

  std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool stop_ = false;
};

}  // namespace pawl::base
