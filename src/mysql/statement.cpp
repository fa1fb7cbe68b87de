#include "mysql/statement.hpp"

#include "base/lock_name.hpp"

#include <pawl/mysql.hpp>

#include <mariadb/errmsg.h>
#include <mariadb/mysqld_error.h>

#include <algorithm>
#include <memory>
#include <new>

namespace pawl::mysql {

namespace {

using Statement = std::unique_ptr<MYSQL_STMT, my_bool (*)(MYSQL_STMT*)>;
using Rows = std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)>;

Error error_of(unsigned number, const std::string& words) {
  const std::string why = base::printable(words, 300) + " (error " + std::to_string(number) + ")";
  switch (number) {
    case ER_LOCK_DEADLOCK:
      return {Errc::lost, "the server has rolled back the transaction to end a deadlock; begin it again: " + why};
    case ER_LOCK_WAIT_TIMEOUT: return {Errc::timed_out, "another transaction has the row: " + why};
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_LOST:
    case ER_CONNECTION_KILLED:
      return {Errc::store_unavailable, "the connection is gone, and the transaction with it: " + why};
    case ER_SP_DOES_NOT_EXIST:
    case ER_NO_SUCH_TABLE:
      return {Errc::invalid_argument,
              "the connection's database lacks pawl's tables and procedures, or this row's table; "
              "\"pawl schema --store mysql://.../database --apply\" makes pawl's: " +
                  why};
    case ER_NO_DB_ERROR: return {Errc::invalid_argument, "the connection has no database: " + why};
    default: return store::mysql::error_of({{}, number, words});
  }
}

Error error_of(MYSQL_STMT* statement) { return error_of(mysql_stmt_errno(statement), mysql_stmt_error(statement)); }

/// All of it is in memory by now.
bool take_rows(MYSQL_STMT* statement, std::vector<Row>& rows) {
  const Rows meta(mysql_stmt_result_metadata(statement), mysql_free_result);
  if (!meta) return false;
  const unsigned columns = mysql_num_fields(meta.get());
  std::vector<MYSQL_BIND> binds(columns);
  std::vector<std::string> texts(columns);
  std::vector<unsigned long> sizes(columns);
  std::vector<my_bool> nulls(columns);
  for (unsigned i = 0; i < columns; ++i) {
    constexpr std::size_t longest_number = 32;
    texts[i].resize(std::max<std::size_t>(mysql_fetch_field_direct(meta.get(), i)->max_length, longest_number));
    binds[i].buffer_type = MYSQL_TYPE_STRING;
    binds[i].buffer = texts[i].data();
    binds[i].buffer_length = texts[i].size();
    binds[i].length = &sizes[i];
    binds[i].is_null = &nulls[i];
  }
  if (mysql_stmt_bind_result(statement, binds.data()) != 0) return false;
  for (int fetched = 0; (fetched = mysql_stmt_fetch(statement)) != MYSQL_NO_DATA;) {
    if (fetched != 0) return false;
    Row& row = rows.emplace_back();
    for (unsigned i = 0; i < columns; ++i) {
      row.push_back(nulls[i] != 0 ? std::string() : texts[i].substr(0, sizes[i]));
    }
  }
  return true;
}

/// A procedure answers with its rows, and then with its end.
Result<Answered> take_all(MYSQL_STMT* statement) {
  Answered answered;
  for (;;) {
    if (mysql_stmt_field_count(statement) > 0) {
      if (mysql_stmt_store_result(statement) != 0) return error_of(statement);
      if (!take_rows(statement, answered.rows)) return error_of(statement);
      mysql_stmt_free_result(statement);
    } else {
      answered.changed = mysql_stmt_affected_rows(statement);
    }
    if (mysql_stmt_more_results(statement) == 0) return answered;
    if (mysql_stmt_next_result(statement) > 0) return error_of(statement);
  }
}

}  // namespace

Error error_of(MYSQL* connection) { return error_of(mysql_errno(connection), mysql_error(connection)); }

Result<Answered> run(MYSQL* connection, const std::string& text, const std::vector<std::string>& values) {
  const Statement statement(mysql_stmt_init(connection), mysql_stmt_close);
  if (!statement) throw std::bad_alloc();
  const my_bool yes = 1;
  mysql_stmt_attr_set(statement.get(), STMT_ATTR_UPDATE_MAX_LENGTH, &yes);
  if (mysql_stmt_prepare(statement.get(), text.data(), text.size()) != 0) return error_of(statement.get());
  std::vector<MYSQL_BIND> binds(values.size());
  std::vector<unsigned long> sizes(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    sizes[i] = values[i].size();
    binds[i].buffer_type = MYSQL_TYPE_STRING;
    binds[i].buffer = const_cast<char*>(values[i].data());
    binds[i].buffer_length = values[i].size();
    binds[i].length = &sizes[i];
  }
  if (mysql_stmt_bind_param(statement.get(), binds.data()) != 0) return error_of(statement.get());
  if (mysql_stmt_execute(statement.get()) != 0) return error_of(statement.get());
  return take_all(statement.get());
}

Result<Answered> run(MYSQL* connection, const std::string& text) {
  if (mysql_real_query(connection, text.data(), text.size()) != 0) return error_of(connection);
  Answered answered;
  if (mysql_field_count(connection) == 0) {
    answered.changed = mysql_affected_rows(connection);
    return answered;
  }
  const Rows stored(mysql_store_result(connection), mysql_free_result);
  if (!stored) return error_of(connection);
  while (MYSQL_ROW row = mysql_fetch_row(stored.get())) {
    const unsigned long* sizes = mysql_fetch_lengths(stored.get());
    Row& texts = answered.rows.emplace_back();
    for (unsigned i = 0; i < mysql_num_fields(stored.get()); ++i) {
      texts.push_back(row[i] != nullptr ? std::string(row[i], sizes[i]) : std::string());
    }
  }
  return answered;
}

Result<void> check_connection(MYSQL* connection) {
  my_bool reconnects = 0;
  mysql_get_optionv(connection, MYSQL_OPT_RECONNECT, &reconnects);
  if (reconnects == 0) return {};
  return Error{
      Errc::invalid_argument,
      "the connection connects again by itself, and a transaction would end unnoticed: MYSQL_OPT_RECONNECT off"};
}

bool in_transaction(MYSQL* connection) { return (connection->server_status & SERVER_STATUS_IN_TRANS) != 0; }

bool commits_by_itself(MYSQL* connection) { return (connection->server_status & SERVER_STATUS_AUTOCOMMIT) != 0; }

}  // namespace pawl::mysql
