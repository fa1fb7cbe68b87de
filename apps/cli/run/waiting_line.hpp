#pragma once

#include "apps/cli/run/talk.hpp"
#include "apps/cli/run/wanted.hpp"

#include <pawl/client.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace pawl::cli {

/// Tells a person why nothing happens, from the second second of a wait: on a terminal one line that is written anew each
/// second (who holds the lock, for how long, our place in line, the time left), elsewhere a line when the wait has begun and
/// one when it has ended. It asks the store once in five seconds at the most, and less often the longer the queue is; once
/// in a minute, and not for our place, where the store would have to count.
/// Threads: one of its own that looks and writes.
class WaitingLine {
 public:
  struct Wait {
    std::vector<Wanted> wanted;
    std::optional<std::chrono::steady_clock::time_point> until;
    pid_t job = 0;        ///< the terminal is written to only while this process has it
    bool in_logs = true;  ///< false: terminals only
    bool counts = false;  ///< a look costs the store more the longer the queue is
  };

  WaitingLine(Client client, Wait wait, Talk& talk);
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

  /// Nothing is written after this. Takes no time.
  void finish(bool granted);

 private:
  using Clock = std::chrono::steady_clock;

  void run(const std::stop_token& stop);
  bool pause(const std::stop_token& stop, Clock::time_point until);
  void look();
  void write_to_terminal();
  std::string sentence() const;

  Client client_;
  const Wait wait_;
  Talk& talk_;
  const Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;  // guards the two below, and that nothing is said after finish()
  std::condition_variable_any changed_;
  bool finished_ = false;
  bool written_ = false;
  // Of the last look; only the thread uses them.
  Clock::time_point looked_;
  Clock::time_point next_look_;
  std::optional<LockView> view_;
  std::jthread thread_;  // last: it uses all others
};

}  // namespace pawl::cli
