#include "store/mysql/named.hpp"

#include "base/sha256.hpp"
#include "base/wakeup.hpp"
#include "store/mysql/answers.hpp"

#include <chrono>
#include <utility>
#include <vector>

namespace pawl::store::mysql {

namespace {

constexpr Duration forget_after = std::chrono::milliseconds(100);

}  // namespace

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
    .most_held = Config::default_most_held,
};

std::string Named::user_lock(const LockKey& key) const {
  return base::sha256_hex(server_->config().database + "/" + lock_id(key));
}

awaitable<Result<ClaimState>> Named::take(SharedSeat seat, Claim claim, Deadline deadline) {
  if (auto local = server_->check_local_locks(); !local) co_return local.error();
  std::vector<std::string> words = words_to_take(claim);
  words.push_back(user_lock(claim.key));
  Result<std::vector<Row>> rows = co_await ask(seat, Statement::call("named_claim", std::move(words)), deadline);
  if (!rows) co_return rows.error();
  std::vector<Row> state = co_await server_->wake_sleepers(std::move(*rows));
  co_return state_of(state, claim);
}

Statement Named::wait_for(const Claim& claim) const {
  const std::int64_t seconds = std::chrono::floor<std::chrono::seconds>(longest_wait).count();
  return {"SELECT GET_LOCK(CONVERT(? USING ascii), " + std::to_string(seconds) + ")", {user_lock(claim.key)}};
}

awaitable<Result<Withdrawn>> Named::let_go(SharedSeat seat, Claim claim, Withdrawal how, Deadline deadline) {
  Statement release("SELECT RELEASE_ALL_LOCKS()", {});
  if (how.unsettled || how.ending == Ending::failed) {
    Result<Withdrawn> done = co_await withdraw_record(claim, how, deadline);
    if (!done) co_return done;
    Result<std::vector<Row>> freed = co_await ask(seat, std::move(release), deadline);
    if (!freed) seat->over = true;  // it is broken off, and frees the lock so
    co_return done;
  }
  Result<std::vector<Row>> freed = co_await ask(seat, std::move(release), deadline);
  if (!freed) co_return freed.error();
  freed_->claims.push_back(to_string(claim.id));
  if (!std::exchange(freed_->under_way, true)) {
    base::Runtime& runtime = server_->runtime();
    base::spawn(runtime, forget(server_, runtime, freed_));
  }
  co_return Withdrawn::done;
}

// A claim of the same lock may be faster, and take the record away itself: pawl_record().
awaitable<void> Named::forget(std::weak_ptr<Server> weak, base::Runtime& runtime, std::shared_ptr<Freed> freed) {
  while (!freed->claims.empty()) {
    base::Wakeup pause(runtime);
    co_await pause.wait(base::after(runtime.now(), forget_after));
    const auto server = weak.lock();
    if (!server) break;
    const std::vector<std::string> claims = std::exchange(freed->claims, {});
    std::string ids;
    for (const std::string& claim : claims) ids += claim + ",";
    std::vector<std::string> words{ids};
    const Deadline deadline = Deadline::in(runtime.now(), server->config().timeout);
    Result<std::vector<Row>> done = co_await server->run("forget", std::move(words), deadline);
    if (!done) freed->claims.insert(freed->claims.end(), claims.begin(), claims.end());
  }
  freed->under_way = false;
}

}  // namespace pawl::store::mysql
