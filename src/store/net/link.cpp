#include "store/net/link.hpp"

#include "base/wakeup.hpp"
#include "store/net/backoff.hpp"

#include <chrono>
#include <utility>

namespace pawl::store::net {

namespace {

constexpr Duration shortest_pause = std::chrono::milliseconds(10);
constexpr Duration longest_pause = std::chrono::seconds(1);

/// Asking again would not help.
bool lasting(Errc code) {
  return code == Errc::permission_denied || code == Errc::unsupported || code == Errc::invalid_argument;
}

}  // namespace

/// Whoever needs the connection starts it anew, also after an exception.
struct Link::Running {
  explicit Running(Link& of) : link(of) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { link.running_ = false; }
  Link& link;
};

Link::Link(base::Runtime& runtime, Patience patience) : runtime_(runtime), patience_(patience), changed_(runtime) {}

Error Link::closed() { return {Errc::store_unavailable, "the connection is closed"}; }

void Link::start() {
  if (!over() && !std::exchange(running_, true)) base::spawn(runtime_, run(shared_from_this()));
}

base::awaitable<Result<void>> Link::ready(base::Deadline deadline) {
  const auto self = shared_from_this();
  bool tried = false;
  while (state_ != State::up) {
    if (over()) co_return closed();
    if (tried && (patience_ == Patience::one_attempt || lasting(last_error_.code))) co_return last_error_;
    if (deadline.passed(runtime_.now())) {
      if (last_error_.code != Errc{}) co_return last_error_;
      co_return Error{Errc::store_unavailable, (peer_.empty() ? "" : peer_ + ": ") + "no connection in time"};
    }
    start();
    co_await changed_.wait(deadline.at);
    tried = true;
  }
  co_return Result<void>();
}

base::awaitable<void> Link::run([[maybe_unused]] std::shared_ptr<Link> self) {
  const Running running(*this);
  co_await base::step_aside(runtime_);  // whoever has started it sits down first, and hears how it ends
  Backoff backoff(runtime_, shortest_pause, longest_pause);
  while (!over()) {
    Result<void> opened = co_await open();
    if (over()) break;
    if (opened) {
      state_ = State::up;
      last_error_ = {};
      const base::Time since = runtime_.now();
      changed_.notify();
      went_up();
      while (state_ == State::up) co_await changed_.wait(base::Time::max());
      if (over()) break;
      went_down(last_error_);
      if (runtime_.now() - since >= longest_pause) {
        backoff.reset();
        continue;
      }
    } else {
      last_error_ = opened.error();
      changed_.notify();
    }
    const base::Time next = base::after(runtime_.now(), backoff.next());
    while (!over() && runtime_.now() < next) co_await changed_.wait(next);
  }
}

void Link::broken(const Error& why) {
  if (state_ != State::up) return;
  state_ = State::down;
  last_error_ = why;
  changed_.notify();
}

void Link::close_link() {
  state_ = State::over;
  changed_.notify();
}

}  // namespace pawl::store::net
