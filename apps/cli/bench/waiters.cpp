#include "apps/cli/bench/cases.hpp"
#include "apps/cli/bench/stage.hpp"
#include "apps/cli/context.hpp"
#include "base/real_runtime.hpp"
#include "base/url.hpp"
#include "lock/hold_core.hpp"
#include "lock/lock_core.hpp"
#include "store/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace pawl::cli {

namespace {

using namespace std::chrono_literals;

constexpr int processes = 2;
constexpr const char* name = "pawl-bench/waiters";

using Locks = std::vector<std::shared_ptr<lock::LockCore>>;

/// The coroutine form: a waiting claim costs no thread, so that a thousand of them are no crowd of threads.
base::awaitable<void> take_turns(std::shared_ptr<lock::LockCore> lock, int me, int all, Stage* stage,
                                 std::latch* over) {
  while (!stage->stop) {
    const AcquireOptions options;
    const std::stop_token never;
    Result<Hold> hold = co_await lock->acquire(options, never);
    if (!hold) break;  // the count stands still then, and the measurement tells
    while (stage->queued < all && !stage->stop) co_await base::sleep_for(lock->client().runtime(), 1ms);
    stage->arrived_at(me);
    const std::shared_ptr<lock::HoldCore> core = lock::HoldCore::behind(*hold);
    Result<void> released = co_await core->release();
    if (!released) break;
  }
  over->count_down();
}

/// A client each: claims of one client share one place in the store's queue.
std::shared_ptr<lock::LockCore> make_lock(const std::string& text, base::Runtime& runtime) {
  const base::Url url = value_or_fail(base::Url::parse(text));
  std::shared_ptr<store::Store> store = value_or_fail(store::open_store(url, runtime));
  const auto client = value_or_fail(lock::ClientCore::make(runtime, std::move(store), ClientOptions{}));
  value_or_fail(runtime.block_on(client->connect()));
  return value_or_fail(lock::ClientCore::mutex(client, name, LockOptions{}));
}

/// In the same order whatever their number: every hand-off goes to the other process.
void queue_up_in_turn(const std::shared_ptr<lock::LockCore>& lock, int me, Stage& stage,
                      const std::function<void()>& start) {
  while (stage.queued != me && !stage.stop) std::this_thread::sleep_for(50us);
  start();
  const auto in_queue = [&] {
    const LockView view = value_or_fail(lock->client().runtime().block_on(lock->client().inspect(name, Kind::mutex)));
    return static_cast<int>(view.holders.size() + view.waiters.size());
  };
  while (in_queue() <= me && !stage.stop) std::this_thread::sleep_for(50us);
  stage.queued = me + 1;
}

void play(const Bench& bench, int waiters, int process, Stage& stage) {
  base::Runtime& runtime = base::RealRuntime::process_wide();
  Locks locks;
  for (int i = process; i < waiters; i += processes) locks.push_back(make_lock(bench.url, runtime));
  std::latch over(static_cast<std::ptrdiff_t>(locks.size()));
  stage.wait_for_go();
  for (std::size_t i = 0; i < locks.size(); ++i) {
    const int me = process + static_cast<int>(i) * processes;
    queue_up_in_turn(locks[i], me, stage,
                     [&] { base::spawn(runtime, take_turns(locks[i], me, waiters, &stage, &over)); });
  }
  over.wait();
  for (const auto& lock : locks) [[maybe_unused]]
    const auto closed = runtime.block_on(lock->client().close(std::chrono::seconds(5)));
}

double cost(const Bench& bench, int waiters) {
  const auto everybody = 2 * static_cast<std::uint64_t>(waiters);
  return cost_per_hand_off(processes, bench.slice, everybody,
                           [&](int process, Stage& stage) { play(bench, waiters, process, stage); });
}

}  // namespace

std::vector<Figure> measure_waiters(const Bench& bench) {
  const int numbers[] = {10, 100, 1000};
  std::vector<std::vector<double>> costs(std::size(numbers));
  for (int round = 0; round < bench.rounds; ++round) {
    for (std::size_t i = 0; i < std::size(numbers); ++i) costs[i].push_back(cost(bench, numbers[i]));
  }
  std::vector<Figure> figures;
  for (std::size_t i = 0; i < std::size(numbers); ++i) {
    std::sort(costs[i].begin(), costs[i].end());
    Figure figure{.name = fmt::format("hand-off, {} waiters", numbers[i]), .pawl = costs[i][costs[i].size() / 2]};
    if (i > 0) {
      figure.floor = figures.front().pawl;
      figure.floor_is = "the same with 10 waiters";
      figure.goal = 1.3;
    }
    figures.push_back(figure);
  }
  return figures;
}

}  // namespace pawl::cli
