#pragma once

#include "base/wakeup.hpp"

#include <vector>

namespace pawl::base {

/// Where any number of coroutines wait for the same news. (A Wakeup has room for one.)
/// Limit:   whoever is notified looks for himself whether what he waits for is so.
/// Threads: on the executor only.
class Gathering {
 public:
  explicit Gathering(Runtime& runtime) : runtime_(runtime) {}

  awaitable<void> wait(Time deadline) {
    Seat seat(*this);
    co_await seat.wakeup.wait(deadline);
  }
  void notify() {
    for (Seat* seat : seats_) seat->wakeup.notify();
  }

 private:
  struct Seat {
    explicit Seat(Gathering& in) : gathering(in), wakeup(in.runtime_) { gathering.seats_.push_back(this); }
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;
    ~Seat() { std::erase(gathering.seats_, this); }
    Gathering& gathering;
    Wakeup wakeup;
  };

  Runtime& runtime_;
  std::vector<Seat*> seats_;
};

}  // namespace pawl::base
