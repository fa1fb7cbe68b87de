// How the sanitizers must look at a program that forks while it has threads, or uses OpenSSL. Without them nobody asks.

#include <unistd.h>

namespace {
const pid_t parent = ::getpid();
}

// A child has the memory of its parent's other threads, but not those threads: all that looks like leaks.
extern "C" int __lsan_is_turned_off() { return ::getpid() != parent; }

// A child may start threads of its own, and need not sleep before it exits.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0:atexit_sleep_ms=0"; }

// OpenSSL counts references with atomics that nobody sees who has not compiled it: then the free of a lock looks like a race
// with its last use.
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libcrypto.so\n"; }
