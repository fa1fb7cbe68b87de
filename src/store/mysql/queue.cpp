#include "store/mysql/queue.hpp"

#include "base/lock_name.hpp"
#include "store/mysql/answers.hpp"
#include "store/rules.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

namespace pawl::store::mysql {

namespace {

/// In an id; the lock's row has the whole name.
constexpr std::size_t longest_name = 160;

Result<bool> yes_or_no(const Result<std::vector<Row>>& rows) {
  if (!rows) return rows.error();
  if (rows->size() != 1 || rows->front().empty()) return unexpected();
  return rows->front().front() == "1";
}

}  // namespace

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

std::string Queue::lock_id(const LockKey& key) const {
  return server_->config().prefix + "/" + std::string(to_string(key.kind)) + ":" +
         base::fit_name(key.name.bytes(), longest_name);
}

std::vector<std::string> Queue::words_of(const Claim& claim) const {
  return {to_string(claim.id), to_string(claim.session), lock_id(claim.key)};
}

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
  Result<std::vector<Row>> rows = co_await server_->run("claim", std::move(words), deadline);
  if (!rows) co_return rows.error();
  co_return state_of(*rows, claim);
}

awaitable<Result<Withdrawn>> Queue::withdraw(Claim claim, Withdrawal how, Deadline deadline) {
  std::vector<std::string> words = words_of(claim);
  words.emplace_back(how.ending == Ending::failed ? "1" : "0");
  words.emplace_back(how.unsettled ? "1" : "0");
  Result<std::vector<Row>> rows = co_await server_->run("withdraw", std::move(words), deadline);
  const Result<bool> done = yes_or_no(rows);
  if (!done) co_return done.error();
  co_return *done ? Withdrawn::done : Withdrawn::not_there;
}

awaitable<Result<Standing>> Queue::look(Claim claim, Deadline deadline) {
  Result<std::vector<Row>> rows = co_await server_->run("look", words_of(claim), deadline);
  if (!rows) co_return rows.error();
  co_return standing_of(*rows);
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

awaitable<Result<void>> Queue::relabel(Claim claim, Deadline deadline) {
  std::vector<std::string> words = words_of(claim);
  words.push_back(claim.label);
  Result<std::vector<Row>> rows = co_await server_->run("relabel", std::move(words), deadline);
  if (!rows) co_return rows.error();
  co_return Result<void>();
}

awaitable<Result<LockView>> Queue::inspect(LockKey key, Deadline deadline) {
  std::vector<std::string> words{lock_id(key), "", ""};
  Result<std::vector<Row>> rows = co_await server_->run("inspect", std::move(words), deadline);
  if (!rows) co_return rows.error();
  std::vector<LockView> views = views_of(*rows, declared.scheme);
  if (!views.empty()) co_return std::move(views.front());
  LockView unused{.kind = key.kind, .scheme = std::string(declared.scheme), .name = key.name.bytes()};
  co_return unused;
}

awaitable<Result<std::vector<LockView>>> Queue::list(std::string prefix, Deadline deadline) {
  std::vector<std::string> words{"", server_->config().prefix + "/", prefix};
  Result<std::vector<Row>> rows = co_await server_->run("inspect", std::move(words), deadline);
  if (!rows) co_return rows.error();
  std::vector<LockView> views = views_of(*rows, declared.scheme);
  std::sort(views.begin(), views.end(), [](const LockView& one, const LockView& other) {
    return std::tie(one.kind, one.name) < std::tie(other.kind, other.name);
  });
  co_return views;
}

awaitable<Result<Succession>> Queue::succession(LockKey key, Token after, Deadline deadline) {
  std::vector<std::string> words{lock_id(key)};
  Result<std::vector<Row>> rows = co_await server_->run("succession", std::move(words), deadline);
  if (!rows) co_return rows.error();
  co_return succession_of(*rows, after);
}

awaitable<Result<bool>> Queue::check(LockKey key, Token token, Deadline deadline) {
  std::vector<std::string> words{lock_id(key), std::to_string(token.epoch()), std::to_string(token.counter())};
  Result<std::vector<Row>> rows = co_await server_->run("check", std::move(words), deadline);
  co_return yes_or_no(rows);
}

awaitable<Result<bool>> Queue::revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) {
  std::vector<std::string> words{to_string(claim), lock_id(key), now ? "1" : "0"};
  Result<std::vector<Row>> rows = co_await server_->run("revoke", std::move(words), deadline);
  co_return yes_or_no(rows);
}

}  // namespace pawl::store::mysql
