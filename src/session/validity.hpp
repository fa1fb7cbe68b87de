#pragma once

#include "base/runtime.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace pawl::session {

using base::Runtime;
using base::Time;

/// Why a lease is lost, for people. Constants: a loss must not need memory.
namespace loss {
inline constexpr const char* not_renewed = "its lease could not be renewed in time";
inline constexpr const char* session_unknown = "the store does not know its session any more";
inline constexpr const char* client_closed = "the client was closed";
}  // namespace loss

/// Until when a lease is certain to be ours, by our own clock, even if no packet ever arrives.
/// Deadline = time before sending the last confirmed request + lease - drift.
///
/// | state    | confirm(sent)                | its time comes          | end()         |
/// |----------|------------------------------|-------------------------|---------------|
/// | valid    | the deadline moves on        | jeopardy at 2/3 lease   | lost          |
/// | jeopardy | valid again                  | lost at the deadline    | lost          |
/// | lost     | refused: lost is for ever    | -                       | -             |
///
/// Threads: all. Watchers are called by whoever learns it first: the thread that watches deadlines, or the executor.
class Validity : public std::enable_shared_from_this<Validity> {
 public:
  /// Must not block, nor call back: what takes time is sent elsewhere.
  class Watcher {
   public:
    virtual void validity_lost(const char* why) = 0;  ///< once
    virtual void validity_in_jeopardy() {}
    virtual void validity_safe() {}

   protected:
    ~Watcher() = default;
  };
  using WatcherId = std::uint64_t;

  Validity(Runtime& runtime, Duration lease) : runtime_(runtime), lease_(lease) {}

  /// False: too late, the deadline had passed before the answer came.
  bool confirm(Time sent);
  /// Lost now: the store has told so, or the client ends.
  void end(const char* why);

  Duration remaining() const { return remaining(runtime_.now()); }
  Duration remaining(Time now) const;
  bool valid() const { return remaining() > Duration::zero(); }
  bool in_jeopardy(Time now) const { return remaining(now) <= lease_ / 3; }
  Time deadline() const { return Time(Duration(deadline_.load())); }
  Duration lease() const { return lease_; }

  /// 0: lost already, nobody will be called.
  WatcherId watch(std::weak_ptr<Watcher> watcher);
  void unwatch(WatcherId id);

 private:
  static constexpr std::int64_t unconfirmed = 0;
  static constexpr std::int64_t gone = -1;

  Time jeopardy_at() const { return deadline() - lease_ / 3; }
  void set_alarm(Time at);
  void look_at_the_clock();
  template <class... Args>
  void tell(void (Watcher::*what)(Args...), Args... args);

  Runtime& runtime_;
  const Duration lease_;
  std::atomic<std::int64_t> deadline_{unconfirmed};
  std::atomic<bool> jeopardy_told_{false};
  std::mutex mutex_;  // guards the two below
  std::map<WatcherId, std::weak_ptr<Watcher>> watchers_;
  WatcherId last_watcher_ = 0;
};

}  // namespace pawl::session
