#include "tests/support/mysql_server.hpp"

#ifdef PAWL_STORE_MYSQL

#include <mariadb/mysql.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace pawl::test {

namespace {

/// PAWL_MARIADBD in the environment names another server than the installed one: a mariadbd, or a mysqld.
std::string server_program() {
  const char* given = std::getenv("PAWL_MARIADBD");
  return given != nullptr ? given : "mariadbd";
}

bool is_mysql() { return std::filesystem::path(server_program()).filename() == "mysqld"; }

/// PAWL_MARIADB_INSTALL_DB is the program that belongs to PAWL_MARIADBD; a mysqld needs none.
std::string command_that_makes(const std::string& data, const std::string& temporary) {
  const std::string places =
      " --no-defaults --datadir=" + data + " --tmpdir=" + temporary + (::geteuid() == 0 ? " --user=root" : "");
  if (is_mysql()) return server_program() + places + " --initialize-insecure";
  const char* given = std::getenv("PAWL_MARIADB_INSTALL_DB");
  return (given != nullptr ? given : "mariadb-install-db") + places +
         " --auth-root-authentication-method=normal --skip-test-db";
}

/// An empty server's files, made once for each test program: that takes seconds.
const std::string& template_folder() {
  static const TemporaryFolder folder;
  static const bool made = [] {
    const std::string command = command_that_makes(folder / "data", folder.path()) + " > " + folder / "log" + " 2>&1";
    if (std::system(command.c_str()) != 0)
      throw std::runtime_error("no data folder could be made; see " + folder / "log");
    return true;
  }();
  (void)made;
  return folder.path();
}

[[noreturn]] void fail(MYSQL* handle, const std::string& what) {
  throw std::runtime_error(what + ": " + mysql_error(handle));
}

}  // namespace

MysqlClient::MysqlClient(std::uint16_t port, const std::string& user, const std::string& password,
                         const std::string& database)
    : handle_(mysql_init(nullptr), mysql_close) {
  if (mysql_real_connect(handle_.get(), "127.0.0.1", user.c_str(), password.c_str(),
                         database.empty() ? nullptr : database.c_str(), port, nullptr,
                         CLIENT_MULTI_STATEMENTS) == nullptr) {
    fail(handle_.get(), "no connection to mariadbd");
  }
}

std::vector<std::vector<std::string>> MysqlClient::query(const std::string& statement) {
  if (mysql_real_query(handle_.get(), statement.data(), statement.size()) != 0) fail(handle_.get(), statement);
  std::vector<std::vector<std::string>> rows;
  for (;;) {
    const std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> result(mysql_store_result(handle_.get()), mysql_free_result);
    if (result) {
      rows.clear();
      while (MYSQL_ROW row = mysql_fetch_row(result.get())) {
        const unsigned long* sizes = mysql_fetch_lengths(result.get());
        std::vector<std::string>& texts = rows.emplace_back();
        for (unsigned i = 0; i < mysql_num_fields(result.get()); ++i) {
          texts.push_back(row[i] != nullptr ? std::string(row[i], sizes[i]) : "NULL");
        }
      }
    }
    const int more = mysql_next_result(handle_.get());
    if (more > 0) fail(handle_.get(), statement);
    if (more < 0) return rows;
  }
}

unsigned MysqlClient::attempt(const std::string& statement) {
  return mysql_real_query(handle_.get(), statement.data(), statement.size()) == 0 ? 0 : mysql_errno(handle_.get());
}

std::string MysqlClient::field(const std::string& statement) {
  const auto rows = query(statement);
  if (rows.size() != 1 || rows[0].size() != 1) throw std::runtime_error(statement + ": not one field");
  return rows[0][0];
}

MysqlServer::MysqlServer(std::vector<std::string> options, std::vector<std::string> environment)
    : options_(std::move(options)), environment_(std::move(environment)) {
  lose_data();
  // At each start, so that a server which is read-only from its beginning has it as well.
  std::ofstream(folder_ / "init.sql") << "CREATE DATABASE IF NOT EXISTS pawl;\n"
                                         "CREATE USER IF NOT EXISTS pawl@'%' IDENTIFIED BY 'secret';\n"
                                         "GRANT ALL ON pawl.* TO pawl@'%';\n";
  start();
}

void MysqlServer::lose_data() {
  std::filesystem::remove_all(folder_ / "data");
  std::filesystem::copy(template_folder() + "/data", folder_ / "data", std::filesystem::copy_options::recursive);
}

void MysqlServer::start(const std::vector<std::string>& more_options) {
  options_.insert(options_.end(), more_options.begin(), more_options.end());
  std::vector<std::string> command{
      server_program(),
      "--no-defaults",
      "--datadir=" + folder_ / "data",
      "--tmpdir=" + folder_.path(),
      "--socket=" + socket(),
      "--pid-file=" + folder_ / "pid",
      "--port=" + std::to_string(port()),
      "--bind-address=127.0.0.1",
      "--skip-name-resolve",
      "--skip-log-bin",
      "--init-file=" + folder_ / "init.sql",
      "--max-connections=2500",
      "--innodb-flush-log-at-trx-commit=2",  // a kill of the server loses nothing all the same
      "--innodb-buffer-pool-size=64M"};
  if (::geteuid() == 0) command.emplace_back("--user=root");
  if (is_mysql()) command.emplace_back("--mysqlx=OFF");  // it would take a port that is not ours
  command.insert(command.end(), options_.begin(), options_.end());
  if (!environment_.empty()) {
    command.insert(command.begin(), environment_.begin(), environment_.end());
    command.insert(command.begin(), "env");
  }
  process_.start(command, folder_.path(), [this] {
    try {
      root("mysql");
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  });
}

std::string MysqlServer::url(const std::string& query) const { return url_at(port(), query); }

std::string MysqlServer::url_at(std::uint16_t port, const std::string& query) {
  return "mysql://pawl:secret@127.0.0.1:" + std::to_string(port) + "/pawl" + query;
}

MysqlServer& MysqlServer::shared() {
  static MysqlServer server;
  return server;
}

}  // namespace pawl::test

#endif
