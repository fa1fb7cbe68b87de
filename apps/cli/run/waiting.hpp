#pragma once

#include "apps/cli/run/event.hpp"
#include "apps/cli/run/front.hpp"
#include "apps/cli/run/signals.hpp"

#include <poll.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace pawl::cli {

/// Opens a store and waits for something there on a thread of its own, so that this one can listen to signals: one that
/// would end the process ends the wait, and nothing is left in a queue.
class Waiting {
 public:
  /// What is done before the process ends because the store does not answer: after a signal, or at a limit. The exit code.
  using Abandon = std::function<int(std::optional<int> signal)>;
  struct Limit {
    using At = std::optional<std::chrono::steady_clock::time_point>;
    At opened_by = {};    ///< the process ends if the work is still opening the store
    At answered_by = {};  ///< the work is stopped: see late()
    At over_by = {};      ///< the process ends, whatever the work does
    /// After a signal or late() so much is left at the most.
    std::optional<std::chrono::nanoseconds> to_stop = {};
    std::string sentence = {};  ///< of the process that ends
  };
  using Work = std::function<void(const std::function<void()>& asking, std::stop_token stop)>;

  /// `work` calls `asking` before it asks for anything that must be cleaned up. What it throws is thrown by finish().
  Waiting(Work work, Abandon abandon);
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// Until the work is done; answers the signal that has ended it before its time: one of ours. Where nobody reads any more
  /// what is written to `output`, that is SIGPIPE, though nothing may be written for long.
  std::optional<int> finish(const Signals& signals, int output, const Limit& limit);
  /// The same in a keeper: one that the front has passed on, or SIGKILL when the front has died.
  std::optional<int> finish(const Signals& signals, const Front& front, const Limit& limit);
  bool late() const { return late_; }

 private:
  /// What finish() listens to beside the work.
  struct Ear {
    int signals;  ///< can be read when there is one
    std::function<std::optional<int>()> next_signal;
    pid_t job;          ///< what Ctrl-Z stops
    pollfd other_side;  ///< is ready when it is gone
    int when_it_is_gone;
  };

  void run(const Work& work);
  std::optional<int> listen(const Ear& ear, const Limit& limit);
  void obey(int signal, pid_t job);
  std::optional<int> result();
  void cancel(int signal);
  void obey(const Limit& limit);
  void hurry(const Limit& limit);
  /// The next of its points in time that there is something to do.
  Limit::At next(const Limit& limit) const;

  enum class Phase { opening, asking, abandoned };
  std::atomic<Phase> phase_{Phase::opening};
  const Abandon abandon_;
  std::stop_source stop_;
  Event over_;
  std::exception_ptr error_;
  std::optional<int> cancelled_by_;
  Limit::At over_by_;
  bool hurried_ = false;
  bool late_ = false;
  std::jthread thread_;  // last: it uses all others
};

}  // namespace pawl::cli
