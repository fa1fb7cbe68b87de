#include "store/file/queue.hpp"

#include <chrono>
#include <utility>

namespace pawl::store::file {

constexpr Capabilities Queue::declared = {
    .store = "file",
    .scheme = "queue",
    .summary = "a queue in a folder, for the processes of one host; no server",
    .fair = true,
    .wakes_waiters = true,
    .knows_contention = true,
    .lock_delay = true,
    .revocable = true,
    .shortest_lease = std::chrono::milliseconds(100),
    .longest_lease = std::chrono::hours(24),
    .token_source = "counter, reserved in blocks in a synced file",
    .on_client_death = "at once; a stopped process: when its lease ends",
};

namespace {

struct Answer {
  ClaimState state;
  std::optional<ProcessKey> just_ahead;
};

Result<Answer> ask(Tables& tables, const Claim& claim) {
  Result<ClaimState> state = tables.claim(claim);
  if (!state) return state.error();
  return Answer{std::move(*state), tables.just_ahead()};
}

}  // namespace

Queue::Queue(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}

Queue::~Queue() {
  for (const auto& [claim, environment] : watched_) {
    if (const auto still = environment.lock()) still->unwatch(claim);
  }
}

awaitable<Result<ClaimState>> Queue::claim(Claim claim, Deadline deadline) {
  const auto now = [&claim](Tables& tables) { return ask(tables, claim); };
  std::optional<Result<Answer>> answer = connection_->visit_now<Answer>(now);
  if (!answer) {
    const Connection::Work<Answer> later = [claim](Tables& tables) { return ask(tables, claim); };
    answer = co_await connection_->visit(later, deadline);
  }
  if (!*answer) co_return answer->error();
  const std::optional<ProcessKey> ahead = (*answer)->just_ahead;
  if (ahead && connection_->environment()) connection_->listener().watch(*ahead, claim.id);
  co_return std::move((*answer)->state);
}

awaitable<Result<Withdrawn>> Queue::withdraw(Claim claim, Withdrawal how, Deadline deadline) {
  const auto now = [&claim, how](Tables& tables) { return tables.withdraw(claim, how); };
  std::optional<Result<Withdrawn>> answer = connection_->visit_now<Withdrawn>(now);
  if (!answer) {
    const Connection::Work<Withdrawn> later = [claim, how](Tables& tables) -> Result<Withdrawn> {
      return tables.withdraw(claim, how);
    };
    answer = co_await connection_->visit(later, deadline);
  }
  if (answer->code() == Errc::lost) co_return Withdrawn::not_there;  // with the folder
  co_return std::move(*answer);
}

awaitable<Result<Standing>> Queue::look(Claim claim, Deadline deadline) {
  const Connection::Work<Standing> work = [claim](Tables& tables) -> Result<Standing> { return tables.look(claim); };
  Result<Standing> answer = co_await connection_->visit(work, deadline);
  co_return answer;
}

awaitable<Result<void>> Queue::relabel(Claim claim, Deadline deadline) {
  const Connection::Work<void> work = [claim](Tables& tables) -> Result<void> {
    tables.relabel(claim);
    return {};
  };
  Result<void> answer = co_await connection_->visit(work, deadline);
  co_return answer;
}

void Queue::watch(ClaimId claim, Waker waker) {
  const auto& environment = connection_->environment();
  if (!environment) return;  // its session is lost, as the claim will be told
  watched_[claim] = environment;
  environment->watch(claim, std::move(waker));
}

void Queue::unwatch(ClaimId claim) {
  const auto found = watched_.find(claim);
  if (found == watched_.end()) return;
  if (const auto environment = found->second.lock()) environment->unwatch(claim);
  if (connection_->environment()) connection_->listener().forget(claim);
  watched_.erase(found);
}

awaitable<Result<LockView>> Queue::inspect(LockKey key, Deadline deadline) {
  Result<void> ready = co_await connection_->connect(deadline);
  if (!ready) co_return ready.error();
  const Connection::Work<LockView> work = [key](Tables& tables) -> Result<LockView> { return tables.inspect(key); };
  Result<LockView> answer = co_await connection_->visit(work, deadline);
  co_return answer;
}

awaitable<Result<std::vector<LockView>>> Queue::list(std::string prefix, Deadline deadline) {
  using Views = std::vector<LockView>;
  Result<void> ready = co_await connection_->connect(deadline);
  if (!ready) co_return ready.error();
  const Connection::Work<Views> work = [prefix](Tables& tables) -> Result<Views> { return tables.list(prefix); };
  Result<Views> answer = co_await connection_->visit(work, deadline);
  co_return answer;
}

awaitable<Result<bool>> Queue::check(LockKey key, Token token, Deadline deadline) {
  Result<void> ready = co_await connection_->connect(deadline);
  if (!ready) co_return ready.error();
  const Connection::Work<bool> work = [key, token](Tables& tables) -> Result<bool> { return tables.check(key, token); };
  Result<bool> answer = co_await connection_->visit(work, deadline);
  co_return answer;
}

awaitable<Result<bool>> Queue::revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) {
  Result<void> ready = co_await connection_->connect(deadline);
  if (!ready) co_return ready.error();
  const Connection::Work<bool> work = [key, claim, now](Tables& tables) -> Result<bool> {
    return now ? tables.take_away(key, claim) : tables.ask_to_release(key, claim);
  };
  Result<bool> answer = co_await connection_->visit(work, deadline);
  co_return answer;
}

}  // namespace pawl::store::file
