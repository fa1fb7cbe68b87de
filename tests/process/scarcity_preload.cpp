// Preloaded into a program: lets one of the calls that ask the kernel for a thread, a descriptor or a place in an epoll set
// fail. The program says from when on they are counted, and asks afterwards which one it was.

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>

namespace {

std::atomic<int> until_failure{0};  // 0: not counted
std::atomic<const char*> failed{nullptr};

bool fails(const char* what) {
  if (until_failure.load() == 0 || until_failure.fetch_sub(1) != 1) return false;
  failed = what;
  return true;
}

template <class Function>
Function next(Function, const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

int refuse(int error) {
  errno = error;
  return -1;
}

// Where nothing is created there is no third argument.
mode_t mode_of(int flags, va_list rest) {
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return creates ? va_arg(rest, mode_t) : 0;
}

}  // namespace

extern "C" {

void fail_nth_from_now_on(int n) {
  failed = nullptr;
  until_failure = n;
}

/// Null: none so far.
const char* fail_nth_failed() { return failed; }

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

int inotify_init1(int flags) noexcept {
  static const auto real = next(&::inotify_init1, "inotify_init1");
  return fails("inotify_init1") ? refuse(EMFILE) : real(flags);
}

int inotify_add_watch(int descriptor, const char* path, std::uint32_t mask) noexcept {
  static const auto real = next(&::inotify_add_watch, "inotify_add_watch");
  return fails("inotify_add_watch") ? refuse(ENOSPC) : real(descriptor, path, mask);
}

int open(const char* path, int flags, ...) {
  static const auto real = next(&::open, "open");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return fails("open") ? refuse(EMFILE) : real(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  static const auto real = next(&::open64, "open64");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return fails("open64") ? refuse(EMFILE) : real(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  static const auto real = next(&::openat, "openat");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return fails("openat") ? refuse(EMFILE) : real(folder, path, flags, mode);
}

}  // extern "C"
