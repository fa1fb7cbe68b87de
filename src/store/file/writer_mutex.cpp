#include "store/file/writer_mutex.hpp"

#include "base/boot_clock.hpp"
#include "store/file/folder.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <new>
#include <string_view>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define PAWL_THREAD_SANITIZER 1
#endif
#endif

namespace pawl::store::file {

namespace {

/// ThreadSanitizer does not know pthread_mutex_clocklock, and would only see an unlock.
void tell_sanitizer_of_lock([[maybe_unused]] pthread_mutex_t& mutex) {
#ifdef PAWL_THREAD_SANITIZER
  __tsan_mutex_pre_lock(&mutex, 0);
  __tsan_mutex_post_lock(&mutex, 0, 0);
#endif
}

constexpr int tries = 200;  // a transaction takes a few microseconds: as long as a sleep in the kernel would

/// 'T' and 't' are stopped; 0: there is no such process.
char state_of(pid_t pid) {
  const Fd fd(::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  if (!fd || ::read(fd.get(), text.data(), text.size() - 1) <= 0) return 0;
  const std::string_view line(text.data());
  const std::size_t name_end = line.rfind(')');  // the program's name may hold anything
  return name_end != std::string_view::npos && name_end + 2 < line.size() ? line[name_end + 2] : '\0';
}

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void WriterMutex::make() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex_, &attributes);
  pthread_mutexattr_destroy(&attributes);
  writer_.store(0, std::memory_order_relaxed);
}

bool WriterMutex::entered(int outcome, pid_t self) {
  // What a dead process left undone was never committed: there is nothing to repair.
  if (outcome == EOWNERDEAD) outcome = pthread_mutex_consistent(&mutex_);
  if (outcome != 0) return false;
  writer_.store(self, std::memory_order_relaxed);
  return true;
}

bool WriterMutex::try_lock(pid_t self) {
  for (int i = 0; i < tries; ++i) {
    if (entered(pthread_mutex_trylock(&mutex_), self)) return true;
    relax();
  }
  return false;
}

bool WriterMutex::lock_within(Duration patience, pid_t self) {
  if (try_lock(self)) return true;
  // Far enough: the C library adds no more than it can count.
  const Duration bounded = std::min<Duration>(patience, std::chrono::hours(24));
  if (bounded <= Duration::zero()) return false;
  const timespec until = base::monotonic_after(bounded);
  const int outcome = pthread_mutex_clocklock(&mutex_, CLOCK_MONOTONIC, &until);
  if (outcome == 0 || outcome == EOWNERDEAD) tell_sanitizer_of_lock(mutex_);
  return entered(outcome, self);
}

void WriterMutex::unlock() {
  writer_.store(0, std::memory_order_relaxed);
  pthread_mutex_unlock(&mutex_);
}

bool is_stopped(pid_t pid) {
  const char state = state_of(pid);
  return state == 'T' || state == 't';
}

std::string describe_writer(pid_t writer) {
  if (writer == 0) return "other processes write without a pause";
  if (is_stopped(writer)) {
    return fmt::format("writer pid {} is stopped inside a transaction: let it go on (kill -CONT {}) or end it", writer,
                       writer);
  }
  return fmt::format("writer pid {} does not come to an end with its transaction", writer);
}

}  // namespace pawl::store::file
