#pragma once

#include "apps/cli/run/child.hpp"
#include "apps/cli/run/event.hpp"
#include "apps/cli/run/held.hpp"

#include <stop_token>

namespace pawl::cli {

/// Keeps the command inside its locks: passes signals on, and ends it before somebody else can hold one of them.
///
/// | the hold that ends first                      | the command gets                 |
/// |-----------------------------------------------|----------------------------------|
/// | more than the grace time is left              | nothing                          |
/// | somebody asks for the lock (`pawl revoke`)    | TERM                             |
/// | the grace time is left, no renewal confirmed  | TERM                             |
/// | nearly nothing is left, lost, or taken away   | KILL                             |
class Supervisor {
 public:
  /// How long the store was asked to believe in us, and how long before the end of that TERM comes.
  struct Terms {
    Duration lease;
    Duration grace;
  };

  Supervisor(const Held& held, Child& child, const Signals& signals, Terms terms);

  /// Until the command has ended. Its exit code, as a shell gives it.
  int run();
  /// It was ended because the lock could not be kept.
  bool lost() const { return lost_; }

 private:
  using Callback = std::stop_callback<Event::Setter>;

  void wait() const;
  /// Milliseconds until the hold must be looked at again; -1: until something happens.
  int patience() const;
  void guard();
  Duration grace() const;
  /// For the kernel to carry out a KILL.
  Duration margin() const;
  void answer_request();
  void pass_on(const signalfd_siginfo& signal);
  /// The exit code once it has ended.
  std::optional<int> look_after_child();

  const Held& held_;
  Child& child_;
  const Signals& signals_;
  const Terms terms_;
  Duration longest_ = {};  // that was ever left of the hold
  Event news_;
  const Callback on_lost_;
  const Callback on_request_;
  bool asked_ = false;
  bool lost_ = false;
  bool killed_ = false;
};

}  // namespace pawl::cli
