#pragma once

#include "base/runtime.hpp"
#include "store/memory/queue_table.hpp"
#include "store/memory/sessions.hpp"
#include "store/notices.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace pawl::store::memory {

/// What is kept at one moment: a test looks for what was left behind.
struct Census {
  std::size_t sessions = 0;
  std::size_t claims = 0;  ///< waiting and held
  std::size_t tombstones = 0;
  std::size_t keys = 0;  ///< locks that are held, waited for, or shut
  std::size_t watches = 0;

  friend bool operator==(const Census&, const Census&) = default;
};

/// The server of the memory store: what several MemoryStores, each a client's connection, share.
/// Promise: whatever has expired is swept before a request is served.
/// Threads: one mutex guards all; wakers are called after it is released.
class MemoryState {
 public:
  using Clock = std::function<Time()>;
  using Random = std::function<std::uint64_t()>;

  /// An empty clock: the clock of the client that asks, for clients that all read the same one. `random` is used here
  /// and not kept. The epoch is the Unix time of its making in milliseconds: every instance is a new life.
  MemoryState(Clock clock, const Random& random, std::uint64_t epoch);
  MemoryState(const MemoryState&) = delete;
  MemoryState& operator=(const MemoryState&) = delete;

  /// Which store this is.
  std::uint64_t id() const { return id_; }
  /// Everything is lost, as on a server that keeps nothing on disk: it goes on as another store. For tests: nobody else
  /// may be using it.
  void forget(const Random& random, std::uint64_t epoch);

  /// After a sweep by the state's own clock, if it has one.
  Census census();

  /// How many requests were served: a test need not look again where none was.
  std::uint64_t requests();

  Notices& notices() { return notices_; }

  /// One request: holds the mutex from its beginning to its end, sweeps first and calls the wakers last.
  class Visit;

 private:
  void advance(const base::Runtime* caller);

  const Clock clock_;
  std::uint64_t id_;
  Notices notices_;

  std::mutex mutex_;  // guards all below
  Time now_ = Time::min();
  std::uint64_t requests_ = 0;
  std::vector<Mail> mail_;
  Sessions sessions_;
  std::optional<QueueTable> queue_;  // always there
};

class MemoryState::Visit {
 public:
  Visit(MemoryState& state, const base::Runtime& caller) : Visit(state, &caller) {}
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit();

  Time now() const { return state_.now_; }
  Sessions& sessions() { return state_.sessions_; }
  QueueTable& queue() { return *state_.queue_; }
  /// What it still holds counts as failed.
  void close_session(SessionId session);

 private:
  friend class MemoryState;
  Visit(MemoryState& state, const base::Runtime* caller);

  MemoryState& state_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace pawl::store::memory
