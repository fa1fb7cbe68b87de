#include "lock/observation_core.hpp"

#include "base/duration.hpp"
#include "base/on_stop.hpp"
#include "base/planted.hpp"
#include "base/wakeup.hpp"
#include "store/answered.hpp"
#include "store/rules.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace pawl::lock {

using base::Bug;
using base::planted;

namespace {

/// What the one who waits and the one who stops him share.
struct Patience {
  explicit Patience(Runtime& runtime) : wakeup(runtime) {}
  base::Wakeup wakeup;
  bool stopped = false;
};

}  // namespace

void ObservationCore::tell(std::optional<Leader> change) {
  vacant_ = !change.has_value();
  untold_.push_back(std::move(change));
}

void ObservationCore::absorb(const store::Succession& succession) {
  if (planted(Bug::observer_mute)) return;
  const auto& reigns = succession.reigns;
  if (!reigns.empty() && !planted(Bug::observer_repeats)) last_ = reigns.back().leader.token;
  if (!std::exchange(begun_, true)) {  // how it is now; what was before is not our concern
    if (succession.vacant || reigns.empty()) return tell(std::nullopt);
    return tell(reigns.back().leader);
  }
  for (const store::Reign& reign : reigns) {
    if (planted(Bug::observer_skips) && &reign != &reigns.back()) continue;
    if (reign.after_nobody && !vacant_) tell(std::nullopt);
    tell(reign.leader);
  }
  const bool again = vacant_ && !planted(Bug::observer_nobody_again);
  if (succession.vacant && !again && !planted(Bug::observer_misses_vacancy)) tell(std::nullopt);
}

std::optional<std::optional<Leader>> ObservationCore::pop() {
  if (untold_.empty()) return std::nullopt;
  std::optional<Leader> change = std::move(untold_.front());
  untold_.pop_front();
  return change;
}

awaitable<Result<std::optional<Leader>>> ObservationCore::next(std::shared_ptr<ObservationCore> self,
                                                               std::optional<Duration> wait, std::stop_token stop) {
  Runtime& runtime = self->runtime();
  const store::LockKey& key = self->lock_->key();
  const Deadline deadline = wait ? Deadline::in(runtime.now(), *wait) : Deadline::never();
  const auto patience = std::make_shared<Patience>(runtime);
  self->lock_->wake_on_close(std::shared_ptr<base::Wakeup>(patience, &patience->wakeup));
  const std::function<void()> cancel = [patience] {
    patience->stopped = true;
    patience->wakeup.notify();
  };
  const base::OnStop on_stop(runtime, stop, cancel);
  Duration backoff = std::chrono::milliseconds(10);
  for (;;) {
    if (auto usable = self->usable(); !usable) co_return usable.error();
    if (auto change = self->pop()) co_return std::move(*change);
    if (patience->stopped || stop.stop_requested()) {
      co_return Error{Errc::cancelled, "the observation of " + key.name.quoted() + " was cancelled"};
    }
    const Duration timeout = self->lock_->client().context().timeout;
    Deadline answer = Deadline::in(runtime.now(), timeout);
    if (wait && *wait > Duration::zero()) answer = answer.sooner(deadline.at);
    store::Scheme& scheme = *self->lock_->agreed().scheme;
    Result<store::Succession> seen = co_await store::answered(scheme.succession(key, self->last_, answer));
    if (!seen && (!store::may_pass(seen.code()) || planted(Bug::observer_impatient))) co_return seen.error();
    Duration pause = backoff;
    if (seen) {
      backoff = std::chrono::milliseconds(10);
      pause = seen->look_again_in;
      self->absorb(*seen);
      if (!self->untold_.empty()) continue;
    } else {
      backoff = std::min(2 * backoff, timeout);
    }
    if (deadline.passed(runtime.now())) {
      co_return Error{Errc::timed_out,
                      "the leader of " + key.name.quoted() + " did not change within " + base::format_duration(*wait)};
    }
    co_await patience->wakeup.wait(std::min(deadline.at, base::after(runtime.now(), pause)));
  }
}

awaitable<Result<std::optional<Leader>>> current_leader(std::shared_ptr<NamedLock> lock) {
  if (auto usable = lock->client().usable(); !usable) co_return usable.error();
  const Deadline deadline = Deadline::in(lock->runtime().now(), lock->client().context().timeout);
  Result<LockView> view = co_await lock->agreed().scheme->inspect(lock->key(), deadline);
  if (!view) co_return view.error();
  if (view->holders.empty()) co_return std::optional<Leader>();
  const ClaimView& holder = view->holders.front();
  std::optional<Leader> leader(Leader{holder.value, holder.token, holder.owner, holder.age});
  co_return leader;
}

}  // namespace pawl::lock
