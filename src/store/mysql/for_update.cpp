#include "store/mysql/for_update.hpp"

#include "base/ids.hpp"
#include "store/mysql/answers.hpp"

#include <mariadb/mysqld_error.h>

#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pawl::store::mysql {

namespace {

/// Another transaction has it. MySQL has a number of its own for NOWAIT.
bool is_taken(unsigned number) {
  constexpr unsigned mysql_no_wait = 3572;
  return number == ER_LOCK_WAIT_TIMEOUT || number == mysql_no_wait;
}

}  // namespace

constexpr Capabilities ForUpdate::declared = {
    .store = "mysql",
    .scheme = "for-update",
    .summary = "SELECT ... FOR UPDATE, in a transaction on a connection for each hold; freed with the connection",
    .wakes_waiters = true,
    .revocable = true,
    .bounded_by_lease = false,
    .shortest_lease = std::chrono::seconds(1),
    .longest_lease = std::chrono::hours(24),
    .token_source = "counter in a table, with an epoch for each start of the server",
    .on_client_death = "when its connection ends; a stopped client's, when its lease ends",
    .most_held = Config::default_most_held,
};

awaitable<Result<ClaimState>> ForUpdate::take(SharedSeat seat, Claim claim, Deadline deadline) {
  if (auto local = server_->check_local_locks(); !local) co_return local.error();
  bool got = seat->has_lock;
  if (!got) {
    Result<void> marked = co_await mark(seat, deadline);
    if (!marked) co_return marked.error();
    Result<bool> locked = co_await lock_row(seat, lock_id(claim.key), deadline);
    if (!locked) co_return locked.error();
    got = *locked;
  }
  Result<ClaimState> state = co_await record(claim, got, seat->mark, deadline);
  if (!state || !std::holds_alternative<Granted>(*state)) co_return state;
  // The token was committed on another connection. Had this one been lost before, another claim's token could be smaller than
  // this, and its lock the newer one.
  Statement word("SELECT 1", {});
  Result<std::vector<Row>> lives = co_await ask(seat, std::move(word), deadline);
  if (!lives) co_return lives.error();
  co_return state;
}

// The server frees it together with the connection: pawl_record() sees by it that the connection lives.
awaitable<Result<void>> ForUpdate::mark(SharedSeat seat, Deadline deadline) {
  if (!seat->mark.empty()) co_return Result<void>();
  const std::string mark = base::to_string(server_->runtime().make_id<ClaimId>());
  Statement lock("SELECT GET_LOCK(CONCAT('pawl.', CONVERT(? USING ascii)), 0)", {mark});
  Result<std::vector<Row>> rows = co_await ask(seat, std::move(lock), deadline);
  if (!rows) co_return rows.error();
  if (rows->size() != 1 || rows->front().front() != "1") co_return unexpected();
  seat->mark = mark;
  co_return Result<void>();
}

// In a transaction that goes on until COMMIT.
awaitable<Result<bool>> ForUpdate::lock_row(SharedSeat seat, std::string lock, Deadline deadline) {
  for (;;) {
    Statement no_wait("SELECT 1 FROM pawl_for_update WHERE lock_name = ? FOR UPDATE NOWAIT", {lock});
    Result<Answer> answer = co_await seat->connection->call(std::move(no_wait), deadline, Turn::in_order);
    if (!answer) co_return answer.error();
    if (is_taken(answer->refused)) co_return false;
    if (answer->refused != 0) co_return error_of(*answer);
    if (answer->rows.size() == 1) co_return true;
    // Committed at once, and it stays: two who find no row and INSERT one into their transactions may dead-lock each other.
    Statement insert("INSERT IGNORE INTO pawl_for_update VALUES (?)", {lock});
    Result<std::vector<Row>> made = co_await ask(seat, std::move(insert), deadline);
    if (!made) co_return made.error();
    Statement commit("COMMIT", {});
    Result<std::vector<Row>> committed = co_await ask(seat, std::move(commit), deadline);
    if (!committed) co_return committed.error();
  }
}

std::string ForUpdate::settings() const {
  const std::int64_t seconds = std::chrono::floor<std::chrono::seconds>(longest_wait).count();
  return ", SESSION autocommit = 0, SESSION innodb_lock_wait_timeout = " + std::to_string(seconds);
}

Statement ForUpdate::wait_for(const Claim& claim) const {
  return {"SELECT 1 FROM pawl_for_update WHERE lock_name = ? FOR UPDATE", {lock_id(claim.key)}};
}

awaitable<Result<Withdrawn>> ForUpdate::let_go(SharedSeat seat, Claim claim, Withdrawal how, Deadline deadline) {
  Result<Withdrawn> done = co_await withdraw_record(claim, how, deadline);
  if (!done) co_return done;
  Statement commit("COMMIT", {});
  Result<std::vector<Row>> freed = co_await ask(seat, std::move(commit), deadline);
  if (!freed) seat->over = true;  // it is broken off, and frees the lock so
  co_return done;
}

}  // namespace pawl::store::mysql
