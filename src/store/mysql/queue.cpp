#include "store/mysql/queue.hpp"

#include "store/mysql/answers.hpp"
#include "store/rules.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::store::mysql {

constexpr Capabilities Queue::declared = {
    .store = "mysql",
    .scheme = "queue",
    .summary = "a fair queue, one procedure call to claim and one to release",
    .fair = true,
    .wakes_waiters = true,
    .knows_contention = true,
    .shared_mode = true,
    .permits = true,
    .election = true,
    .lock_delay = true,
    .revocable = true,
    .survives_restart = true,
    .shortest_lease = std::chrono::milliseconds(100),
    .longest_lease = std::chrono::hours(24),
    .token_source = "counter in a table, with an epoch for each start of the server",
    .on_client_death = "when its lease ends",
};

awaitable<Result<ClaimState>> Queue::claim(Claim claim, Deadline deadline) {
  if (auto sound = check_sound(claim, std::nullopt); !sound) co_return sound.error();
  std::vector<std::string> words = words_of(claim);
  words.push_back(claim.key.name.bytes());
  words.emplace_back(claim.mode == Mode::shared ? "1" : "0");
  words.push_back(std::to_string(claim.permits.wanted));
  words.push_back(std::to_string(claim.permits.of));
  words.push_back(microseconds(claim.lease));
  words.push_back(microseconds(claim.lock_delay));
  words.emplace_back(claim.may_queue ? "1" : "0");
  words.push_back(claim.label);
  words.push_back(claim.value);
  // Another call for as long as the dead have left too much behind for one.
  for (;;) {
    std::vector<std::string> again = words;
    Result<std::vector<Row>> rows = co_await server_->run("claim", std::move(again), deadline);
    if (!rows) co_return rows.error();
    const bool more = rows->size() == 1 && rows->front()[0] == "more";
    if (!more) co_return state_of(*rows, claim);
  }
}

awaitable<Result<void>> Queue::downgrade(Claim claim, Deadline deadline) {
  const Error not_held{Errc::not_owner, "claim " + to_string(claim.id) + " does not hold " + claim.key.name.quoted()};
  if (claim.key.kind != Kind::rw) co_return not_held;
  Result<std::vector<Row>> rows = co_await server_->run("downgrade", words_of(claim), deadline);
  const Result<bool> done = yes_or_no(rows);
  if (!done) co_return done.error();
  if (!*done) co_return not_held;
  co_return Result<void>();
}

awaitable<Result<Succession>> Queue::succession(LockKey key, Token after, Deadline deadline) {
  std::vector<std::string> words{lock_id(key)};
  Result<std::vector<Row>> rows = co_await server_->run("succession", std::move(words), deadline);
  if (!rows) co_return rows.error();
  co_return succession_of(*rows, after);
}

}  // namespace pawl::store::mysql
