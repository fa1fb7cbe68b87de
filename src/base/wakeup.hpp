#pragma once

#include "base/runtime.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <optional>

namespace pawl::base {

/// The one wait: everything that waits is built on it.
///   Woke why = co_await wakeup.wait(deadline);
/// Promise: never throws, is never cancelled; a notify() before wait() is not lost.
/// Limit:   one waiter at a time.
/// Threads: on the runtime's executor only.
class Wakeup final : private Timers::Node, private Pending::Entry {
 public:
  explicit Wakeup(Runtime& runtime) : runtime_(runtime) {}
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;
  ~Wakeup();

  void notify();

  /// The same without a coroutine: `then` is called on the executor.
  void wait_with(Resumption then, Time deadline) { begin(std::move(then), deadline); }

  auto wait(Time deadline) {
    const asio::use_awaitable_t<> token;
    return asio::async_initiate<const asio::use_awaitable_t<>, void(Woke)>(
        [this](auto handler, Time until) { begin(Resumption(std::move(handler)), until); }, token, deadline);
  }

 private:
  void begin(Resumption waiter, Time deadline);
  void finish(Woke why);
  Resumption take();
  void fire() override;
  void drop() override;

  Runtime& runtime_;
  bool sticky_ = false;
  std::optional<Resumption> waiter_;
  std::optional<Timers::Key> timer_;
};

/// Lets everything go on first that already can.
awaitable<void> step_aside(Runtime& runtime);
awaitable<void> sleep_until(Runtime& runtime, Time when);
awaitable<void> sleep_for(Runtime& runtime, Duration duration);

}  // namespace pawl::base
