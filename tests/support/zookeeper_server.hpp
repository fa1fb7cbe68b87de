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
#include <string>
#include <vector>

namespace pawl::test {

struct ZooKeeperOptions {
  using Milliseconds = std::chrono::milliseconds;
  Milliseconds tick{100};  ///< its unit of time: a session ends at the next full one
  Milliseconds min_session{100};
  Milliseconds max_session{3'600'000};
  Milliseconds container_check{60'000};  ///< how often it looks for empty containers, and removes them
  /// Whether it waits for the disk, as it does by default. Without, its data survive its own end, not the machine's.
  bool force_sync = false;
  /// Of an ensemble: how long a follower and its leader may hear nothing from each other before they part.
  Milliseconds sync_limit{20'000};
  std::vector<std::string> config = {};  ///< more lines of zoo.cfg
  std::vector<std::string> jvm = {};     ///< more options of java: "-Dname=value"; of two, the last one counts
};

/// A real ZooKeeper on a free loopback port, in a temporary folder.
/// Its jars are Debian's; the environment variable PAWL_ZOOKEEPER_CLASSPATH names others.
class ZooKeeperServer {
 public:
  explicit ZooKeeperServer(ZooKeeperOptions options = {});

  std::uint16_t port() const { return port_.number(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
  /// `rest`: "/chroot?scheme=ephemeral".
  std::string url(const std::string& rest = {}) const { return "zookeeper://" + address() + rest; }
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
  /// At the most, from its next start on.
  void allow_sessions_of(ZooKeeperOptions::Milliseconds time) { options_.max_session = time; }

  /// What it answers to a word such as "mntr"; nothing when it does not answer.
  std::string four_letter(const std::string& word, std::chrono::milliseconds patience = patience_) const;
  /// "standalone", "leader" or "follower"; nothing while it serves no clients.
  std::string mode(std::chrono::milliseconds patience = patience_) const;

  /// One for the whole test program: a test takes a folder of its own.
  static ZooKeeperServer& shared();

 private:
  friend class ZooKeeperEnsemble;
  static constexpr std::chrono::milliseconds patience_{5'000};
  struct NotYet {};
  ZooKeeperServer(NotYet, ZooKeeperOptions options);
  void write_files() const;
  void launch(const std::function<bool()>& ready);
  bool serves() const;
  void wait_until_it_serves() const;

  TemporaryFolder folder_;
  const Port port_;
  ZooKeeperOptions options_;
  ServerProcess process_;
};

/// Three of them, each reached by the others only through a proxy of ours.
/// Threads: one at a time.
class ZooKeeperEnsemble {
 public:
  static constexpr std::size_t size = 3;

  /// Waits until all three serve.
  explicit ZooKeeperEnsemble(const ZooKeeperOptions& options = {});

  /// With the addresses of all three.
  std::string url(const std::string& rest = {}) const;
  /// Of one, for its own url, folder and words.
  const ZooKeeperServer& operator[](std::size_t i) const { return *members_.at(i).server; }

  /// Who leads, of those that run and are not cut off. Waits until somebody does.
  std::size_t leader() const;
  /// One that follows it; of two, the first.
  std::size_t follower() const;
  /// Waits until all of those serve.
  void wait_until_they_serve() const;

  void kill(std::size_t i);
  void stop(std::size_t i);
  void go_on(std::size_t i);
  /// Again with its data; waits until it serves, if it is one of two or three that run.
  void start(std::size_t i);

  /// Between it and the other two, nothing arrives any more; nobody is told. Clients reach it as before.
  void cut(std::size_t i);
  /// All that has waited arrives now.
  void heal(std::size_t i);

  /// One for the whole test program: whoever hurts it takes one of its own.
  static ZooKeeperEnsemble& shared();

 private:
  struct Member {
    Port quorum = {};
    Port election = {};
    SocksProxy proxy = {};
    std::unique_ptr<ZooKeeperServer> server = {};
    bool stopped = false;
    bool cut = false;

    bool takes_part() const { return server->running() && !stopped && !cut; }
  };

  ZooKeeperOptions options_of(std::size_t i, ZooKeeperOptions options) const;
  std::size_t wait_for(const std::string& mode) const;
  void tell_proxies();

  std::array<Member, size> members_;
};

}  // namespace pawl::test
