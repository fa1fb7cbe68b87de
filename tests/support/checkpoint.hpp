#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::test {

/// Stops the next request of a name in front of the server, once it is armed, until it is let pass. For Proxy::arrange(), as a Match that never
/// matches; the proxy stands still meanwhile.
class Checkpoint {
 public:
  explicit Checkpoint(std::string request) : state_(std::make_shared<State>()) {
    state_->request = std::move(request);
    state_->let_pass = state_->passes.get_future();
  }
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;
  ~Checkpoint() { let_pass(); }

  auto match() const {
    return [state = state_](const std::string& name, std::string_view) {
      if (!state->armed || name != state->request) return false;
      state->armed = false;
      state->arrives.set_value();
      state->let_pass.wait();
      return false;
    };
  }
  void arm() { state_->armed = true; }
  /// False: it hangs.
  bool wait_until_reached() {
    return state_->arrives.get_future().wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  }
  void let_pass() {
    if (!std::exchange(passed_, true)) state_->passes.set_value();
  }

 private:
  struct State {
    std::string request = {};
    std::atomic<bool> armed = false;
    std::promise<void> arrives = {};
    std::promise<void> passes = {};
    std::future<void> let_pass = {};
  };

  const std::shared_ptr<State> state_;
  bool passed_ = false;
};

}  // namespace pawl::test
