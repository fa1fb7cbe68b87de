#pragma once

#include "store/mysql/on_connection.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pawl::store::mysql {

/// GET_LOCK on a connection for each hold, as DistributedLock.MySql and many frameworks do it, with a token that is committed
/// before the grant.
/// Limit: user locks are one server's own, and of no replica or cluster; an operator's KILL frees them at once.
class Named final : public OnConnection {
 public:
  static const Capabilities declared;  ///< without connections= in the URL
  Named(std::shared_ptr<Server> server, std::shared_ptr<Pool> pool)
      : OnConnection(std::move(server), std::move(pool), declared) {}

 private:
  awaitable<Result<ClaimState>> take(SharedSeat seat, Claim claim, Deadline deadline) override;
  Statement wait_for(const Claim& claim) const override;
  awaitable<Result<Withdrawn>> let_go(SharedSeat seat, Claim claim, Withdrawal how, Deadline deadline) override;
  /// The server allows 64 characters, and takes capital letters for small ones.
  std::string user_lock(const LockKey& key) const;

  /// Records of locks that are free by now. They are taken away several at a time, so that a release waits for no commit.
  struct Freed {
    std::vector<std::string> claims = {};
    bool under_way = false;
  };
  static awaitable<void> forget(std::weak_ptr<Server> weak, base::Runtime& runtime, std::shared_ptr<Freed> freed);

  const std::shared_ptr<Freed> freed_ = std::make_shared<Freed>();
};

}  // namespace pawl::store::mysql
