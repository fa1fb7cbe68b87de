// What <pawl/asio.hpp> is built on: the coroutine forms of the face, started on our runtime, completed on the user's.

#include <pawl/asio.hpp>

#include "base/real_runtime.hpp"
#include "lock/access.hpp"
#include "lock/hold_core.hpp"
#include "lock/lock_core.hpp"
#include "lock/multi_core.hpp"
#include "lock/observation_core.hpp"

#include <functional>
#include <optional>
#include <utility>

namespace pawl::detail {

namespace {

using base::awaitable;
using base::Runtime;
using lock::Access;

template <class T>
void deliver(Runtime& runtime, std::shared_ptr<Receiver<T>> receiver, Result<T> result) {
  if (receiver->posts()) return receiver->receive(std::move(result));
  const auto shared = std::make_shared<Result<T>>(std::move(result));  // a std::function must be copyable
  runtime.notify([receiver, shared] { receiver->receive(std::move(*shared)); });
}

template <class T>
class Task final : public Operation<T> {
 public:
  using Work = std::function<awaitable<Result<T>>(std::stop_token)>;

  Task(Runtime& runtime, Work work) : runtime_(runtime), work_(std::move(work)) {}

  void start(std::stop_token stop, std::unique_ptr<Receiver<T>> receiver) override {
    if (runtime_.inert()) {  // the parent's, before fork(): nobody drives it here
      const Error closed{Errc::closed, "this client was opened before fork(); open another in the child"};
      return deliver<T>(base::RealRuntime::process_wide(), std::move(receiver), closed);
    }
    // Sent, not only spawned: if nobody drives the runtime just now, this thread begins it.
    runtime_.send([&runtime = runtime_, work = work_, stop = std::move(stop),
                   receiver = std::shared_ptr<Receiver<T>>(std::move(receiver))] {
      base::spawn(runtime, run(runtime, work(stop), receiver));
    });
  }

 private:
  static awaitable<void> run(Runtime& runtime, awaitable<Result<T>> work, std::shared_ptr<Receiver<T>> receiver) {
    std::optional<Result<T>> result;
    co_await base::store_result(std::move(work), result);
    deliver(runtime, std::move(receiver), std::move(*result));
  }

  Runtime& runtime_;
  const Work work_;
};

/// The outcome is known already.
template <class T>
awaitable<Result<T>> refuse(Error error) {
  co_return error;
}

/// Options for later: the text in them is ours from here on.
struct Kept {
  explicit Kept(const AcquireOptions& given) : label(std::make_shared<std::string>(given.label)), options(given) {
    options.label = *label;
  }
  std::shared_ptr<const std::string> label;
  AcquireOptions options;
};

OperationPtr<Hold> prepare(const std::shared_ptr<lock::LockCore>& core, const AcquireOptions& options,
                           lock::Wanted wanted) {
  return std::make_shared<Task<Hold>>(core->client().runtime(),
                                      [core, kept = Kept(options), wanted = std::move(wanted)](std::stop_token stop) {
                                        return core->acquire(kept.options, std::move(stop), wanted);
                                      });
}

}  // namespace

OperationPtr<Hold> prepare_acquire(const Mutex& mutex, const AcquireOptions& options) {
  return prepare(Access::core(mutex), options, {});
}

OperationPtr<Hold> prepare_acquire(const SharedMutex& mutex, Mode mode, const AcquireOptions& options) {
  return prepare(Access::core(mutex), options, {.mode = mode});
}

OperationPtr<Hold> prepare_acquire(const Semaphore& semaphore, std::uint32_t permits, const AcquireOptions& options) {
  return prepare(Access::core(semaphore), options, {.permits = {permits, semaphore.permits()}});
}

OperationPtr<Hold> prepare_campaign(const Election& election, std::string_view value, const AcquireOptions& options) {
  return prepare(Access::core(election), options, {.value = std::string(value)});
}

OperationPtr<MultiHold> prepare_acquire(const MultiLock& locks, const AcquireOptions& options) {
  const std::shared_ptr<const lock::MultiPlan> plan = Access::plan(locks);
  if (auto sound = plan->check(); !sound) {
    Runtime& any =
        plan->parts.empty() ? base::RealRuntime::process_wide() : plan->parts.front().lock->client().runtime();
    return std::make_shared<Task<MultiHold>>(
        any, [error = sound.error()](std::stop_token) { return refuse<MultiHold>(error); });
  }
  return std::make_shared<Task<MultiHold>>(plan->parts.front().lock->client().runtime(),
                                           [plan, kept = Kept(options)](std::stop_token stop) {
                                             return lock::MultiPlan::acquire(plan, kept.options, std::move(stop));
                                           });
}

OperationPtr<std::optional<Leader>> prepare_next(Observation& observation, std::optional<Duration> wait) {
  const auto core = Access::core(observation);
  return std::make_shared<Task<std::optional<Leader>>>(core->runtime(), [core, wait](std::stop_token stop) {
    return lock::ObservationCore::next(core, wait, std::move(stop));
  });
}

namespace {

Error empty_hold() { return {Errc::not_owner, "this hold is empty: it was moved away, or never granted"}; }

using Step = awaitable<Result<void>> (*)(std::shared_ptr<lock::HoldCore>);

OperationPtr<void> prepare(const Hold& hold, Step step) {
  const auto core = Access::core(hold);
  if (!core) {
    return std::make_shared<Task<void>>(base::RealRuntime::process_wide(),
                                        [](std::stop_token) { return refuse<void>(empty_hold()); });
  }
  return std::make_shared<Task<void>>(core->runtime(), [core, step](std::stop_token) { return step(core); });
}

// Each keeps alive what it works on: the hold may be gone before it begins.
awaitable<Result<void>> release(std::shared_ptr<lock::HoldCore> core) { co_return co_await core->release(); }
awaitable<Result<void>> downgrade(std::shared_ptr<lock::HoldCore> core) { co_return co_await core->downgrade(); }

}  // namespace

OperationPtr<void> prepare_release(Hold& hold) { return prepare(hold, release); }

OperationPtr<void> prepare_downgrade(Hold& hold) { return prepare(hold, downgrade); }

OperationPtr<void> prepare_release(MultiHold& hold) {
  const auto core = Access::core(hold);
  if (!core) return prepare(Hold(), downgrade);
  return std::make_shared<Task<void>>(Access::core(core->holds().front())->runtime(),
                                      [core](std::stop_token) { return lock::MultiHoldCore::release(core); });
}

}  // namespace pawl::detail
