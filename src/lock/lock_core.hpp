#pragma once

#include "lock/named_lock.hpp"
#include "lock/settings.hpp"

#include <pawl/hold.hpp>
#include <pawl/mutex.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace pawl::lock {

/// What stands behind a lock of any kind: a handle, with defaults of its own, of a lock that all handles of that name
/// share.
/// Threads: all.
class LockCore {
 public:
  LockCore(std::shared_ptr<NamedLock> lock, Defaults defaults)
      : lock_(std::move(lock)), defaults_(std::move(defaults)) {}

  const std::shared_ptr<NamedLock>& named() const { return lock_; }
  const std::string& name() const { return lock_->key().name.bytes(); }
  ClientCore& client() const { return lock_->client(); }

  /// The coroutine form. The options' text is copied before it returns.
  awaitable<Result<Hold>> acquire(AcquireOptions options, std::stop_token stop, const Wanted& wanted);
  /// Not a defaulted argument, which GCC 12 would destroy twice in `co_await acquire(...)`.
  awaitable<Result<Hold>> acquire(AcquireOptions options, std::stop_token stop);
  /// The blocking form; would_deadlock where the calling thread holds the lock through lock().
  Result<Hold> acquire_blocking(AcquireOptions options, std::stop_token stop, const Wanted& wanted = {});

  /// would_deadlock where the calling thread holds the lock through lock().
  Result<void> not_inside() const;

  /// The Lockable face: reentrant per thread. False: not within that time. Throws pawl::Exception.
  bool lock(std::optional<Duration> wait, Mode mode = Mode::exclusive);
  void unlock(Mode mode = Mode::exclusive) noexcept;
  const Hold* this_thread_hold() const noexcept;

 private:
  /// How far an acquisition has come.
  struct Begun {
    std::shared_ptr<local::LocalLock> queue = {};
    local::LocalLock::Place place = {};
    base::Time since = {};
  };
  static awaitable<Result<Hold>> acquire_resolved(std::shared_ptr<NamedLock> lock, Result<local::Request> request,
                                                  std::stop_token stop, Begun begun);
  Result<Hold> acquire_here(AcquireOptions options, std::stop_token stop, const Wanted& wanted);
  Result<local::Request> request(const AcquireOptions& options, const Wanted& wanted) const;
  base::Time stopwatch() const;

  const std::shared_ptr<NamedLock> lock_;
  const Defaults defaults_;
};

}  // namespace pawl::lock
