#include <pawl/election.hpp>

#include "lock/access.hpp"
#include "lock/lock_core.hpp"
#include "lock/observation_core.hpp"

#include <utility>

namespace pawl {

Election::Election(std::shared_ptr<lock::LockCore> core) noexcept : core_(std::move(core)) {}

const std::string& Election::name() const noexcept { return core_->name(); }

Result<Hold> Election::campaign(std::string_view value, AcquireOptions options, std::stop_token stop) {
  return core_->acquire_blocking(options, std::move(stop), {.value = std::string(value)});
}

Result<Hold> Election::try_campaign(std::string_view value, AcquireOptions options) {
  options.wait = Duration::zero();
  return campaign(value, options);
}

Result<std::optional<Leader>> Election::leader() {
  if (auto usable = core_->client().usable(); !usable) return usable.error();
  return core_->client().runtime().block_on(lock::current_leader(core_->named()));
}

Observation Election::observe() {
  return lock::Access::make<Observation>(std::make_shared<lock::ObservationCore>(core_->named()));
}

Observation::Observation(std::shared_ptr<lock::ObservationCore> core) noexcept : core_(std::move(core)) {}

Result<std::optional<Leader>> Observation::next(std::optional<Duration> wait, std::stop_token stop) {
  if (wait && *wait < Duration::zero()) return Error{Errc::invalid_argument, "wait is negative"};
  if (auto usable = core_->usable(); !usable) return usable.error();
  return core_->runtime().block_on(lock::ObservationCore::next(core_, wait, std::move(stop)));
}

}  // namespace pawl
