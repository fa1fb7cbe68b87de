#include <pawl/semaphore.hpp>

#include "lock/lock_core.hpp"

#include <utility>

namespace pawl {

Semaphore::Semaphore(std::shared_ptr<lock::LockCore> core, std::uint32_t permits) noexcept
    : core_(std::move(core)), permits_(permits) {}

const std::string& Semaphore::name() const noexcept { return core_->name(); }

Result<Hold> Semaphore::acquire_several(std::uint32_t permits, AcquireOptions options, std::stop_token stop) {
  lock::Wanted wanted;
  wanted.permits = {permits, permits_};
  return core_->acquire_blocking(options, std::move(stop), wanted);
}

}  // namespace pawl
