#pragma once

#include "lock/client_core.hpp"
#include "lock/thread_holds.hpp"

#include <pawl/hold.hpp>
#include <pawl/mutex.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace pawl::lock {

/// What stands behind a Mutex: one per name and client, whatever the number of handles.
/// Threads: all.
class MutexCore : public std::enable_shared_from_this<MutexCore> {
 public:
  /// What all handles of the lock must agree on.
  struct Agreed {
    store::Scheme* scheme;
    local::PassBounds bounds;

    friend bool operator==(const Agreed&, const Agreed&) = default;
  };

  MutexCore(std::shared_ptr<ClientCore> client, std::shared_ptr<local::LocalLock> lock, Agreed agreed, Defaults defaults);
  ~MutexCore();

  const std::string& name() const { return lock_->key().name.bytes(); }
  const Agreed& agreed() const { return agreed_; }
  ClientCore& client() const { return *client_; }
  const std::shared_ptr<local::LocalLock>& local() const { return lock_; }

  /// The coroutine form. The options' text is copied before it returns.
  awaitable<Result<Hold>> acquire(AcquireOptions options, std::stop_token stop);
  /// The blocking form; would_deadlock where the calling thread holds the lock through lock().
  Result<Hold> acquire_blocking(AcquireOptions options, std::stop_token stop);

  /// The Lockable face: reentrant per thread. False: not within that time. Throws pawl::Exception.
  bool lock(std::optional<Duration> wait);
  void unlock() noexcept;
  const Hold* this_thread_hold() const noexcept;
  /// The thread of that number has ended: what it still held is released.
  void abandon(std::uint64_t thread) noexcept;

  static Mutex face(std::shared_ptr<MutexCore> core) { return Mutex(std::move(core)); }

 private:
  static awaitable<Result<Hold>> acquire_resolved(std::shared_ptr<MutexCore> self, Result<local::Request> request,
                                                  std::stop_token stop);
  void count(const Result<Hold>& outcome, Duration waited);

  const std::shared_ptr<ClientCore> client_;
  const std::shared_ptr<local::LocalLock> lock_;
  const Agreed agreed_;
  const Defaults defaults_;
  ThreadHolds thread_holds_;
};

}  // namespace pawl::lock
