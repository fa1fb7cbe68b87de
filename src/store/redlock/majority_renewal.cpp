// Renewal: one request to each node for all claims of a session, counted claim by claim. A majority that renews {1,2,3} has
// not renewed a claim that is on {3,4,5}.

#include "store/redis/answers.hpp"
#include "store/redlock/layout.hpp"
#include "store/redlock/majority.hpp"
#include "store/redlock/scripts.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace pawl::store::redlock {

/// A renewal under way.
struct Majority::Round final : Answers {
  struct One {
    One(SharedEntry of, std::size_t nodes) : entry(std::move(of)), was_held(entry->held), poll(nodes) {}
    SharedEntry entry;
    bool was_held;
    Poll poll;
    bool asked_to_let_go = false;
    std::vector<std::size_t> missing = {};  // nodes that have not got it
  };

  explicit Round(Cluster& cluster)
      : Answers(cluster), sent(cluster.runtime().now()), parts_heard_(cluster.size()), incomplete_(cluster.size()) {}

  /// To what was asked of that part of the claims.
  void hear(std::size_t node, std::size_t first, std::size_t count, const Result<Reply>& answer) {
    const bool complete = answer && answer->items.size() == count + 1;
    for (std::size_t i = 0; i < count; ++i) {
      if (complete) {
        hear_of(claims[first + i], node, answer->items[i + 1].number());
      } else {
        claims[first + i].poll.failed();
      }
    }
    incomplete_[node] = incomplete_[node] || !complete;
    if (++parts_heard_[node] < parts) return wakeup_.notify();
    incomplete_[node] ? poll_.failed() : poll_.yes();
    heard(node);
  }

  const base::Time sent;
  std::vector<One> claims = {};
  std::size_t parts = 1;  // requests to each node

 private:
  static void hear_of(One& one, std::size_t node, std::int64_t said) {
    if (said <= 0) {
      one.missing.push_back(node);
      return one.poll.no();
    }
    one.asked_to_let_go = one.asked_to_let_go || said == 2;
    one.poll.yes();
  }
  bool decided() const override {
    const bool open = std::any_of(claims.begin(), claims.end(), [](const One& one) {
      return one.was_held && one.poll.verdict() == Poll::Verdict::open;
    });
    return poll_.pending() == 0 || (poll_.verdict() != Poll::Verdict::open && !open);
  }

  std::vector<std::size_t> parts_heard_;  // by node
  std::vector<bool> incomplete_;
};

Words Majority::renewal_words(const Round& round, std::size_t first, std::size_t count) const {
  const Config& config = cluster_->config();
  Words words;
  for (std::size_t i = first; i < first + count; ++i) {
    const Entry& entry = *round.claims[i].entry;
    words.push_back(to_string(entry.claim.id));
    words.push_back(key_of(config, entry.claim.key));
    words.push_back(lock_id(entry.claim.key));
    words.push_back(redis::milliseconds(life_of(config, entry.claim)));
    words.push_back(entry.held ? std::to_string(entry.token.counter()) : "");
  }
  return words;
}

std::shared_ptr<Majority::Round> Majority::ask_to_renew(SessionId session, Deadline deadline) {
  constexpr std::size_t most_at_once = 500;  // claims in one script: a node does nothing else meanwhile
  const auto round = std::make_shared<Round>(*cluster_);
  for (const auto& [id, entry] : entries_) {
    if (entry->claim.session == session) round->claims.emplace_back(entry, cluster_->size());
  }
  const std::size_t claims = round->claims.size();
  round->parts = std::max<std::size_t>((claims + most_at_once - 1) / most_at_once, 1);
  for (std::size_t part = 0; part < round->parts; ++part) {
    const std::size_t first = part * most_at_once;
    const std::size_t count = std::min(most_at_once, claims - first);
    cluster_->ask_all(scripts().renew, renewal_words(*round, first, count), deadline,
                      [round, first, count](std::size_t node, const Result<Reply>& answer) {
                        round->hear(node, first, count, answer);
                      });
  }
  return round;
}

