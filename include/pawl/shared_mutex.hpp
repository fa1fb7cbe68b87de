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

/// Readers together, writers alone, across every process that shares the store. First come, first served, so that
/// neither starves: a reader who comes after a waiting writer waits behind it.
/// Promise: a writer's token is larger than that of everybody who held the lock before it, a reader's larger than that
///          of every writer before it.
/// Limit:   there is no way from reading to writing but to let go and ask again: two readers who both wanted it would
///          wait for each other for ever. `lock()` in a thread that shares the lock is would_deadlock.
/// Threads: safe to share; copies are the same lock. Readers of one client share one
///          place at the store, as far as they ask for the same lease and lock-delay.
/// Errors:  as Mutex.
class SharedMutex {
 public:
  const std::string& name() const noexcept;

  /// For writing.
  Result<Hold> acquire(AcquireOptions options = {}, std::stop_token stop = {});
  Result<Hold> try_acquire(AcquireOptions options = {});
  /// For reading.
  Result<Hold> acquire_shared(AcquireOptions options = {}, std::stop_token stop = {});
  Result<Hold> try_acquire_shared(AcquireOptions options = {});

  /// Reentrant per thread, in both modes; a thread that writes may also lock_shared(), and when it leaves with unlock()
  /// first, it goes on reading: nobody writes in between.
  void lock();
  bool try_lock();
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
    return lock_within(saturated(wait), Mode::exclusive);
  }
  template <class Clock, class D>
  bool try_lock_until(const std::chrono::time_point<Clock, D>& when) {
    return lock_within(saturated_until(when), Mode::exclusive);
  }
  void unlock() noexcept;

  void lock_shared();
  bool try_lock_shared();
  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& wait) {
    return lock_within(saturated(wait), Mode::shared);
  }
  template <class Clock, class D>
  bool try_lock_shared_until(const std::chrono::time_point<Clock, D>& when) {
    return lock_within(saturated_until(when), Mode::shared);
  }
  void unlock_shared() noexcept;

  /// What the calling thread holds through lock() or lock_shared(); null when it holds nothing.
  const Hold* this_thread_hold() const noexcept;

 private:
  friend class lock::Access;
  explicit SharedMutex(std::shared_ptr<lock::LockCore> core) noexcept;

  bool lock_within(Duration wait, Mode mode);

  std::shared_ptr<lock::LockCore> core_;
};

}  // namespace pawl
