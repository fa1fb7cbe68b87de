#pragma once

#include "lock/named_lock.hpp"

#include <pawl/election.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <stop_token>

namespace pawl::lock {

/// What stands behind an Observation: what has been told, and what has been seen and not told yet.
class ObservationCore {
 public:
  explicit ObservationCore(std::shared_ptr<NamedLock> lock) : lock_(std::move(lock)) {}

  Runtime& runtime() const { return lock_->runtime(); }
  Result<void> usable() const { return lock_->client().usable(); }

  /// The coroutine form of Observation::next().
  static awaitable<Result<std::optional<Leader>>> next(std::shared_ptr<ObservationCore> self,
                                                       std::optional<Duration> wait, std::stop_token stop);

  /// Takes in what the store has told. What is new is told by pop().
  void absorb(const store::Succession& succession);
  /// The oldest change that has not been told.
  std::optional<std::optional<Leader>> pop();

 private:
  void tell(std::optional<Leader> change);

  const std::shared_ptr<NamedLock> lock_;
  std::deque<std::optional<Leader>> untold_;
  Token last_;  // of the last leader that we have seen
  bool begun_ = false;
  bool vacant_ = true;  // by what we have seen
};

/// Who leads now.
awaitable<Result<std::optional<Leader>>> current_leader(std::shared_ptr<NamedLock> lock);

}  // namespace pawl::lock
