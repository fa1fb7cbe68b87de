#pragma once

#include "apps/cli/demo/crew.hpp"

#include <functional>
#include <optional>
#include <string>

namespace pawl::cli {

/// What the demo does to its workers, and what came of it.
///
/// | act      | begins                      | goes on to the next when                                        |
/// |----------|-----------------------------|-----------------------------------------------------------------|
/// | work     | at once                     | a quarter of the time is over                                   |
/// | kill     | a worker is told to pause   | it holds the lock: killed with -9; another one takes its place  |
/// | recover  |                             | somebody else has written                                       |
/// | rest     |                             | half of the time is over                                        |
/// | stop     | another one is told to pause | it holds the lock: stopped                                     |
/// | overtake |                             | its lease is over and somebody else has written: continued      |
/// | refuse   |                             | it has told what became of its late write                       |
/// | finish   |                             | the time is over                                                |
class Play {
 public:
  using Tell = std::function<void(const std::string&)>;

  Play(Crew& crew, int workers, std::chrono::milliseconds time, Tell tell);

  /// False when the play is over.
  bool go_on();
  void heard(const Report& report);

  std::int64_t expected_total() const { return expected_; }
  const std::string& token() const { return token_; }
  std::chrono::milliseconds elapsed() const;
  std::optional<std::chrono::microseconds> recovery() const { return recovery_; }
  std::chrono::milliseconds stopped_for() const { return stopped_for_; }

 private:
  enum class Act { work, kill, recover, rest, stop, overtake, refuse, finish };

  void paused(const Report& report);
  void wrote(const Report& report);
  void begin(Act act);
  /// Has the worker of that number pause at its next acquisition.
  void begin_with(Act act, std::size_t number);
  void wake();
  bool after(double share) const;

  Crew& crew_;
  const std::chrono::milliseconds time_;
  const Tell tell_;
  const Clock::time_point began_ = Clock::now();
  Act act_ = Act::work;
  Clock::time_point act_began_ = began_;
  Member* victim_ = nullptr;
  std::string victims_token_;
  std::string token_;
  std::int64_t expected_ = 0;
  std::optional<std::chrono::microseconds> recovery_;
  std::chrono::milliseconds stopped_for_{};
};

}  // namespace pawl::cli
