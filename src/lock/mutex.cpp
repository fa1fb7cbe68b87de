#include <pawl/mutex.hpp>

#include "lock/lock_core.hpp"

#include <utility>

namespace pawl {

Mutex::Mutex(std::shared_ptr<lock::LockCore> core) noexcept : core_(std::move(core)) {}

const std::string& Mutex::name() const noexcept { return core_->name(); }

Result<Hold> Mutex::acquire(AcquireOptions options, std::stop_token stop) {
  return core_->acquire_blocking(options, std::move(stop));
}

Result<Hold> Mutex::try_acquire(AcquireOptions options) {
  options.wait = Duration::zero();
  return core_->acquire_blocking(options, {});
}

void Mutex::lock() { core_->lock(std::nullopt); }
bool Mutex::try_lock() { return core_->lock(Duration::zero()); }
bool Mutex::lock_within(Duration wait) { return core_->lock(wait); }
void Mutex::unlock() noexcept { core_->unlock(); }
const Hold* Mutex::this_thread_hold() const noexcept { return core_->this_thread_hold(); }

}  // namespace pawl
