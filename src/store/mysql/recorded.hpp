#pragma once

#include "store/mysql/server.hpp"
#include "store/scheme.hpp"

#include <memory>
#include <string>
#include <vector>

namespace pawl::store::mysql {

/// What all schemes do alike: a claim has a row in pawl_claim, whatever its lock is made of.
class Recorded : public Scheme {
 public:
  explicit Recorded(std::shared_ptr<Server> server) : server_(std::move(server)) {}

  awaitable<Result<Withdrawn>> withdraw(Claim claim, Withdrawal how, Deadline deadline) override;
  awaitable<Result<Standing>> look(Claim claim, Deadline deadline) override;
  awaitable<Result<void>> relabel(Claim claim, Deadline deadline) override;
  void watch(ClaimId claim, Waker waker) override { server_->watch(claim, std::move(waker)); }
  void unwatch(ClaimId claim) override { server_->unwatch(claim); }
  awaitable<Result<LockView>> inspect(LockKey key, Deadline deadline) override;
  awaitable<Result<std::vector<LockView>>> list(std::string prefix, Deadline deadline) override;
  awaitable<Result<bool>> check(LockKey key, Token token, Deadline deadline) override;
  awaitable<Result<bool>> revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) override;

 protected:
  /// As the tables call it: "prefix/kind:name", and "prefix~scheme/kind:name" where it is not the queue's.
  std::string lock_id(const LockKey& key) const { return folder() + lock_in_folder(key); }
  std::vector<std::string> words_of(const Claim& claim) const;
  awaitable<Result<Withdrawn>> withdraw_record(Claim claim, Withdrawal how, Deadline deadline);
  /// Of a procedure that answers with 1 or 0.
  static Result<bool> yes_or_no(const Result<std::vector<Row>>& rows);

  const std::shared_ptr<Server> server_;

 private:
  /// Of one lock (`end` empty), or of all from `first` to below `end` whose names begin with `prefix`: page by page.
  awaitable<Result<std::vector<Row>>> claims_of(std::string first, std::string end, std::string prefix,
                                                Deadline deadline);
  std::string folder() const;
  static std::string lock_in_folder(const LockKey& key);
};

/// Schemes that have mutexes only, which each claim takes by itself.
class Taken : public Recorded {
 public:
  using Recorded::Recorded;
  awaitable<Result<void>> downgrade(Claim claim, Deadline deadline) override;
  awaitable<Result<Succession>> succession(LockKey key, Token after, Deadline deadline) override;

 protected:
  static Result<void> check_mutex(const Claim& claim);
  /// What their procedures take of a claim: claim, session, lock, name, lease, lock-delay, may queue, label.
  std::vector<std::string> words_to_take(const Claim& claim) const;
};

}  // namespace pawl::store::mysql
