#include <pawl/shared_mutex.hpp>

#include "lock/lock_core.hpp"

#include <utility>

namespace pawl {

namespace {

lock::Wanted shared() {
  lock::Wanted wanted;
  wanted.mode = Mode::shared;
  return wanted;
}

}  // namespace

SharedMutex::SharedMutex(std::shared_ptr<lock::LockCore> core) noexcept : core_(std::move(core)) {}

const std::string& SharedMutex::name() const noexcept { return core_->name(); }

Result<Hold> SharedMutex::acquire(AcquireOptions options, std::stop_token stop) {
  return core_->acquire_blocking(options, std::move(stop));
}

Result<Hold> SharedMutex::try_acquire(AcquireOptions options) {
  options.wait = Duration::zero();
  return core_->acquire_blocking(options, {});
}

Result<Hold> SharedMutex::acquire_shared(AcquireOptions options, std::stop_token stop) {
  return core_->acquire_blocking(options, std::move(stop), shared());
}

Result<Hold> SharedMutex::try_acquire_shared(AcquireOptions options) {
  options.wait = Duration::zero();
  return core_->acquire_blocking(options, {}, shared());
}

void SharedMutex::lock() { core_->lock(std::nullopt); }
bool SharedMutex::try_lock() { return core_->lock(Duration::zero()); }
void SharedMutex::unlock() noexcept { core_->unlock(); }
void SharedMutex::lock_shared() { core_->lock(std::nullopt, Mode::shared); }
bool SharedMutex::try_lock_shared() { return core_->lock(Duration::zero(), Mode::shared); }
void SharedMutex::unlock_shared() noexcept { core_->unlock(Mode::shared); }
bool SharedMutex::lock_within(Duration wait, Mode mode) { return core_->lock(wait, mode); }
const Hold* SharedMutex::this_thread_hold() const noexcept { return core_->this_thread_hold(); }

}  // namespace pawl
