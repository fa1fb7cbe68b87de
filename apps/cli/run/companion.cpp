#include "apps/cli/run/companion.hpp"

#include "apps/cli/table.hpp"

#include <fmt/core.h>

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>

namespace pawl::cli {

Companion::Companion(const Held& held, const Front& front, const HoldClock::Terms& terms)
    : held_(held),
      front_(front),
      clock_(held, terms),
      stops_(front, terms.lease),
      on_lost_(held.lost(), news_.setter()),
      on_request_(held.release_requested(), news_.setter()) {}

std::string Companion::run() {
  while (!front_.dead()) {
    guard();
    answer_request();
    if (!killed_ && stops_.too_long()) kill("the command was stopped for longer than a lease");
    if (killed_ && held_.remaining() == Duration::zero()) break;
    wait_for(front_.fd(), news_.fd(), patience());
    news_.clear();
  }
  return reason_;
}

int Companion::patience() const {
  const Duration next = killed_ ? held_.remaining()
                                : std::min<Duration>(clock_.patience(told_to_end_),
                                                     stops_.next_look() - std::chrono::steady_clock::now());
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(next).count();
  return static_cast<int>(std::clamp<std::int64_t>(whole, 0, 60'000));
}

void Companion::guard() {
  const Duration left = clock_.look();
  if (killed_ || left > clock_.grace()) return;
  if (left <= clock_.margin()) return kill(clock_.why_it_was_killed());
  if (told_to_end_) return;
  told_to_end_ = true;
  reason_ = clock_.why_it_must_end();
  send(SIGTERM);
  fmt::print(stderr, "pawl: {}: sent TERM to the command, KILL follows in {}\n", reason_,
             format_age(left - clock_.margin()));
}

void Companion::answer_request() {
  if (asked_ || killed_ || !held_.release_requested().stop_requested()) return;
  asked_ = true;
  send(SIGTERM);
  fmt::print(stderr, "pawl: somebody asks for {} (pawl revoke): sent TERM to the command\n", held_.asked_for());
}

bool Companion::send(int signal) const {
  return ::syscall(SYS_pidfd_send_signal, front_.fd(), signal, nullptr, 0) == 0 || errno != EPERM;
}

void Companion::kill(const std::string& reason) {
  killed_ = true;
  reason_ = reason;
  const bool allowed = send(SIGKILL);
  fmt::print(stderr, "pawl: {}: {}\n", reason_,
             allowed ? "the command was killed" : "not permitted to kill the command");
}

}  // namespace pawl::cli
