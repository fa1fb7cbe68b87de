// The rules of tokens, membership and rejoin, played against each other: five nodes that lose data, keys and time, clients
// whose messages are late or lost. The vote and the membership are the store's own code; the nodes do here what the scripts
// do on a server. A schedule is a seed, and can be played again.

#include "store/redlock/membership.hpp"
#include "store/redlock/vote.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pawl::store::redlock {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t node_count = 5;
constexpr Duration node_timeout = 60ms;

struct Rules {
  bool strict_raise = true;
  bool membership = true;
  bool rejoin_wait = true;
};

using ModelToken = std::pair<std::uint64_t, std::uint64_t>;  // epoch and counter

/// What the scripts do, and what a server keeps for them.
struct ModelNode {
  const Rules* rules = nullptr;
  std::uint64_t life = 1;
  Duration clock_error{};

  std::uint64_t epoch = 0, member_life = 0, nonce = 0, nonce_life = 0;
  Duration longest{};
  std::map<std::uint64_t, base::Time> outsiders_known_since;  // by nonce
  std::map<std::uint32_t, std::uint64_t> counters;            // by bucket
  struct Key {
    int claim = 0;
    base::Time expires{};
  };
  std::map<int, Key> keys;  // by lock

  void lose_data() {
    epoch = member_life = nonce = nonce_life = 0;
    longest = {};
    outsiders_known_since.clear();
    counters.clear();
    keys.clear();
  }
  NodeRecord hello(std::uint64_t fresh_nonce) {
    if (nonce == 0 || nonce_life != life) nonce = fresh_nonce, nonce_life = life;
    return {.reached = true,
            .nonce = std::to_string(nonce),
            .epoch = epoch,
            .of_this_life = member_life == life,
            .used = longest > Duration::zero()};
  }
  bool knows(const std::string& seen) const { return nonce_life == life && std::to_string(nonce) == seen; }
  void accept(const std::string& seen, std::uint64_t given) {
    if (knows(seen) && given > epoch) epoch = given, member_life = life;
  }
  bool votes(std::uint64_t in_epoch) const { return !rules->membership || (epoch == in_epoch && member_life == life); }
  Voucher vouch(std::uint64_t outsider, base::Time now) {
    const base::Time first = outsiders_known_since.try_emplace(outsider, now).first->second;
    return {.known_for = std::max(now - first, Duration::zero()), .longest = longest, .counters = counters};
  }
  void rejoin(const std::string& seen, std::uint64_t in_epoch, const Admission& admission) {
    if (!knows(seen) || epoch > in_epoch) return;
    epoch = in_epoch, member_life = life;
    longest = std::max(longest, admission.longest);
    for (const auto& [bucket, counter] : admission.counters) counters[bucket] = std::max(counters[bucket], counter);
  }
  /// The counter that it has risen to; nothing: it is another claim's.
  std::optional<std::uint64_t> acquire(int lock, int claim, std::uint32_t bucket, std::uint64_t floor, Duration lease,
                                       base::Time now) {
    Key& key = keys[lock];
    if (key.claim != 0 && key.claim != claim && key.expires > now) return std::nullopt;
    key = {claim, now + lease};
    std::uint64_t& counter = counters[bucket];
    counter = rules->strict_raise ? std::max(counter, floor) + 1 : std::max(counter, floor + 1);
    return counter;
  }
  enum class Raised { yes, no, lost };
  Raised raise(int lock, int claim, std::uint32_t bucket, std::uint64_t target, base::Time now) {
    const Key& key = keys[lock];
    if (key.claim != claim || key.expires <= now) return Raised::lost;
    std::uint64_t& counter = counters[bucket];
    if (counter >= target) return rules->strict_raise ? Raised::no : Raised::yes;
    counter = target;
    return Raised::yes;
  }
};

class Schedule {
 public:
  Schedule(unsigned seed, Rules rules) : rules_(rules), narrow_(seed % 2 == 0), chance_(seed) {
    for (ModelNode& node : nodes_) node.rules = &rules_;
    for (int i = 0; i < 3; ++i) clients_.push_back(make_client());
  }
  ~Schedule() {
    for (const Shared& client : all_clients_) client->at_deadline = nullptr;  // which keeps its client
  }
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  /// Empty: all went well. Otherwise what went wrong.
  std::string play(int steps) {
    for (int i = 0; i < steps && trouble_.empty(); ++i) step();
    return trouble_;
  }
  int grants() const { return grants_; }
  int rejoined() const { return rejoined_; }

