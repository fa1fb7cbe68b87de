#include "store/mysql/named.hpp"

#include "base/sha256.hpp"
#include "store/mysql/answers.hpp"

#include <chrono>
#include <utility>
#include <vector>

namespace pawl::store::mysql {

constexpr Capabilities Named::declared = {
    .store = "mysql",
    .scheme = "named",
    .summary = "GET_LOCK, on a connection for each hold; freed with the connection",
    .wakes_waiters = true,
    .revocable = true,
    .bounded_by_lease = false,
    .shortest_lease = std::chrono::seconds(1),
    .longest_lease = std::chrono::hours(24),
    .token_source = "counter in a table, with an epoch for each start of the server",
    .on_client_death = "when its connection ends; a stopped client's, when its lease ends",
    .most_held = Config().most_held,
};

std::string Named::user_lock(const LockKey& key) const {
  return base::sha256_hex(server_->config().database + "/" + lock_id(key));
}

awaitable<Result<ClaimState>> Named::take(SharedSeat seat, Claim claim, Deadline deadline) {
  std::vector<std::string> words = words_to_take(claim);
  words.push_back(user_lock(claim.key));
  Result<std::vector<Row>> rows = co_await ask(seat, Statement::call("named_claim", std::move(words)), deadline);
  if (!rows) co_return rows.error();
  co_return state_of(*rows, claim);
}

Statement Named::wait_for(const Claim& claim) const {
  const std::int64_t seconds = std::chrono::floor<std::chrono::seconds>(longest_wait).count();
  return {"SELECT GET_LOCK(CONVERT(? USING ascii), " + std::to_string(seconds) + ")", {user_lock(claim.key)}};
}

awaitable<Result<Withdrawn>> Named::let_go(SharedSeat seat, Claim claim, Withdrawal how, Deadline deadline) {
  Statement statement = Statement::call("named_withdraw", words_to_withdraw(claim, how));
  Result<std::vector<Row>> rows = co_await ask(seat, std::move(statement), deadline);
  co_return withdrawn(rows);
}

}  // namespace pawl::store::mysql
