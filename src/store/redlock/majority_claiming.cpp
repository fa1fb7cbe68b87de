// A try to take a lock: all nodes are asked at once, and those that are behind are raised. A try that fails is undone on all of
// them.

#include "store/redis/answers.hpp"
#include "store/redlock/layout.hpp"
#include "store/redlock/majority.hpp"
#include "store/redlock/scripts.hpp"
#include "store/rules.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace pawl::store::redlock {

namespace {

Error withdrawn_before(const Claim& claim) {
  return {Errc::not_owner,
          "lock " + claim.key.name.quoted() + ": claim " + to_string(claim.id) + " was withdrawn or taken away"};
}

Error ended_before(const Claim& claim) {
  return {Errc::lost, "lock " + claim.key.name.quoted() + ": the session of this claim has ended"};
}

}  // namespace

bool Majority::is_live(SessionId session) const {
  const auto found = sessions_.find(session);
  return found != sessions_.end() &&
         cluster_->runtime().now() < base::after(found->second.confirmed, found->second.lease);
}

Result<Majority::SharedEntry> Majority::entry_of(const Claim& claim) {
  const base::Time now = cluster_->runtime().now();
  std::erase_if(gone_, [now](const auto& one) { return one.second <= now; });
  if (gone_.contains(claim.id)) return withdrawn_before(claim);
  if (!is_live(claim.session)) return ended_before(claim);
  SharedEntry& entry = entries_[claim.id];
  if (!entry) entry = std::make_shared<Entry>(claim, sessions_.at(claim.session).owner, cluster_->size());
  if (!entry->held && !entry->asking) entry->claim = claim;
  if (entry->claim.key != claim.key) {
    return Error{Errc::invalid_argument, "claim " + to_string(claim.id) + " is another lock's"};
  }
  return entry;
}

/// Why the claim is not to be made any more; ok: it is.
Error Majority::why_not(const SharedEntry& entry) const {
  const Claim& claim = entry->claim;
  if (!sessions_.contains(claim.session)) return ended_before(claim);
  const auto found = entries_.find(claim.id);
  const bool known = found != entries_.end() && found->second == entry;
  return known ? Error() : withdrawn_before(claim);
}

Words Majority::acquire_words(const Attempt& attempt, const Owner& owner, bool may_queue,
                              std::string_view token_counter) {
  const Config& config = cluster_->config();
  const Claim& claim = attempt.claim;
  const std::string lock = lock_id(claim.key);
  const std::uint32_t bucket = bucket_of(lock);
  Words words{to_string(claim.id), key_of(config, claim.key), lock, std::to_string(bucket)};
  words.push_back(std::to_string(highest_seen_[bucket]));
  words.push_back(std::to_string(attempt.number));
  words.push_back(redis::milliseconds(lease_on_nodes(config, claim)));
  words.push_back(redis::milliseconds(claim.lock_delay));
  words.push_back(may_queue ? "1" : "0");
  words.push_back(to_string(claim.session));
  words.push_back(owner.host);
  words.push_back(std::to_string(owner.pid));
  words.push_back(claim.label.empty() ? owner.label : claim.label);
  words.push_back(claim.key.name.bytes());
  words.push_back(token_counter);
  return words;
}

void Majority::ask_for_votes(const SharedAttempt& attempt, const Owner& owner) {
  const Words words = acquire_words(*attempt, owner, attempt->claim.may_queue, "");
  const Cluster::Hear hear = [attempt](std::size_t node, const Result<Reply>& answer) {
    attempt->hear_acquired(node, answer);
  };
  for (std::size_t i = 0; i < cluster_->size(); ++i) {
    ++attempt->outstanding[i];
    attempt->asks_to_acquire(i, cluster_->link(i));
    cluster_->ask(i, attempt->epoch, scripts().acquire, words, attempt->deadline, hear);
  }
}

void Majority::raise_those_behind(const SharedAttempt& attempt) {
  const LockKey& key = attempt->claim.key;
  const std::uint64_t target = attempt->vote.target();
  const Words words{to_string(attempt->claim.id), key_of(cluster_->config(), key),
                    std::to_string(bucket_of(lock_id(key))), std::to_string(target)};
  const Cluster::Hear hear = [attempt, target](std::size_t node, const Result<Reply>& answer) {
    attempt->hear_raised(node, answer, target);
  };
  for (const std::size_t node : attempt->vote.to_raise()) {
    ++attempt->outstanding[node];
    cluster_->ask(node, attempt->epoch, scripts().raise, words, attempt->deadline, hear);
  }
}

/// Granted or refused.
awaitable<Vote::Step> Majority::vote(SharedAttempt attempt, Owner owner) {
  const auto cluster = cluster_;
  base::Runtime& runtime = cluster->runtime();
  ask_for_votes(attempt, owner);
  base::Time until = cluster->node_deadline(attempt->deadline).at;
  for (;;) {
    const Vote::Step step = attempt->gone ? Vote::Step::refused : attempt->vote.next(runtime.now());
    if (step == Vote::Step::granted || step == Vote::Step::refused) co_return step;
    if (step == Vote::Step::raise) {
      raise_those_behind(attempt);
      until = cluster->node_deadline(attempt->deadline).at;
    } else if (runtime.now() >= until) {
      attempt->give_up_on_the_silent(*cluster);
      until = cluster->node_deadline(attempt->deadline).at;
    } else {
      co_await attempt->wakeup.wait(until);
    }
  }
}

