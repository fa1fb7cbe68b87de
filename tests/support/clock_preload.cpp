// Preloaded into a server: its wall clock is ahead by as many microseconds as the file PAWL_CLOCK_AHEAD says (server_clock.hpp),
// from the moment at which that changes. Without memory of its own: a server's allocator may look at the clock before it is ready.

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

std::int64_t microseconds_ahead() {
  static const volatile std::int64_t* const ahead = [] {
    const char* const path = std::getenv("PAWL_CLOCK_AHEAD");
    const int file =
        path != nullptr ? static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC)) : -1;
    void* const memory = file >= 0 ? ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    return memory != MAP_FAILED ? static_cast<const std::int64_t*>(memory) : nullptr;
  }();
  return ahead != nullptr ? *ahead : 0;
}

void move(timespec& time, std::int64_t microseconds) {
  const std::int64_t moved = time.tv_sec * 1'000'000 + time.tv_nsec / 1000 + microseconds;
  time.tv_sec = moved / 1'000'000;
  time.tv_nsec = moved % 1'000'000 * 1000 + time.tv_nsec % 1000;
}

using TimedWait = int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*);

TimedWait next_timed_wait() {
  // There is an older one of the same name, which dlsym may find.
  void* found = ::dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  if (found == nullptr) found = ::dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  return reinterpret_cast<TimedWait>(found);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const auto failed = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) move(*now, microseconds_ahead());
  return failed;
}

int gettimeofday(timeval* now, void*) noexcept {
  timespec exact{};
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* now) noexcept {
  timespec exact{};
  clock_gettime(CLOCK_REALTIME, &exact);
  if (now != nullptr) *now = exact.tv_sec;
  return exact.tv_sec;
}

// The kernel knows nothing of this clock: a wait goes on for as long as was meant.
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  static const TimedWait next = next_timed_wait();
  timespec real = *until;
  move(real, -microseconds_ahead());
  return next(condition, mutex, &real);
}

}  // extern "C"
