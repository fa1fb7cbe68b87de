#pragma once

#include "base/threads.hpp"
#include "base/timer.hpp"
#include "base/url.hpp"
#include "store/claim.hpp"
#include "store/server_url.hpp"
#include "store/store.hpp"
#include "store/zookeeper/connection.hpp"
#include "store/zookeeper/layout.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pawl::store::zookeeper {

/// What the URL says. The prefix stands below the chroot, and so do raw names.
struct Config : ServerConfig {
  Config() { prefix = "/pawl"; }

  std::string chroot = {};  ///< "/apps/billing", or nothing
  Dialect dialect = Dialect::curator;
};

/// Reads the text alone: no server is asked. Errors: invalid_argument; unsupported (TLS).
Result<Config> read_config(const base::Url& url, base::UrlOptions& options);

/// Hears of changes at the servers.
class Hearer {
 public:
  virtual void heard(const Event& event) = 0;
  /// Of nothing any more: the session has ended.
  virtual void over() = 0;

 protected:
  ~Hearer() = default;
};

/// A connection, and what is known through it.
class Link {
 public:
  /// `store_id`: which store it was so far, if that is known. One that was emptied keeps it.
  Link(base::Runtime& runtime, Connection::Plan plan, std::string epoch_path, std::uint64_t store_id);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link();

  const std::shared_ptr<Connection> connection;

  /// Which life of the store this is, as of the last answer that came through this connection.
  awaitable<Result<std::uint64_t>> epoch(Deadline deadline);
  /// The last one that was heard of.
  std::uint64_t known_epoch() const { return last_epoch_; }
  std::uint64_t store_id() const { return store_id_; }
  base::Runtime& runtime() const { return runtime_; }

  /// Every change of that node that a watch sees.
  void listen(const std::string& path, const std::shared_ptr<Hearer>& hearer);
  void listen_no_more(const std::string& path, const Hearer* hearer);

  /// Makes the node, and those above it that are missing. `mode` is its own; the others are persistent.
  awaitable<Result<void>> make(std::string path, int mode, Deadline deadline);

 private:
  void hear(const Event& event);
  void over();

  base::Runtime& runtime_;
  const std::string epoch_path_;
  std::optional<std::uint64_t> epoch_;  // empty: it may be another by now
  std::uint64_t last_epoch_ = 0;
  std::uint64_t epoch_changes_ = 0;
  std::uint64_t store_id_;
  std::map<std::string, std::map<const Hearer*, std::weak_ptr<Hearer>>> hearers_;  // by path
};

/// The servers write the paths of all ephemeral nodes of a session into one transaction when it ends. What is larger than
/// twice `jute.maxbuffer` (1,048,575 bytes) is written but cannot be read again: every server stops
/// (ZOOKEEPER-4306). So a session has no more than this.
constexpr std::size_t most_path_bytes = 1'800'000;

/// A session of ours, which is one of the servers'.
struct Session {
  SessionId id;
  Owner owner = {};
  Duration lease = {};
  std::shared_ptr<Link> link;
  std::unique_ptr<base::Timer> end = {};  ///< when nobody has renewed it
  std::uint64_t news = 0;                 ///< told to its claims
  std::set<ClaimId> refused = {};         ///< withdrawn while a request of theirs was still under way
  std::size_t path_bytes = 0;             ///< of the ephemeral nodes of its claims, at the most

  Connection& connection() const { return *link->connection; }
  base::Runtime& runtime() const { return link->runtime(); }
};

/// What is wrong, and whether the request may have been applied.
Error error_of(int code, const Connection& connection);
/// The same for one that changes nothing.
Error read_error_of(int code, const Connection& connection);

/// The servers, as the store and its schemes share them.
/// Threads: on the executor only.
class Server : public std::enable_shared_from_this<Server> {
 public:
  Server(base::Runtime& runtime, Config config);
  ~Server();

  void attach(Surroundings surroundings);
  base::Runtime& runtime() const { return runtime_; }
  const Config& config() const { return config_; }
  std::uint64_t store_id() const { return store_id_; }

  awaitable<Result<void>> connect(Deadline deadline);
  awaitable<Result<SessionGrant>> open_session(SessionRequest request, Deadline deadline);
  awaitable<Result<Renewal>> renew(SessionId id, Deadline deadline);
  awaitable<Result<void>> close_session(SessionId id, Deadline deadline);
  awaitable<Result<std::uint64_t>> epoch(Deadline deadline);
  awaitable<Result<std::uint64_t>> raise_epoch(Deadline deadline);
  /// The epoch as of that connection. Also notes the store id, which another client may have replaced with the epoch.
  awaitable<Result<std::uint64_t>> epoch_of(std::shared_ptr<Link> link, Deadline deadline);

  /// Null: it is over.
  std::shared_ptr<Session> session(SessionId id) const;
  /// Whichever connection there is; a new one if there is none.
  awaitable<Result<std::shared_ptr<Link>>> any(Deadline deadline);

  /// chroot and prefix, and this behind it.
  std::string path(const std::string& rest) const { return config_.chroot + config_.prefix + rest; }

 private:
  const std::string& last_answered();
  awaitable<Result<std::shared_ptr<Link>>> dial(Duration session, Deadline deadline);
  void session_over(SessionId id);

  base::Runtime& runtime_;
  const std::uint64_t generation_ = base::fork_generation();
  Config config_;
  Surroundings surroundings_;
  std::atomic<std::uint64_t> store_id_ = 0;  // sequencers ask for it, on any thread
  std::map<SessionId, std::shared_ptr<Session>> sessions_;
  std::shared_ptr<Link> bystander_;  // while there is no session
  std::string answered_;             // which of the servers
};

}  // namespace pawl::store::zookeeper
