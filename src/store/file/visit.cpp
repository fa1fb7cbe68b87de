#include "store/file/visit.hpp"

#include "base/wakeup.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace pawl::store::file {

using namespace std::chrono_literals;
using End = Environment::Attempt::End;
using EnvironmentPtr = std::shared_ptr<Environment>;

namespace {

constexpr Duration for_tokens = 5s;

// Whatever the other thread touches is shared with it: the coroutine may be dropped while the thread goes on.
awaitable<Environment::Attempt> attempt_elsewhere(EnvironmentPtr environment, base::Runtime& runtime,
                                                  Environment::Work work, Deadline deadline) {
  const auto outcome = std::make_shared<Environment::Attempt>();
  const std::function<void()> job = [outcome, environment, work, &runtime, deadline] {
    *outcome = environment->attempt(work, runtime, deadline.at - runtime.now());
  };
  co_await runtime.offload(job);
  co_return *outcome;
}

awaitable<Result<void>> reserve(EnvironmentPtr environment, base::Runtime& runtime, Deadline deadline) {
  const Blocking work = [environment, &runtime, deadline]() -> Result<void> {
    const auto reserved = environment->reserve_tokens(runtime, false, deadline.at - runtime.now());
    return reserved ? Result<void>() : reserved.error();
  };
  Result<void> reserved = co_await block(runtime, work, deadline);
  co_return reserved;
}

awaitable<void> reserve_in_background(EnvironmentPtr environment, base::Runtime& runtime) {
  const Deadline deadline = Deadline::in(runtime.now(), for_tokens);
  [[maybe_unused]] auto reserved = co_await reserve(environment, runtime, deadline);  // whoever needs them tries again
  environment->has_reserved();
}

}  // namespace

awaitable<Result<void>> visit(EnvironmentPtr environment, base::Runtime& runtime, Environment::Work work,
                              Deadline deadline) {
  for (;;) {
    Environment::Attempt attempt = environment->attempt(work, runtime, short_sleep);
    if (attempt.end == End::busy) attempt = co_await attempt_elsewhere(environment, runtime, work, deadline);
    if (attempt.end == End::done) {
      reserve_when_few(environment, runtime);
      co_return Result<void>();
    }
    if (attempt.end != End::out_of_tokens) co_return attempt.error;
    Result<void> reserved = co_await reserve(environment, runtime, deadline);
    if (!reserved) co_return reserved.error();
  }
}

awaitable<Result<void>> block(base::Runtime& runtime, Blocking work, Deadline deadline) {
  base::Wakeup pause{runtime};
  Duration length = 1ms;
  for (;;) {
    const auto outcome = std::make_shared<Result<void>>();
    const std::function<void()> job = [outcome, work] { *outcome = work(); };
    co_await runtime.offload(job);
    if (outcome->code() != Errc::busy) co_return *outcome;
    if (deadline.passed(runtime.now())) co_return Error{Errc::store_unavailable, outcome->error().message};
    co_await pause.wait(deadline.sooner(base::after(runtime.now(), length)).at);
    length = std::min<Duration>(2 * length, 20ms);
  }
}

void reserve_when_few(const EnvironmentPtr& environment, base::Runtime& runtime) {
  if (environment->must_reserve()) base::spawn(runtime, reserve_in_background(environment, runtime));
}

}  // namespace pawl::store::file
