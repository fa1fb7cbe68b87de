#pragma once

#include <pawl/hold.hpp>
#include <pawl/options.hpp>
#include <pawl/result.hpp>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

namespace pawl {

namespace lock {
class Access;
class LockCore;
}  // namespace lock

/// One holder per name across every process that shares the store.
/// Promise: token() grows with each new holder.
/// Limit:   a paused process outlives its lease; let the resource check the sequencer.
/// Threads: safe to share; copies are the same lock. A Hold is not: move it to the thread that uses it.
/// Errors:  busy, timed_out, cancelled, store_unavailable, outcome_unknown, would_deadlock, closed, invalid_argument.
///
/// Two ways to hold it. A Hold belongs to whoever has the object. The Lockable face (`lock`, `unlock`, so also
/// std::scoped_lock) belongs to a thread and is reentrant there. They exclude each other like strangers: `lock()`
/// beside one's own Hold waits for it, and `acquire()` in a thread that is inside `lock()` is would_deadlock.
class Mutex {
 public:
  const std::string& name() const noexcept;

  /// Waits as long as the options say. A stop request gives up with `cancelled`.
  Result<Hold> acquire(AcquireOptions options = {}, std::stop_token stop = {});
  /// `busy` when somebody else holds it.
  Result<Hold> try_acquire(AcquireOptions options = {});

  /// Throws pawl::Exception. Re-entering a hold that is lost throws `lost`.
  void lock();
  /// False only when busy; anything else throws.
  bool try_lock();
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
    return lock_within(saturated(wait));
  }
  template <class Clock, class D>
  bool try_lock_until(const std::chrono::time_point<Clock, D>& when) {
    return lock_within(saturated_until(when));
  }
  /// Never throws and does not wait; what could not be done goes to the observer.
  void unlock() noexcept;

  /// What the calling thread holds through lock(), for its token and loss signal; null when it holds nothing.
  const Hold* this_thread_hold() const noexcept;

 private:
  friend class lock::Access;
  explicit Mutex(std::shared_ptr<lock::LockCore> core) noexcept;

  bool lock_within(Duration wait);

  std::shared_ptr<lock::LockCore> core_;
};

}  // namespace pawl
