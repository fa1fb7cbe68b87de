#pragma once

#include "tests/support/server.hpp"

#include <signal.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct st_mysql;

namespace pawl::test {

/// A blocking connection, for tests to see and do things past pawl. Throws what the server calls an error.
class MysqlClient {
 public:
  MysqlClient(std::uint16_t port, const std::string& user, const std::string& password,
              const std::string& database = {});

  /// All rows, NULL as "NULL". Of several statements: those of the last one.
  std::vector<std::vector<std::string>> query(const std::string& statement);
  /// The only field of the only row.
  std::string field(const std::string& statement);
  /// The server's error number; 0: it was done. For statements without rows.
  unsigned attempt(const std::string& statement);
  /// For calls of the client library.
  st_mysql* handle() const { return handle_.get(); }

 private:
  std::unique_ptr<st_mysql, void (*)(st_mysql*)> handle_;
};

/// A real mariadbd on a free loopback port and a socket, with data of its own in a temporary folder. Its account `pawl` may do
/// everything in the database `pawl`, and its root everything.
class MysqlServer {
 public:
  /// `options` as on its command line: {"--read-only=1"}; `environment`: {"NAME=value"}.
  explicit MysqlServer(std::vector<std::string> options = {}, std::vector<std::string> environment = {});

  std::uint16_t port() const { return port_.number(); }
  std::string url(const std::string& query = {}) const;
  /// The same behind a proxy.
  static std::string url_at(std::uint16_t port, const std::string& query = {});
  std::string socket() const { return folder_.path() + "/socket"; }
  const std::string& folder() const { return folder_.path(); }

  void kill() { process_.kill(); }
  /// Asks it to end, and waits until it has.
  void end() { process_.end(); }
  /// As if it hung; and on again.
  void stop() const { process_.signal(SIGSTOP); }
  void go_on() const { process_.signal(SIGCONT); }
  /// While it does not run: as if its disk had been replaced.
  void lose_data();
  /// Again on the same port, with what is left in its folder; with more options from now on.
  void start(const std::vector<std::string>& more_options = {});

  MysqlClient root(const std::string& database = "pawl") const { return {port(), "root", "", database}; }

  /// One for the whole test program: a test takes a prefix of its own.
  static MysqlServer& shared();

 private:
  TemporaryFolder folder_;
  const Port port_;
  std::vector<std::string> options_;
  const std::vector<std::string> environment_;
  ServerProcess process_;
};

}  // namespace pawl::test
