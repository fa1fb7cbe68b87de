#pragma once

#include "apps/cli/run/event.hpp"
#include "apps/cli/run/front.hpp"
#include "apps/cli/run/held.hpp"
#include "apps/cli/run/hold_clock.hpp"

#include <stop_token>
#include <string>

namespace pawl::cli {

/// Holds the lock of a command that is not our child: a front that has become it. See no_fork.hpp for what it gets when.
class Companion {
 public:
  Companion(const Held& held, const Front& front, const HoldClock::Terms& terms);

  /// Until the command has ended, or nothing is left of the hold. Why it was ended, if it was.
  std::string run();

 private:
  void guard();
  void answer_request();
  /// By its pidfd: never to another process. False: it may not be signalled, as after sudo.
  bool send(int signal) const;
  void kill(const std::string& reason);
  int patience() const;

  const Held& held_;
  const Front& front_;
  HoldClock clock_;
  StopWatch stops_;
  Event news_;
  const std::stop_callback<Event::Setter> on_lost_;
  const std::stop_callback<Event::Setter> on_request_;
  bool asked_ = false;
  bool told_to_end_ = false;
  bool killed_ = false;
  std::string reason_;
};

}  // namespace pawl::cli
