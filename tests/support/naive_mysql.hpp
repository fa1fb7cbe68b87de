#pragma once

#include "tests/support/mysql_server.hpp"

#include <string>
#include <utility>

/// THE WRONG WAY, on purpose: locks in a MySQL table as they are often written, a few lines each. The tests let them have
/// their accidents on a real server, and then let the same things happen to pawl. They should not be used for anything else.
namespace pawl::test::naive {

/// The table that all of them use.
inline const std::string lock_table =
    "CREATE TABLE IF NOT EXISTS method_lock (id INT AUTO_INCREMENT PRIMARY KEY, method_name VARCHAR(64) NOT NULL "
    "UNIQUE, "
    "expires DATETIME(6) NULL, version INT NOT NULL DEFAULT 1) ENGINE = InnoDB";

/// INSERT to acquire, DELETE to release. Wrong: the row of a dead client stays; with an expiry that others sweep, the DELETE
/// of a late holder hits the next one's row.
class UniqueRowLock {
 public:
  UniqueRowLock(MysqlClient& client, std::string name) : client_(client), name_("'" + std::move(name) + "'") {}

  bool try_lock(const std::string& expires = "NULL") {
    return client_.attempt("INSERT INTO method_lock (method_name, expires) VALUES (" + name_ + ", " + expires + ")") ==
           0;
  }
  void sweep() { client_.query("DELETE FROM method_lock WHERE expires < UTC_TIMESTAMP(6)"); }
  void unlock() { client_.query("DELETE FROM method_lock WHERE method_name = " + name_); }

 private:
  MysqlClient& client_;
  const std::string name_;
};

/// SELECT ... FOR UPDATE, and INSERT if there was nothing. Wrong: nothing is no row that could be locked.
class FindOrMakeLock {
 public:
  FindOrMakeLock(MysqlClient& client, std::string name) : client_(client), name_("'" + std::move(name) + "'") {}

  bool find() {
    client_.query("START TRANSACTION");
    return !client_.query("SELECT id FROM method_lock WHERE method_name = " + name_ + " FOR UPDATE").empty();
  }
  /// The server's error number; 0: done.
  unsigned make() { return client_.attempt("INSERT INTO method_lock (method_name) VALUES (" + name_ + ")"); }

 private:
  MysqlClient& client_;
  const std::string name_;
};

}  // namespace pawl::test::naive