 private:
  /// What a client knows, and the one thing that it does.
  struct Client {
    Assessment seen;
    bool ready = false;
    std::map<std::uint32_t, std::uint64_t> hints;
    int round = 0;  // of what it does: answers to an earlier one are ignored
    base::Time deadline{};
    std::function<void()> at_deadline;

    std::vector<NodeRecord> records = std::vector<NodeRecord>(node_count);
    std::set<std::size_t> greeted;
    bool greets_next = false;
    base::Time wants_nothing_until{};
    std::vector<Voucher> vouchers;
    std::optional<Vote> vote;
    int lock = 0, claim = 0;
    ModelToken at_least{};  // the largest token of that lock when its try began
    base::Time sent{};
    Duration lease{};
    bool holds = false;
    base::Time held_up_until{};
    std::uint64_t held_up_at = 0;  // a bit for each node
  };
  using Shared = std::shared_ptr<Client>;
  using Answer = std::function<void()>;
  struct Packet {
    std::size_t node = 0;
    std::uint64_t life = 0;  // a connection ends with its server
    std::function<Answer(ModelNode&)> ask;
    base::Time due{};
    Answer answer;
  };

  Shared make_client() { return all_clients_.emplace_back(std::make_shared<Client>()); }

  std::uint64_t draw(std::uint64_t below) { return chance_() % below; }
  bool one_in(std::uint64_t n) { return draw(n) == 0; }
  base::Time clock_of(const ModelNode& node) const { return now_ + node.clock_error; }

  void step() {
    now_ += 1ms;
    for (const Shared& client : clients_) {
      if (client->at_deadline && now_ >= client->deadline) std::exchange(client->at_deadline, nullptr)();
    }
    if (!doomed_.empty() && doomed_.front().first <= now_) {
      const std::size_t victim = doomed_.front().second;
      doomed_.erase(doomed_.begin());
      return lose_node(victim);
    }
    if (!packets_.empty() && !one_in(4)) return deliver();
    const std::uint64_t what = draw(100);
    if (what < 3) return lose_node(draw(node_count));
    if (what < 6) return expire_early();
    if (what < 7) return jump();
    if (what < 9) return hold_up();
    if (what < 12) {
      clients_[draw(clients_.size())] = make_client();
      return;
    }
    if (packets_.empty() || one_in(200)) now_ += std::chrono::milliseconds(draw(400));
    act(clients_[draw(clients_.size())]);
  }

  // Two at a time have lost their data, or are not back yet.
  void lose_node(std::size_t victim) {
    std::set<std::size_t> away;
    for (std::size_t i = 0; i < node_count; ++i) {
      if (nodes_[i].epoch == 0 || nodes_[i].member_life != nodes_[i].life) away.insert(i);
    }
    away.insert(victim);
    if (away.size() > 2 || grants_ == 0) return;
    if (!one_in(3)) ++nodes_[victim].life;
    nodes_[victim].lose_data();
    for (const Shared& client : clients_) client->greets_next = true;  // their connections broke
  }
  void expire_early() { nodes_[draw(node_count)].keys.erase(static_cast<int>(draw(2))); }
  // Of two nodes at the most, by any amount, in both directions.
  void jump() { nodes_[draw(2)].clock_error = std::chrono::milliseconds(draw(1400)) - 700ms; }

  // One client's requests for a lock are held up on the way to some nodes, as by a network that sends them again later.
  void hold_up() {
    Client& client = *clients_[draw(clients_.size())];
    client.held_up_until = now_ + std::chrono::milliseconds(draw(400));
    client.held_up_at = draw(1U << node_count);
  }