// On every node that may have anything of it, also those that gave no answer: what was sent may still arrive.
void Majority::undo(const SharedAttempt& attempt, bool goes_on_waiting) {
  attempt->over = true;
  for (std::size_t i = 0; i < cluster_->size(); ++i) {
    Trace& trace = (*attempt->traces)[i];
    const bool stays = trace.left() == Trace::Left::nothing || (goes_on_waiting && trace.left() == Trace::Left::place);
    if (stays) continue;
    Release how;
    how.up_to_try = attempt->number;
    how.unsettled = trace.unsettled();
    how.goes_on_waiting = goes_on_waiting;
    trace.leave(goes_on_waiting);
    cluster_->release(i, attempt->claim, how, [](std::size_t, const Result<Reply>&) {});
  }
}

Duration Majority::random_delay() {
  const Duration delay = std::max<Duration>(cluster_->config().delay, std::chrono::milliseconds(1));
  const auto span = static_cast<std::uint64_t>(delay.count());
  return delay / 2 + Duration(static_cast<std::int64_t>(cluster_->runtime().random() % span));
}

Waiting Majority::waiting_for(Entry& entry, Vote::Why why) {
  const Attempt& attempt = *entry.last;
  Waiting waiting{random_delay()};
  if (attempt.in_lock_delay) waiting.shut_for = attempt.left;
  waiting.holder = attempt.holder;
  const bool split = why == Vote::Why::split || why == Vote::Why::too_late;
  entry.splits = split ? entry.splits + 1 : 0;
  // No claim has it: the first one that asks again, and alone, gets it.
  const bool soon = split && entry.splits <= cluster_->config().tries;
  if (soon) waiting.look_again_in = random_delay() / 8;
  if (!split && attempt.left > Duration::zero()) {
    const Duration end = attempt.left + std::chrono::milliseconds(1) + random_delay() / 16;
    waiting.look_again_in = std::min(waiting.look_again_in, end);
  }
  return waiting;
}

Result<ClaimState> Majority::refused(Entry& entry, Vote::Why why) {
  if (why != Vote::Why::unreachable) return ClaimState{waiting_for(entry, why)};
  const Error& trouble = entry.last->trouble;
  const bool about_the_nodes =
      trouble.code == Errc{} || trouble.code == Errc::outcome_unknown || trouble.code == Errc::store_unavailable;
  Error error = too_few_answers();
  if (!about_the_nodes) error.code = trouble.code;
  if (!trouble.message.empty()) error.message += ": " + trouble.message;
  return error;
}

awaitable<Result<ClaimState>> Majority::claim(Claim claim, Deadline deadline) {
  if (claim.key.kind != Kind::mutex) co_return only_mutexes();
  if (auto sound = check_sound(claim, std::nullopt); !sound) co_return sound.error();
  const auto cluster = cluster_;
  base::Runtime& runtime = cluster->runtime();
  const Result<SharedEntry> known = entry_of(claim);
  if (!known) co_return known.error();
  const SharedEntry entry = *known;
  if (entry->held && runtime.now() < base::after(entry->since, claim.lease) - base::drift(claim.lease)) {
    co_return ClaimState{Granted{entry->token}};
  }
  if (entry->asking) co_return ClaimState{Waiting{std::chrono::milliseconds(5)}};
  entry->held = false;
  entry->asking = true;
  Result<void> up = co_await cluster->connect(deadline);
  if (up) up = co_await announce_anew(claim.session, deadline);
  // Much may have happened meanwhile: an outage may be longer than the lease.
  const Error none = why_not(entry);
  if (none.code != Errc{} || !up) {
    entry->asking = false;
    co_return none.code != Errc{} ? none : up.error();
  }
  const auto attempt = std::make_shared<Attempt>(*cluster, entry->claim, entry->traces, ++last_try_, deadline);
  entry->last = attempt;
  const Vote::Step step = co_await vote(attempt, entry->owner);
  entry->asking = false;
  const Error over = why_not(entry);
  const bool wanted = over.code == Errc{};
  const bool granted = wanted && step == Vote::Step::granted;
  const Vote::Why why = attempt->vote.why(runtime.now());
  if (!granted) undo(attempt, wanted && !attempt->gone && claim.may_queue && why != Vote::Why::unreachable);
  if (!wanted) co_return over;
  if (attempt->gone) co_return withdrawn_before(claim);
  if (!granted) {
    Result<ClaimState> answer = refused(*entry, why);
    if (!claim.may_queue) entries_.erase(claim.id);
    co_return answer;
  }
  const std::uint64_t counter = attempt->vote.token();
  highest_seen_[bucket_of(lock_id(claim.key))] = counter;
  entry->held = true;
  entry->splits = 0;
  entry->asked_to_let_go = false;
  entry->token = Token(attempt->epoch, counter);
  entry->since = attempt->sent;
  attempt->over = true;
  co_return ClaimState{Granted{entry->token}};
}

}  // namespace pawl::store::redlock
