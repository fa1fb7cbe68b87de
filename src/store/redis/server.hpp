#pragma once

#include "base/url.hpp"
#include "store/claim.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/script.hpp"
#include "store/store.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pawl::store::redis {

/// What the URL says.
struct Config {
  std::vector<net::Address> addresses = {};  ///< of the server; of the sentinels, where a master is named
  std::string master = {};                   ///< as the sentinels call it
  std::optional<base::Credentials> credentials = {};
  std::string password_file = {};  ///< instead of the password in the URL; read for every connection
  std::int64_t database = 0;
  std::string prefix = "{pawl}:";  ///< one hash tag: all keys in one slot
  bool raw_names = false;          ///< lock names are keys, as they are
  std::int64_t wait_replicas = 0;
  Duration timeout = std::chrono::seconds(5);
};

/// A server, as the store and its schemes share it: one connection for requests, one that listens.
/// Threads: on the executor only.
class Server : public std::enable_shared_from_this<Server> {
 public:
  Server(base::Runtime& runtime, Config config);
  ~Server();

  void attach(Surroundings surroundings);

  base::Runtime& runtime() const { return runtime_; }
  const Config& config() const { return config_; }
  std::uint64_t store_id() const { return store_id_; }
  /// Where this client listens.
  const std::string& mailbox() const { return mailbox_; }

  awaitable<Result<void>> connect(Deadline deadline);
  /// Until its client can be told things.
  awaitable<Result<void>> listen(Deadline deadline);
  /// Now and then: does the server still speak to it?
  void probe_listener() {
    if (listener_) listener_->probe();
  }
  awaitable<Result<Reply>> call(Words words, Deadline deadline);
  /// With <prefix>meta, the prefix and the epoch in front of the arguments.
  awaitable<Result<Reply>> run(const Script& script, Words arguments, Deadline deadline);
  /// As it is now, after another life was begun if `raise`.
  awaitable<Result<std::uint64_t>> ask_epoch(bool raise, Deadline deadline);
  /// How many replicas know all that is written by now, after `patience` at the most.
  awaitable<Result<std::int64_t>> replicas_that_know(Duration patience, Deadline deadline);

  void watch(ClaimId claim, Waker waker) { watches_[claim] = std::move(waker); }
  void unwatch(ClaimId claim) { watches_.erase(claim); }

  /// Whatever is said on that channel is a hint for the claim.
  void hear_of(const std::string& channel, ClaimId claim);
  bool hears(const std::string& channel, ClaimId claim) const;
  void hear_no_more(ClaimId claim);

 private:
  using SharedConnection = std::shared_ptr<Connection>;
  enum class Role : std::uint8_t { requests, listener, replicas };
  SharedConnection make_connection(Role role);
  awaitable<Result<net::Address>> find(Deadline deadline);
  awaitable<Result<net::Address>> ask_sentinels(Deadline deadline);
  awaitable<Result<void>> authenticate(Connection& connection, Deadline deadline);
  awaitable<Result<void>> greet(Deadline deadline);
  awaitable<Result<void>> greet_listener(Deadline deadline);
  void teach();
  Result<void> judge(const std::string& info);
  awaitable<Result<void>> look_at_server(Deadline deadline);
  awaitable<Result<void>> learn_epoch(bool raise, Deadline deadline);
  void hear(const Reply& reply);
  void tell(const std::set<ClaimId>& claims);
  void listen_anew();

  base::Runtime& runtime_;
  Config config_;
  Surroundings surroundings_;
  const std::string meta_key_;
  const std::string mailbox_;
  std::uint64_t fresh_id_;
  std::string run_id_;
  std::atomic<std::uint64_t> store_id_ = 0;  // sequencers ask for it, on any thread
  std::uint64_t epoch_ = 0;
  SharedConnection requests_;
  SharedConnection listener_;
  SharedConnection replicas_;  // WAIT blocks a connection: nothing else goes over this one
  std::size_t next_sentinel_ = 0;
  std::map<ClaimId, Waker> watches_;
  std::map<std::string, std::set<ClaimId>> channels_;
};

}  // namespace pawl::store::redis
