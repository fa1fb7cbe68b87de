#pragma once

#include "base/gathering.hpp"
#include "store/redlock/node.hpp"
#include "store/redlock/release_queue.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace pawl::store::redlock {

/// The nodes together: who is a member, and questions to all of them at once.
/// Threads: on the executor only; store_id() is safe everywhere.
class Cluster : public std::enable_shared_from_this<Cluster> {
 public:
  Cluster(base::Runtime& runtime, Config config);
  ~Cluster();

  void attach(Surroundings surroundings);

  base::Runtime& runtime() const { return runtime_; }
  const Config& config() const { return config_; }
  std::size_t size() const { return config_.addresses.size(); }
  std::size_t majority() const;
  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t store_id() const { return store_id_; }
  /// For one node's answer.
  Deadline node_deadline(Deadline deadline) const;

  /// It has not answered anything for that long. A node that has much to do is late, and not silent.
  bool is_silent(std::size_t node) const;

  /// It is a member of this epoch, as far as is known.
  bool votes(std::size_t node) const { return nodes_[node]->record().is_member_of(epoch_); }

  /// Until the members are a majority. Founds the cluster if it was never used.
  awaitable<Result<void>> connect(Deadline deadline);
  /// After a new one was begun if `raise`.
  awaitable<Result<std::uint64_t>> ask_epoch(bool raise, Deadline deadline);
  /// Helps those back that have lost their data, if their time has come. In the background, one at a time.
  void help_outsiders();

  /// What a node has said; on the executor, also long after the caller has gone.
  using Hear = std::function<void(std::size_t node, const Result<Reply>& answer)>;
  /// A script for voters of that epoch, to one of them.
  void ask(std::size_t node, std::uint64_t epoch, const redis::Script& script, Words arguments, Deadline deadline,
           Hear hear);
  /// To all of them, with the same words.
  void ask_all(const redis::Script& script, const Words& arguments, Deadline deadline, const Hear& hear);
  /// A claim leaves that node, voter or not: see ReleaseQueue. Heard once.
  void release(std::size_t node, const Claim& claim, const Release& how, const Hear& hear);
  /// The store has gone: what could not be released yet is tried for a while.
  void wind_up();
  /// Of the connection to that node; see Node::link().
  std::uint64_t link(std::size_t node) const { return nodes_[node]->link(); }

 private:
  struct Connecting;

  awaitable<void> ask_one(std::shared_ptr<Cluster> self, std::size_t node, std::uint64_t epoch,
                          const redis::Script& script, Words arguments, Deadline deadline, Hear hear);
  awaitable<void> greet_one(std::shared_ptr<Cluster> self, std::size_t node, Deadline deadline);
  awaitable<void> greet_all(bool until_ready, Deadline deadline);
  awaitable<void> join_one(std::shared_ptr<Cluster> self, std::size_t node, std::string nonce, Words words,
                           Deadline deadline);
  awaitable<void> join_all(std::vector<std::size_t> nodes, std::uint64_t epoch, Deadline deadline);
  awaitable<void> help(std::shared_ptr<Cluster> self);
  awaitable<void> help_one(std::size_t outsider, std::vector<std::size_t> members, std::uint64_t epoch,
                           Deadline deadline);
  std::vector<NodeRecord> records() const;
  std::optional<std::size_t> twin_of(std::size_t node) const;
  Error is_twin(std::size_t node, Errc code) const;
  std::vector<std::size_t> reached() const;
  std::uint64_t new_epoch() const;
  const Node* refusing_node() const;
  bool majority_is_up() const;
  bool needs_help(const Assessment& seen) const;
  Duration help_timeout() const;
  std::uint64_t id_on_the_nodes() const;
  void settle(std::uint64_t epoch);
  Error why(const Assessment& seen) const;
  void make_nodes();
  void changed(std::size_t node);
  void a_member_forgot();

  base::Runtime& runtime_;
  Config config_;
  Surroundings surroundings_;
  std::vector<std::shared_ptr<Node>> nodes_;
  std::vector<std::shared_ptr<ReleaseQueue>> releases_;  // by node
  base::Gathering changed_;
  base::Gathering answered_;
  const std::uint64_t fresh_id_;
  std::uint64_t epoch_ = 0;
  std::atomic<std::uint64_t> store_id_ = 0;  // sequencers ask for it, on any thread
  std::size_t greeting_ = 0;                 // nodes that are being greeted, or asked to join
  bool connecting_ = false;
  bool helping_ = false;
};

}  // namespace pawl::store::redlock
