#pragma once

#include "store/file/connection.hpp"
#include "store/notices.hpp"
#include "store/scheme.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pawl::store::file {

/// A fair queue per lock: one transaction per request; whoever leaves names the next holder, and sends one letter.
class Queue final : public Scheme {
 public:
  static const Capabilities declared;

  explicit Queue(std::shared_ptr<Connection> connection);

  const Capabilities& capabilities() const override { return declared; }

  awaitable<Result<ClaimState>> claim(Claim claim, Deadline deadline) override;
  awaitable<Result<Withdrawn>> withdraw(Claim claim, Withdrawal how, Deadline deadline) override;
  std::optional<Result<ClaimState>> claim_now(const Claim& claim) override;
  std::optional<Result<Withdrawn>> withdraw_now(const Claim& claim, Withdrawal how) override;
  awaitable<Result<Standing>> look(Claim claim, Deadline deadline) override;
  awaitable<Result<void>> downgrade(Claim claim, Deadline deadline) override;
  awaitable<Result<void>> relabel(Claim claim, Deadline deadline) override;
  void watch(ClaimId claim, Waker waker) override;
  void unwatch(ClaimId claim) override;
  awaitable<Result<LockView>> inspect(LockKey key, Deadline deadline) override;
  awaitable<Result<Succession>> succession(LockKey key, Token after, Deadline deadline) override;
  awaitable<Result<std::vector<LockView>>> list(std::string prefix, Deadline deadline) override;
  awaitable<Result<bool>> check(LockKey key, Token token, Deadline deadline) override;
  awaitable<Result<bool>> revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) override;

 private:
  struct Answer {
    ClaimState state;
    std::set<ProcessKey> just_ahead;  ///< whose death would be news
  };
  /// Page by page, each in a transaction of its own: a lock that changes meanwhile is seen before or after that.
  using Reading = std::function<Result<Tables::Page>(Tables&, const Tables::Bookmark&)>;
  awaitable<Result<std::vector<LockView>>> read(Reading read, Deadline deadline);
  static Result<Answer> ask(Tables& tables, const Claim& claim);
  Result<ClaimState> conclude(const Claim& claim, Result<Answer> answer);

  const std::shared_ptr<Connection> connection_;
  ClientNotices watched_;
};

}  // namespace pawl::store::file
