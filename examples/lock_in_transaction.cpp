// A lock inside the program's own transaction on MySQL or MariaDB: the row lock, SELECT ... FOR UPDATE. What is done in the
// database goes with the transaction; what is done elsewhere is guarded by the token.
//
// usage: lock_in_transaction HOST PORT USER PASSWORD DATABASE    (pawl's tables are there: `pawl schema --apply`)
#include <pawl/mysql.hpp>
#include <pawl/pawl.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

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

pawl::Result<void> in_transaction(MYSQL* connection, pawl::Fence& printer) {
  auto row = pawl::mysql::lock_row(connection, "invoice/7", {.wait = 10s});
  if (!row) return row.error();
  auto done = query(connection, "UPDATE invoice SET printed = printed + 1 WHERE id = 7");
  if (!done) return done;
  // Not undone by a ROLLBACK: the fence refuses it once another transaction has had the row.
  return printer.admit(*row, [&] { std::printf("invoice 7, token %s\n", row->token.to_string().c_str()); });
}

pawl::Result<void> print_invoice(MYSQL* connection, pawl::Fence& printer) {
  auto prepared =
      pawl::mysql::prepare_row(connection, "invoice/7");  // once for each connection, before the transaction
  if (!prepared) return prepared;
  for (;;) {
    auto begun = query(connection, "START TRANSACTION");
    if (!begun) return begun;
    auto done = in_transaction(connection, printer);
    if (done) return query(connection, "COMMIT");  // this releases the row
    mysql_rollback(connection);
    if (done.code() != pawl::Errc::lost)
      return done;  // lost: a deadlock, and the server chose this transaction to end it
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) return 2;
  const Connection alice = connect(words + 1), bob = connect(words + 1);
  query(alice.get(), "CREATE TABLE IF NOT EXISTS invoice (id INT PRIMARY KEY, printed INT NOT NULL)").value();
  query(alice.get(), "REPLACE INTO invoice VALUES (7, 0)").value();
  pawl::Fence printer(pawl::Kind::mutex, "invoice/7");
  const bool fine = print_invoice(alice.get(), printer) && print_invoice(bob.get(), printer);
  query(bob.get(), "DROP TABLE invoice").value();
  return fine ? 0 : 1;
}
