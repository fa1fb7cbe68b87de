#pragma once

#include "base/runtime.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace pawl::base {

class SimWorld;

/// One simulated process: its own queue, random numbers of its own, and a clock that may run faster or slower than the
/// world's. It can be paused (it runs nothing, all clocks go on, as with SIGSTOP) or crash (it never runs again).
class SimProcess final : public Runtime {
 public:
  SimProcess(SimWorld& world, std::int64_t drift_ppm, std::uint64_t seed);
  ~SimProcess() override;

  Time now() const override;
  std::uint64_t unix_milliseconds() const override;
  std::uint64_t random() override { return chance_(); }
  asio::any_io_executor executor() override { return io_.get_executor(); }
  void send(std::function<void()> work) override;
  bool may_block() const override { return false; }
  bool run_here(const std::function<void()>&, Afterwards) override { return false; }
  bool wait_here(const std::function<bool(const Done&)>&) override { return false; }
  awaitable<void> offload(std::string lane, std::function<void()> work) override;
  void notify(std::function<void()> call) override { enqueue(callbacks_, std::move(call)); }
  void observe(std::function<void()> call) override { enqueue(observers_, std::move(call)); }
  AlarmId set_alarm(Time at, std::function<void()> call) override;
  void cancel_alarm(AlarmId id) override;
  bool inert() const override { return crashed_; }
  void resume_soon(Resumption waiter, Woke why) override;

  void pause() { paused_ = true; }
  void resume() { paused_ = false; }
  bool paused() const { return paused_; }
  void crash() { crashed_ = true; }
  /// In a call that notify() or observe() runs: the call takes this long. Those behind it wait.
  void take_time(Duration duration) { taken_ = duration; }
  /// When it is that time by this process's clock.
  Time in_world_time(Time local) const;

 private:
  friend class SimWorld;
  struct Alarm;
  /// A thread that runs calls one at a time.
  struct Lane {
    std::deque<std::function<void()>> calls = {};
    bool busy = false;
  };
  void enqueue(Lane& lane, std::function<void()> call);
  void run_next(Lane& lane);
  void run_to_end(awaitable<void> task) override;
  bool runs() const { return !paused_ && !crashed_; }
  bool run_one();

  Time local(Time world) const;

  SimWorld& world_;
  const std::int64_t drift_ppm_;  // by how many millionths its clock is too fast
  bool paused_ = false;
  bool crashed_ = false;
  std::mt19937_64 chance_;
  Lane callbacks_;
  Lane observers_;
  Duration taken_{};  // by the call that runs
  std::map<AlarmId, std::unique_ptr<Alarm>> alarms_;
  AlarmId last_alarm_ = 0;
  asio::io_context io_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE};
};

/// One virtual time for several processes, on one thread; the seed chooses who runs next. The same seed gives the same
/// run. Time moves only when nobody has anything to do.
class SimWorld {
 public:
  explicit SimWorld(std::uint64_t seed) : seed_(seed), chance_(seed) {}
  /// Everything that is still waiting is dropped; nothing runs any more.
  ~SimWorld();

  /// Its clock is so many millionths too fast; negative: too slow.
  SimProcess& add_process(std::int64_t drift_ppm = 0);

  /// All clocks agree then.
  static constexpr Time began{std::chrono::hours(1)};
  Time now() const { return now_; }
  std::uint64_t random() { return chance_(); }
  std::uint64_t steps() const { return steps_; }

  /// Called after every step.
  std::function<void()> after_step = {};

  /// Runs until `done`, or until time would pass `until`, or until nothing can ever happen again. True: done.
  bool run_until(const std::function<bool()>& done, Time until = Time::max());
  /// Lets the world run for that long.
  void run_for(Duration duration);

 private:
  bool step();
  SimProcess* next_timer(Time& at);

  Time now_ = began;
  const std::uint64_t seed_;
  std::mt19937_64 chance_;  // who runs next
  std::uint64_t steps_ = 0;
  std::vector<std::unique_ptr<SimProcess>> processes_;
};

}  // namespace pawl::base
