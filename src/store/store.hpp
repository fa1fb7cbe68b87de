#pragma once

#include "store/scheme.hpp"

#include <pawl/options.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store {

struct SessionRequest {
  Duration lease = {};
  Owner owner = {};
};

struct SessionGrant {
  SessionId id;
  Duration lease;  ///< what the store granted; it may clamp
  /// A store that cannot notify a holder whose lock was taken away is renewed this often, whatever the lease.
  Duration renew_within = Duration::max();
};

/// How many claims a renewal names at most.
inline constexpr std::size_t most_named = 1000;

struct Renewal {
  /// Another number than in the last renewal: claims of the session were sent notices, and a notice may have been lost.
  /// Those that wait claim() again, those that hold look().
  std::uint64_t changes = 0;
  /// Which claims these are: every one that was sent a notice and was not asked about since, by claim(), look() or
  /// withdraw(). It is named in each renewal until then, so that a lost answer loses nothing, and only what is named
  /// asks. Unset: the store cannot tell, or they are more than most_named.
  std::optional<std::vector<ClaimId>> changed = {};
  /// Claims that this renewal does not cover, where the lease sits on each claim: they end before the session's deadline
  /// moves on, for they may be another client's behind the old one.
  std::vector<ClaimId> unconfirmed = {};
  /// From when the lease counts, where that is not the time at which the renewal was sent.
  std::optional<base::Time> counts_from = {};
};

/// What a client tells its store before it uses it.
struct Surroundings {
  Duration timeout = {};  ///< for one answer, and for connecting
  /// The connection is gone, and tried again.
  std::function<void(const std::string& why)> reconnecting = {};
  /// Instead of those in the URL. User code: never on the executor.
  std::function<Result<Credentials>()> credentials = {};
  /// The store may have forgotten its sessions (a new connection, a new epoch, another folder at its path): every
  /// session is renewed now, and one that is not known any more is lost now. Any thread.
  std::function<void()> sessions_in_doubt = {};
};

/// The system that keeps the truth. Its connection reconnects by itself.
class Store {
 public:
  virtual ~Store() = default;

  /// Once, before anything else.
  virtual void attach(Surroundings /*surroundings*/) {}
  /// Reaches the store, checks layout version and epoch. Everything else calls it by itself when needed.
  virtual awaitable<Result<void>> connect(Deadline deadline) = 0;
  /// Which store this is; known after connect().
  virtual std::uint64_t id() const = 0;

  virtual awaitable<Result<SessionGrant>> open_session(SessionRequest request, Deadline deadline) = 0;
  /// Never creates: `lost` when the session has ended.
  virtual awaitable<Result<Renewal>> renew(SessionId session, Deadline deadline) = 0;
  /// Ends the session; what it still holds counts as failed (lock-delay applies). An unknown session is fine.
  virtual awaitable<Result<void>> close_session(SessionId session, Deadline deadline) = 0;

  /// Which life of the store this is: the first part of every token that it hands out now.
  virtual awaitable<Result<std::uint64_t>> epoch(Deadline deadline);
  /// Begins another life, by hand: every later token is larger than any that was handed out before, also by what a
  /// backup has brought back. Grants that stand keep their tokens. Answers the new epoch.
  virtual awaitable<Result<std::uint64_t>> raise_epoch(Deadline deadline);

  /// What an operator may make beforehand: statements for the server's own command line client. Empty: nothing.
  virtual std::string schema() const { return {}; }
  /// Makes it, or brings what an older pawl has made up to date; says what was done. `unsupported` where there is none.
  virtual awaitable<Result<std::string>> apply_schema(Deadline deadline);

  /// Null when there is none of that name. Empty name: the default scheme.
  virtual Scheme* scheme(std::string_view name) = 0;
  virtual std::vector<const Capabilities*> schemes() const = 0;
};

}  // namespace pawl::store