  void deliver() {
    const std::size_t index = draw(packets_.size());
    if (packets_[index].due > now_) return;
    Packet packet = std::move(packets_[index]);
    packets_.erase(packets_.begin() + static_cast<std::ptrdiff_t>(index));
    if (packet.answer) return packet.answer();
    ModelNode& node = nodes_[packet.node];
    if (one_in(40) || packet.life != node.life) return;
    packet.answer = packet.ask(node);
    if (packet.answer && !one_in(40)) packets_.push_back(std::move(packet));
  }
  void send(const Shared& client, std::size_t node, std::function<Answer(ModelNode&)> ask, bool for_a_lock = false) {
    base::Time due = one_in(20) ? now_ + std::chrono::milliseconds(draw(350)) : now_;
    const bool held_up = ((client->held_up_at >> node) & 1) != 0;
    if (held_up && for_a_lock) due = std::max(due, client->held_up_until);
    packets_.push_back({node, nodes_[node].life, std::move(ask), due, nullptr});
  }
  /// To all of `to`; answers count until the round is over.
  void begin_round(const Shared& client, std::function<void()> at_deadline) {
    ++client->round;
    client->deadline = now_ + node_timeout;
    client->at_deadline = std::move(at_deadline);
  }
  void end_round(const Shared& client) {
    ++client->round;
    client->at_deadline = nullptr;
  }

  void act(const Shared& client) {
    if (client->at_deadline) return;
    if (client->holds) {
      if (one_in(3)) release(client);
    } else if (client->ready && !client->seen.outsiders.empty() && !client->greets_next && one_in(3)) {
      ask_to_vouch(client, client->seen.outsiders[draw(client->seen.outsiders.size())]);
    } else if (!client->ready || client->greets_next || one_in(5)) {
      greet(client);
    } else if (now_ >= client->wants_nothing_until) {
      try_lock(client);
    }
  }

