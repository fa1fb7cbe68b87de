#pragma once

#include "store/redis/scripted.hpp"

#include <memory>
#include <string>
#include <vector>

namespace pawl::store::redis {

/// Schemes whose lease sits on the lock's own key, in the layout of other people's clients: `simple` and `redisson`.
class KeyLease : public Scripted {
 public:
  using Scripted::Scripted;

  awaitable<Result<ClaimState>> claim(Claim claim, Deadline deadline) override;
  awaitable<Result<void>> downgrade(Claim claim, Deadline deadline) override;
  awaitable<Result<LockView>> inspect(LockKey key, Deadline deadline) override;
  awaitable<Result<Succession>> succession(LockKey key, Token after, Deadline deadline) override;
  awaitable<Result<std::vector<LockView>>> list(std::string prefix, Deadline deadline) override;
  awaitable<Result<bool>> check(LockKey key, Token token, Deadline deadline) override;
  void unwatch(ClaimId claim) override;

 protected:
  /// The hash's field for a claim; empty where there is no hash.
  virtual std::string field(ClaimId claim) const = 0;
  /// On which others are told that it is free; empty where nobody is.
  virtual std::string channel(const std::string& key) const = 0;

 private:
  std::string lock_id(const LockKey& key) const override;
  std::string key_of(const LockKey& key) const;
  awaitable<Result<Reply>> ask(Claim claim, Deadline deadline);
};

/// The seeds' lock: SET key value NX PX lease, compare-and-delete, watchdog. The same bytes as redis-py's Lock.
class Simple final : public KeyLease {
 public:
  static const Capabilities declared;
  using KeyLease::KeyLease;
  const Capabilities& capabilities() const override { return declared; }

 private:
  std::string field(ClaimId) const override { return {}; }
  std::string channel(const std::string&) const override { return {}; }
};

/// Redisson's RLock: a hash with the field uuid:thread and the count in it, and a word on a channel when it is free.
class Redisson final : public KeyLease {
 public:
  static const Capabilities declared;
  using KeyLease::KeyLease;
  const Capabilities& capabilities() const override { return declared; }

 private:
  std::string field(ClaimId claim) const override;
  std::string channel(const std::string& key) const override;
};

}  // namespace pawl::store::redis
