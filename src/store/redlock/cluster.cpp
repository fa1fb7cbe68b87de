#include "store/redlock/cluster.hpp"

#include "base/escaped.hpp"
#include "store/answered.hpp"
#include "store/redis/answers.hpp"
#include "store/redlock/scripts.hpp"
#include "store/redlock/vote.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace pawl::store::redlock {

Cluster::Cluster(base::Runtime& runtime, Config config)
    : runtime_(runtime),
      config_(std::move(config)),
      changed_(runtime),
      answered_(runtime),
      fresh_id_(runtime.random() | 1) {}

// On the executor, whichever thread ends it.
Cluster::~Cluster() {
  if (runtime_.inert()) return;
  base::or_out_of_memory([this] {
    runtime_.send([nodes = nodes_] {
      for (const auto& node : nodes) node->stop();
    });
  });
}

void Cluster::attach(Surroundings surroundings) {
  surroundings_ = std::move(surroundings);
  config_.timeout = surroundings_.timeout;
  config_.node_timeout = std::min(config_.node_timeout, surroundings_.timeout);
}

void Cluster::make_nodes() {
  if (!nodes_.empty()) return;
  for (const net::Address& address : config_.addresses) {
    const auto told = [weak = weak_from_this(), node = nodes_.size()] {
      if (const auto self = weak.lock()) self->changed(node);
    };
    const auto forgot = [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->a_member_forgot();
    };
    nodes_.push_back(std::make_shared<Node>(runtime_, config_, address, told, forgot));
    nodes_.back()->attach(surroundings_.credentials);
    releases_.push_back(std::make_shared<ReleaseQueue>(runtime_, config_, nodes_.back(), weak_from_this()));
  }
}

std::size_t Cluster::majority() const { return majority_of(size()); }

Deadline Cluster::node_deadline(Deadline deadline) const {
  return deadline.sooner(base::after(runtime_.now(), config_.node_timeout));
}

bool Cluster::is_silent(std::size_t node) const {
  return runtime_.now() - nodes_[node]->last_answer() >= config_.node_timeout;
}

void Cluster::changed(std::size_t node) {
  changed_.notify();
  if (nodes_[node]->is_up()) releases_[node]->connected();
}

// What a client holds may be among what was forgotten: it finds out now, and not at its next renewal.
void Cluster::a_member_forgot() {
  if (epoch_ != 0 && surroundings_.sessions_in_doubt) surroundings_.sessions_in_doubt();
}

std::vector<NodeRecord> Cluster::records() const {
  std::vector<NodeRecord> records;
  for (std::size_t i = 0; i < nodes_.size(); ++i) records.push_back(twin_of(i) ? NodeRecord() : nodes_[i]->record());
  return records;
}

// Two names of one server: it has one vote.
std::optional<std::size_t> Cluster::twin_of(std::size_t node) const {
  if (!nodes_[node]->is_up()) return std::nullopt;
  for (std::size_t i = 0; i < node; ++i) {
    if (nodes_[i]->is_up() && nodes_[i]->life() == nodes_[node]->life()) return i;
  }
  return std::nullopt;
}

Error Cluster::is_twin(std::size_t node, Errc code) const {
  const std::string other = nodes_[twin_of(node).value_or(node)]->name();
  return {code, nodes_[node]->name() + " and " + other + " are one server: each node has one vote"};
}

bool Cluster::majority_is_up() const {
  const auto up = std::count_if(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->is_up(); });
  return static_cast<std::size_t>(up) >= majority();
}

// Of the highest epoch: a store that begins another one is the same store.
std::uint64_t Cluster::id_on_the_nodes() const {
  std::uint64_t highest = 0, id = 0;
  for (const auto& node : nodes_) {
    std::uint64_t here = 0;
    const bool known = base::parse_hex(node->store(), here) && node->record().epoch > highest;
    if (!known) continue;
    highest = node->record().epoch;
    id = here;
  }
  return id;
}

void Cluster::settle(std::uint64_t epoch) {
  const std::uint64_t before = std::exchange(epoch_, epoch);
  if (const std::uint64_t id = id_on_the_nodes(); id != 0) store_id_ = id;
  if (before != 0 && before != epoch && surroundings_.sessions_in_doubt) surroundings_.sessions_in_doubt();
}

