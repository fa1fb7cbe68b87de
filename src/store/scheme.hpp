#pragma once

#include "base/runtime.hpp"
#include "base/time.hpp"
#include "store/capabilities.hpp"
#include "store/claim.hpp"

#include <pawl/lock_view.hpp>
#include <pawl/result.hpp>

#include <optional>
#include <string>
#include <vector>

namespace pawl::store {

using base::awaitable;
using base::Deadline;

/// One way to build locks on a store: single attempts, and what was seen. It never sleeps, never tries a claim again,
/// starts no thread, and is never cancelled from above: every call ends by its deadline.
/// Errors: `outcome_unknown` = it may have been applied, now or later. `lost` = the session is not known (any more).
///         `store_unavailable` = it was not applied and will not be. Every other error = the store has refused it, perhaps
///         half-way: a script without a permission breaks off behind its first writes. So a claim that failed is withdrawn,
///         and a withdrawal that failed is repeated and may then find nothing.
/// Threads: calls come from one runtime at a time; a Waker may be called from any thread.
class Scheme {
 public:
  virtual ~Scheme() = default;

  virtual const Capabilities& capabilities() const = 0;

  /// Idempotent by the claim's id. A claim that is waiting keeps its place. Never grants to a session that has ended.
  virtual awaitable<Result<ClaimState>> claim(Claim claim, Deadline deadline) = 0;
  /// Release, or leave the queue. Compares the id; nothing else is ever touched. `not_there`: it was gone before this call.
  /// A transport that sends a request again by itself must answer for the first copy, which did it.
  virtual awaitable<Result<Withdrawn>> withdraw(Claim claim, Withdrawal how, Deadline deadline) = 0;
  /// The same two, where they can be done here and now without waiting for anybody. Nothing: they cannot, and nothing
  /// has happened.
  virtual std::optional<Result<ClaimState>> claim_now(const Claim&) { return std::nullopt; }
  virtual std::optional<Result<Withdrawn>> withdraw_now(const Claim&, Withdrawal) { return std::nullopt; }
  /// What has become of this claim? Never creates, never changes.
  virtual awaitable<Result<Standing>> look(Claim claim, Deadline deadline) = 0;

  /// From exclusive to shared, with the same token: readers who wait come in. `not_owner` unless the claim holds its
  /// lock exclusively, or has been downgraded before. No withdraw() is sent while it is under way; one whose outcome is
  /// unknown may arrive behind a withdraw() all the same, and must leave nothing.
  virtual awaitable<Result<void>> downgrade(Claim claim, Deadline deadline) = 0;

  /// The claim's label has changed: it is passed on inside its client. For people only.
  virtual awaitable<Result<void>> relabel(Claim claim, Deadline deadline) = 0;

  /// Notices for this claim go to `waker` until unwatch(); one that is just being delivered may still arrive after it.
  /// Watch first, then claim.
  virtual void watch(ClaimId claim, Waker waker) = 0;
  virtual void unwatch(ClaimId claim) = 0;

  /// Does a claim of kind `ours` wait for one of kind `other` and that mode, of the same name? Kinds never meet, unless
  /// they are another library's that keeps them in one place.
  virtual bool waits_for(Kind ours, Kind other, Mode /*mode*/) const { return ours == other; }

  /// For people: holders, waiters in order, ages. An unused lock gives an empty view.
  virtual awaitable<Result<LockView>> inspect(LockKey key, Deadline deadline) = 0;
  virtual awaitable<Result<std::vector<LockView>>> list(std::string prefix, Deadline deadline) = 0;
  /// Who has led that election since the leader with this token?
  virtual awaitable<Result<Succession>> succession(LockKey key, Token after, Deadline deadline) = 0;
  /// Does a grant with this token stand? Compares epoch and counter; the sub is the client's own.
  virtual awaitable<Result<bool>> check(LockKey key, Token token, Deadline deadline) = 0;
  /// Ask that claim's holder to let go (`now` false), or take the claim away. False: no such claim.
  virtual awaitable<Result<bool>> revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) = 0;
};

}  // namespace pawl::store
