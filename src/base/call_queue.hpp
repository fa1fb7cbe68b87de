#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace pawl::base {

/// A thread that calls functions one at a time, in order.
/// Threads: all.
class CallQueue {
 public:
  explicit CallQueue(const char* name) : name_(name) {}
  ~CallQueue() { stop(); }
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  /// Before the first call; again is nothing. Throws std::system_error where no thread can be started.
  void start();
  void call(std::function<void()> function);
  /// Returns when everything has been called that was there before; at once if it was never started. How many calls
  /// that were so far.
  std::uint64_t settle();
  /// True on its thread.
  bool here() const;
  /// What is there is called, and nothing that comes later.
  void stop();

 private:
  void run();

  const char* const name_;
  std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  std::deque<std::function<void()>> calls_;
  std::uint64_t called_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace pawl::base
