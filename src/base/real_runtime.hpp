#pragma once

#include "base/driver.hpp"
#include "base/notifier.hpp"
#include "base/offload_pool.hpp"
#include "base/runtime.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace pawl::base {

/// The runtime on a real machine: an io_context, timers on CLOCK_BOOTTIME, and three threads (background driver, alarms,
/// callbacks); a fourth one where there are observers.
/// Limit: must not be destroyed on one of its own threads.
class RealRuntime final : public Runtime {
 public:
  explicit RealRuntime(Clock& clock = boot_clock());
  ~RealRuntime() override;

  /// The one of this process: made at first use, never destroyed, and made anew in a child of fork().
  static RealRuntime& process_wide();

  /// Returns when nothing is left to do before the clock moves on. For a clock that is moved by hand.
  void settle();

  Time now() const override;
  std::uint64_t unix_milliseconds() const override;
  std::uint64_t random() override;
  asio::any_io_executor executor() override { return driver_.io().get_executor(); }
  void send(std::function<void()> work) override;
  bool may_block() const override;
  bool run_here(const std::function<void()>& work, Afterwards afterwards) override;
  bool wait_here(const std::function<bool(const Done&)>& work) override;
  awaitable<void> offload(std::string lane, std::function<void()> work) override;
  void notify(std::function<void()> call) override { notifier_.call(std::move(call)); }
  void observe(std::function<void()> call) override { notifier_.observe(std::move(call)); }
  void expect_observers() override { notifier_.expect_observers(); }
  AlarmId set_alarm(Time at, std::function<void()> call) override { return notifier_.set_alarm(at, std::move(call)); }
  void cancel_alarm(AlarmId id) override { notifier_.cancel_alarm(id); }
  bool inert() const override;
  void resume_soon(Resumption waiter, Woke why) override;
  void wake_together(const std::function<void()>& work) override;

 private:
  void timers_changed() override;
  void run_to_end(awaitable<void> task) override;
  void wait_for_timer();
  void fire_due_timers();
  void run_ready();
  void run_what_is_due();

  Clock& clock_;
  const std::uint64_t generation_;
  std::atomic<bool> ending_{false};
  std::mutex random_mutex_;                  // guards the two below
  std::array<std::uint64_t, 32> entropy_{};  // 256 bytes: getrandom() never gives fewer than that
  std::size_t entropy_used_ = entropy_.size();
  Notifier notifier_;
  Driver driver_;
  OffloadPool pool_;  // ends before the driver: its threads post to it
  asio::posix::stream_descriptor timer_;
  std::optional<Time> armed_;
  std::deque<std::pair<Resumption, Woke>> ready_;  // on the executor only, like the next
  bool will_run_ready_ = false;
  std::atomic<std::uint64_t> resumed_{0};
};

}  // namespace pawl::base
