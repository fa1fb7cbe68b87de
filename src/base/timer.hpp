#pragma once

#include "base/runtime.hpp"

#include <functional>
#include <optional>
#include <utility>

namespace pawl::base {

/// Calls at a point in time, on the executor.
/// Threads: on the executor only.
class Timer final : private Timers::Node {
 public:
  Timer(Runtime& runtime, std::function<void()> call) : runtime_(runtime), call_(std::move(call)) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() { cancel(); }

  /// Instead of the time that was set before.
  void set(Time at) {
    cancel();
    key_ = runtime_.arm(at, *this);
  }
  void cancel() {
    if (key_) runtime_.disarm(*key_);
    key_.reset();
  }

 private:
  void fire() override {
    key_.reset();
    call_();
  }

  Runtime& runtime_;
  const std::function<void()> call_;
  std::optional<Timers::Key> key_;
};

}  // namespace pawl::base