/// One of the nodes that refuse us, where they are so many that asking again would not help.
const Node* Cluster::refusing_node() const {
  const Node* refusing = nullptr;
  std::size_t refusals = 0;
  for (const auto& node : nodes_) {
    const Errc code = node->trouble().code;
    const bool refuses = !node->is_up() && (code == Errc::permission_denied || code == Errc::unsupported);
    if (!refuses) continue;
    ++refusals;
    refusing = node.get();
  }
  return size() - refusals < majority() ? refusing : nullptr;
}

Error Cluster::why(const Assessment& seen) const {
  std::string nodes;
  for (const auto& node : nodes_) {
    if (node->is_up()) continue;
    nodes += "; " + node->complaint();
  }
  const std::string of = " of " + std::to_string(size()) + " nodes";
  if (seen.state == Assessment::State::forgotten) {
    return {Errc::store_unavailable, "only " + std::to_string(seen.members.size()) + of +
                                         " still know their locks; `pawl epoch new` begins anew" + nodes};
  }
  if (seen.state == Assessment::State::incomplete) {
    return {Errc::store_unavailable,
            "no node that answers was used before, and the first use needs all" + of + ", or `pawl epoch new`" + nodes};
  }
  if (const Node* node = refusing_node()) return {node->trouble().code, node->complaint()};
  return {Errc::store_unavailable, "too few" + of + " answer" + nodes};
}

awaitable<void> Cluster::greet_one([[maybe_unused]] std::shared_ptr<Cluster> self, std::size_t node,
                                   Deadline deadline) {
  [[maybe_unused]] Result<void> greeted = co_await answered(nodes_[node]->greet_again(deadline));
  --greeting_;
  answered_.notify();
}

// Those that were no members when they were asked may have become some since, by another client.
awaitable<void> Cluster::greet_all(bool until_ready, Deadline deadline) {
  const auto self = shared_from_this();
  const Assessment known = assess(records());
  const bool ready = known.state == Assessment::State::ready;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const bool member = std::find(known.members.begin(), known.members.end(), i) != known.members.end();
    if (ready && member && !nodes_[i]->is_in_doubt()) continue;
    // Where they are too few, what each has said counts no more: a member that was not used may have been used since.
    if (!ready) nodes_[i]->doubt();
    ++greeting_;
    base::spawn(runtime_, greet_one(self, i, deadline));
  }
  while (greeting_ > 0 && !deadline.passed(runtime_.now())) {
    if (until_ready && assess(records()).state == Assessment::State::ready) break;
    co_await answered_.wait(deadline.at);
  }
}

awaitable<void> Cluster::join_one([[maybe_unused]] std::shared_ptr<Cluster> self, std::size_t node, std::string nonce,
                                  Words words, Deadline deadline) {
  [[maybe_unused]] Result<bool> joined =
      co_await answered(nodes_[node]->join(std::move(nonce), std::move(words), deadline));
  [[maybe_unused]] Result<void> greeted = co_await answered(nodes_[node]->greet_again(deadline));
  --greeting_;
  answered_.notify();
}

awaitable<void> Cluster::join_all(std::vector<std::size_t> nodes, std::uint64_t epoch, Deadline deadline) {
  const auto self = shared_from_this();
  // What the nodes say goes first: another client may have founded the cluster under another one.
  std::uint64_t id = id_on_the_nodes();
  if (id == 0) id = store_id_ != 0 ? store_id_.load() : fresh_id_;
  for (const std::size_t i : nodes) {
    Words words{std::to_string(epoch), base::hex(id), "0", "0"};
    ++greeting_;
    base::spawn(runtime_, join_one(self, i, nodes_[i]->record().nonce, std::move(words), deadline));
  }
  while (greeting_ > 0 && !deadline.passed(runtime_.now())) co_await answered_.wait(deadline.at);
}

/// One at a time: the others wait for what it finds.
struct Cluster::Connecting {
  explicit Connecting(Cluster& of) : cluster(of) { cluster.connecting_ = true; }
  Connecting(const Connecting&) = delete;
  Connecting& operator=(const Connecting&) = delete;
  ~Connecting() {
    cluster.connecting_ = false;
    cluster.changed_.notify();
  }
  Cluster& cluster;
};

std::vector<std::size_t> Cluster::reached() const {
  std::vector<std::size_t> reached;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i]->is_in_doubt() && !twin_of(i)) reached.push_back(i);
  }
  return reached;
}

// Two clients that begin one at the same time should not give it one number: then they would give it two ids.
std::uint64_t Cluster::new_epoch() const {
  constexpr std::uint64_t spread = 1000;
  return next_epoch(records(), epoch_, runtime_.unix_milliseconds() + runtime_.random() % spread);
}

