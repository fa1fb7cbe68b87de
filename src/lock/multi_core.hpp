#pragma once

#include "lock/lock_core.hpp"

#include <pawl/multi_lock.hpp>

#include <deque>
#include <memory>
#include <stop_token>
#include <vector>

namespace pawl::lock {

/// Which locks, in the order in which they were named.
struct MultiPlan {
  struct Part {
    std::shared_ptr<LockCore> lock;
    Wanted wanted = {};
  };
  std::vector<Part> parts = {};

  /// Where a plan cannot be carried out at all. Errors: invalid_argument.
  Result<void> check() const;
  /// Takes them one by one, all in the same order everywhere, and lets go of what it has when one cannot be had.
  static awaitable<Result<MultiHold>> acquire(std::shared_ptr<const MultiPlan> plan, AcquireOptions options,
                                              std::stop_token stop);
};

/// What stands behind a MultiHold.
class MultiHoldCore {
 public:
  explicit MultiHoldCore(std::vector<Hold> holds);
  ~MultiHoldCore();

  std::vector<Hold>& holds() { return holds_; }
  std::stop_token lost() const { return signals_->lost.get_token(); }
  std::stop_token release_requested() const { return signals_->release_requested.get_token(); }
  static awaitable<Result<void>> release(std::shared_ptr<MultiHoldCore> self);

 private:
  struct Relay {
    std::stop_source to;
    void operator()() noexcept { to.request_stop(); }
  };
  struct Signals {
    std::stop_source lost;
    std::stop_source release_requested;
    std::deque<std::stop_callback<Relay>> relays;
  };

  std::vector<Hold> holds_;
  std::shared_ptr<Signals> signals_;
};

/// Lets go of all of them, the last one first, and waits for the store's word. The first error.
awaitable<Result<void>> release_all(std::vector<std::shared_ptr<HoldCore>> holds);

}  // namespace pawl::lock
