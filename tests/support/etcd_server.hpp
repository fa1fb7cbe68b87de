#pragma once

#include "tests/support/server.hpp"
#include "tests/support/socks_proxy.hpp"

#include <signal.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::test {

struct EtcdOptions {
  /// More of etcd's flags; of two, the last one counts: {"--quota-backend-bytes", "16777216"}.
  std::vector<std::string> flags = {};
  /// Whether it waits for the disk, as it does by default. Without, its data survive its own end, not the machine's.
  bool fsync = false;
  /// What etcdctl needs before its command: {"--user", "root:secret"}, or the files of TLS.
  std::vector<std::string> ctl = {};
  /// Clients come by TLS. The files are flags: "--cert-file", "--key-file", "--trusted-ca-file", "--client-cert-auth".
  bool tls = false;
};

/// A record as etcd's JSON gateway tells it.
struct EtcdRecord {
  std::string key = {};
  std::string value = {};
  std::int64_t create_revision = 0;
  std::int64_t mod_revision = 0;
  std::int64_t lease = 0;
};

/// A real etcd on a free loopback port, in a temporary folder: one member.
/// The environment variables PAWL_ETCD and PAWL_ETCDCTL name other programs than Debian's.
class EtcdServer {
 public:
  using Milliseconds = std::chrono::milliseconds;

  explicit EtcdServer(EtcdOptions options = {});

  std::uint16_t port() const { return port_.number(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
  /// `query`: "?prefix=test/".
  std::string url(const std::string& query = {}) const;
  const std::string& folder() const { return folder_.path(); }

  void kill() { process_.kill(); }
  /// Asks it to end, and waits until it has.
  void end() { process_.end(); }
  /// As if it hung; and on again.
  void stop() const { process_.signal(SIGSTOP); }
  void go_on() const { process_.signal(SIGCONT); }
  /// Again on the same port, with what is left in its folder.
  void start();
  bool running() const { return process_.running(); }

  /// What etcdctl prints for a command, its errors included. `through`: a proxy's port instead of the server's.
  std::string ctl(const std::vector<std::string>& words, std::uint16_t through = 0) const;
  /// The same, of a command that must succeed.
  std::string must_ctl(const std::vector<std::string>& words) const;

  /// The answer of the JSON gateway, by which a test looks past our own transport; nothing when none comes.
  /// Limit: neither TLS nor users.
  std::string gateway(const std::string& path, const std::string& body, Milliseconds patience = patience_) const;
  /// The keys that begin so, in their order.
  std::vector<EtcdRecord> records(const std::string& prefix) const;
  std::vector<std::int64_t> leases() const;
  /// Seconds; nothing when there is no such lease.
  std::optional<std::int64_t> seconds_left(std::int64_t lease) const;
  void revoke(std::int64_t lease) const;
  /// `keeps_lease`: the key is there, and stays bound to its lease. Nothing is thrown when the server refuses it.
  void put(const std::string& key, const std::string& value, bool keeps_lease) const;
  struct Condition {
    std::string key;
    std::string result;  ///< "EQUAL", "LESS"...
    std::string value;
  };
  struct Put {
    std::string key;
    std::string value;
  };
  /// Puts all if all the conditions hold, which it tells.
  bool txn(const std::vector<Condition>& conditions, const std::vector<Put>& puts) const;
  std::int64_t revision() const;
  /// {3, 4, 23}.
  std::array<int, 3> version() const;
  /// Forgets all that was before now.
  void compact() const;
  /// Has a leader, and answers what needs one.
  bool serves(Milliseconds patience = patience_) const;

  void snapshot(const std::string& file) const;
  /// Killed, and again on the same port as it was when the snapshot was taken: as an operator does after a disaster.
  /// `token`: of the initial cluster, which makes it another cluster by its id.
  void restore(const std::string& file, const std::string& token = {});

  /// One for the whole test program: a test takes a prefix of its own.
  static EtcdServer& shared();

 private:
  friend class EtcdCluster;
  static constexpr Milliseconds patience_{5'000};
  struct NotYet {};
  EtcdServer(NotYet, EtcdOptions options, std::vector<std::string> environment);
  void launch(const std::function<bool()>& ready);
  std::vector<std::string> ctl_command(const std::vector<std::string>& words, std::uint16_t at) const;

  TemporaryFolder folder_;
  const Port port_;
  const Port peer_port_;
  EtcdOptions options_;
  std::vector<std::string> environment_;
  ServerProcess process_;
};

/// Three members, each of which reaches the others only through a proxy of ours.
/// Threads: one at a time.
class EtcdCluster {
 public:
  static constexpr std::size_t size = 3;

  /// Waits until all three serve.
  explicit EtcdCluster(const EtcdOptions& options = {});

  /// With the addresses of all three.
  std::string url(const std::string& query = {}) const;
  /// One, for its own url, folder and records.
  const EtcdServer& operator[](std::size_t i) const { return *members_.at(i).server; }

  /// Of those that run and are not cut off. Waits until there is one.
  std::size_t leader() const;
  /// Of raft, as the leader tells it.
  std::uint64_t term() const;
  /// One that follows it; of two, the first.
  std::size_t follower() const;
  /// Waits until all of those serve.
  void wait_until_they_serve() const;

  void kill(std::size_t i);
  void stop(std::size_t i);
  void go_on(std::size_t i);
  /// Again with its data; waits until it serves, if it is one of two or three that run.
  void start(std::size_t i);

  /// Between it and the other two, nothing arrives any more; no side is told. Clients reach it as before.
  void cut(std::size_t i);
  /// All that has waited arrives now.
  void heal(std::size_t i);

  /// One for the whole test program: a test that hurts it takes one of its own.
  static EtcdCluster& shared();

 private:
  struct Member {
    SocksProxy proxy = {};
    std::unique_ptr<EtcdServer> server = {};
    bool stopped = false;
    bool cut = false;

    bool takes_part() const { return server->running() && !stopped && !cut; }
  };

  std::optional<std::size_t> find_leader() const;
  void tell_proxies();

  std::array<Member, size> members_;
};

}  // namespace pawl::test
