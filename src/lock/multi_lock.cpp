#include <pawl/multi_lock.hpp>

#include "base/planted.hpp"
#include "lock/hold_core.hpp"
#include "lock/multi_core.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace pawl {

namespace {

/// A plan that others may share is never changed.
std::shared_ptr<const lock::MultiPlan> with(const std::shared_ptr<const lock::MultiPlan>& plan,
                                            lock::MultiPlan::Part part) {
  auto longer = std::make_shared<lock::MultiPlan>(*plan);
  longer->parts.push_back(std::move(part));
  return longer;
}

}  // namespace

MultiLock::MultiLock() : plan_(std::make_shared<lock::MultiPlan>()) {}

MultiLock::MultiLock(std::initializer_list<Mutex> mutexes) : MultiLock() {
  for (const Mutex& mutex : mutexes) add(mutex);
}

MultiLock& MultiLock::add(const Mutex& mutex) {
  plan_ = with(plan_, {lock::Access::core(mutex)});
  return *this;
}

MultiLock& MultiLock::add(const SharedMutex& mutex, Mode mode) {
  plan_ = with(plan_, {lock::Access::core(mutex), {.mode = mode}});
  return *this;
}

MultiLock& MultiLock::add(const Semaphore& semaphore, std::uint32_t permits) {
  plan_ = with(plan_, {lock::Access::core(semaphore), {.permits = {permits, semaphore.permits()}}});
  return *this;
}

Result<MultiHold> MultiLock::acquire(AcquireOptions options, std::stop_token stop) {
  if (auto sound = plan_->check(); !sound) return sound.error();
  for (const lock::MultiPlan::Part& part : plan_->parts) {
    if (auto usable = part.lock->client().usable(); !usable) return usable.error();
    if (auto outside = part.lock->not_inside(); !outside) return outside.error();
  }
  base::Runtime& runtime = plan_->parts.front().lock->client().runtime();
  return runtime.block_on(lock::MultiPlan::acquire(plan_, options, std::move(stop)));
}

Result<MultiHold> MultiLock::try_acquire(AcquireOptions options) {
  options.wait = Duration::zero();
  return acquire(options);
}

MultiHold::MultiHold() noexcept = default;
MultiHold::MultiHold(std::shared_ptr<lock::MultiHoldCore> core) noexcept : core_(std::move(core)) {}
MultiHold::MultiHold(MultiHold&&) noexcept = default;
MultiHold& MultiHold::operator=(MultiHold&&) noexcept = default;
MultiHold::~MultiHold() = default;

std::size_t MultiHold::size() const noexcept { return core_ ? core_->holds().size() : 0; }

const Hold& MultiHold::operator[](std::size_t index) const {
  if (index >= size()) throw std::out_of_range("a MultiHold of " + std::to_string(size()) + " has no such hold");
  return core_->holds()[index];
}

std::vector<Sequencer> MultiHold::sequencers() const {
  std::vector<Sequencer> all;
  for (std::size_t i = 0; i < size(); ++i) {
    const Hold& hold = core_->holds()[i];
    for (std::size_t permit = 0; permit < std::max<std::size_t>(hold.permits(), 1); ++permit) {
      all.push_back(hold.sequencer(permit));
    }
  }
  return all;
}

std::stop_token MultiHold::lost() const noexcept { return core_ ? core_->lost() : std::stop_token{}; }

std::stop_token MultiHold::release_requested() const noexcept {
  return core_ ? core_->release_requested() : std::stop_token{};
}

Duration MultiHold::remaining() const noexcept {
  if (size() == 0) return Duration::zero();
  Duration least = Duration::max();
  for (const Hold& hold : core_->holds()) least = std::min(least, hold.remaining());
  return least;
}

bool MultiHold::valid() const noexcept {
  if (base::planted(base::Bug::multi_any_valid)) return size() != 0 && core_->holds().front().valid();
  return remaining() > Duration::zero();
}

Result<void> MultiHold::release() {
  if (size() == 0) return Error{Errc::not_owner, "this hold is empty: it was moved away, or never granted"};
  base::Runtime& runtime = lock::HoldCore::behind(core_->holds().front())->runtime();
  if (!runtime.inert() && runtime.may_block()) return runtime.block_on(lock::MultiHoldCore::release(core_));
  Result<void> first;
  for (Hold& hold : core_->holds()) {  // inside a callback: each of them sends and does not wait
    Result<void> released = hold.release();
    if (!released && first) first = std::move(released);
  }
  return first;
}

}  // namespace pawl
