#include "apps/cli/run/acquiring.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <utility>

/// --monitor-retry: a store that is out of reach while the lock is waited for.
namespace pawl::cli {

using namespace std::chrono_literals;

namespace {

/// Longer each time. False: it was stopped.
class BackOff {
 public:
  bool pause(const std::stop_token& stop, std::optional<std::chrono::steady_clock::time_point> end) {
    auto until = std::chrono::steady_clock::now() + next_;
    if (end) until = std::min(until, *end);
    next_ = std::min<std::chrono::milliseconds>(2 * next_, 5s);
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any nobody_notifies;
    nobody_notifies.wait_until(lock, stop, until, [] { return false; });
    return !stop.stop_requested();
  }

 private:
  std::chrono::milliseconds next_ = 100ms;
};

}  // namespace

void Acquiring::work_through_outages(const std::function<void()>& asking, std::stop_token stop) {
  bool asked = false;
  const auto ask_once = [&] {
    if (!std::exchange(asked, true)) asking();
  };
  const auto over = [&] {
    return !options_.monitor_retry || (wait_until_ && std::chrono::steady_clock::now() >= *wait_until_);
  };
  BackOff back_off;
  bool told = options_.quiet;
  while (true) {
    std::string reason;
    try {
      work(ask_once, stop);
      if (held_ || !out_of_reach(held_.code()) || over()) return;
      reason = held_.error().message;
    } catch (const Failure& failure) {
      if (!failure.out_of_reach || over()) throw;
      reason = failure.sentence;
    }
    if (!std::exchange(told, true)) fmt::print(stderr, "pawl: {}; trying again\n", reason);
    if (!back_off.pause(stop, wait_until_)) return;
  }
}

}  // namespace pawl::cli
