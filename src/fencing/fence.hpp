#pragma once

#include <pawl/result.hpp>
#include <pawl/sequencer.hpp>

#include "fencing/marks.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace pawl::fencing {

/// What stands behind a pawl::Fence.
/// Promise: while `write` runs no other write of this fence does, and its mark is raised.
/// Threads: safe to share.
class FenceCore {
 public:
  using Write = std::function<void()>;

  virtual ~FenceCore() = default;

  /// What `write` throws goes on to the caller once the exclusion has ended.
  /// Errors: those of Marks, and would_deadlock when the calling thread is inside a write of this fence.
  Result<void> admit(const Sequencer& sequencer, const Write& write);
  /// Does not wait for a write that is running.
  virtual Result<void> check(const Sequencer& sequencer) const = 0;

 protected:
  /// Fences with the same key exclude each other.
  explicit FenceCore(std::string key) : key_(std::move(key)) {}
  virtual Result<void> exclude_and_write(const Sequencer& sequencer, const Write& write) = 0;

 private:
  std::string key_;
};

/// Marks in memory, exclusion by a mutex.
class ProcessFence final : public FenceCore {
 public:
  explicit ProcessFence(Marks marks);
  Result<void> check(const Sequencer& sequencer) const override;

 private:
  Result<void> exclude_and_write(const Sequencer& sequencer, const Write& write) override;

  std::mutex writing_;              // held while a write runs
  mutable std::mutex marks_mutex_;  // never held for long, so that check() need not wait for a write
  Marks marks_;                     // guarded by marks_mutex_
};

}  // namespace pawl::fencing
