#include "apps/cli/run/supervisor.hpp"

#include "apps/cli/context.hpp"
#include "apps/cli/run/process_tree.hpp"
#include "apps/cli/table.hpp"
#include "base/duration.hpp"

#include <fmt/core.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace pawl::cli {

using namespace std::chrono_literals;

namespace {

template <class... Args>
void tell(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(stderr, "pawl: {}\n", fmt::format(format, std::forward<Args>(args)...));
}

bool is_job_control(int signal) { return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU; }

bool asks_to_end(int signal) { return signal == SIGTERM || signal == SIGINT || signal == SIGQUIT; }

}  // namespace

Supervisor::Supervisor(const Held& held, Command& command, const Front& front, const Signals& signals, Terms terms)
    : held_(held),
      command_(command),
      front_(front),
      signals_(signals),
      terms_(terms),
      clock_(held, {terms.lease, terms.grace, terms.max_hold}),
      on_lost_(held.lost(), news_.setter()),
      on_request_(held.release_requested(), news_.setter()),
      stops_(front, terms.lease) {}

int Supervisor::run() {
  while (true) {
    // The hold first: after a stop of us all, the command must not go on under a lock that is lost.
    guard();
    answer_request();
    watch_front();
    look_after_command();
    if (killed_) return code_.value_or(by_signal + SIGKILL);
    if (code_ && (command_.tree_ended() || terms_.leftovers == Leftovers::keep)) return *code_;
    look_after_leftovers();
    if (const std::optional<PassedSignal> signal = front_.next_signal(signals_)) {
      pass_on(*signal);
    } else {
      wait();
    }
  }
}

void Supervisor::wait() const {
  pollfd all[] = {{signals_.fd(), POLLIN, 0}, {news_.fd(), POLLIN, 0}, {front_.fd(), POLLIN, 0}};
  ::poll(all, 3, patience());
  news_.clear();
}

int Supervisor::patience() const {
  Duration next = clock_.patience(lost_);
  const Clock::time_point now = Clock::now();
  for (const auto& at : {std::optional(stops_.next_look()), name_leftovers_at_, kill_leftovers_at_}) {
    if (at) next = std::min<Duration>(next, *at - now);
  }
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(std::max(next, Duration::zero())).count();
  return static_cast<int>(std::min<std::int64_t>(whole, std::numeric_limits<int>::max()));
}

void Supervisor::guard() {
  const Duration left = clock_.look();
  if (killed_ || left > clock_.grace()) return;
  if (left <= clock_.margin()) {
    lost_ = true;
    reason_ = clock_.why_it_was_killed();
    kill_all();
    tell("{}: the command was killed", reason_);
  } else if (!lost_) {
    lost_ = true;
    ask_to_end();
    reason_ = clock_.why_it_must_end();
    tell("{}: sent TERM to the command, KILL follows in {}", reason_, format_age(left - clock_.margin()));
  }
}

void Supervisor::answer_request() {
  if (asked_ || lost_ || !held_.release_requested().stop_requested()) return;
  asked_ = true;
  ask_to_end();
  tell("somebody asks for {} (pawl revoke): sent TERM to the command", held_.asked_for());
}

void Supervisor::watch_front() {
  if (killed_) return;
  if (front_.dead()) {
    reason_ = fmt::format("pawl (pid {}) was killed", front_.pid());
    kill_all();
    tell("{}: the command was killed", reason_);
    return;
  }
  if (stops_.too_long()) {
    lost_ = true;
    reason_ = "pawl was stopped for longer than a lease";
    kill_all();
    tell("{}: the command was killed, and {} is released", reason_, held_.first_to_end());
  }
}

void Supervisor::look_after_command() {
  while (const std::optional<Command::News> news = command_.news()) {
    switch (news->what) {
      case Command::News::What::ended:
        code_ = news->value;
        name_leftovers_at_ = Clock::now() + 1s;
        if (told_to_end_ || terms_.leftovers == Leftovers::kill) end_leftovers();
        break;
      case Command::News::What::stopped:
        command_stopped_ = true;
        // Ctrl-Z: the front stops as well, or the shell would wait for it.
        if (is_job_control(news->value)) front_.stop();
        break;
      case Command::News::What::continued: command_stopped_ = false; break;
    }
  }
}

void Supervisor::look_after_leftovers() {
  if (!code_) return;
  const Clock::time_point now = Clock::now();
  if (kill_leftovers_at_ && now >= *kill_leftovers_at_) {
    const int code = *code_;
    kill_all();
    code_ = code;
  } else if (name_leftovers_at_ && now >= *name_leftovers_at_) {
    name_leftovers_at_.reset();
    if (terms_.quiet) return;
    const std::vector<ProcessSeen> left = descendants_of(::getpid());
    tell("the command has ended, but not {}: {} is held until then",
         left.empty() ? "all of its descendants" : format_processes(left), held_.first_to_end());
  }
}

void Supervisor::pass_on(const PassedSignal& signal) {
  if (signal.number == SIGTSTP && (code_ || command_stopped_)) return front_.stop();
  if (code_ && asks_to_end(signal.number)) return end_leftovers();
  if (signal.from != PassedSignal::From::outside) return;
  command_.send(signal.number);
  told_to_end_ |= asks_to_end(signal.number);
}

void Supervisor::ask_to_end() {
  told_to_end_ = true;
  command_.send(SIGTERM);
  if (code_) end_leftovers();
}

void Supervisor::end_leftovers() {
  if (kill_leftovers_at_) return;
  kill_leftovers_at_ = Clock::now() + terms_.grace;
  ask_descendants_to_end(command_.known());
}

/// The lock is held meanwhile, unless it is lost.
void Supervisor::kill_all() {
  killed_ = true;
  const auto give_up = [this] { return held_.remaining() == Duration::zero(); };
  if (const auto left = end_descendants({}, command_.known(), give_up); !left.empty()) {
    tell("not permitted to kill {}", format_processes(left));
  }
}

}  // namespace pawl::cli
