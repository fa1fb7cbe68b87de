#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace pawl::base {

/// Runs an io_context with one thread at a time, preferably the one that waits for a result: then an uncontended lock
/// costs no thread switch. Whoever runs it sits in the driver's seat.
///
/// | seat       | a caller comes                      | the caller is done                         |
/// |------------|-------------------------------------|--------------------------------------------|
/// | empty      | sits down and drives                | leaves; a follower is promoted, or it      |
/// |            |                                     | stays empty for 1 ms, then the background  |
/// |            |                                     | sits down                                  |
/// | caller     | waits as a follower                 | its driver wakes it                        |
/// | background | asks it to leave, is promoted       | as with empty                              |
///
/// A caller that the kernel runs later than other threads (SCHED_IDLE, or nicer than the background thread) never drives:
/// renewals of all would wait for it. It waits as a follower, and the background drives.
class Driver {
 public:
  Driver();
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  boost::asio::io_context& io() { return io_; }
  /// True on the thread that drives any io_context of ours right now.
  static bool driving();

  /// Somebody who waits until finish() was called for him.
  class Caller {
    friend class Driver;
    std::condition_variable wake_;
    bool done_ = false;
    bool promoted_ = false;
    bool may_drive_ = true;
  };
  /// Never throws: out of memory ends the process.
  void wait(Caller& me);
  void finish(Caller& caller);

  /// Posts `work`; no run_here() that is called later runs before it.
  void post(std::function<void()> work);
  /// Runs what is ready, if the seat is empty; otherwise its driver will.
  void help();
  /// Runs `work` here, if the seat is empty, and what is ready then, if it says that it has left something to do.
  /// False: the seat is taken. Throws what `work` throws.
  bool run_here(const std::function<bool()>& work);

  /// Ends the background thread; nothing runs afterwards.
  void stop();

 private:
  using Lock = std::unique_lock<std::mutex>;
  void wait_until_done(Caller& me);
  bool may_drive() const;
  bool run_one() noexcept;
  bool poll_one() noexcept;
  void poll();
  void run_posted();
  bool sit_down();
  void stand_up();
  void drive(Lock& lock, const bool& until);
  void leave_seat();
  void ask_background_to_leave(Lock& lock);
  void background();
  void drive_in_background(Lock& lock);
  void sleep_in_background(Lock& lock);

  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};

  std::atomic<std::uint64_t> posted_{0};
  std::uint64_t ran_ = 0;  // of those; by whoever sits in the seat

  std::mutex mutex_;  // guards all below
  std::condition_variable background_wake_;
  std::list<Caller*> followers_;
  bool taken_ = false;  // somebody sits in the seat, or it is kept for a promoted follower
  bool background_drives_ = false;
  bool background_must_leave_ = false;
  bool background_sleeps_ = false;  // until it is told that the seat is empty
  bool stop_ = false;
  std::uint64_t seatings_ = 0;
  std::atomic<bool> must_poll_{false};
  const int normal_nice_;
  std::thread thread_;
};

}  // namespace pawl::base
