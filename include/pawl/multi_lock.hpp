#pragma once

#include <pawl/hold.hpp>
#include <pawl/mutex.hpp>
#include <pawl/options.hpp>
#include <pawl/result.hpp>
#include <pawl/semaphore.hpp>
#include <pawl/sequencer.hpp>
#include <pawl/shared_mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stop_token>
#include <vector>

namespace pawl {

namespace lock {
class Access;
class MultiHoldCore;
struct MultiPlan;
}  // namespace lock

/// Several locks, held together: move-only, all released when it goes out of scope.
/// Promise: lost() fires as soon as one of them is lost, and remaining() is that of the one that ends first.
/// Threads: as Hold.
class MultiHold {
 public:
  /// An empty one: size() is 0, and it is not valid.
  MultiHold() noexcept;
  MultiHold(MultiHold&&) noexcept;
  MultiHold& operator=(MultiHold&&) noexcept;
  ~MultiHold();

  /// In the order in which the locks were named.
  std::size_t size() const noexcept;
  const Hold& operator[](std::size_t index) const;
  /// Of each of them; of a semaphore one for each permit.
  std::vector<Sequencer> sequencers() const;

  /// Fires when any of them is lost.
  std::stop_token lost() const noexcept;
  /// Fires when somebody asks for any of them.
  std::stop_token release_requested() const noexcept;
  Duration remaining() const noexcept;
  bool valid() const noexcept;

  /// Lets go of all of them, and reports the first error; all are let go in any case.
  Result<void> release();

 private:
  friend class lock::Access;
  explicit MultiHold(std::shared_ptr<lock::MultiHoldCore> core) noexcept;

  std::shared_ptr<lock::MultiHoldCore> core_;
};

/// Several locks as one: all or nothing.
/// Promise: two of them never wait for each other, whatever the order in which their locks are named: each asks for its
///          locks in one and the same order. If not all of them can be had, none is kept.
/// Limit:   only among MultiLocks: a program that holds one lock by itself and waits for another can still dead-lock.
///          The locks may belong to several clients and stores.
/// Threads: safe to share once it is put together.
/// Errors:  as Mutex, with the name of the lock that it was; invalid_argument when a lock is named twice.
class MultiLock {
 public:
  MultiLock();
  MultiLock(std::initializer_list<Mutex> mutexes);

  MultiLock& add(const Mutex& mutex);
  MultiLock& add(const SharedMutex& mutex, Mode mode);
  MultiLock& add(const Semaphore& semaphore, std::uint32_t permits = 1);

  /// `wait` is for all of them together.
  Result<MultiHold> acquire(AcquireOptions options = {}, std::stop_token stop = {});
  /// `busy` when somebody else holds one of them.
  Result<MultiHold> try_acquire(AcquireOptions options = {});

 private:
  friend class lock::Access;
  std::shared_ptr<const lock::MultiPlan> plan_;
};

}  // namespace pawl
