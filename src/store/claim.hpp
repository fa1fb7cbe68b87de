#pragma once

#include <pawl/lock_view.hpp>
#include <pawl/options.hpp>
#include <pawl/sequencer.hpp>

#include "base/ids.hpp"
#include "base/lock_name.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace pawl::store {

using base::ClaimId;
using base::LockName;
using base::SessionId;

/// Which lock: kinds never meet. The scheme adds itself when it makes a key of it.
struct LockKey {
  Kind kind = Kind::mutex;
  LockName name;

  friend auto operator<=>(const LockKey&, const LockKey&) = default;
};

/// One wish to hold one lock. Repeating it changes nothing: the store knows it by its id.
struct Claim {
  ClaimId id;
  SessionId session;
  LockKey key;
  Mode mode = Mode::exclusive;  ///< shared: rw only
  /// How many of how many, for permits; else 0. `of` must be the same for all, while anybody holds or waits.
  struct Permits {
    std::uint32_t wanted = 0;
    std::uint32_t of = 0;

    friend bool operator==(const Permits&, const Permits&) = default;
  } permits = {};
  std::string value = {};  ///< what a candidate stands for, for an election
  Duration lease = {};
  Duration lock_delay = {};
  bool may_queue = true;  ///< false: if it cannot be granted at once, nothing is left behind (try)
  std::string label = {};
};

struct Granted {
  Token token;
  bool contended = false;  ///< others wait in the store's queue (only where Capabilities::knows_contention)
  std::vector<std::uint32_t> slots = {};  ///< which permits
};

struct Waiting {
  /// Claim again after this long, even if no hint arrives. More than 5 s only where renewals tell of the notices that
  /// were lost (Renewal::changes): the session is then renewed every 5 s.
  Duration look_again_in;
  std::optional<Owner> holder = {};
  std::optional<std::uint64_t> ahead = {};

  /// For messages, and only where it costs nothing to know:
  /// What is left of the lock-delay of a failed holder that stands in the way; 0: there is none, or it is not known.
  Duration shut_for = {};
  /// Permits of a semaphore, of holders and of those who failed.
  struct Permits {
    std::uint32_t taken = 0;
    std::uint32_t in_lock_delay = 0;

    friend bool operator==(const Permits&, const Permits&) = default;
  };
  std::optional<Permits> permits = {};
};

using ClaimState = std::variant<Granted, Waiting>;

/// Why a claim is withdrawn.
enum class Ending : std::uint8_t {
  clean,   ///< released by its holder, or left the queue: the next one may have the lock at once
  failed,  ///< its holder was lost: lock-delay applies
};

/// How a claim is withdrawn.
struct Withdrawal {
  Ending ending = Ending::clean;
  /// A request of this claim had an unknown outcome and may still arrive: refuse it then (leave a tombstone).
  bool unsettled = false;
};

/// What the store found when it withdrew a claim.
enum class Withdrawn : std::uint8_t { done, not_there };

/// What the store says of a claim, without changing anything.
struct Standing {
  enum class Place : std::uint8_t { gone, waiting, held } place = Place::gone;
  Token token = {};
  bool contended = false;
  bool release_requested = false;
  std::vector<std::uint32_t> slots = {};
};

/// One leader of an election.
struct Reign {
  Leader leader = {};
  bool after_nobody = false;  ///< for a while nobody led before it
};

/// Who has led an election, as far back as the store remembers.
struct Succession {
  std::vector<Reign> reigns = {};  ///< oldest first
  bool vacant = true;              ///< nobody leads now
  Duration look_again_in = std::chrono::milliseconds(50);
};

/// A word from the store to a claim. All of them are hints: each may be lost, late, or come twice, and the same news is
/// found by asking again.
struct Notice {
  enum class What : std::uint8_t {
    look_again,         ///< to a waiter: claim again now
    granted,            ///< to a waiter: the lock is yours, with this token; never for permits, whose slots it lacks
    contended,          ///< to a holder: others wait now
    release_requested,  ///< to a holder: somebody asks for the lock
    gone,               ///< to either: the claim was taken away (revoke --now)
  } what = What::look_again;
  Granted grant = {};
};

/// Called by the store from any thread; must only post.
using Waker = std::function<void(const Notice&)>;

}  // namespace pawl::store
