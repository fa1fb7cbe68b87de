#include "store/redlock/majority.hpp"

#include "base/lock_name.hpp"
#include "store/redis/answers.hpp"
#include "store/redlock/scripts.hpp"
#include "store/rules.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

namespace pawl::store::redlock {

namespace {

using redis::from_milliseconds;
using redis::milliseconds;
using redis::whole;

constexpr std::size_t longest_name = 1024;  // in a key; the claim's record has the whole name
constexpr std::uint32_t buckets = 1024;     // of names, each with a counter: different locks seldom share one
constexpr Duration tombstone_life = std::chrono::seconds(60);
constexpr std::uint64_t every_try = 1'000'000'000'000;  // for the tombstone of a claim that is over
constexpr std::string_view lock_delay_mark = "lock-delay of ";

Error only_mutexes() { return {Errc::unsupported, "this scheme has mutexes only"}; }

Error withdrawn_before(const Claim& claim) {
  return {Errc::not_owner,
          "lock " + claim.key.name.quoted() + ": claim " + to_string(claim.id) + " was withdrawn or taken away"};
}

Error ended_before(const Claim& claim) {
  return {Errc::lost, "lock " + claim.key.name.quoted() + ": the session of this claim has ended"};
}

/// FNV-1a: the same in every client.
std::uint32_t bucket_of(std::string_view lock) {
  std::uint32_t hash = 2166136261U;
  for (const char c : lock) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash % buckets;
}

bool nothing_was_done(const Result<Reply>& answer) { return answer.code() == Errc::store_unavailable; }

/// Votes on one question, where nothing but the number of answers matters.
struct Count {
  explicit Count(Cluster& cluster) : poll(cluster.size()), wakeup(cluster.runtime()) {}
  bool decided() const { return poll.pending() == 0 || (!of_all && poll.verdict() != Poll::Verdict::open); }

  Poll poll;
  bool of_all = false;   // every answer counts
  bool unknown = false;  // a node may have done what it was asked
  base::Wakeup wakeup;
};

/// Until it is decided, or until those who have not answered have not answered anything for a while.
awaitable<void> wait_for(std::shared_ptr<Cluster> cluster, std::shared_ptr<Count> count, Deadline deadline) {
  base::Runtime& runtime = cluster->runtime();
  const base::Time patient_until = cluster->node_deadline(deadline).at;
  while (!count->decided() && !deadline.passed(runtime.now())) {
    const bool in_vain = runtime.now() >= patient_until && count->poll.pending() <= cluster->silent_nodes();
    if (in_vain) co_return;
    co_await count->wakeup.wait(cluster->node_deadline(deadline).at);
  }
}

Owner owner_of(const std::vector<Reply>& items, std::size_t first) {
  Owner owner;
  owner.host = items[first].text;
  owner.pid = items[first + 1].number();
  owner.label = items[first + 2].text;
  return owner;
}

/// What the nodes have said of one lock.
struct SeenLock {
  struct SeenClaim {
    std::size_t nodes = 0;
    ClaimView view = {};
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> tokens = {};
  };
  std::map<std::string, SeenClaim> holders = {};
  std::map<std::string, SeenClaim> waiters = {};
  std::size_t shut = 0;
  Duration shut_for = {};
};

void see(SeenLock::SeenClaim& seen, const std::string& id, const std::vector<Reply>& record, Duration left) {
  ++seen.nodes;
  seen.view.lease_left = std::max(seen.view.lease_left, left);
  if (record.size() != 10) {
    if (seen.view.claim.empty()) seen.view.owner.foreign = true;
    return;
  }
  seen.view.claim = id;
  seen.view.owner = owner_of(record, 1);
  seen.view.age = std::max(seen.view.age, from_milliseconds(record[5]));
  seen.view.release_requested = seen.view.release_requested || record[8].is("1");
  ++seen.tokens[{whole(record[6].text), whole(record[7].text)}];
}

void see(SeenLock& lock, const Reply& reply) {
  if (reply.items.size() != 4) return;
  const std::string& owner = reply.items[0].text;
  const Duration left = std::max(from_milliseconds(reply.items[1]), Duration::zero());
  if (owner.starts_with(lock_delay_mark)) {
    ++lock.shut;
    lock.shut_for = std::max(lock.shut_for, left);
  } else if (!owner.empty()) {
    see(lock.holders[owner], owner, reply.items[2].items, left);
  }
  const std::vector<Reply>& waiters = reply.items[3].items;
  for (std::size_t i = 0; i + 1 < waiters.size(); i += 2) {
    const std::vector<Reply>& record = waiters[i + 1].items;
    if (record.size() != 10) continue;
    see(lock.waiters[waiters[i].text], waiters[i].text, record, from_milliseconds(record[9]));
  }
}

LockView view_of(const LockKey& key, const SeenLock& seen, std::size_t majority) {
  LockView view{.kind = key.kind, .scheme = std::string(Majority::declared.scheme), .name = key.name.bytes()};
  for (const auto& [id, holder] : seen.holders) {
    if (holder.nodes < majority) continue;
    ClaimView& one = view.holders.emplace_back(holder.view);
    std::size_t most = 0;
    for (const auto& [token, nodes] : holder.tokens) {
      if (nodes <= most) continue;
      most = nodes;
      one.token = Token(token.first, token.second);
    }
  }
  for (const auto& [id, waiter] : seen.waiters) {
    if (waiter.nodes >= majority) view.waiters.push_back(waiter.view);
  }
  if (seen.shut >= majority) view.shut_for = seen.shut_for;
  std::sort(view.waiters.begin(), view.waiters.end(),
            [](const ClaimView& one, const ClaimView& other) { return one.age > other.age; });
  return view;
}

}  // namespace

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

/// One vote under way.
struct Majority::Try {
  Try(Cluster& of, const Entry& entry, std::uint64_t of_try, Duration lease)
      : claim(entry.claim),
        number(of_try),
        epoch(of.epoch()),
        sent(of.runtime().now()),
        vote(of.size(), sent, lease, base::drift(lease)),
        wakeup(of.runtime()),
        answered(of.size()),
        links(of.size()),
        outstanding(of.size()) {}

