#pragma once

#include "apps/cli/context.hpp"
#include "apps/cli/run/event.hpp"
#include "apps/cli/run/signals.hpp"

#include <atomic>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>

namespace pawl::cli {

/// What a wait for a lock comes to.
struct Waited {
  std::optional<Client> client = {};  ///< as long as the hold lives
  Result<Hold> hold = Hold();
};

/// Opens the store and waits for the lock on a thread of its own, so that this one can listen to signals: one that
/// would end the process ends the wait, and nothing is left in the queue.
class Waiting {
 public:
  using Work = std::function<Waited(const std::function<void()>& asking, std::stop_token stop)>;

  /// `work` calls `asking` before it asks for the lock: until then there is nothing to clean up. What it throws is
  /// thrown by finish().
  explicit Waiting(Work work);
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// Throws Failure with 128 + n after signal n.
  Waited finish(const Signals& signals);

 private:
  void run(const Work& work);
  void obey(const signalfd_siginfo& signal);

  enum class Phase { opening, asking, abandoned };
  std::atomic<Phase> phase_{Phase::opening};
  std::stop_source stop_;
  Event over_;
  std::optional<Waited> waited_;
  std::exception_ptr error_;
  std::optional<int> cancelled_by_;
  std::jthread thread_;  // last: it uses all others
};

}  // namespace pawl::cli
