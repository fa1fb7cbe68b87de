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

/// What stands behind a Mutex: a handle, with defaults of its own, of a lock that all handles of that name share.
/// Threads: all.
class MutexCore {
 public:
  MutexCore(std::shared_ptr<NamedLock> lock, Defaults defaults)
      : lock_(std::move(lock)), defaults_(std::move(defaults)) {}

  const std::string& name() const { return lock_->key().name.bytes(); }
  ClientCore& client() const { return lock_->client(); }

  /// The coroutine form. The options' text is copied before it returns.
  awaitable<Result<Hold>> acquire(AcquireOptions options, std::stop_token stop);
  /// The blocking form; would_deadlock where the calling thread holds the lock through lock().
  Result<Hold> acquire_blocking(AcquireOptions options, std::stop_token stop);

  /// The Lockable face: reentrant per thread. False: not within that time. Throws pawl::Exception.
  bool lock(std::optional<Duration> wait);
  void unlock() noexcept;
  const Hold* this_thread_hold() const noexcept;

  static Mutex face(std::shared_ptr<MutexCore> core) { return Mutex(std::move(core)); }

 private:
  /// How far an acquisition has come.
  struct Begun {
    std::shared_ptr<local::LocalLock> queue = {};
    local::LocalLock::Place place = {};
    base::Time since = {};
  };
  static awaitable<Result<Hold>> acquire_resolved(std::shared_ptr<NamedLock> lock, Result<local::Request> request,
                                                  std::stop_token stop, Begun begun);
  Result<Hold> acquire_here(AcquireOptions options, std::stop_token stop);
  base::Time stopwatch() const;

  const std::shared_ptr<NamedLock> lock_;
  const Defaults defaults_;
};

}  // namespace pawl::lock
