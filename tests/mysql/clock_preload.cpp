// Preloaded into mariadbd: its wall clock is ahead by as many seconds as the file PAWL_TEST_CLOCK says (a native int64), from
// the moment at which that changes. Clocks that are never set stay as they are.

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

std::int64_t ahead() {
  static const std::int64_t nothing = 0;
  static const volatile std::int64_t* const seconds = []() -> const volatile std::int64_t* {
    const char* const path = std::getenv("PAWL_TEST_CLOCK");
    const int file = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
    void* const memory = file >= 0 ? ::mmap(nullptr, sizeof nothing, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    return memory != MAP_FAILED ? static_cast<const std::int64_t*>(memory) : &nothing;
  }
  ();
  return *seconds;
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
  if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += ahead();
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
  real.tv_sec -= ahead();
  return next(condition, mutex, &real);
}

}  // extern "C"
