// What the preloaded libraries have in common: the wrappers of open() in its forms and of inotify_init1(). A library includes
// this once and defines before_call(). It is no part of the project's include path, because they have none.

#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/inotify.h>

#include <cerrno>
#include <cstdarg>

namespace {

/// Before each wrapped call. 0: it goes on. Otherwise it fails with this errno.
int before_call(const char* call);

template <class Function>
Function next(Function, const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

int refuse(int error) {
  errno = error;
  return -1;
}

// Where nothing is created there is no mode.
mode_t mode_of(int flags, va_list rest) {
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return creates ? va_arg(rest, mode_t) : 0;
}

}  // namespace

extern "C" {

int inotify_init1(int flags) noexcept {
  static const auto real = next(&::inotify_init1, "inotify_init1");
  const int refused = before_call("inotify_init1");
  return refused != 0 ? refuse(refused) : real(flags);
}

int open(const char* path, int flags, ...) {
  static const auto real = next(&::open, "open");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  const int refused = before_call("open");
  return refused != 0 ? refuse(refused) : real(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  static const auto real = next(&::open64, "open64");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  const int refused = before_call("open64");
  return refused != 0 ? refuse(refused) : real(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  static const auto real = next(&::openat, "openat");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  const int refused = before_call("openat");
  return refused != 0 ? refuse(refused) : real(folder, path, flags, mode);
}

}  // extern "C"
