#pragma once

#include "store/mysql/on_connection.hpp"

#include <memory>
#include <string>
#include <utility>

namespace pawl::store::mysql {

/// SELECT ... FOR UPDATE in a transaction on a connection for each hold; COMMIT frees it.
/// Limit: row locks are each server's own, so a cluster in which several take writes is refused; an operator's KILL frees the
///        lock at once.
class ForUpdate final : public OnConnection {
 public:
  static const Capabilities declared;  ///< without connections= in the URL
  ForUpdate(std::shared_ptr<Server> server, std::shared_ptr<Pool> pool)
      : OnConnection(std::move(server), std::move(pool), declared) {}

 private:
  awaitable<Result<ClaimState>> take(SharedSeat seat, Claim claim, Deadline deadline) override;
  Statement wait_for(const Claim& claim) const override;
  std::string settings() const override;
  awaitable<Result<void>> mark(SharedSeat seat, Deadline deadline);
  awaitable<Result<bool>> lock_row(SharedSeat seat, std::string lock, Deadline deadline);
  awaitable<Result<Withdrawn>> let_go(SharedSeat seat, Claim claim, Withdrawal how, Deadline deadline) override;
};

}  // namespace pawl::store::mysql
