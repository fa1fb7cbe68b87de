#include "base/threads.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include <atomic>
#include <system_error>

namespace pawl::base {

namespace {

std::atomic<std::uint64_t> generation{0};

struct WatchForks {
  WatchForks() {
    pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  }
};

/// Threads that are started meanwhile inherit it.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// Whoever has started this thread may be one that nobody waits for; others will wait for this one.
void leave_idle_policy() {
  if (::sched_getscheduler(0) != SCHED_IDLE) return;
  const sched_param none{};
  ::pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
}

}  // namespace

std::thread start_thread(const char* name, std::function<void()> work) {
  const AllSignalsBlocked inherited;
  try {
    return std::thread([name, work = std::move(work)] {
      // By itself: for another thread it goes through /proc, and what was looked up there costs the end of the process.
      pthread_setname_np(pthread_self(), name);
      leave_idle_policy();
      work();
    });
  } catch (const std::system_error& error) {
    throw std::system_error(error.code(), "no thread can be started");
  }
}

int this_thread_nice() { return ::getpriority(PRIO_PROCESS, 0); }  // on Linux that of the thread

bool this_thread_is_weak(int normal_nice) {
  constexpr std::int64_t every = 100;
  thread_local std::int64_t looked_at = -every;  // milliseconds
  thread_local bool idle = false;
  thread_local int nice = 0;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const std::int64_t milliseconds = now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
  if (milliseconds - looked_at >= every) {
    looked_at = milliseconds;
    idle = ::sched_getscheduler(0) == SCHED_IDLE;
    nice = this_thread_nice();
  }
  return idle || nice > normal_nice;
}

std::uint64_t this_thread_number() {
  static std::atomic<std::uint64_t> last{0};
  thread_local const std::uint64_t number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

std::uint64_t fork_generation() {
  static const WatchForks watching;
  return generation.load(std::memory_order_relaxed);
}

}  // namespace pawl::base
