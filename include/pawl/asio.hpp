#pragma once

/// The locks for programs on Boost.Asio: every wait with a completion token (a callback, use_awaitable, use_future, ...).
///
///   pawl::Result<pawl::Hold> hold = co_await pawl::async_acquire(mutex, {.wait = 2s}, asio::use_awaitable);
///
/// Promise: a cancellation of the operation gives up with `cancelled`, and nothing is left at the store. Text in the
///          options is copied before the call returns. A hold that nobody takes any more is released.
/// Threads: handlers run on their associated executor, never inside the call; a handler without one runs on pawl's
///          notifier thread and must not block. No thread waits meanwhile.
/// Limit:   needs the headers of the same Boost that pawl was built with, 1.81 or later. An io_context must outlive the
///          operations whose handlers belong to it: cancel them and let it run before it ends.

#include <pawl/client.hpp>
#include <pawl/multi_lock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pawl {

namespace detail {

namespace asio = boost::asio;

/// Where an outcome goes.
template <class T>
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// True: receive() only posts, so it may be called anywhere.
  virtual bool posts() const noexcept = 0;
  virtual void receive(Result<T> result) = 0;
};

/// Something that was asked for and has not begun yet.
template <class T>
class Operation {
 public:
  virtual ~Operation() = default;
  virtual void start(std::stop_token stop, std::unique_ptr<Receiver<T>> receiver) = 0;
};

template <class T>
using OperationPtr = std::shared_ptr<Operation<T>>;

OperationPtr<Hold> prepare_acquire(const Mutex& mutex, const AcquireOptions& options);
OperationPtr<Hold> prepare_acquire(const SharedMutex& mutex, Mode mode, const AcquireOptions& options);
OperationPtr<Hold> prepare_acquire(const Semaphore& semaphore, std::uint32_t permits, const AcquireOptions& options);
OperationPtr<MultiHold> prepare_acquire(const MultiLock& locks, const AcquireOptions& options);
OperationPtr<Hold> prepare_campaign(const Election& election, std::string_view value, const AcquireOptions& options);
OperationPtr<std::optional<Leader>> prepare_next(Observation& observation, std::optional<Duration> wait);
OperationPtr<void> prepare_release(Hold& hold);
OperationPtr<void> prepare_release(MultiHold& hold);
OperationPtr<void> prepare_downgrade(Hold& hold);

/// Brings an outcome to a handler, on the handler's executor, which is kept busy until then.
template <class T, class Handler>
class HandlerReceiver final : public Receiver<T> {
 public:
  explicit HandlerReceiver(Handler handler)
      : work_(asio::get_associated_executor(handler)), handler_(std::move(handler)) {}

  bool posts() const noexcept override { return only_posts; }

  void receive(Result<T> result) override {
    auto call = [handler = std::move(handler_), result = std::move(result)]() mutable {
      auto slot = asio::get_associated_cancellation_slot(handler);
      if (slot.is_connected()) slot.clear();
      std::move(handler)(std::move(result));
    };
    if constexpr (only_posts) {
      asio::post(work_.get_executor(), std::move(call));
    } else {
      asio::dispatch(work_.get_executor(), std::move(call));
    }
  }

 private:
  using Executor = asio::associated_executor_t<Handler>;
  static constexpr bool only_posts =
      std::is_same_v<Executor, asio::io_context::executor_type> || std::is_same_v<Executor, asio::any_io_executor>;

  asio::executor_work_guard<Executor> work_;
  Handler handler_;
};

/// Asio calls it when the operation is to begin. A class and no lambda: GCC 12 destroys the captures of a temporary
/// lambda twice where it stands in a co_await expression.
template <class T>
class Initiation {
 public:
  explicit Initiation(OperationPtr<T> operation) noexcept : operation_(std::move(operation)) {}

  template <class Handler>
  void operator()(Handler&& handler) const {
    std::stop_source stop;
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected()) {
      slot.assign([stop](asio::cancellation_type) mutable { stop.request_stop(); });
    }
    using Decayed = std::decay_t<Handler>;
    operation_->start(stop.get_token(),
                      std::make_unique<HandlerReceiver<T, Decayed>>(Decayed(std::forward<Handler>(handler))));
  }

 private:
  OperationPtr<T> operation_;
};

template <class Token, class T>
auto initiate(OperationPtr<T> operation, std::remove_reference_t<Token>& token) {
  return asio::async_initiate<Token, void(Result<T>)>(Initiation<T>(std::move(operation)), token);
}

}  // namespace detail

template <class CompletionToken>
auto async_acquire(const Mutex& mutex, AcquireOptions options, CompletionToken&& token) {
  return detail::initiate<CompletionToken>(detail::prepare_acquire(mutex, options), token);
}

/// For writing.
template <class CompletionToken>
auto async_acquire(const SharedMutex& mutex, AcquireOptions options, CompletionToken&& token) {
  return detail::initiate<CompletionToken>(detail::prepare_acquire(mutex, Mode::exclusive, options), token);
}

/// For reading.
template <class CompletionToken>
auto async_acquire_shared(const SharedMutex& mutex, AcquireOptions options, CompletionToken&& token) {
  return detail::initiate<CompletionToken>(detail::prepare_acquire(mutex, Mode::shared, options), token);
}

/// One permit.
template <class CompletionToken>
auto async_acquire(const Semaphore& semaphore, AcquireOptions options, CompletionToken&& token) {
  return detail::initiate<CompletionToken>(detail::prepare_acquire(semaphore, 1, options), token);
}

/// Several permits, all or none.
template <class CompletionToken>
auto async_acquire(const Semaphore& semaphore, std::uint32_t permits, AcquireOptions options, CompletionToken&& token) {
  return detail::initiate<CompletionToken>(detail::prepare_acquire(semaphore, permits, options), token);
}

/// All of them or none: a MultiHold.
template <class CompletionToken>
auto async_acquire(const MultiLock& locks, AcquireOptions options, CompletionToken&& token) {
  return detail::initiate<CompletionToken>(detail::prepare_acquire(locks, options), token);
}

template <class CompletionToken>
auto async_campaign(const Election& election, std::string_view value, AcquireOptions options, CompletionToken&& token) {
  return detail::initiate<CompletionToken>(detail::prepare_campaign(election, value, options), token);
}

/// The next change of leader: a std::optional<Leader>.
template <class CompletionToken>
auto async_next(Observation& observation, std::optional<Duration> wait, CompletionToken&& token) {
  return detail::initiate<CompletionToken>(detail::prepare_next(observation, wait), token);
}

/// Lets go, and completes with the store's word. It cannot be cancelled; when nobody waits for it, it is done all the
/// same.
template <class CompletionToken>
auto async_release(Hold& hold, CompletionToken&& token) {
  return detail::initiate<CompletionToken>(detail::prepare_release(hold), token);
}

template <class CompletionToken>
auto async_release(MultiHold& hold, CompletionToken&& token) {
  return detail::initiate<CompletionToken>(detail::prepare_release(hold), token);
}

/// From exclusive to shared, of a SharedMutex.
template <class CompletionToken>
auto async_downgrade(Hold& hold, CompletionToken&& token) {
  return detail::initiate<CompletionToken>(detail::prepare_downgrade(hold), token);
}

}  // namespace pawl
