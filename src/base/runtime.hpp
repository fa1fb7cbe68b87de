#pragma once

#include "base/escaped.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"

#include <pawl/result.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace pawl::base {

namespace asio = boost::asio;
using asio::awaitable;

/// What is due, in order of time; equal times in the order in which they were set, so that a run can be repeated.
class Timers {
 public:
  struct Node {
    virtual void fire() = 0;

   protected:
    ~Node() = default;
  };
  using Key = std::pair<Time, std::uint64_t>;

  Key add(Time at, Node& node);
  void remove(const Key& key) { due_.erase(key); }
  std::optional<Time> next() const;
  /// Fires the first one if it is due.
  bool fire_one(Time now);
  std::size_t size() const { return due_.size(); }

 private:
  std::map<Key, Node*> due_;
  std::uint64_t sequence_ = 0;
};

/// Coroutines that wait (see Wakeup), so that a runtime that ends can take them along.
class Pending {
 public:
  class Entry {
   public:
    virtual void drop() = 0;

   protected:
    ~Entry() = default;

   private:
    friend class Pending;
    Entry* before_ = nullptr;
    Entry* behind_ = nullptr;
  };

  void add(Entry& entry);
  void remove(Entry& entry);
  /// Drops them all, and those that come while it does.
  void drop_all();

 private:
  Entry* first_ = nullptr;
};

enum class Woke { notified, timed_out };

/// A coroutine that waited and can go on.
using Resumption = asio::any_completion_handler<void(Woke)>;

/// Where coroutines run, and the only door to time and chance. One implementation is real, one is simulated.
/// Promise: at most one thread runs work of the executor at any time ("the driver"), so what lives there needs no lock.
/// Threads: now(), random(), send(), posting to executor(), notify() and alarms from any thread; everything else on the
///          executor only.
class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual Time now() const = 0;
  /// Milliseconds since 1970: for making an epoch, and for nothing else.
  virtual std::uint64_t unix_milliseconds() const = 0;
  virtual std::uint64_t random() = 0;
  virtual asio::any_io_executor executor() = 0;

  /// Runs `work` on the executor soon, and lends this thread for it if nobody drives.
  virtual void send(std::function<void()> work) = 0;
  /// Runs `work` on this thread, which is the executor for as long as that takes: no coroutine, no queue, no kernel.
  /// False: the executor is in use elsewhere, or this is a simulation; nothing was run. Throws what `work` throws.
  enum class Afterwards { leaves, may_wait };  ///< may_wait: this thread will block_on() what `work` has begun
  virtual bool run_here(const std::function<void()>& work, Afterwards afterwards) = 0;
  /// As run_here(). Where `work` says that it has begun something, this thread waits until the function that it was given
  /// is called, on the executor: a wait without a coroutine.
  using Done = std::function<void()>;
  virtual bool wait_here(const std::function<bool(const Done&)>& work) = 0;
  /// Waits for the coroutine's result. `overloaded` where the system refuses something; `would_deadlock` inside the runtime itself and in simulation.
  template <class T>
  Result<T> block_on(awaitable<Result<T>> work);
  /// False where block_on would answer would_deadlock.
  virtual bool may_block() const = 0;

  /// Runs a call that may block (fsync, DNS) on another thread; inline in simulation. `lane` names what it can hang on (a
  /// folder, a server): calls of one lane may wait for each other, and for no other lane. Throws what `work` throws, and
  /// std::system_error where no thread can be started: then `work` is not run.
  virtual awaitable<void> offload(std::string lane, std::function<void()> work) = 0;

  /// Runs user code: never on the executor, one call at a time, in order.
  virtual void notify(std::function<void()> call) = 0;
  /// The same for observers, behind each other only: one that is slow delays nothing that is notified.
  virtual void observe(std::function<void()> call) = 0;
  /// Before the first observe(). Throws std::system_error where no thread can be started.
  virtual void expect_observers() {}
  /// Runs code of ours that does not block at a point in time, whatever the executor and users' code do. The id is
  /// never 0.
  using AlarmId = std::uint64_t;
  virtual AlarmId set_alarm(Time at, std::function<void()> call) = 0;
  virtual void cancel_alarm(AlarmId id) = 0;

  /// True in a child of fork(), for a simulated process that has crashed, and while the runtime ends: touch nothing.
  virtual bool inert() const = 0;

  template <class IdType>
  IdType make_id() {
    const std::uint64_t high = random();
    return IdType{high, random() | 1};
  }

  /// For Wakeup.
  Timers::Key arm(Time at, Timers::Node& node);
  void disarm(const Timers::Key& key) { timers_.remove(key); }
  Pending& pending() { return pending_; }
  /// Goes on with it soon, on the executor, behind those for which this was called before. Never in this call.
  virtual void resume_soon(Resumption waiter, Woke why) = 0;
  /// Whoever `work` wakes goes on at the end of this call, for a handler with nothing else to do: that saves a look at the
  /// kernel.
  virtual void wake_together(const std::function<void()>& work) { work(); }

 protected:
  virtual void timers_changed() {}
  virtual void run_to_end(awaitable<void> task) = 0;

  Timers timers_;
  Pending pending_;
  std::atomic<std::uint64_t> spawned_ = 0;  // coroutines may be spawned from any thread

 private:
  friend void spawn(Runtime& runtime, awaitable<void> task);
};

/// Starts a coroutine of its own. An exception that escapes it is a bug: it is logged, and the task is over; out of memory
/// ends the process.
void spawn(Runtime& runtime, awaitable<void> task);

/// The same, in turn: it begins behind all that was started so before. A task that spawn() starts may begin at once, and
/// overtake one that was started where the executor was not running.
void spawn_in_turn(Runtime& runtime, awaitable<void> task);

template <class T>
awaitable<void> store_result(awaitable<Result<T>> work, std::optional<Result<T>>& out) {
  try {
    Result<T> result = co_await std::move(work);
    out.emplace(std::move(result));
  } catch (...) {
    out.emplace(refused_by_system());
  }
}

template <class T>
Result<T> Runtime::block_on(awaitable<Result<T>> work) {
  if (!may_block()) return Error{Errc::would_deadlock, "a blocking call inside one of pawl's own callbacks"};
  std::optional<Result<T>> result;
  run_to_end(store_result(std::move(work), result));
  return std::move(*result);
}

}  // namespace pawl::base
