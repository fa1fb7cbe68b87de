#include "base/wakeup.hpp"

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

void Wakeup::begin(Resumption waiter, Time deadline) {
  waiter_.emplace(std::move(waiter));
  runtime_.pending().add(*this);
  if (std::exchange(sticky_, false)) return finish(Woke::notified);
  if (deadline == Time::max()) return;
  if (deadline <= runtime_.now()) return finish(Woke::timed_out);
  timer_ = runtime_.arm(deadline, *this);
}

void Wakeup::finish(Woke why) {
  // Never called here: the waiter may go on to destroy this object, or whoever notified it.
  runtime_.resume_soon(take(), why);
}

Resumption Wakeup::take() {
  if (timer_) runtime_.disarm(*timer_);
  timer_.reset();
  runtime_.pending().remove(*this);
  Resumption waiter = std::move(*waiter_);
  waiter_.reset();
  return waiter;
}

void Wakeup::fire() {
  timer_.reset();
  finish(Woke::timed_out);
}

void Wakeup::drop() { take(); }

awaitable<void> step_aside(Runtime& runtime) {
  Wakeup wakeup{runtime};
  wakeup.notify();
  co_await wakeup.wait(Time::max());
}

awaitable<void> sleep_until(Runtime& runtime, Time when) {
  Wakeup wakeup{runtime};
  co_await wakeup.wait(when);
}

awaitable<void> sleep_for(Runtime& runtime, Duration duration) {
  return sleep_until(runtime, after(runtime.now(), duration));
}

}  // namespace pawl::base