awaitable<Result<void>> Cluster::connect(Deadline deadline) {
  const auto self = shared_from_this();
  make_nodes();
  using State = Assessment::State;
  Assessment seen = assess(records());
  const auto known = [this, &seen] { return seen.state == State::ready && seen.epoch == epoch_; };
  while (!known() && connecting_ && !deadline.passed(runtime_.now())) {
    co_await changed_.wait(deadline.at);
    seen = assess(records());
  }
  if (known()) co_return Result<void>();
  if (connecting_) co_return why(seen);
  const Connecting alone(*this);
  constexpr int rounds = 6;  // of giving epochs
  for (int round = 0; round < rounds;) {
    // At first all of them: a client that knows no more than a majority is refused by any other claim on one of these.
    const bool first_contact = epoch_ == 0 && round == 0;
    co_await greet_all(!first_contact, node_deadline(deadline));
    for (std::size_t i = 0; first_contact && i < nodes_.size(); ++i) {
      if (twin_of(i)) co_return is_twin(i, Errc::invalid_argument);
    }
    seen = assess(records());
    if (seen.state == State::ready) {
      settle(seen.epoch);
      help_outsiders();
      co_return Result<void>();
    }
    if (seen.state == State::forgotten || deadline.passed(runtime_.now())) break;
    if (seen.state == State::unreachable || seen.state == State::incomplete) {
      if (refusing_node() != nullptr) break;
      co_await changed_.wait(node_deadline(deadline).at);
      continue;
    }
    ++round;
    std::vector<std::size_t> nodes = reached();
    std::uint64_t epoch = new_epoch();
    if (seen.state == State::adopt) {
      nodes = seen.lagging;
      epoch = seen.epoch;
    }
    co_await join_all(std::move(nodes), epoch, node_deadline(deadline));
  }
  co_return why(seen);
}

awaitable<Result<std::uint64_t>> Cluster::ask_epoch(bool raise, Deadline deadline) {
  const auto self = shared_from_this();
  make_nodes();
  const Deadline soon = node_deadline(deadline);
  co_await greet_all(!raise, soon);
  if (!raise) {
    Result<void> up = co_await connect(deadline);
    if (!up) co_return up.error();
    co_return epoch_;
  }
  // Those that have forgotten locks rejoin as always, where the others are a majority.
  const Assessment before = assess(records());
  std::vector<std::size_t> nodes = before.members;
  nodes.insert(nodes.end(), before.lagging.begin(), before.lagging.end());
  if (nodes.size() < majority()) nodes = reached();
  if (nodes.size() < majority()) co_return why(before);
  const std::uint64_t epoch = new_epoch();
  co_await join_all(std::move(nodes), epoch, node_deadline(deadline));
  const Assessment seen = assess(records());
  if (seen.state != Assessment::State::ready || seen.epoch < epoch) {
    co_return Error{Errc::outcome_unknown, "too few nodes have confirmed the new epoch"};
  }
  settle(seen.epoch);
  co_return epoch_;
}

void Cluster::ask(std::size_t node, std::uint64_t epoch, const redis::Script& script, Words arguments,
                  Deadline deadline, Hear hear) {
  base::spawn_in_turn(
      runtime_, ask_one(shared_from_this(), node, epoch, script, std::move(arguments), deadline, std::move(hear)));
}

void Cluster::ask_all(const redis::Script& script, const Words& arguments, Deadline deadline, const Hear& hear) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) ask(i, epoch_, script, arguments, deadline, hear);
}

awaitable<void> Cluster::ask_one([[maybe_unused]] std::shared_ptr<Cluster> self, std::size_t node, std::uint64_t epoch,
                                 const redis::Script& script, Words arguments, Deadline deadline, Hear hear) {
  if (twin_of(node)) {
    const Result<Reply> none = is_twin(node, Errc::store_unavailable);
    hear(node, none);
    co_return;
  }
  const bool patient = !majority_is_up();
  Result<Reply> answer =
      co_await answered(nodes_[node]->run_as_voter(script, epoch, std::move(arguments), patient, deadline));
  hear(node, answer);
}

void Cluster::release(std::size_t node, const Claim& claim, const Release& how, const Hear& hear) {
  releases_[node]->add(claim, how, !majority_is_up(),
                       [node, hear](const Result<Reply>& answer) { hear(node, answer); });
}

void Cluster::wind_up() {
  for (const auto& queue : releases_) queue->wind_up(base::after(runtime_.now(), config_.timeout));
}

}  // namespace pawl::store::redlock