  /// Whoever has not answered by now will not be waited for.
  void give_up_on_the_silent(const Cluster& cluster, bool all) {
    for (std::size_t i = 0; i < outstanding.size(); ++i) {
      if (!all && !cluster.is_silent(i)) continue;
      if (std::exchange(outstanding[i], 0) > 0) vote.failed(i);
    }
  }

  const Claim claim;
  const std::uint64_t number;
  const std::uint64_t epoch;
  const base::Time sent;
  Vote vote;
  base::Wakeup wakeup;
  std::vector<bool> answered;        // by node: it is known what became of the requests
  std::vector<std::uint64_t> links;  // by node: over which connection they were sent
  std::vector<int> outstanding;      // requests, by node
  Deadline deadline = {};
  base::Time until = {};  // when to look for silent nodes next
  bool over = false;
  bool gone = false;  // a node knows that the claim was withdrawn
  std::optional<Owner> holder = {};
  Duration left = {};  // of the one in the way
  bool in_lock_delay = false;
  Error trouble = {};
};

/// A renewal under way.
struct Majority::Renewing {
  struct One {
    std::shared_ptr<Entry> entry;
    bool was_held = false;
    Poll poll;
    bool asked_to_let_go = false;
    std::vector<std::size_t> missing = {};
  };
  Renewing(Cluster& of) : sent(of.runtime().now()), overall(of.size()), wakeup(of.runtime()) {}

  bool decided() const {
    const bool open = std::any_of(claims.begin(), claims.end(), [](const One& one) {
      return one.was_held && one.poll.verdict() == Poll::Verdict::open;
    });
    return overall.pending() == 0 || (overall.verdict() != Poll::Verdict::open && !open);
  }

