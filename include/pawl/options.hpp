#pragma once

#include <pawl/result.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace pawl {

using Duration = std::chrono::nanoseconds;

/// Any duration as ours: rounded up, never negative, and as long as possible where it would not fit.
template <class Rep, class Period>
Duration saturated(const std::chrono::duration<Rep, Period>& wait) {
  using Wide = std::chrono::duration<long double, std::nano>;
  const Wide wide = wait;
  if (wide <= Wide::zero()) return Duration::zero();
  if (wide >= Wide(Duration::max())) return Duration::max();
  return std::chrono::ceil<Duration>(wait);
}

/// How long it is until then; the ends of time may be further away than any duration.
template <class Clock, class D>
Duration saturated_until(const std::chrono::time_point<Clock, D>& when) {
  using Wide = std::chrono::duration<long double, std::nano>;
  return saturated(Wide(when.time_since_epoch()) - Wide(Clock::now().time_since_epoch()));
}

struct Event;

/// One acquisition. Unset fields fall back to LockOptions, then to ClientOptions, then to the defaults.
/// Text is copied before the call returns or suspends.
struct AcquireOptions {
  std::optional<Duration> wait = {};        ///< unset: for ever; 0: try once; negative: invalid_argument
  std::optional<Duration> lease = {};       ///< how long the store believes in us unheard; default 30 s
  std::optional<Duration> lock_delay = {};  ///< keeps the lock shut after its holder failed; default 0, at most 60 s
  std::optional<Duration> max_hold = {};    ///< after this the hold is lost whatever happens; default: no bound
  std::string_view label = {};              ///< shown to operators: "nightly backup"
};

/// How somebody waits for a lock that another client holds.
enum class WaitStyle : std::uint8_t {
  notified,  ///< stands in the store's queue and is told when its turn comes
  /// Asks again and again, with pauses that grow from 20 us to 1 ms, for 50 ms at the most; then as `notified`. For
  /// critical sections so short that the queue would cost more than the wait. Whoever spins has no place in the queue.
  spin,
};

/// One lock in one client. All handles of a lock must agree on scheme, hand-off bounds and waiting style.
struct LockOptions {
  std::string_view scheme = {};  ///< empty: the client's
  std::optional<Duration> lease = {};
  std::optional<Duration> lock_delay = {};
  std::optional<Duration> max_hold = {};
  std::string_view label = {};
  /// How often threads of this client may pass the lock on among themselves while others wait elsewhere.
  /// 0 = never: every thread queues at the store for itself, first come, first served across all clients. Default 64.
  std::optional<std::uint32_t> local_passes = {};
  /// ... and for how long. Default 10 ms.
  std::optional<Duration> local_pass_time = {};
  WaitStyle waiting = WaitStyle::notified;
};

// GCC 12 destroys temporaries of non-trivial aggregates twice in `co_await f({...})`.
static_assert(std::is_trivially_destructible_v<AcquireOptions>);
static_assert(std::is_trivially_destructible_v<LockOptions>);

enum class Connect : std::uint8_t {
  now,   ///< Client::open reaches the store, or fails
  lazy,  ///< the first use does
};

/// Who we are to a store.
struct Credentials {
  std::string user = {};
  std::string password = {};
};

/// One client. What the URL says in its query comes second to what is set here.
struct ClientOptions {
  std::string scheme = {};                  ///< empty: the store's default
  std::optional<Duration> lease = {};       ///< default 30 s
  std::optional<Duration> lock_delay = {};  ///< default 0
  std::optional<Duration> max_hold = {};    ///< default: no bound
  std::optional<Duration> timeout = {};     ///< for one request to the store, and for connecting; default 5 s
  Connect connect = Connect::now;
  std::string label = {};  ///< shown to operators beside host and pid
  bool anonymous = false;  ///< host and pid are not stored; also `?owner=anonymous`
  /// Asked for every connection (of ZooKeeper: every session), instead of what the URL says: for passwords that change.
  /// Called on a thread of pawl's; may block, must not throw.
  std::function<Result<Credentials>()> credentials = {};
  /// Called for every event, one at a time, on a thread that all observers of the process share. Should not block, must not
  /// throw. A slow one delays observers only, and misses events when 20,000 wait for it: see EventType::dropped.
  std::function<void(const Event&)> observer = {};
};

}  // namespace pawl
