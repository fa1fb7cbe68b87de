#include "apps/cli/run/waiting_line.hpp"

#include "apps/cli/table.hpp"
#include "apps/cli/views.hpp"
#include "base/host.hpp"

#include <fmt/core.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace pawl::cli {

using namespace std::chrono_literals;

namespace {

constexpr auto unnoticed = 1s;
constexpr auto between_looks_that_count = 60s;
constexpr auto between_looks = 5s;
constexpr auto between_looks_for_each_waiter = 100ms;  // a long queue of us must not keep the store busy

bool on_terminal() { return ::isatty(STDERR_FILENO) == 1; }

std::size_t columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1U : 79U;
}

std::optional<std::size_t> place_of(const Owner& us, const LockView& view) {
  const auto& waiters = view.waiters;
  const auto found = std::find_if(waiters.begin(), waiters.end(), [&](const ClaimView& waiter) {
    return waiter.owner.pid == us.pid && waiter.owner.host == us.host;
  });
  if (found == waiters.end()) return std::nullopt;
  return static_cast<std::size_t>(found - waiters.begin()) + 1;
}

std::string in_seconds(Duration duration) {
  return format_age(std::chrono::floor<std::chrono::seconds>(std::max<Duration>(duration, 0s)));
}

/// `later`: how long ago the store was asked.
std::string holder_of(const LockView& view, Duration later) {
  if (view.holders.empty()) {
    const Duration shut = view.shut_for - later;
    return shut > 0s ? fmt::format("; shut for another {} (lock-delay)", in_seconds(shut)) : "";
  }
  const ClaimView& holder = view.holders.front();
  std::string text = "; held";
  if (view.holders.size() > 1) text += fmt::format(" by {} clients,", view.holders.size());
  if (!holder.owner.foreign) text += " for " + in_seconds(holder.age + later);
  return text + " by " + format_who(holder);
}

/// Runs that a clock has started together do not look together.
Duration spread() { return std::chrono::milliseconds(::getpid() % 1000); }

}  // namespace

WaitingLine::WaitingLine(Client client, Wait wait, Talk& talk)
    : client_(std::move(client)),
      wait_(std::move(wait)),
      talk_(talk),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void WaitingLine::run(const std::stop_token& stop) {
  if (!pause(stop, begin_ + unnoticed + spread())) return;
  const bool terminal = on_terminal();
  if (!terminal && !wait_.in_logs) return;
  look();
  while (true) {
    if (terminal) {
      write_to_terminal();
    } else {
      const std::lock_guard guard(mutex_);
      if (!std::exchange(written_, !finished_) && !finished_) talk_.say(sentence());
      return;
    }
    if (!pause(stop, Clock::now() + 1s)) return;
    if (Clock::now() >= next_look_) look();
  }
}

/// False: it is over.
bool WaitingLine::pause(const std::stop_token& stop, Clock::time_point until) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, stop, until, [this] { return finished_; });
  return !finished_ && !stop.stop_requested();
}

/// At the first of the locks that is in use.
void WaitingLine::look() {
  view_.reset();
  for (const Wanted& wanted : wait_.wanted) {
    Result<LockView> view = client_.inspect(wanted.name, wanted.kind);
    if (!view || (view->holders.empty() && view->shut_for <= 0s && wait_.wanted.size() > 1)) continue;
    view_ = std::move(*view);
    break;
  }
  looked_ = Clock::now();
  const std::size_t waiters = view_ ? view_->waiters.size() : 0;
  const Duration usual = wait_.counts ? Duration(between_looks_that_count) : Duration(between_looks);
  next_look_ = looked_ + std::max<Duration>(usual, waiters * between_looks_for_each_waiter);
}

void WaitingLine::write_to_terminal() {
  // A job in the background does not write over what its user is typing.
  if (::tcgetpgrp(STDERR_FILENO) != ::getpgid(wait_.job)) return;
  const std::string text = cut_to("pawl: " + sentence(), columns());
  const std::lock_guard guard(mutex_);
  if (finished_) return;
  talk_.show(text);
  written_ = true;
}

std::string WaitingLine::sentence() const {
  std::string names;
  for (const Wanted& wanted : wait_.wanted) names += (names.empty() ? "" : ", ") + in_quotes(wanted.name);
  std::string text = "waiting for " + names;
  const Clock::time_point now = Clock::now();
  const auto place = view_ && !wait_.counts ? place_of(base::this_process(), *view_) : std::nullopt;
  if (place) text += fmt::format("; {} of {} in line", *place, view_->waiters.size());
  if (wait_.until) text += fmt::format("; {} left", in_seconds(*wait_.until - now));
  if (view_) text += holder_of(*view_, now - looked_);
  return text;
}

void WaitingLine::finish(bool granted) {
  {
    const std::lock_guard guard(mutex_);
    if (std::exchange(finished_, true)) return;
    if (written_ && on_terminal()) {
      talk_.clear();
    } else if (written_ && granted) {
      talk_.say("granted after " + format_age(Clock::now() - begin_));
    }
  }
  changed_.notify_all();
}

}  // namespace pawl::cli
