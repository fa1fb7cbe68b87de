#pragma once

#include <pawl/fence.hpp>
#include <pawl/result.hpp>
#include <pawl/sequencer.hpp>

#include "fencing/marks.hpp"

#include <cstdint>
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
  /// As Fence::adopt(). Waits for a write that is running, and has the same errors.
  Result<void> adopt(std::uint64_t store_id);
  /// Does not wait for a write that is running.
  virtual Result<void> check(const Sequencer& sequencer) const = 0;

 protected:
  /// Fences with the same key exclude each other.
  FenceCore(std::string key, const Marks& marks, FenceOptions options)
      : options_(options), key_(std::move(key)), lock_(marks.lock()) {}

  /// Changes marks. True: something has changed.
  using Change = std::function<Result<bool>(Marks&)>;
  /// Inside the exclusion: makes the change, keeps what it changed, and then runs `write`.
  virtual Result<void> change_and_write(const Change& change, const Write& write) = 0;

  const FenceOptions options_;

 private:
  Result<void> enter(const Change& change, const Write& write);

  const std::string key_;
  const std::string lock_;  // for messages
};

/// Marks in memory, exclusion by a mutex.
class ProcessFence final : public FenceCore {
 public:
  ProcessFence(Marks marks, FenceOptions options);
  Result<void> check(const Sequencer& sequencer) const override;

 private:
  Result<void> change_and_write(const Change& change, const Write& write) override;

  std::mutex writing_;              // held while a write runs
  mutable std::mutex marks_mutex_;  // never held for long, so that check() need not wait for a write
  Marks marks_;                     // guarded by marks_mutex_
};

}  // namespace pawl::fencing
