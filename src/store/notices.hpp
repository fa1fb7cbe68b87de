#pragma once

#include "store/claim.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace pawl::store {

/// Who is notified of which claim.
/// Promise: wakers are called, and end, without the mutex.
/// Limit:   a notice that is under way may still arrive after unwatch().
/// Threads: all.
class Notices {
 public:
  Notices() = default;
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

  /// Instead of the waker that it has, if any.
  void watch(ClaimId claim, Waker waker);
  void unwatch(ClaimId claim);
  bool watched(ClaimId claim) const;
  std::size_t size() const;

  /// Nothing happens if the claim is not watched.
  void tell(ClaimId claim, const Notice& notice) const;
  /// Notices may have been lost: every claim looks again.
  void tell_all_to_look() const;

 private:
  using SharedWaker = std::shared_ptr<const Waker>;

  mutable std::mutex mutex_;  // guards all below
  std::unordered_map<ClaimId, SharedWaker> wakers_;
};

/// What one client watches where many do: the registry outlives the client, its wakers must not.
/// Threads: one at a time.
class ClientNotices {
 public:
  ClientNotices() = default;
  ClientNotices(const ClientNotices&) = delete;
  ClientNotices& operator=(const ClientNotices&) = delete;
  ~ClientNotices();

  void watch(const std::shared_ptr<Notices>& notices, ClaimId claim, Waker waker);
  void unwatch(ClaimId claim);

 private:
  std::unordered_map<ClaimId, std::weak_ptr<Notices>> watched_;
};

}  // namespace pawl::store
