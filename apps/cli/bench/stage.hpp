#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

#include <sys/mman.h>

namespace pawl::cli {

/// An object that this process shares with those that it forks.
template <class T>
class SharedMemory {
 public:
  SharedMemory() {
    void* room = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) throw std::bad_alloc();
    object_ = new (room) T;
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { ::munmap(object_, sizeof(T)); }

  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  T* object_;
};

/// Where the processes of one measurement meet, in shared memory.
struct Stage {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> hand_offs{0};
  std::atomic<int> last{-1};
  std::atomic<int> queued{0};  ///< of those who wait for the lock before anybody has let it go

  /// Waits for the others, and for the signal to begin.
  void wait_for_go();
  /// `who` has the lock, or whatever is passed on. Counts where it was somebody else's before.
  void arrived_at(int who) {
    if (last.exchange(who, std::memory_order_relaxed) != who) hand_offs.fetch_add(1, std::memory_order_relaxed);
  }
};

/// What one of several processes does: sets itself up, calls stage.wait_for_go(), and works until stage.stop.
using Part = std::function<void(int index, Stage& stage)>;

/// Forks `processes`, lets them run for `slice` after everybody had `warm_up` hand-offs, and tells the nanoseconds per
/// hand-off. Nothing may have started a thread in this process. Throws Failure when one of them fails.
double cost_per_hand_off(int processes, std::chrono::milliseconds slice, std::uint64_t warm_up, const Part& part);

/// Runs one process to its end.
void in_process(const std::function<void()>& part);

}  // namespace pawl::cli
