#pragma once

#include "store/redis/server.hpp"
#include "store/scheme.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace pawl::store::redis {

/// In a key; the lock's record has the whole name.
inline constexpr std::size_t longest_name = 1024;

/// What all schemes do alike: a claim is known to the server by its id, whatever its lock is made of.
class Scripted : public Scheme {
 public:
  explicit Scripted(std::shared_ptr<Server> server) : server_(std::move(server)) {}

  awaitable<Result<Withdrawn>> withdraw(Claim claim, Withdrawal how, Deadline deadline) override;
  awaitable<Result<Standing>> look(Claim claim, Deadline deadline) override;
  awaitable<Result<void>> relabel(Claim claim, Deadline deadline) override;
  awaitable<Result<bool>> revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) override;
  void watch(ClaimId claim, Waker waker) override;
  void unwatch(ClaimId claim) override;

 protected:
  /// As the scripts call it.
  virtual std::string lock_id(const LockKey& key) const = 0;
  /// A script that cleans up what the dead have left behind does a little at a time: until it has come to its own work.
  awaitable<Result<Reply>> run_to_the_end(const Script& script, Words words, Deadline deadline);
  /// What `script` (inspect) tells of each of these locks, in several requests: `words` are those of a lock, one or two.
  awaitable<Result<std::vector<Reply>>> inspect_all(const Script& script, std::vector<Words> locks, Deadline deadline);
  /// Do enough replicas know what this client has seen so far?
  awaitable<Result<void>> replicated(Deadline deadline);
  /// All keys that begin with the prefix and `start`, without that.
  awaitable<Result<std::vector<std::string>>> keys_behind(std::string start, Deadline deadline);

  const std::shared_ptr<Server> server_;
};

}  // namespace pawl::store::redis
