#pragma once

#include <pawl/hold.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include <map>

namespace pawl::lock {

class NamedLock;

/// Who holds a lock through the Lockable face, and how often: reentrancy per thread. Of a lock that is not shared,
/// usually one thread; more only when some of them have lost theirs and do not know it yet.
///
/// | the thread is    | enters exclusively     | enters shared | leaves exclusively       | leaves shared    |
/// |------------------|------------------------|---------------|--------------------------|------------------|
/// | outside          | first                  | first         | -                        | -                |
/// | inside, shared   | refused: to wait for   | again         | -                        | the last: out    |
/// |                  | itself is a dead-lock  |               |                          |                  |
/// | inside, alone    | again                  | again         | the last: out; shared    | -                |
/// |                  |                        |               | ones left: downgraded    |                  |
///
/// Threads: all; what a record holds is touched by its own thread only.
class ThreadHolds {
 public:
  enum class Entry : std::uint8_t { first, again, lost, would_deadlock };

  /// `again` has counted one more.
  Entry enter(std::uint64_t thread, Mode mode);
  void begin(std::uint64_t thread, Mode mode, Hold hold);

  struct Left {
    bool was_inside = false;        ///< in that mode
    Hold* downgrade = nullptr;      ///< it stays inside, shared
    std::optional<Hold> hold = {};  ///< to be released: the thread has left as often as it entered
  };
  Left leave(std::uint64_t thread, Mode mode);
  /// Whatever that thread still holds.
  std::optional<Hold> take(std::uint64_t thread);
  const Hold* find(std::uint64_t thread) const;

 private:
  struct Record {
    Hold hold;
    std::uint64_t exclusive = 0;
    std::uint64_t shared = 0;

    std::uint64_t& count(Mode mode) { return mode == Mode::exclusive ? exclusive : shared; }
  };
  mutable std::mutex mutex_;  // guards the map; its nodes stay where they are
  std::map<std::uint64_t, Record> records_;
};

/// Remembers for the calling thread what it holds, so that it is released when the thread ends.
void remember_for_thread_exit(const std::shared_ptr<NamedLock>& lock);
void forget_for_thread_exit(const NamedLock* lock);

}  // namespace pawl::lock