  void greet(const Shared& client) {
    // What it knows stands until a node says otherwise, as with a connection that stays up.
    client->greeted.clear();
    client->greets_next = false;
    begin_round(client, [this, client] { judge(client); });
    for (std::size_t i = 0; i < node_count; ++i) {
      send(client, i, [this, client, i, round = client->round](ModelNode& node) -> Answer {
        return [this, client, i, round, record = node.hello(chance_() | 1)] {
          if (client->round != round) return;
          client->records[i] = record;
          client->greeted.insert(i);
          if (client->greeted.size() == node_count) judge(client);
        };
      });
    }
  }
  void judge(const Shared& client) {
    end_round(client);
    client->seen = assess(client->records);
    const Assessment seen = client->seen;
    const std::vector<NodeRecord> records = client->records;
    using State = Assessment::State;
    client->ready = seen.state == State::ready;
    const auto give = [&](std::size_t i, std::uint64_t epoch) {
      send(client, i, [nonce = records[i].nonce, epoch](ModelNode& node) -> Answer {
        node.accept(nonce, epoch);
        return nullptr;
      });
    };
    if (seen.state == State::found) {
      const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now_.time_since_epoch()).count();
      const std::uint64_t epoch = next_epoch(records, 0, static_cast<std::uint64_t>(milliseconds));
      for (std::size_t i = 0; i < node_count; ++i) {
        if (records[i].reached) give(i, epoch);
      }
    }
    if (seen.state == State::ready || seen.state == State::adopt) {
      for (const std::size_t i : seen.lagging) give(i, seen.epoch);
    }
    if (client->ready && !seen.outsiders.empty()) ask_to_vouch(client, seen.outsiders[draw(seen.outsiders.size())]);
  }
  void ask_to_vouch(const Shared& client, std::size_t outsider) {
    client->vouchers.clear();
    const std::string nonce = client->records[outsider].nonce;
    const std::uint64_t epoch = client->seen.epoch;
    begin_round(client, [this, client] { end_round(client); });
    for (const std::size_t i : client->seen.members) {
      send(client, i, [this, client, outsider, nonce, epoch, round = client->round](ModelNode& node) -> Answer {
        if (!node.votes(epoch)) return nullptr;
        return [this, client, outsider, nonce, epoch, round, voucher = node.vouch(std::stoull(nonce), clock_of(node))] {
          if (client->round != round) return;
          client->vouchers.push_back(voucher);
          rejoin(client, outsider, nonce, epoch);
        };
      });
    }
  }
  void rejoin(const Shared& client, std::size_t outsider, const std::string& nonce, std::uint64_t epoch) {
    const Admission admission = admit(node_count, client->vouchers, node_timeout);
    const bool enough = client->vouchers.size() >= majority_of(node_count);
    if (!admission.granted && !(enough && !rules_.rejoin_wait)) return;
    end_round(client);
    ++rejoined_;
    send(client, outsider, [nonce, epoch, admission](ModelNode& node) -> Answer {
      node.rejoin(nonce, epoch, admission);
      return nullptr;
    });
  }

  static std::uint32_t bucket_of(int lock) { return lock == 0 ? 0 : 1; }

  // First the lease is announced to a majority, then the lock is asked for.
  void try_lock(const Shared& client) {
    client->lock = narrow_ ? 0 : static_cast<int>(draw(3));
    client->claim = ++last_claim_;
    client->lease = std::chrono::milliseconds(narrow_ ? 1000 : (one_in(2) ? 400 : 150));
    client->at_least = largest_[client->lock];
    const auto announced = std::make_shared<Poll>(node_count);
    begin_round(client, [this, client] { end_round(client); });
    for (std::size_t i = 0; i < node_count; ++i) {
      send(client, i, [this, client, announced, round = client->round](ModelNode& node) -> Answer {
        const bool voter = node.votes(client->seen.epoch);
        if (voter) node.longest = std::max(node.longest, client->lease);
        return [this, client, announced, round, voter] {
          if (client->round != round) return;
          voter ? announced->yes() : announced->no();
          if (announced->verdict() == Poll::Verdict::yes) acquire(client);
          if (announced->verdict() == Poll::Verdict::no) client->ready = false;
        };
      });
    }
  }
  void acquire(const Shared& client) {
    client->sent = now_;
    client->vote.emplace(node_count, now_, client->lease, 2ms);
    begin_round(client, [this, client] { give_up(client); });
    client->deadline = now_ + client->lease;  // longer than the store waits for its nodes
    const int claim = client->claim, lock = client->lock;
    const std::uint64_t floor = one_in(2) ? client->hints[bucket_of(lock)] : 0, epoch = client->seen.epoch;
    // The worst moment: one node has granted it, the others have not been reached, and that one loses its data.
    if (one_in(4)) {
      const std::size_t first = draw(node_count);
      client->held_up_at = ~(1ULL << first);
      client->held_up_until = now_ + std::chrono::milliseconds(narrow_ ? 500 + draw(450) : 250 + draw(150));
      const std::uint64_t elsewhere = (1ULL << draw(node_count)) | (1ULL << draw(node_count));
      for (const Shared& other : clients_) {
        if (other == client) continue;
        other->held_up_at = elsewhere;
        other->held_up_until = client->held_up_until + 100ms;
      }
      for (const Shared& one : clients_) one->wants_nothing_until = now_ + std::chrono::milliseconds(draw(400));
      doomed_.emplace_back(now_ + std::chrono::milliseconds(draw(60)), first);
    }
    for (std::size_t i = 0; i < node_count; ++i) {
      const auto ask = [this, client, claim, lock, i, floor, epoch, lease = client->lease,
                        round = client->round](ModelNode& node) -> Answer {
        const bool voter = node.votes(epoch);
        std::optional<std::uint64_t> counter;
        if (voter) counter = node.acquire(lock, claim, bucket_of(lock), floor, lease, clock_of(node));
        return [this, client, i, counter, voter, round] {
          if (client->round != round) return;
          if (!voter) {
            client->vote->failed(i);
            client->ready = false;
          } else if (counter) {
            client->vote->taken(i, *counter);
          } else {
            client->vote->busy(i, "other");
          }
          count_votes(client);
        };
      };
      send(client, i, ask, true);
    }
  }
  void raise(const Shared& client, std::size_t i, std::uint64_t target) {
    send(client, i,
         [this, client, i, target, claim = client->claim, lock = client->lock, epoch = client->seen.epoch,
          round = client->round](ModelNode& node) -> Answer {
           using Raised = ModelNode::Raised;
           const bool voter = node.votes(epoch);
           const Raised raised =
               voter ? node.raise(lock, claim, bucket_of(lock), target, clock_of(node)) : Raised::lost;
           return [this, client, i, target, raised, counter = node.counters[bucket_of(lock)], round] {
             if (client->round != round) return;
             if (raised == Raised::yes) client->vote->risen(i, target);
             if (raised == Raised::no) client->vote->not_risen(i, counter);
             if (raised == Raised::lost) client->vote->lost(i);
             count_votes(client);
           };
         });
  }
  void count_votes(const Shared& client) {
    Vote& vote = *client->vote;
    const Vote::Step step = vote.next(now_);
    if (step == Vote::Step::refused) return give_up(client);
    if (step == Vote::Step::granted) return grant(client);
    if (step != Vote::Step::raise) return;
    for (const std::size_t i : vote.to_raise()) raise(client, i, vote.target());
  }
  void grant(const Shared& client) {
    const ModelToken token{client->seen.epoch, client->vote->token()};
    end_round(client);
    client->holds = true;
    ++grants_;
    client->hints[bucket_of(client->lock)] = token.second;
    const std::string what = "epoch " + std::to_string(token.first) + ", counter " + std::to_string(token.second);
    if (!granted_[client->lock].insert(token).second) trouble_ = "a token was repeated: " + what;
    if (token <= client->at_least) trouble_ = "a token fell: " + what;
    ModelToken& largest = largest_[client->lock];
    largest = std::max(largest, token);
  }
  void give_up(const Shared& client) {
    end_round(client);
    release(client);
  }
  void release(const Shared& client) {
    client->holds = false;
    for (std::size_t i = 0; i < node_count; ++i) {
      send(client, i, [claim = client->claim, lock = client->lock](ModelNode& node) -> Answer {
        if (node.keys[lock].claim == claim) node.keys.erase(lock);
        return nullptr;
      });
    }
  }

  const Rules rules_;
  const bool narrow_;  // one lock, and long leases: whatever goes wrong goes wrong for the same lock
  std::mt19937_64 chance_;
  base::Time now_{1h};
  std::array<ModelNode, node_count> nodes_;
  std::vector<Shared> all_clients_;  // also those that have ended
  std::vector<Shared> clients_;
  std::vector<Packet> packets_;
  std::vector<std::pair<base::Time, std::size_t>> doomed_;  // when which node loses its data
  std::map<int, std::set<ModelToken>> granted_;             // by lock
  std::map<int, ModelToken> largest_;
  std::string trouble_;
  int last_claim_ = 0, grants_ = 0, rejoined_ = 0;
};

