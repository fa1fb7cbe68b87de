#include "store/redlock/majority.hpp"

#include "store/redis/answers.hpp"
#include "store/redlock/layout.hpp"
#include "store/redlock/scripts.hpp"

#include <algorithm>
#include <chrono>

namespace pawl::store::redlock {

constexpr Capabilities Majority::declared = {
    .store = "redlock",
    .scheme = "majority",
    .summary = "Redlock: held on a majority of independent Redis masters, with tokens and membership",
    .lock_delay = true,
    .revocable = true,
    .shortest_lease = std::chrono::milliseconds(100),
    .longest_lease = std::chrono::hours(24),
    .token_source = "counters on the nodes, raised on a majority before the grant, with an epoch for the cluster",
    .on_client_death = "when its lease ends",
};

namespace {

/// A holder is not notified when its lock is taken away: it finds out by its renewal.
constexpr Duration looks_every = std::chrono::seconds(5);

}  // namespace

Error only_mutexes() { return {Errc::unsupported, "this scheme has mutexes only"}; }

awaitable<Result<void>> Majority::downgrade(Claim, Deadline) { co_return only_mutexes(); }

awaitable<Result<Succession>> Majority::succession(LockKey, Token, Deadline) { co_return only_mutexes(); }

// Before a lease is used: a node that loses its data waits for the longest of them before it votes again.
awaitable<Result<void>> Majority::announce(Duration lease, Deadline deadline) {
  const auto cluster = cluster_;
  const auto question = std::make_shared<Question>(*cluster);
  const Words words{redis::milliseconds(lease + cluster->config().drift)};
  cluster->ask_all(scripts().announce, words, deadline,
                   [question](std::size_t node, const Result<Reply>& answer) { question->count(node, answer); });
  co_await Answers::wait(question, cluster, deadline);
  if (question->verdict() != Poll::Verdict::yes) co_return too_few_answers();
  co_return Result<void>();
}

// The members of a new epoch may have forgotten what was announced in the one before.
awaitable<Result<void>> Majority::announce_anew(SessionId session, Deadline deadline) {
  const auto found = sessions_.find(session);
  const std::uint64_t epoch = cluster_->epoch();
  if (found == sessions_.end() || found->second.announced_in == epoch) co_return Result<void>();
  Result<void> announced = co_await announce(found->second.lease, deadline);
  if (!announced) co_return announced;
  const auto still = sessions_.find(session);
  if (still != sessions_.end()) still->second.announced_in = epoch;
  co_return Result<void>();
}

awaitable<Result<SessionGrant>> Majority::open_session(SessionRequest request, Deadline deadline) {
  const auto cluster = cluster_;
  Session session;
  session.lease = std::clamp(request.lease, declared.shortest_lease, declared.longest_lease);
  session.owner = request.owner;
  session.confirmed = cluster->runtime().now();
  Result<void> up = co_await cluster->connect(deadline);
  if (!up) co_return up.error();
  session.announced_in = cluster->epoch();
  Result<void> announced = co_await announce(session.lease, deadline);
  if (!announced) co_return announced.error();
  const SessionId id = cluster->runtime().make_id<SessionId>();
  SessionGrant grant{id, session.lease};
  grant.renew_within = looks_every;
  sessions_.emplace(id, std::move(session));
  co_return grant;
}

}  // namespace pawl::store::redlock
