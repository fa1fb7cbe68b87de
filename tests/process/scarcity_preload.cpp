// Preloaded into a program: lets one of the calls that ask the kernel for a thread, a descriptor or a place in an epoll set
// fail, or one that asks for memory. The program says from when on they are counted, and asks afterwards which one it was.

#include "preload.hpp"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <thread>

namespace {

std::atomic<int> until_failure{0};  // 0: not counted
std::atomic<const char*> failed{nullptr};

bool fails(const char* what) {
  if (until_failure.load() == 0 || until_failure.fetch_sub(1) != 1) return false;
  failed = what;
  // What other threads begin meanwhile is there when the caller cleans up.
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return true;
}

std::atomic<int> until_no_memory{0};  // 0: not counted

bool has_no_memory() { return until_no_memory.load() != 0 && until_no_memory.fetch_sub(1) == 1; }

int before_call(const char* call) { return fails(call) ? EMFILE : 0; }

}  // namespace

extern "C" {

void fail_nth_from_now_on(int n) {
  failed = nullptr;
  until_failure = n;
}

/// Null: none so far.
const char* fail_nth_failed() { return failed; }

void fail_nth_allocation_from_now_on(int n) { until_no_memory = n; }

/// How many more allocations there may be until one fails; not above 0: one has failed.
int allocations_until_failure() { return until_no_memory; }

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  static const auto real = next(&::aligned_alloc, "aligned_alloc");
  return has_no_memory() ? nullptr : real(alignment, size);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*begin)(void*),
                   void* argument) noexcept {
  static const auto real = next(&::pthread_create, "pthread_create");
  return fails("pthread_create") ? EAGAIN : real(thread, attributes, begin, argument);
}

int epoll_create1(int flags) noexcept {
  static const auto real = next(&::epoll_create1, "epoll_create1");
  return fails("epoll_create1") ? refuse(EMFILE) : real(flags);
}

int epoll_ctl(int set, int operation, int descriptor, epoll_event* event) noexcept {
  static const auto real = next(&::epoll_ctl, "epoll_ctl");
  const bool adds = operation == EPOLL_CTL_ADD;
  return adds && fails("epoll_ctl") ? refuse(ENOSPC) : real(set, operation, descriptor, event);
}

int timerfd_create(clockid_t clock, int flags) noexcept {
  static const auto real = next(&::timerfd_create, "timerfd_create");
  return fails("timerfd_create") ? refuse(EMFILE) : real(clock, flags);
}

int eventfd(unsigned int value, int flags) noexcept {
  static const auto real = next(&::eventfd, "eventfd");
  return fails("eventfd") ? refuse(EMFILE) : real(value, flags);
}

int socket(int domain, int type, int protocol) noexcept {
  static const auto real = next(&::socket, "socket");
  return fails("socket") ? refuse(EMFILE) : real(domain, type, protocol);
}

int inotify_add_watch(int descriptor, const char* path, std::uint32_t mask) noexcept {
  static const auto real = next(&::inotify_add_watch, "inotify_add_watch");
  return fails("inotify_add_watch") ? refuse(ENOSPC) : real(descriptor, path, mask);
}

}  // extern "C"

void* operator new(std::size_t size) {
  void* memory = has_no_memory() ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
