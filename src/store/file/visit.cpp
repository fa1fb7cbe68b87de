#include "store/file/visit.hpp"

#include "base/wakeup.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

namespace pawl::store::file {

using namespace std::chrono_literals;
using End = Environment::Attempt::End;
using EnvironmentPtr = std::shared_ptr<Environment>;

namespace {

constexpr Duration for_tokens = 5s;

std::string lane_of(const std::string& folder) { return "folder " + folder; }

// Whatever the other thread touches is shared with it: the coroutine may be dropped while the thread goes on.
awaitable<Environment::Attempt> attempt_elsewhere(EnvironmentPtr environment, base::Runtime& runtime,
                                                  Environment::Work work, Deadline deadline) {
  const auto outcome = std::make_shared<Environment::Attempt>();
  const std::function<void()> job = [outcome, environment, work, &runtime, deadline] {
    *outcome = environment->attempt(work, runtime, deadline.at - runtime.now());
  };
  const std::string lane = lane_of(environment->folder().path());
  co_await runtime.offload(lane, job);
  co_return *outcome;
}

awaitable<Result<void>> reserve(EnvironmentPtr environment, base::Runtime& runtime, Deadline deadline) {
  const Blocking work = [environment, &runtime, deadline]() -> Result<void> {
    const auto reserved = environment->reserve_tokens(runtime, false, deadline.at - runtime.now());
    return reserved ? Result<void>() : reserved.error();
  };
  Result<void> reserved = co_await block(runtime, environment->folder().path(), work, deadline);
  co_return reserved;
}

awaitable<void> reserve_more(EnvironmentPtr environment, base::Runtime& runtime) {
  const Deadline deadline = Deadline::in(runtime.now(), for_tokens);
  [[maybe_unused]] auto reserved = co_await reserve(environment, runtime, deadline);  // whoever needs them tries again
}

/// Batch by batch: others come in between. If this fails, every later transaction sweeps a batch as well.
awaitable<void> sweep_more(EnvironmentPtr environment, base::Runtime& runtime) {
  const Environment::Work nothing = [](Tables&) {};
  while (environment->more_to_sweep()) {
    const Deadline deadline = Deadline::in(runtime.now(), for_tokens);
    const Environment::Attempt attempt = co_await attempt_elsewhere(environment, runtime, nothing, deadline);
    if (attempt.end == End::done) continue;
    if (attempt.end != End::out_of_tokens) break;
    const Result<void> reserved = co_await reserve(environment, runtime, deadline);
    if (!reserved) break;
  }
}

/// Tells the environment that one who said `must` is done, however that ended: it may be dropped with its runtime.
class Chore {
 public:
  using Done = void (Environment::*)();
  Chore(EnvironmentPtr environment, Done done) : environment_(std::move(environment)), done_(done) {}
  Chore(const Chore&) = delete;
  Chore& operator=(const Chore&) = delete;
  ~Chore() { (environment_.get()->*done_)(); }

 private:
  const EnvironmentPtr environment_;
  const Done done_;
};

awaitable<void> housekeeping(EnvironmentPtr environment, Chore::Done done, awaitable<void> work) {
  const Chore turn(environment, done);
  try {
    co_await std::move(work);
  } catch (const std::system_error&) {
    // No thread can be started just now: after the next transaction it is tried again.
  }
}

}  // namespace

awaitable<Result<void>> visit(EnvironmentPtr environment, base::Runtime& runtime, Environment::Work work,
                              Deadline deadline) {
  for (;;) {
    Environment::Attempt attempt = environment->attempt(work, runtime, short_sleep);
    if (attempt.end == End::busy) attempt = co_await attempt_elsewhere(environment, runtime, work, deadline);
    if (attempt.end == End::done) {
      tidy_up(environment, runtime);
      co_return Result<void>();
    }
    if (attempt.end != End::out_of_tokens) co_return attempt.error;
    Result<void> reserved = co_await reserve(environment, runtime, deadline);
    if (!reserved) co_return reserved.error();
  }
}

awaitable<Result<void>> block(base::Runtime& runtime, std::string folder, Blocking work, Deadline deadline) {
  const std::string lane = lane_of(folder);
  base::Wakeup pause{runtime};
  Duration length = 1ms;
  for (;;) {
    const auto outcome = std::make_shared<Result<void>>();
    const std::function<void()> job = [outcome, work] { *outcome = work(); };
    co_await runtime.offload(lane, job);
    if (outcome->code() != Errc::busy) co_return *outcome;
    if (deadline.passed(runtime.now())) co_return Error{Errc::store_unavailable, outcome->error().message};
    co_await pause.wait(deadline.sooner(base::after(runtime.now(), length)).at);
    length = std::min<Duration>(2 * length, 20ms);
  }
}

void tidy_up(const EnvironmentPtr& environment, base::Runtime& runtime) {
  if (environment->must_reserve()) {
    base::spawn(runtime, housekeeping(environment, &Environment::has_reserved, reserve_more(environment, runtime)));
  }
  if (environment->must_sweep()) {
    base::spawn(runtime, housekeeping(environment, &Environment::has_swept, sweep_more(environment, runtime)));
  }
}

}  // namespace pawl::store::file
