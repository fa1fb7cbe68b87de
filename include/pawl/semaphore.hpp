#pragma once

#include <pawl/hold.hpp>
#include <pawl/options.hpp>
#include <pawl/result.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

namespace pawl {

namespace lock {
class Access;
class LockCore;
}  // namespace lock

/// A number of permits, each held by one at a time, across every process that shares the store.
/// Promise: first come, first served, also when a later one wants fewer. Every permit has a number (a slot), and its
///          tokens grow: a fence guards each of them.
/// Limit:   all who use it must agree on the number. It is forgotten when nobody holds or waits.
/// Threads: safe to share; copies are the same semaphore.
/// Errors:  as Mutex; invalid_argument names both numbers when others have agreed on another one.
class Semaphore {
 public:
  static constexpr std::uint32_t most_permits = 10'000;

  const std::string& name() const noexcept;
  std::uint32_t permits() const noexcept { return permits_; }

  /// One permit.
  Result<Hold> acquire(AcquireOptions options = {}, std::stop_token stop = {}) {
    return acquire_several(1, options, std::move(stop));
  }
  Result<Hold> try_acquire(AcquireOptions options = {}) { return try_acquire(1, options); }
  /// Several, all or none. (Templates, so that `acquire({})` means one.)
  template <std::integral Number>
  Result<Hold> acquire(Number permits, AcquireOptions options = {}, std::stop_token stop = {}) {
    return acquire_several(in_range(permits), options, std::move(stop));
  }
  template <std::integral Number>
  Result<Hold> try_acquire(Number permits, AcquireOptions options = {}) {
    options.wait = Duration::zero();
    return acquire_several(in_range(permits), options, {});
  }

 private:
  friend class lock::Access;
  Semaphore(std::shared_ptr<lock::LockCore> core, std::uint32_t permits) noexcept;

  /// A number that can never be had stays one.
  template <std::integral Number>
  static std::uint32_t in_range(Number permits) noexcept {
    return std::in_range<std::uint32_t>(permits) ? static_cast<std::uint32_t>(permits) : 0;
  }
  Result<Hold> acquire_several(std::uint32_t permits, AcquireOptions options, std::stop_token stop);

  std::shared_ptr<lock::LockCore> core_;
  std::uint32_t permits_;
};

}  // namespace pawl
