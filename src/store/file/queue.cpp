#include "store/file/queue.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <tuple>
#include <utility>

namespace pawl::store::file {

constexpr Capabilities Queue::declared = {
    .store = "file",
    .scheme = "queue",
    .summary = "a queue in a folder, for the processes of one host; no server",
    .fair = true,
    .wakes_waiters = true,
    .knows_contention = true,
    .shared_mode = true,
    .permits = true,
    .election = true,
    .lock_delay = true,
    .revocable = true,
    .has_server = false,
    .shortest_lease = std::chrono::milliseconds(100),
    .longest_lease = std::chrono::hours(24),
    .token_source = "counter, reserved in blocks in a synced file",
    .on_client_death = "at once; a stopped process: when its lease ends",
};

namespace {

void append(std::vector<ClaimView>& to, std::vector<ClaimView> more) {
  std::move(more.begin(), more.end(), std::back_inserter(to));
}

void append(std::vector<LockView>& views, Tables::Page page) {
  auto next = page.views.begin();
  if (page.continues && next != page.views.end() && !views.empty()) {
    append(views.back().holders, std::move(next->holders));
    append(views.back().waiters, std::move(next->waiters));
    ++next;
  }
  std::move(next, page.views.end(), std::back_inserter(views));
}

}  // namespace

Result<Queue::Answer> Queue::ask(Tables& tables, const Claim& claim) {
  Result<ClaimState> state = tables.claim(claim);
  if (!state) return state.error();
  return Answer{std::move(*state), tables.just_ahead()};
}

Queue::Queue(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}

std::optional<Result<ClaimState>> Queue::claim_now(const Claim& claim) {
  const auto work = [&claim](Tables& tables) { return ask(tables, claim); };
  std::optional<Result<Answer>> answer = connection_->visit_now<Answer>(work);
  if (!answer) return std::nullopt;
  return conclude(claim, std::move(*answer));
}

awaitable<Result<ClaimState>> Queue::claim(Claim claim, Deadline deadline) {
  if (auto now = claim_now(claim)) co_return std::move(*now);
  const Connection::Work<Answer> work = [claim](Tables& tables) { return ask(tables, claim); };
  Result<Answer> answer = co_await connection_->visit(work, deadline);
  co_return conclude(claim, std::move(answer));
}

Result<ClaimState> Queue::conclude(const Claim& claim, Result<Answer> answer) {
  if (!answer) return answer.error();
  if (!answer->just_ahead.empty() && connection_->environment()) {
    connection_->listener().watch(answer->just_ahead, claim.id);
  }
  return std::move(answer->state);
}

std::optional<Result<Withdrawn>> Queue::withdraw_now(const Claim& claim, Withdrawal how) {
  const auto work = [&claim, how](Tables& tables) { return tables.withdraw(claim, how); };
  return connection_->visit_now<Withdrawn>(work);
}

awaitable<Result<Withdrawn>> Queue::withdraw(Claim claim, Withdrawal how, Deadline deadline) {
  if (auto now = withdraw_now(claim, how)) co_return std::move(*now);
  const Connection::Work<Withdrawn> work = [claim, how](Tables& tables) -> Result<Withdrawn> {
    return tables.withdraw(claim, how);
  };
  Result<Withdrawn> answer = co_await connection_->visit(work, deadline);
  if (answer.code() == Errc::lost) co_return Withdrawn::not_there;  // with the folder
  co_return answer;
}

awaitable<Result<Standing>> Queue::look(Claim claim, Deadline deadline) {
  const Connection::Work<Standing> work = [claim](Tables& tables) -> Result<Standing> { return tables.look(claim); };
  Result<Standing> answer = co_await connection_->visit(work, deadline);
  co_return answer;
}

awaitable<Result<void>> Queue::downgrade(Claim claim, Deadline deadline) {
  const Connection::Work<void> work = [claim](Tables& tables) { return tables.downgrade(claim); };
  Result<void> answer = co_await connection_->visit(work, deadline);
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
  const std::shared_ptr<Notices> notices(environment, &environment->notices());
  watched_.watch(notices, claim, std::move(waker));
}

void Queue::unwatch(ClaimId claim) {
  watched_.unwatch(claim);
  if (connection_->environment()) connection_->listener().forget(claim);
}

awaitable<Result<std::vector<LockView>>> Queue::read(Reading read, Deadline deadline) {
  Result<void> ready = co_await connection_->connect(deadline);
  if (!ready) co_return ready.error();
  std::vector<LockView> views;
  std::optional<Tables::Bookmark> next = Tables::Bookmark();
  while (next) {
    const Connection::Work<Tables::Page> work = [read, from = *next](Tables& tables) { return read(tables, from); };
    Result<Tables::Page> page = co_await connection_->visit(work, deadline);
    if (!page) co_return page.error();
    next = std::move(page->next);
    append(views, std::move(*page));
  }
  co_return views;
}

awaitable<Result<LockView>> Queue::inspect(LockKey key, Deadline deadline) {
  const Reading reading = [key](Tables& tables, const Tables::Bookmark& from) { return tables.inspect(key, from); };
  Result<std::vector<LockView>> views = co_await read(reading, deadline);
  if (!views) co_return views.error();
  co_return std::move(views->front());
}

awaitable<Result<Succession>> Queue::succession(LockKey key, Token after, Deadline deadline) {
  Result<void> ready = co_await connection_->connect(deadline);
  if (!ready) co_return ready.error();
  const Connection::Work<Succession> work = [key, after](Tables& tables) -> Result<Succession> {
    return tables.succession(key, after);
  };
  Result<Succession> answer = co_await connection_->visit(work, deadline);
  co_return answer;
}

awaitable<Result<std::vector<LockView>>> Queue::list(std::string prefix, Deadline deadline) {
  const Reading reading = [prefix](Tables& tables, const Tables::Bookmark& from) { return tables.list(prefix, from); };
  Result<std::vector<LockView>> views = co_await read(reading, deadline);
  if (!views) co_return views.error();
  std::sort(views->begin(), views->end(), [](const LockView& one, const LockView& other) {
    return std::tie(one.kind, one.name) < std::tie(other.kind, other.name);
  });
  co_return std::move(*views);
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
