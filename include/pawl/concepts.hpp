#pragma once

#include <pawl/mutex.hpp>
#include <pawl/shared_mutex.hpp>

#include <chrono>
#include <concepts>

/// The standard's named requirements as concepts, and the proof that our types meet them.
namespace pawl {

template <class L>
concept BasicLockable = requires(L& lock) {
  { lock.lock() } -> std::same_as<void>;
  { lock.unlock() } noexcept -> std::same_as<void>;
};

template <class L>
concept Lockable = BasicLockable<L> && requires(L& lock) {
  { lock.try_lock() } -> std::convertible_to<bool>;
};

template <class L>
concept TimedLockable =
    Lockable<L> && requires(L& lock, std::chrono::milliseconds whole, std::chrono::duration<double> fraction,
                            std::chrono::steady_clock::time_point steady, std::chrono::system_clock::time_point wall) {
      { lock.try_lock_for(whole) } -> std::convertible_to<bool>;
      { lock.try_lock_for(fraction) } -> std::convertible_to<bool>;
      { lock.try_lock_until(steady) } -> std::convertible_to<bool>;
      { lock.try_lock_until(wall) } -> std::convertible_to<bool>;
    };

template <class L>
concept SharedTimedLockable =
    requires(L& lock, std::chrono::milliseconds wait, std::chrono::steady_clock::time_point when) {
      { lock.lock_shared() } -> std::same_as<void>;
      { lock.try_lock_shared() } -> std::convertible_to<bool>;
      { lock.try_lock_shared_for(wait) } -> std::convertible_to<bool>;
      { lock.try_lock_shared_until(when) } -> std::convertible_to<bool>;
      { lock.unlock_shared() } noexcept -> std::same_as<void>;
    };

static_assert(TimedLockable<Mutex>);
static_assert(TimedLockable<SharedMutex> && SharedTimedLockable<SharedMutex>);
static_assert(std::copyable<Mutex>);
static_assert(std::movable<Hold> && !std::copyable<Hold>);

}  // namespace pawl
