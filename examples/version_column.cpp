// Optimistic locking on MySQL or MariaDB: nobody waits for the work of another, and a version in the row tells who was late.
//
// usage: version_column HOST PORT USER PASSWORD DATABASE
#include <pawl/mysql.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using Connection = std::unique_ptr<MYSQL, void (*)(MYSQL*)>;

Connection connect(char** where) {
  Connection connection(mysql_init(nullptr), mysql_close);
  const unsigned tcp = MYSQL_PROTOCOL_TCP;  // or "localhost" is the default socket, whatever the port
  mysql_options(connection.get(), MYSQL_OPT_PROTOCOL, &tcp);
  const auto port = static_cast<unsigned>(std::atoi(where[1]));
  if (mysql_real_connect(connection.get(), where[0], where[2], where[3], where[4], port, nullptr, 0) == nullptr) {
    throw std::runtime_error(mysql_error(connection.get()));
  }
  return connection;
}

pawl::Result<void> query(MYSQL* connection, const std::string& statement) {
  if (mysql_query(connection, statement.c_str()) != 0) return pawl::mysql::error_of(connection);
  return {};
}

pawl::Result<int> read_stock(MYSQL* connection) {
  auto asked = query(connection, "SELECT amount FROM stock WHERE id = 'pears'");
  if (!asked) return asked.error();
  const std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> rows(mysql_store_result(connection), mysql_free_result);
  MYSQL_ROW row = rows ? mysql_fetch_row(rows.get()) : nullptr;
  if (row == nullptr) return pawl::mysql::error_of(connection);
  return std::atoi(row[0]);
}

pawl::Result<std::uint64_t> take_one(MYSQL* connection) {
  const pawl::mysql::VersionedRow pears{.table = "stock", .key = "pears"};
  return pawl::mysql::update_versioned(connection, pears, [&](const pawl::mysql::VersionGuard&) -> pawl::Result<void> {
    auto amount = read_stock(connection);
    if (!amount) return amount.error();
    const std::string left = std::to_string(*amount - 1);
    return query(connection, "UPDATE stock SET amount = " + left + " WHERE id = 'pears'");
  });
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) return 2;
  const Connection alice = connect(words + 1), bob = connect(words + 1);
  const std::string table = "CREATE TABLE IF NOT EXISTS stock (id VARCHAR(32) PRIMARY KEY, amount INT, version BIGINT)";
  query(alice.get(), table).value();
  query(alice.get(), "REPLACE INTO stock VALUES ('pears', 20, 1)").value();
  bool bobs_part = true;
  std::thread other([&] {
    for (int i = 0; i < 10; ++i) bobs_part = take_one(bob.get()) && bobs_part;
  });
  bool fine = true;
  for (int i = 0; i < 10; ++i) fine = take_one(alice.get()) && fine;
  other.join();
  const int left = read_stock(alice.get()).value();
  std::printf("%d pears are left\n", left);
  query(alice.get(), "DROP TABLE stock").value();
  return fine && bobs_part && left == 0 ? 0 : 1;
}
