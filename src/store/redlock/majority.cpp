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

Error only_mutexes() { return {Errc::unsupported, "this scheme has mutexes only"}; }

awaitable<Result<void>> Majority::downgrade(Claim, Deadline) { co_return only_mutexes(); }

awaitable<Result<Succession>> Majority::succession(LockKey, Token, Deadline) { co_return only_mutexes(); }

// The lease is announced first: a node that loses its data waits for the longest of them before it votes again.
awaitable<Result<SessionGrant>> Majority::open_session(SessionRequest request, Deadline deadline) {
  const auto cluster = cluster_;
  const Duration lease = std::clamp(request.lease, declared.shortest_lease, declared.longest_lease);
  const base::Time sent = cluster->runtime().now();
  Result<void> up = co_await cluster->connect(deadline);
  if (!up) co_return up.error();
  const auto question = std::make_shared<Question>(*cluster);
  const Words words{redis::milliseconds(lease + cluster->config().drift)};
  cluster->ask_all(scripts().announce, words, deadline,
                   [question](std::size_t, const Result<Reply>& answer) { question->count(answer); });
  co_await Answers::wait(question, cluster, deadline);
  if (question->verdict() != Poll::Verdict::yes) co_return too_few_answers();
  const SessionId id = cluster->runtime().make_id<SessionId>();
  Session session;
  session.lease = lease;
  session.owner = request.owner;
  session.confirmed = sent;
  sessions_.emplace(id, std::move(session));
  co_return SessionGrant{id, lease};
}

}  // namespace pawl::store::redlock
