#pragma once

#include <pawl/hold.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include <map>

namespace pawl::lock {

class NamedLock;

/// Who holds a lock through the Lockable face, and how often: reentrancy per thread. Usually one thread; more only when
/// some of them have lost theirs and do not know it yet.
/// Threads: all; what a record holds is touched by its own thread only.
class ThreadHolds {
 public:
  enum class Entry : std::uint8_t { first, again, lost };

  /// `again` has counted one more.
  Entry enter(std::uint64_t thread);
  void begin(std::uint64_t thread, Hold hold);
  /// The hold to release: the thread has left as often as it entered. Empty: it stays inside, or never was.
  std::optional<Hold> leave(std::uint64_t thread, bool& inside);
  /// Whatever that thread still holds.
  std::optional<Hold> take(std::uint64_t thread);
  const Hold* find(std::uint64_t thread) const;

 private:
  struct Record {
    Hold hold;
    std::uint64_t count = 1;
  };
  mutable std::mutex mutex_;  // guards the map; its nodes stay where they are
  std::map<std::uint64_t, Record> records_;
};

/// Remembers for the calling thread what it holds, so that it is released when the thread ends.
void remember_for_thread_exit(const std::shared_ptr<NamedLock>& lock);
void forget_for_thread_exit(const NamedLock* lock);

}  // namespace pawl::lock
