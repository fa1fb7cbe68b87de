#include "apps/cli/run/supervisor.hpp"

#include "apps/cli/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>

namespace pawl::cli {

using namespace std::chrono_literals;

namespace {

template <class... Args>
void tell(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(stderr, "pawl: {}\n", fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace

Supervisor::Supervisor(const Held& held, Child& child, const Signals& signals, Terms terms)
    : held_(held),
      child_(child),
      signals_(signals),
      terms_(terms),
      on_lost_(held.lost(), news_.setter()),
      on_request_(held.release_requested(), news_.setter()) {}

int Supervisor::run() {
  while (true) {
    // The hold first: after a stop of us both, the child must not go on under a lock that is lost.
    guard();
    answer_request();
    if (const std::optional<int> code = look_after_child()) return *code;
    if (const std::optional<signalfd_siginfo> signal = signals_.next()) {
      if (signal->ssi_signo != SIGCHLD) pass_on(*signal);
    } else {
      wait();
    }
  }
}

void Supervisor::wait() const {
  wait_for(signals_.fd(), news_.fd(), patience());
  news_.clear();
}

int Supervisor::patience() const {
  if (killed_) return -1;
  const Duration next = held_.remaining() - (lost_ ? margin() : grace());
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(std::max(next, Duration::zero())).count();
  return static_cast<int>(std::min<std::int64_t>(whole, std::numeric_limits<int>::max()));
}

/// A store may grant a shorter lease than it is asked for: then the grace is shorter as well, and TERM does not come while
/// all is well.
Duration Supervisor::grace() const {
  const double share = std::chrono::duration<double>(longest_) / std::chrono::duration<double>(terms_.lease);
  if (share > 0.9) return terms_.grace;
  return std::chrono::duration_cast<Duration>(terms_.grace * share * 0.9);
}

Duration Supervisor::margin() const { return std::min<Duration>(100ms, grace() / 2); }

void Supervisor::guard() {
  const Duration left = held_.remaining();
  longest_ = std::max(longest_, left);
  if (killed_ || left > grace()) return;
  if (left <= margin()) {
    child_.send(SIGKILL);
    tell("{} is lost: the command was killed", held_.first_to_end());
    lost_ = killed_ = true;
  } else if (!lost_) {
    child_.send(SIGTERM);
    tell("{} cannot be renewed: sent TERM to the command, KILL follows in {}", held_.first_to_end(),
         format_age(left - margin()));
    lost_ = true;
  }
}

void Supervisor::answer_request() {
  if (asked_ || lost_ || !held_.release_requested().stop_requested()) return;
  asked_ = true;
  child_.send(SIGTERM);
  tell("somebody asks for {} (pawl revoke): sent TERM to the command", held_.asked_for());
}

void Supervisor::pass_on(const signalfd_siginfo& signal) {
  if (from_terminal(signal) || static_cast<pid_t>(signal.ssi_pid) == child_.pid()) return;
  child_.send(static_cast<int>(signal.ssi_signo));
}

std::optional<int> Supervisor::look_after_child() {
  const std::optional<Child::News> news = child_.news();
  if (!news) return std::nullopt;
  if (news->what == Child::News::What::ended) return news->value;
  // Ctrl-Z: stop as well, or the shell would wait for us. The lease is not renewed meanwhile.
  if (news->value == SIGTSTP || news->value == SIGTTIN || news->value == SIGTTOU) ::kill(::getpid(), SIGSTOP);
  return std::nullopt;
}

}  // namespace pawl::cli
