#pragma once

#include <pawl/options.hpp>
#include <pawl/result.hpp>
#include <pawl/sequencer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>

namespace pawl {

namespace lock {
class Access;
class HoldCore;
}  // namespace lock

/// | state    | means                                                    | next                     |
/// |----------|----------------------------------------------------------|--------------------------|
/// | held     | the lease is confirmed                                   | jeopardy, released, lost |
/// | jeopardy | less than a third of the lease is left, unconfirmed      | held, released, lost     |
/// | released | let go by its owner, or an empty Hold                    | -                        |
/// | lost     | the lease ran out, max_hold passed, or it was taken away | -                        |
enum class HoldState : std::uint8_t { held, jeopardy, released, lost };

std::string_view to_string(HoldState) noexcept;

/// A granted lock: move-only, released when it goes out of scope.
/// Promise: remaining() is never above zero once another client can hold the lock, by our own clock.
/// Limit:   a paused process outlives its lease; let the resource check the sequencer.
/// Threads: one at a time. Move it to the thread that uses it. lost() and release_requested() may be watched from any.
/// Errors:  release() reports lost, not_owner (released already), outcome_unknown (goes on in the background), closed.
class Hold {
 public:
  /// An empty hold: state() is released.
  Hold() noexcept;
  Hold(Hold&&) noexcept;
  Hold& operator=(Hold&&) noexcept;
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  /// Releases without waiting for the store's answer; what could not be done goes to the observer.
  ~Hold();

  Token token() const noexcept;
  /// What travels with a request, for the resource's fence. Of a semaphore: one for each permit, counted from 0.
  Sequencer sequencer(std::size_t permit = 0) const;
  /// Exclusive, unless it was acquired shared or downgraded.
  Mode mode() const noexcept;
  /// How many permits of a semaphore; 0 for other locks.
  std::size_t permits() const noexcept;

  /// Fires when the hold is lost; never on a clean release. Callbacks run on pawl's notifier thread, one at a time: one that
  /// blocks delays those of other holds, but neither state() and remaining(), nor observers, nor for more than a second those
  /// who wait for the lock.
  std::stop_token lost() const noexcept;
  /// Fires when somebody asks for this lock with `revoke`.
  std::stop_token release_requested() const noexcept;

  /// How long the hold is certain to stay ours without another word from the store. Zero when released or lost.
  Duration remaining() const noexcept;
  /// remaining() > 0
  bool valid() const noexcept;
  HoldState state() const noexcept;

  /// From exclusive to shared, of a SharedMutex: other readers come in, the token stays. There is no way back.
  /// Errors: unsupported for other kinds, which stay as they are; lost, not_owner, outcome_unknown.
  Result<void> downgrade();

  /// Lets go and waits for the store's word. Inside a callback of pawl it sends and does not wait.
  Result<void> release();

 private:
  friend class lock::Access;
  explicit Hold(std::shared_ptr<lock::HoldCore> core) noexcept;
  std::shared_ptr<lock::HoldCore> core_;
};

}  // namespace pawl