  const base::Time sent;
  std::vector<One> claims = {};
  Poll overall;
  base::Wakeup wakeup;
};

std::string Majority::lock_id(const LockKey& key) const {
  return "majority:mutex:" + base::fit_name(key.name.bytes(), longest_name);
}

std::string Majority::key_of(const LockKey& key) const {
  return cluster_->config().raw_names ? key.name.bytes() : cluster_->config().prefix + lock_id(key);
}

// On the nodes, whose clocks may run faster.
Duration Majority::life_of(const Claim& claim) const {
  return claim.lease + claim.lock_delay + cluster_->config().drift;
}

awaitable<Result<SessionGrant>> Majority::open_session(SessionRequest request, Deadline deadline) {
  const auto cluster = cluster_;
  const Duration lease = std::clamp(request.lease, declared.shortest_lease, declared.longest_lease);
  const base::Time sent = cluster->runtime().now();
  Result<void> up = co_await cluster->connect(deadline);
  if (!up) co_return up.error();
  const auto count = std::make_shared<Count>(*cluster);
  const Words words{milliseconds(lease + cluster->config().drift)};
  cluster->ask_all(scripts().announce, words, deadline, [count](std::size_t, const Result<Reply>& answer) {
    answer ? count->poll.yes() : count->poll.failed();
    count->wakeup.notify();
  });
  co_await wait_for(cluster, count, deadline);
  if (count->poll.verdict() != Poll::Verdict::yes) {
    co_return Error{Errc::store_unavailable, "too few nodes have answered to open a session"};
  }
  const SessionId id = cluster->runtime().make_id<SessionId>();
  Session session;
  session.lease = lease;
  session.owner = request.owner;
  session.confirmed = sent;
  sessions_.emplace(id, std::move(session));
  co_return SessionGrant{id, lease};
}

Result<std::shared_ptr<Majority::Entry>> Majority::entry_of(const Claim& claim) {
  const base::Time now = cluster_->runtime().now();
  std::erase_if(gone_, [now](const auto& one) { return one.second <= now; });
  if (gone_.contains(claim.id)) return withdrawn_before(claim);
  const auto session = sessions_.find(claim.session);
  const bool live = session != sessions_.end() && now < base::after(session->second.confirmed, session->second.lease);
  if (!live) return ended_before(claim);
  std::shared_ptr<Entry>& entry = entries_[claim.id];
  if (!entry) entry = std::make_shared<Entry>(claim);
  if (!entry->held && !entry->asking) entry->claim = claim;
  if (entry->claim.key != claim.key) {
    return Error{Errc::invalid_argument, "claim " + to_string(claim.id) + " is another lock's"};
  }
  return entry;
}

void Majority::ask_for_votes(const std::shared_ptr<Try>& attempt) {
  const Claim& claim = attempt->claim;
  const std::uint32_t bucket = bucket_of(lock_id(claim.key));
  const Owner& owner = sessions_[claim.session].owner;
  Words words{to_string(claim.id), key_of(claim.key), lock_id(claim.key), std::to_string(bucket)};
  words.push_back(std::to_string(highest_seen_[bucket]));
  words.push_back(std::to_string(attempt->number));
  words.push_back(milliseconds(claim.lease + cluster_->config().drift));
  words.push_back(milliseconds(claim.lock_delay));
  words.push_back(claim.may_queue ? "1" : "0");
  words.push_back(to_string(claim.session));
  words.push_back(owner.host);
  words.push_back(std::to_string(owner.pid));
  words.push_back(claim.label.empty() ? owner.label : claim.label);
  words.push_back(claim.key.name.bytes());
  words.push_back("");
  const Cluster::Hear hear = [attempt](std::size_t node, const Result<Reply>& answer) {
    attempt->answered[node] = answer.has_value() || nothing_was_done(answer);
    const bool late = attempt->over || attempt->outstanding[node] == 0;
    if (late) return;
    --attempt->outstanding[node];
    attempt->wakeup.notify();
    if (!answer) {
      attempt->trouble = answer.error();
      return attempt->vote.failed(node);
    }
    const std::vector<Reply>& items = answer->items;
    if (items.size() == 2 && items[0].is("taken")) return attempt->vote.taken(node, whole(items[1].text));
    if (items.size() < 3 || !items[0].is("busy")) {
      attempt->gone = attempt->gone || (!items.empty() && items[0].is("gone"));
      return attempt->vote.failed(node);
    }
    attempt->vote.busy(node, items[1].text);
    attempt->left = std::max(attempt->left, from_milliseconds(items[2]));
    attempt->in_lock_delay = items[1].text.starts_with(lock_delay_mark);
    if (items.size() == 6) attempt->holder = owner_of(items, 3);
    if (items.size() == 3 && !attempt->in_lock_delay && !attempt->holder) {
      attempt->holder.emplace();
      attempt->holder->foreign = true;
    }
  };
  for (std::size_t i = 0; i < cluster_->size(); ++i) {
    ++attempt->outstanding[i];
    attempt->links[i] = cluster_->link(i);
    cluster_->ask(i, attempt->epoch, scripts().acquire, words, attempt->deadline, hear);
  }
}

void Majority::raise_those_behind(const std::shared_ptr<Try>& attempt) {
  const Claim& claim = attempt->claim;
  const std::uint64_t target = attempt->vote.target();
  attempt->until = cluster_->node_deadline(attempt->deadline).at;
  const Words words{to_string(claim.id), key_of(claim.key), std::to_string(bucket_of(lock_id(claim.key))),
                    std::to_string(target)};
  const Cluster::Hear hear = [attempt, target](std::size_t node, const Result<Reply>& answer) {
    const bool late = attempt->over || attempt->outstanding[node] == 0;
    if (late) return;
    --attempt->outstanding[node];
    attempt->wakeup.notify();
    if (!answer || answer->items.empty()) return attempt->vote.failed(node);
    if (answer->items[0].is("risen")) return attempt->vote.risen(node, target);
    if (answer->items.size() == 2) return attempt->vote.not_risen(node, whole(answer->items[1].text));
    attempt->vote.lost(node);
  };
  for (const std::size_t node : attempt->vote.to_raise()) {
    ++attempt->outstanding[node];
    cluster_->ask(node, attempt->epoch, scripts().raise, words, attempt->deadline, hear);
  }
}

Words Majority::release_words(const Claim& claim, Duration lock_delay, std::uint64_t tombstone,
                              bool goes_on_waiting) const {
  Words words{to_string(claim.id), key_of(claim.key), lock_id(claim.key), milliseconds(lock_delay)};
  words.push_back(std::to_string(tombstone));
  words.push_back(milliseconds(tombstone_life));
  words.push_back(goes_on_waiting ? "1" : "0");
  return words;
}

bool Majority::may_arrive(const Try& attempt, std::size_t node) const {
  return !attempt.answered[node] && attempt.links[node] != cluster_->link(node);
}

void Majority::release_on(std::size_t node, const Claim& claim, Release how, const Cluster::Hear& hear) {
  Words words = release_words(claim, how.lock_delay, how.late_ones ? how.tombstone : 0, how.goes_on_waiting);
  Words again = release_words(claim, how.lock_delay, how.tombstone, how.goes_on_waiting);
  const base::Time until = base::after(cluster_->runtime().now(), life_of(claim));
  cluster_->clean_up(node, scripts().release, std::move(words), std::move(again), until, hear);
}

// On every node, also those that said no or nothing: what was sent may still arrive.
void Majority::undo(const std::shared_ptr<Try>& attempt, bool goes_on_waiting) {
  attempt->over = true;
  for (std::size_t i = 0; i < cluster_->size(); ++i) {
    const Release how{
        .late_ones = may_arrive(*attempt, i), .tombstone = attempt->number, .goes_on_waiting = goes_on_waiting};
    release_on(i, attempt->claim, how, [](std::size_t, const Result<Reply>&) {});
  }
}

Duration Majority::random_delay() {
  const Duration delay = std::max<Duration>(cluster_->config().delay, std::chrono::milliseconds(1));
  const auto span = static_cast<std::uint64_t>(delay.count());
  return delay / 2 + Duration(static_cast<std::int64_t>(cluster_->runtime().random() % span));
}

Waiting Majority::waiting_for(Entry& entry, Vote::Why why) {
  const Try& attempt = *entry.last;
  Waiting waiting{random_delay()};
  if (attempt.in_lock_delay) waiting.shut_for = attempt.left;
  waiting.holder = attempt.holder;
  const bool split = why == Vote::Why::split || why == Vote::Why::too_late;
  entry.splits = split ? entry.splits + 1 : 0;
  // Nobody has it: whoever asks again first, and alone, gets it.
  const bool soon = split && entry.splits <= cluster_->config().tries;
  if (soon) waiting.look_again_in = random_delay() / 8;
  if (!split && attempt.left > Duration::zero()) {
    const Duration end = attempt.left + std::chrono::milliseconds(1) + random_delay() / 16;
    waiting.look_again_in = std::min(waiting.look_again_in, end);
  }
  return waiting;
}

Result<ClaimState> Majority::refused(Entry& entry, Vote::Why why) {
  const std::shared_ptr<Try> attempt = entry.last;
  if (why != Vote::Why::unreachable) return ClaimState{waiting_for(entry, why)};
  const Errc code = attempt->trouble.code;
  const bool about_the_nodes = code == Errc{} || code == Errc::outcome_unknown || code == Errc::store_unavailable;
  std::string message = "too few nodes have answered";
  if (!attempt->trouble.message.empty()) message += ": " + attempt->trouble.message;
  return Error{about_the_nodes ? Errc::store_unavailable : code, std::move(message)};
}

awaitable<Result<ClaimState>> Majority::claim(Claim claim, Deadline deadline) {
  if (claim.key.kind != Kind::mutex) co_return only_mutexes();
  if (auto sound = check_sound(claim, std::nullopt); !sound) co_return sound.error();
  const auto cluster = cluster_;
  base::Runtime& runtime = cluster->runtime();
  const Result<std::shared_ptr<Entry>> known = entry_of(claim);
  if (!known) co_return known.error();
  const std::shared_ptr<Entry> entry = *known;
  const Duration lease = claim.lease;
  if (entry->held && runtime.now() < base::after(entry->since, lease) - base::drift(lease)) {
    co_return ClaimState{Granted{entry->token}};
  }
  if (entry->asking) co_return ClaimState{Waiting{std::chrono::milliseconds(5)}};
  entry->held = false;
  entry->asking = true;
  Result<void> up = co_await cluster->connect(deadline);
  if (!up) {
    entry->asking = false;
    co_return up.error();
  }
  const auto attempt = std::make_shared<Try>(*cluster, *entry, ++last_try_, lease);
  attempt->deadline = deadline;
  attempt->until = cluster->node_deadline(deadline).at;
  entry->last = attempt;
  ask_for_votes(attempt);
  Vote::Step step = Vote::Step::wait;
  for (;;) {
    step = attempt->vote.next(runtime.now());
    if (step == Vote::Step::granted || step == Vote::Step::refused || attempt->gone) break;
    if (step == Vote::Step::raise) {
      raise_those_behind(attempt);
    } else if (runtime.now() >= attempt->until) {
      attempt->give_up_on_the_silent(*cluster, deadline.passed(runtime.now()));
      attempt->until = cluster->node_deadline(deadline).at;
    } else {
      co_await attempt->wakeup.wait(attempt->until);
    }
  }
  entry->asking = false;
  const auto still = entries_.find(claim.id);
  const bool wanted = still != entries_.end() && still->second == entry && sessions_.contains(claim.session);
  const bool granted = wanted && !attempt->gone && step == Vote::Step::granted;
  const Vote::Why why = attempt->vote.why(runtime.now());
  if (!granted) undo(attempt, wanted && !attempt->gone && claim.may_queue && why != Vote::Why::unreachable);
  if (!sessions_.contains(claim.session)) co_return ended_before(claim);
  if (!wanted || attempt->gone) co_return withdrawn_before(claim);
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

awaitable<Result<Withdrawn>> Majority::withdraw(Claim claim, Withdrawal how, Deadline deadline) {
  const auto cluster = cluster_;
  base::Runtime& runtime = cluster->runtime();
  std::shared_ptr<Entry> entry;
  if (const auto found = entries_.find(claim.id); found != entries_.end()) {
    entry = found->second;
    entries_.erase(found);
    entry->held = false;
  }
  const bool unsettled = how.unsettled || !entry || entry->asking;
  if (unsettled) gone_[claim.id] = base::after(runtime.now(), tombstone_life);
  Result<void> up = co_await cluster->connect(deadline);
  if (!up && !entry) co_return up.error();
  const Duration lock_delay = how.ending == Ending::failed ? claim.lock_delay : Duration::zero();
  const auto count = std::make_shared<Count>(*cluster);
  const Cluster::Hear hear = [count](std::size_t, const Result<Reply>& answer) {
    if (!answer) {
      count->poll.failed();
      count->unknown = count->unknown || !nothing_was_done(answer);
    } else {
      answer->number() == 1 ? count->poll.yes() : count->poll.no();
    }
    count->wakeup.notify();
  };
  for (std::size_t i = 0; i < cluster->size(); ++i) {
    const bool late_ones = unsettled || (entry->last && may_arrive(*entry->last, i));
    release_on(i, claim, {.lock_delay = lock_delay, .late_ones = late_ones, .tombstone = every_try}, hear);
  }
  const Poll& poll = count->poll;
  const std::size_t majority = cluster->majority();
  // Gone from a majority, and known whether it was there on one.
  const auto decided = [&] {
    if (poll.pending() == 0 || poll.agreed() >= majority) return true;
    return poll.answered() >= majority && poll.agreed() + poll.pending() < majority;
  };
  const base::Time patient_until = cluster->node_deadline(deadline).at;
  while (!decided() && !deadline.passed(runtime.now())) {
    const bool in_vain = runtime.now() >= patient_until && poll.pending() <= cluster->silent_nodes();
    if (in_vain) break;
    co_await count->wakeup.wait(cluster->node_deadline(deadline).at);
  }
  if (poll.answered() < majority) {
    const bool nothing = !count->unknown && poll.pending() == 0 && poll.answered() == 0;
    co_return Error{nothing ? Errc::store_unavailable : Errc::outcome_unknown,
                    "too few nodes have answered to the withdrawal"};
  }
  const std::size_t silent = cluster->size() - poll.answered();
  co_return poll.agreed() + silent >= majority&& poll.agreed() > 0 ? Withdrawn::done : Withdrawn::not_there;
}

awaitable<Result<void>> Majority::close_session(SessionId session, Deadline deadline) {
  const auto cluster = cluster_;
  sessions_.erase(session);
  const auto count = std::make_shared<Count>(*cluster);
  std::vector<std::shared_ptr<Entry>> ended;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const bool of_it = entry->second->claim.session == session;
    if (of_it) ended.push_back(entry->second);
    entry = of_it ? entries_.erase(entry) : std::next(entry);
  }
  if (ended.empty()) co_return Result<void>();
  // A node has closed it when it has answered for each of its claims.
  const auto left = std::make_shared<std::vector<std::size_t>>(cluster->size(), ended.size());
  for (const auto& entry : ended) {
    const Duration lock_delay = entry->held ? entry->claim.lock_delay : Duration::zero();
    for (std::size_t i = 0; i < cluster->size(); ++i) {
      const bool late_ones = entry->asking || (entry->last && may_arrive(*entry->last, i));
      const Release how{.lock_delay = lock_delay, .late_ones = late_ones, .tombstone = every_try};
      release_on(i, entry->claim, how, [count, left](std::size_t node, const Result<Reply>& answer) {
        if (!answer || --(*left)[node] > 0) return;
        count->poll.yes();
        count->wakeup.notify();
      });
    }
    entry->held = false;
  }
  co_await wait_for(cluster, count, deadline);
  if (count->poll.verdict() == Poll::Verdict::yes) co_return Result<void>();
  co_return Error{Errc::outcome_unknown, "too few nodes have confirmed the end of the session"};
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
  if (!up) co_return up.error();
  const auto round = std::make_shared<Renewing>(*cluster);
  Words words;
  for (const auto& [id, entry] : entries_) {
    if (entry->claim.session != session) continue;
    round->claims.push_back({entry, entry->held, Poll(cluster->size())});
    words.push_back(to_string(id));
    words.push_back(key_of(entry->claim.key));
    words.push_back(lock_id(entry->claim.key));
    words.push_back(milliseconds(life_of(entry->claim)));
  }
  cluster->ask_all(scripts().renew, words, deadline, [round](std::size_t node, const Result<Reply>& answer) {
    const bool whole_answer = answer && answer->items.size() == round->claims.size() + 1;
    whole_answer ? round->overall.yes() : round->overall.failed();
    for (std::size_t i = 0; i < round->claims.size(); ++i) {
      Renewing::One& one = round->claims[i];
      const std::int64_t said = whole_answer ? answer->items[i + 1].number() : 0;
      if (!whole_answer) {
        one.poll.failed();
      } else if (said > 0) {
        one.poll.yes();
        one.asked_to_let_go = one.asked_to_let_go || said == 2;
      } else {
        one.poll.no();
        one.missing.push_back(node);
      }
    }
    round->wakeup.notify();
  });
  const base::Time patient_until = cluster->node_deadline(deadline).at;
  while (!round->decided() && !deadline.passed(runtime.now())) {
    const bool in_vain = runtime.now() >= patient_until && round->overall.pending() <= cluster->silent_nodes();
    if (in_vain) break;
    co_await round->wakeup.wait(cluster->node_deadline(deadline).at);
  }
  const auto still = sessions_.find(session);
  if (still == sessions_.end()) co_return ended;
  co_return count(round, session, still->second);
}

Result<Renewal> Majority::count(const std::shared_ptr<Renewing>& round, SessionId session, Session& state) {
  using Verdict = Poll::Verdict;
  if (round->overall.verdict() != Verdict::yes) {
    return Error{Errc::store_unavailable, "too few nodes have confirmed the renewal"};
  }
  const base::Time now = cluster_->runtime().now();
  Renewal renewal;
  renewal.changed.emplace();
  base::Time counts_from = round->sent;
  std::set<ClaimId> renewed;
  for (const Renewing::One& one : round->claims) {
    Entry& entry = *one.entry;
    const bool held = one.was_held && entry.held;
    if (!held) continue;
    const Verdict verdict = one.poll.verdict();
    // Silent nodes may have renewed it: it goes on by its old lease for a while, and its neighbours with it.
    const bool may_wait = verdict != Verdict::no && entry.since + entry.claim.lease - now > entry.claim.lease / 3;
    renewed.insert(entry.claim.id);
    if (verdict == Verdict::yes) {
      entry.since = std::max(entry.since, round->sent);
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
    if (entry->asking && entry->last) counts_from = std::min(counts_from, entry->last->sent);
  }
  top_up(round);
  state.confirmed = std::max(state.confirmed, counts_from);
  if (!renewal.changed->empty()) ++state.changes;
  renewal.changes = state.changes;
  renewal.counts_from = counts_from;
  return renewal;
}

// Nodes that have lost it, or were away. They do not count before the next renewal finds it there.
void Majority::top_up(const std::shared_ptr<Renewing>& round) {
  for (const Renewing::One& one : round->claims) {
    Entry& entry = *one.entry;
    const bool confirmed = one.was_held && entry.held && one.poll.verdict() == Poll::Verdict::yes && entry.last;
    if (!confirmed) continue;
    const Claim& claim = entry.claim;
    const auto session = sessions_.find(claim.session);
    if (session == sessions_.end()) continue;
    const std::uint32_t bucket = bucket_of(lock_id(claim.key));
    const Owner& owner = session->second.owner;
    for (const std::size_t node : one.missing) {
      const auto attempt = entry.last;
      attempt->answered[node] = false;
      attempt->links[node] = cluster_->link(node);
      Words words{to_string(claim.id), key_of(claim.key), lock_id(claim.key), std::to_string(bucket)};
      words.push_back(std::to_string(highest_seen_[bucket]));
      words.push_back(std::to_string(attempt->number));
      words.push_back(milliseconds(claim.lease + cluster_->config().drift));
      words.push_back(milliseconds(claim.lock_delay));
      words.push_back("0");
      words.push_back(to_string(claim.session));
      words.push_back(owner.host);
      words.push_back(std::to_string(owner.pid));
      words.push_back(claim.label.empty() ? owner.label : claim.label);
      words.push_back(claim.key.name.bytes());
      words.push_back(std::to_string(entry.token.counter()));
      const Deadline soon = cluster_->node_deadline(Deadline::never());
      cluster_->ask(node, cluster_->epoch(), scripts().acquire, std::move(words), soon,
                    [attempt](std::size_t asked, const Result<Reply>& answer) {
                      attempt->answered[asked] = answer.has_value() || nothing_was_done(answer);
                    });
    }
  }
}

awaitable<Result<Standing>> Majority::look(Claim claim, Deadline deadline) {
  const auto cluster = cluster_;
  Result<void> up = co_await cluster->connect(deadline);
  if (!up) co_return up.error();
  const auto count = std::make_shared<Count>(*cluster);
  const auto asked = std::make_shared<bool>(false);
  const Words words{to_string(claim.id), key_of(claim.key)};
  cluster->ask_all(scripts().look, words, deadline, [count, asked](std::size_t, const Result<Reply>& answer) {
    const bool told = answer && !answer->items.empty();
    if (!told) {
      count->poll.failed();
    } else if (answer->items[0].is("held")) {
      count->poll.yes();
      *asked = *asked || (answer->items.size() == 2 && answer->items[1].is("1"));
    } else {
      count->poll.no();
    }
    count->wakeup.notify();
  });
  co_await wait_for(cluster, count, deadline);
  const Poll::Verdict verdict = count->poll.verdict();
  if (verdict == Poll::Verdict::silence || verdict == Poll::Verdict::open) {
    co_return Error{Errc::store_unavailable, "too few nodes have answered"};
  }
  Standing standing;
  const auto found = entries_.find(claim.id);
  if (found == entries_.end()) co_return standing;
  Entry& entry = *found->second;
  if (!entry.held) {
    standing.place = Standing::Place::waiting;
  } else if (verdict == Poll::Verdict::yes) {
    standing.place = Standing::Place::held;
    standing.token = entry.token;
    standing.release_requested = *asked;
    entry.asked_to_let_go = entry.asked_to_let_go || *asked;
  }
  co_return standing;
}

awaitable<Result<void>> Majority::downgrade(Claim, Deadline) { co_return only_mutexes(); }

awaitable<Result<Succession>> Majority::succession(LockKey, Token, Deadline) { co_return only_mutexes(); }

awaitable<Result<void>> Majority::relabel(Claim claim, Deadline deadline) {
  const auto cluster = cluster_;
  if (const auto found = entries_.find(claim.id); found != entries_.end()) found->second->claim.label = claim.label;
  Result<void> up = co_await cluster->connect(deadline);
  if (!up) co_return up.error();
  const auto count = std::make_shared<Count>(*cluster);
  const Words words{to_string(claim.id), claim.label};
  cluster->ask_all(scripts().relabel, words, deadline, [count](std::size_t, const Result<Reply>& answer) {
    answer ? count->poll.yes() : count->poll.failed();
    count->wakeup.notify();
  });
  co_await wait_for(cluster, count, deadline);
  if (count->poll.verdict() == Poll::Verdict::yes) co_return Result<void>();
  co_return Error{Errc::outcome_unknown, "too few nodes have answered"};
}

awaitable<Result<std::vector<LockView>>> Majority::views_of(std::vector<LockKey> keys, std::vector<std::string> locks,
                                                            Deadline deadline) {
  const auto cluster = cluster_;
  Result<void> up = co_await cluster->connect(deadline);
  if (!up) co_return up.error();
  const auto count = std::make_shared<Count>(*cluster);
  const auto seen = std::make_shared<std::vector<SeenLock>>(keys.size());
  Words words;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    words.push_back(locks[i]);
    words.push_back(key_of(keys[i]));
  }
  cluster->ask_all(scripts().inspect, words, deadline, [count, seen](std::size_t, const Result<Reply>& answer) {
    const bool told = answer && answer->items.size() == seen->size() + 1;
    told ? count->poll.yes() : count->poll.failed();
    for (std::size_t i = 0; told && i < seen->size(); ++i) see((*seen)[i], answer->items[i + 1]);
    count->wakeup.notify();
  });
  count->of_all = true;
  co_await wait_for(cluster, count, deadline);
  if (count->poll.verdict() != Poll::Verdict::yes) {
    co_return Error{Errc::store_unavailable, "too few nodes have answered"};
  }
  std::vector<LockView> views;
  for (std::size_t i = 0; i < keys.size(); ++i) views.push_back(view_of(keys[i], (*seen)[i], cluster->majority()));
  co_return views;
}

awaitable<Result<LockView>> Majority::inspect(LockKey key, Deadline deadline) {
  if (key.kind != Kind::mutex) co_return only_mutexes();
  std::vector<LockKey> keys;
  keys.push_back(key);
  std::vector<std::string> locks;
  locks.push_back(lock_id(key));
  Result<std::vector<LockView>> views = co_await views_of(std::move(keys), std::move(locks), deadline);
  if (!views) co_return views.error();
  co_return std::move(views->front());
}

awaitable<Result<std::vector<LockView>>> Majority::list(std::string prefix, Deadline deadline) {
  const auto cluster = cluster_;
  Result<void> up = co_await cluster->connect(deadline);
  if (!up) co_return up.error();
  std::string pattern;
  for (const char c : cluster->config().prefix + "c:") {
    if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\' || c == '^') pattern += '\\';
    pattern += c;
  }
  const auto names = std::make_shared<std::set<std::string>>();
  const auto cursors = std::make_shared<std::vector<std::string>>(cluster->size(), "0");
  for (bool more = true; more;) {
    const auto count = std::make_shared<Count>(*cluster);
    for (std::size_t i = 0; i < cluster->size(); ++i) {
      if ((*cursors)[i].empty()) {
        count->poll.yes();
        continue;
      }
      Words words{(*cursors)[i], pattern + "*"};
      cluster->ask(i, cluster->epoch(), scripts().names, std::move(words), deadline,
                   [count, names, cursors](std::size_t node, const Result<Reply>& answer) {
                     const bool told = answer && answer->items.size() >= 2;
                     told ? count->poll.yes() : count->poll.failed();
                     if (!told) (*cursors)[node] = "";
                     if (told) (*cursors)[node] = answer->items[1].is("0") ? "" : answer->items[1].text;
                     for (std::size_t k = 2; told && k < answer->items.size(); ++k) {
                       names->insert(answer->items[k].text);
                     }
                     count->wakeup.notify();
                   });
    }
    count->of_all = true;
    co_await wait_for(cluster, count, deadline);
    if (count->poll.verdict() != Poll::Verdict::yes) {
      co_return Error{Errc::store_unavailable, "too few nodes have answered"};
    }
    more = std::any_of(cursors->begin(), cursors->end(), [](const std::string& cursor) { return !cursor.empty(); });
  }
  std::vector<LockView> views;
  std::vector<LockKey> keys;
  std::vector<std::string> locks;
  constexpr std::size_t most_at_once = 200;
  for (auto name = names->begin(); name != names->end();) {
    keys.clear();
    locks.clear();
    for (; name != names->end() && keys.size() < most_at_once; ++name) {
      const Result<LockName> lock = LockName::make(*name);
      if (!lock || !name->starts_with(prefix)) continue;
      keys.push_back({Kind::mutex, *lock});
      locks.push_back(lock_id(keys.back()));
    }
    if (keys.empty()) break;
    Result<std::vector<LockView>> some = co_await views_of(keys, locks, deadline);
    if (!some) co_return some.error();
    for (LockView& view : *some) {
      if (!view.holders.empty() || !view.waiters.empty()) views.push_back(std::move(view));
    }
  }
  co_return views;
}

awaitable<Result<bool>> Majority::check(LockKey key, Token token, Deadline deadline) {
  if (key.kind != Kind::mutex) co_return only_mutexes();
  const auto cluster = cluster_;
  Result<void> up = co_await cluster->connect(deadline);
  if (!up) co_return up.error();
  const auto count = std::make_shared<Count>(*cluster);
  const Words words{key_of(key), std::to_string(token.epoch()), std::to_string(token.counter())};
  cluster->ask_all(scripts().check, words, deadline, [count](std::size_t, const Result<Reply>& answer) {
    if (!answer) {
      count->poll.failed();
    } else {
      answer->number() == 1 ? count->poll.yes() : count->poll.no();
    }
    count->wakeup.notify();
  });
  co_await wait_for(cluster, count, deadline);
  if (count->poll.verdict() == Poll::Verdict::yes) co_return true;
  if (count->poll.verdict() == Poll::Verdict::no) co_return false;
  co_return Error{Errc::store_unavailable, "too few nodes have answered"};
}

awaitable<Result<bool>> Majority::revoke(LockKey key, ClaimId claim, bool now, Deadline deadline) {
  if (key.kind != Kind::mutex) co_return only_mutexes();
  const auto cluster = cluster_;
  base::Runtime& runtime = cluster->runtime();
  Result<void> up = co_await cluster->connect(deadline);
  if (!up) co_return up.error();
  const auto count = std::make_shared<Count>(*cluster);
  const Cluster::Hear hear = [count](std::size_t, const Result<Reply>& answer) {
    if (!answer) {
      count->poll.failed();
    } else {
      answer->number() == 1 ? count->poll.yes() : count->poll.no();
    }
    count->wakeup.notify();
  };
  if (now) {
    Claim taken{claim, {}, key};
    for (std::size_t i = 0; i < cluster->size(); ++i) {
      Words words = release_words(taken, Duration::zero(), every_try, false);
      Words again = words;
      const base::Time until = base::after(runtime.now(), tombstone_life);
      cluster->clean_up(i, scripts().release, std::move(words), std::move(again), until, hear);
    }
  } else {
    const Words words{to_string(claim), key_of(key)};
    cluster->ask_all(scripts().revoke, words, deadline, hear);
  }
  co_await wait_for(cluster, count, deadline);
  if (count->poll.verdict() == Poll::Verdict::yes) co_return true;
  if (count->poll.verdict() == Poll::Verdict::no) co_return false;
  co_return Error{Errc::outcome_unknown, "too few nodes have answered"};
}

}  // namespace pawl::store::redlock
