#include "base/threads.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>

namespace pawl::base {

namespace {

std::atomic<std::uint64_t> generation{0};

struct WatchForks {
  WatchForks() {
    pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  }
};

}  // namespace

std::thread start_thread(const char* name, std::function<void()> work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);  // inherited by the new thread
  std::thread thread(std::move(work));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread.native_handle(), name);
  return thread;
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
