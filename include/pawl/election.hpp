#pragma once

#include <pawl/hold.hpp>
#include <pawl/lock_view.hpp>
#include <pawl/options.hpp>
#include <pawl/result.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace pawl {

namespace lock {
class Access;
class LockCore;
class ObservationCore;
}  // namespace lock

/// Sees every change of leader.
/// Promise: the first answer is how it is now; then each change comes once, in the order of the tokens. Nobody who led
///          for a moment only is left out, unless more than 32 came and went, or a minute passed, between two calls.
/// Limit:   what it tells may be over already: a resource asks its fence, not an observation.
/// Threads: one at a time.
class Observation {
 public:
  /// The next change: who leads now, or nobody. Waits for it, as long as `wait` says; unset: for ever. An outage of the
  /// store is waited out.
  /// Errors: timed_out, cancelled, closed, permission_denied, unsupported.
  Result<std::optional<Leader>> next(std::optional<Duration> wait = {}, std::stop_token stop = {});

 private:
  friend class lock::Access;
  explicit Observation(std::shared_ptr<lock::ObservationCore> core) noexcept;

  std::shared_ptr<lock::ObservationCore> core_;
};

/// One leader per name across every process that shares the store, and a value that tells the others who it is.
/// Promise: first come, first served between candidates. The leader's Hold is its office: lost() fires when it must
///          stop, its token fences off whoever led before, and release() resigns.
/// Limit:   a paused leader outlives its lease; let the resource check the sequencer.
/// Threads: safe to share; copies are the same election.
/// Errors:  as Mutex.
class Election {
 public:
  const std::string& name() const noexcept;

  /// Stands for election with a value of up to 4096 bytes, as in "10.0.0.7:8080", and waits until it leads.
  Result<Hold> campaign(std::string_view value, AcquireOptions options = {}, std::stop_token stop = {});
  /// `busy` when somebody else leads, or is next.
  Result<Hold> try_campaign(std::string_view value, AcquireOptions options = {});

  /// Who leads now; nothing: nobody.
  Result<std::optional<Leader>> leader();
  Observation observe();

 private:
  friend class lock::Access;
  explicit Election(std::shared_ptr<lock::LockCore> core) noexcept;

  std::shared_ptr<lock::LockCore> core_;
};

}  // namespace pawl
