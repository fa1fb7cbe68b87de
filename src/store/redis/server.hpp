#pragma once

#include "base/url.hpp"
#include "store/claim.hpp"
#include "store/notices.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/info.hpp"
#include "store/redis/script.hpp"
#include "store/redis/sentinels.hpp"
#include "store/server_url.hpp"
#include "store/store.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::redis {

/// What the URL says. The addresses are those of the sentinels where a master is named.
struct Config : ServerConfig {
  Config() { prefix = "{pawl}:"; }  // one hash tag: all keys in one slot

  std::string master = {};  ///< as the sentinels call it
  std::int64_t database = 0;
  std::int64_t wait_replicas = 0;
};

/// Reads the text alone: no file is opened, and no server is asked. Errors: invalid_argument.
Result<Config> read_config(const base::Url& url, base::UrlOptions& options);

/// A server, as the store and its schemes share it: one connection for requests, one that listens, and with wait_replicas
/// one for WAIT. All of them are to the same server: whenever one finds another server, the others dial again.
/// Threads: on the executor only.
class Server : public std::enable_shared_from_this<Server> {
 public:
  Server(base::Runtime& runtime, Config config);
  ~Server();

  void attach(Surroundings surroundings);

  base::Runtime& runtime() const { return runtime_; }
  const Config& config() const { return config_; }
  std::uint64_t store_id() const { return store_id_; }
  std::uint64_t epoch() const { return epoch_; }
  /// Where this client listens.
  const std::string& mailbox() const { return mailbox_; }
  /// By which it knows that a message is from the store. Kept in the records of its sessions.
  const std::string& secret() const { return secret_; }

  awaitable<Result<void>> connect(Deadline deadline);
  /// Until its client can be told things.
  awaitable<Result<void>> listen(Deadline deadline);
  /// Now and then: do the server and the sentinels still speak to those who listen?
  void probe_listeners();
  awaitable<Result<Reply>> call(Words words, Deadline deadline);
  /// With <prefix>meta, the prefix and the epoch in front of the arguments.
  awaitable<Result<Reply>> run(const Script& script, Words arguments, Deadline deadline);
  /// As it is now, after another life was begun if `raise`.
  awaitable<Result<std::uint64_t>> ask_epoch(bool raise, Deadline deadline);
  /// How many replicas know all that is written by now, after `patience` at the most: of the server that has answered
  /// last, and of no other.
  awaitable<Result<std::int64_t>> replicas_that_know(Duration patience, Deadline deadline);

  void opened(SessionId session) { sessions_[session] = epoch_; }
  void closed(SessionId session) { sessions_.erase(session); }
  /// After a renewal: has the epoch changed since the last one? The server may have lost its last writes: what it granted
  /// must be looked at, and is looked for what was given back.
  bool is_another_epoch(SessionId session);

  /// For all claims of this client.
  Notices& notices() { return notices_; }

  /// Whatever is said on that channel is a hint for the claim.
  void hear_of(const std::string& channel, ClaimId claim);
  bool hears(const std::string& channel, ClaimId claim) const;
  void hear_no_more(ClaimId claim);

 private:
  using SharedConnection = std::shared_ptr<Connection>;
  enum class Role : std::uint8_t { requests, listener, replicas };
  /// Where a connection leads to.
  struct Route {
    std::optional<net::Address> named = {};      // by the sentinels; nothing: they are being asked
    std::optional<net::Address> successor = {};  // to be dialled next: the named one is its replica
    bool at_successor = false;
  };
  SharedConnection make_connection(Role role);
  const SharedConnection& connection(Role role) const;
  awaitable<Result<net::Address>> find(Role role, Deadline deadline);
  void watch_sentinels();
  void follow(const net::Address& master);
  Error refused(Role role, std::string_view info, Error why);
  awaitable<Result<void>> authenticate(Connection& connection, Deadline deadline);
  awaitable<Result<void>> greet(Deadline deadline);
  awaitable<Result<void>> greet_beside(Role role, Deadline deadline);
  awaitable<Result<void>> greet_listener(Deadline deadline);
  awaitable<Result<void>> teach(Deadline deadline);
  void meet(Life life);
  void leave_all(const Error& why);
  awaitable<Result<Reply>> evaluate(const Script& script, const Words& arguments, Deadline deadline);
  awaitable<Result<void>> look_again(bool raise, Deadline deadline);
  awaitable<Result<void>> learn_epoch(bool raise, Deadline deadline);
  awaitable<void> drop_unknown_claims(std::shared_ptr<Server> self, SessionId session);
  awaitable<Result<void>> drop_unknown_claims(SessionId session, std::string_view kind);
  void hear(const Reply& reply);
  void hear_of_epoch(const std::string& announced);
  awaitable<void> check_epoch(std::shared_ptr<Server> self);
  void tell(const std::set<ClaimId>& claims);
  void up_again();
  void doubt_sessions();
  void listen_anew();

  base::Runtime& runtime_;
  Config config_;
  Surroundings surroundings_;
  const std::string meta_key_;
  const std::string epoch_channel_;  // where new epochs are announced
  const std::string mailbox_;
  const std::string secret_;
  std::uint64_t fresh_id_;
  Life life_;                                // of the server that the requests go to
  std::atomic<std::uint64_t> store_id_ = 0;  // sequencers ask for it, on any thread
  std::uint64_t epoch_ = 0;
  bool was_up_ = false;
  bool asks_epoch_ = false;  // because another one was announced
  bool asks_epoch_again_ = false;
  SharedConnection requests_;
  SharedConnection listener_;
  SharedConnection replicas_;  // WAIT blocks a connection: nothing else goes over this one
  std::shared_ptr<Sentinels> sentinels_;
  std::array<Route, 3> routes_;                  // by role; with sentinels
  std::map<SessionId, std::uint64_t> sessions_;  // and the epoch in which their claims were compared last; 0: not yet
  Notices notices_;
  std::map<std::string, std::set<ClaimId>> channels_;
};

}  // namespace pawl::store::redis