constexpr unsigned schedules = 3000;
constexpr int steps = 3000;

struct Played {
  std::string trouble = {};
  int grants = 0, rejoined = 0;
};

/// Stops at the first schedule that goes wrong.
Played play(Rules rules) {
  Played played;
  for (unsigned seed = 0; seed < schedules && played.trouble.empty(); ++seed) {
    Schedule schedule(seed, rules);
    const std::string trouble = schedule.play(steps);
    if (!trouble.empty()) played.trouble = "seed " + std::to_string(seed) + ": " + trouble;
    played.grants += schedule.grants();
    played.rejoined += schedule.rejoined();
  }
  return played;
}

TEST(RedlockTokens, NeverRepeatNorFallInThreeThousandSchedules) {
  const Played played = play({});
  EXPECT_EQ(played.trouble, "");
  // It would say little if nothing had happened.
  EXPECT_GT(played.grants, static_cast<int>(3 * schedules));
  EXPECT_GT(played.rejoined, static_cast<int>(schedules));
}

TEST(RedlockTokens, RepeatWithoutTheStrictRaise) { EXPECT_NE(play({.strict_raise = false}).trouble, ""); }

TEST(RedlockTokens, RepeatWhenAWipedNodeMayVote) { EXPECT_NE(play({.membership = false}).trouble, ""); }

TEST(RedlockTokens, RepeatWhenAWipedNodeRejoinsAtOnce) { EXPECT_NE(play({.rejoin_wait = false}).trouble, ""); }

}  // namespace
}  // namespace pawl::store::redlock