awaitable<Result<Renewal>> Majority::renew(SessionId session, Deadline deadline) {
  const auto cluster = cluster_;
  base::Runtime& runtime = cluster->runtime();
  const Error ended{Errc::lost, "session " + to_string(session) + " has ended: its lease ran out or it was closed"};
  const auto known = sessions_.find(session);
  if (known == sessions_.end()) co_return ended;
  if (runtime.now() >= base::after(known->second.confirmed, known->second.lease)) {
    [[maybe_unused]] Result<void> closed = co_await close_session(session, deadline);
    co_return ended;
  }
  cluster->help_outsiders();
  Result<void> up = co_await cluster->connect(deadline);
  if (up) up = co_await announce_anew(session, deadline);
  if (!up) co_return up.error();
  const std::shared_ptr<Round> round = ask_to_renew(session, deadline);
  co_await Answers::wait(round, cluster, deadline);
  if (!sessions_.contains(session)) co_return ended;
  Result<Renewal> renewal = count(*round, session);
  if (renewal) top_up(*round);
  co_return renewal;
}

Result<Renewal> Majority::count(const Round& round, SessionId session) {
  if (round.verdict() != Poll::Verdict::yes) {
    return Error{Errc::store_unavailable, "too few nodes have confirmed the renewal"};
  }
  const base::Time now = cluster_->runtime().now();
  Session& state = sessions_[session];
  Renewal renewal;
  renewal.changed.emplace();
  base::Time counts_from = round.sent;
  std::set<ClaimId> renewed;
  for (const Round::One& one : round.claims) {
    Entry& entry = *one.entry;
    const bool held = one.was_held && entry.held;
    if (!held) continue;
    const Poll::Verdict verdict = one.poll.verdict();
    // Silent nodes may have renewed it: it goes on by its old lease for a while, and its neighbours with it.
    const bool may_wait = verdict != Poll::Verdict::no && entry.since + entry.claim.lease - now > entry.claim.lease / 3;
    renewed.insert(entry.claim.id);
    if (verdict == Poll::Verdict::yes) {
      entry.since = std::max(entry.since, round.sent);
      if (one.asked_to_let_go && !entry.asked_to_let_go) renewal.changed->push_back(entry.claim.id);
    } else if (may_wait) {
      counts_from = std::min(counts_from, entry.since);
    } else {
      entry.held = false;
      renewal.unconfirmed.push_back(entry.claim.id);
    }
  }
  // What was granted meanwhile, or is about to be, counts from its own beginning.
  for (const auto& [id, entry] : entries_) {
    if (entry->claim.session != session || renewed.contains(id)) continue;
    if (entry->held) counts_from = std::min(counts_from, entry->since);
    if (entry->asking && entry->last && !entry->last->over) counts_from = std::min(counts_from, entry->last->sent);
  }
  state.confirmed = std::max(state.confirmed, counts_from);
  if (!renewal.changed->empty()) ++state.changes;
  renewal.changes = state.changes;
  renewal.counts_from = counts_from;
  return renewal;
}

// Nodes that have lost it, or were away. They do not count before the next renewal finds it there.
void Majority::top_up(const Round& round) {
  for (const Round::One& one : round.claims) {
    const Entry& entry = *one.entry;
    const bool confirmed = one.was_held && entry.held && one.poll.verdict() == Poll::Verdict::yes && entry.last;
    if (!confirmed || !sessions_.contains(entry.claim.session)) continue;
    const SharedAttempt attempt = entry.last;
    for (const std::size_t node : one.missing) {
      attempt->asks_to_acquire(node, cluster_->link(node));
      Words words = acquire_words(*attempt, entry.owner, false, std::to_string(entry.token.counter()));
      const Deadline soon = cluster_->node_deadline(Deadline::never());
      cluster_->ask(node, cluster_->epoch(), scripts().acquire, std::move(words), soon,
                    [attempt](std::size_t asked, const Result<Reply>& answer) {
                      attempt->hear_acquired(asked, answer);  // behind the vote: only what became of it
                    });
    }
  }
}

}  // namespace pawl::store::redlock
