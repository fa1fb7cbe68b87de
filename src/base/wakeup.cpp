#include "base/wakeup.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace pawl::base {

Wakeup::~Wakeup() {
  if (waiter_) take();
}

void Wakeup::notify() {
  if (waiter_) {
    finish(Woke::notified);
  } else {
    sticky_ = true;
  }
}

void Wakeup::begin(Handler handler, Time deadline) {
  waiter_.emplace(std::move(handler));
  runtime_.pending().add(*this);
  if (std::exchange(sticky_, false)) return finish(Woke::notified);
  if (deadline <= runtime_.now()) return finish(Woke::timed_out);
  if (deadline != Time::max()) timer_ = runtime_.arm(deadline, *this);
}

void Wakeup::finish(Woke why) {
  // Posted, never called here: the waiter may go on to destroy this object, or whoever notified it.
  asio::post(runtime_.executor(), [handler = take(), why]() mutable { std::move(handler)(why); });
}

Wakeup::Handler Wakeup::take() {
  if (timer_) runtime_.disarm(*timer_);
  timer_.reset();
  runtime_.pending().remove(*this);
  Handler handler = std::move(*waiter_);
  waiter_.reset();
  return handler;
}

void Wakeup::fire() {
  timer_.reset();
  finish(Woke::timed_out);
}

void Wakeup::drop() { take(); }

awaitable<void> sleep_until(Runtime& runtime, Time when) {
  Wakeup wakeup{runtime};
  co_await wakeup.wait(when);
}

awaitable<void> sleep_for(Runtime& runtime, Duration duration) {
  return sleep_until(runtime, after(runtime.now(), duration));
}

}  // namespace pawl::base
