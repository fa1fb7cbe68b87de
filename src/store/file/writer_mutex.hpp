#pragma once

#include <pawl/options.hpp>

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <string>

namespace pawl::store::file {

/// The mutex in shared memory in front of every transaction: robust (a process that dies inside lets go) and timed (one
/// that is stopped inside shows as an error instead of a hang).
/// Threads: all, of all processes. Whoever locked it unlocks it, on the same thread.
class WriterMutex {
 public:
  /// Made anew; only while nobody else can see it.
  void make();

  /// Sleeps until it is ours or the time is over; before, a few tries. `self`: our pid, for the others to see.
  bool lock_within(Duration patience, pid_t self);
  void unlock();

  /// Who is inside. 0: nobody, as far as can be seen.
  pid_t writer() const { return writer_.load(std::memory_order_relaxed); }

 private:
  bool try_lock(pid_t self);
  bool entered(int outcome, pid_t self);

  pthread_mutex_t mutex_;
  std::atomic<pid_t> writer_;
};

/// By a signal, or a debugger.
bool is_stopped(pid_t pid);
/// "writer pid 12 is stopped inside a transaction; ...": why the mutex could not be had.
std::string describe_writer(pid_t writer);

}  // namespace pawl::store::file
