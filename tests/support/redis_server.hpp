#pragma once

#include "tests/support/server.hpp"

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pawl::test {

/// A real redis-server on a free loopback port, in a temporary folder.
class RedisServer {
 public:
  /// `options` as on its command line: {"--save", "", "--appendonly", "yes"}.
  /// `wrapper` in front of the command: {"env", "LD_PRELOAD=..."}.
  explicit RedisServer(std::vector<std::string> options = {}, std::vector<std::string> wrapper = {});

  std::uint16_t port() const { return port_.number(); }
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

  /// What redis-cli prints for a command.
  std::string cli(const std::vector<std::string>& words) const;

  /// One for the whole test program: a test takes a prefix of its own.
  static RedisServer& shared();

 private:
  TemporaryFolder folder_;
  const Port port_;
  const std::vector<std::string> options_;
  const std::vector<std::string> wrapper_;
  ServerProcess process_;
};

/// Several of them, independent of each other: for Redlock.
class RedisServers {
 public:
  explicit RedisServers(std::size_t count, const std::vector<std::string>& options = {});

  void add(const std::vector<std::string>& options, const std::vector<std::string>& wrapper);
  std::size_t size() const { return servers_.size(); }
  RedisServer& operator[](std::size_t index) { return *servers_[index]; }
  std::vector<std::uint16_t> ports() const;
  /// redlock://127.0.0.1:1,127.0.0.1:2,...
  std::string url(const std::string& query = {}) const;

  /// Five for the whole test program: a test takes a prefix of its own.
  static RedisServers& shared();

 private:
  std::vector<std::unique_ptr<RedisServer>> servers_;
};

}  // namespace pawl::test
