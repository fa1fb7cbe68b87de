#include "store/mysql/schema.hpp"

#include "base/lock_name.hpp"
#include "mysql_sql.hpp"
#include "store/mysql/answers.hpp"

#include <mariadb/mysqld_error.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace pawl::store::mysql {

namespace {

/// Each ends with a semicolon at the end of a line.
std::vector<std::string> tables() {
  std::vector<std::string> statements;
  const std::string_view text = sql::schema_sql;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find(";\n", begin);
    if (end == std::string_view::npos) break;
    statements.emplace_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  return statements;
}

std::vector<std::string> all() {
  // pawl_begin last: where it is, everything is.
  const std::array procedures{
      sql::exit_sql,          sql::tell_sql,        sql::fits_sql,           sql::begin_reign_sql,
      sql::grant_sql,         sql::settle_sql,      sql::settle_some_sql,    sql::drop_sql,
      sql::mark_sql,          sql::end_session_sql, sql::sweep_sql,          sql::sweep_lock_sql,
      sql::enter_sql,         sql::leave_sql,       sql::tell_holders_sql,   sql::queue_answer_sql,
      sql::claim_sql,         sql::withdraw_sql,    sql::known_sql,          sql::hold_sql,
      sql::wait_sql,          sql::answer_sql,      sql::unique_claim_sql,   sql::version_read_sql,
      sql::version_claim_sql, sql::record_sql,      sql::named_claim_sql,    sql::forget_sql,
      sql::look_sql,          sql::downgrade_sql,   sql::relabel_sql,        sql::revoke_sql,
      sql::open_session_sql,  sql::renew_sql,       sql::close_session_sql,  sql::inspect_sql,
      sql::succession_sql,    sql::check_sql,       sql::session_claims_sql, sql::make_row_sql,
      sql::lock_row_sql,      sql::begin_sql};
  std::vector<std::string> statements = tables();
  for (const std::string_view procedure : procedures) statements.emplace_back(procedure);
  return statements;
}

constexpr std::string_view creates_procedure = "CREATE PROCEDURE ";

/// Empty: it makes no procedure.
std::string procedure_of(const std::string& statement) {
  const std::size_t begin = statement.find(creates_procedure);
  if (begin == std::string::npos) return {};
  const std::size_t name = begin + creates_procedure.size();
  return statement.substr(name, statement.find('(', name) - name);
}

/// Those of schema_statements(), with procedures replaced.
std::vector<std::string> upgrade_statements() {
  const auto drop = [](const std::string& procedure) { return "DROP PROCEDURE IF EXISTS " + procedure; };
  std::vector<std::string> statements = tables();
  statements.push_back(drop("pawl_upgrade"));
  statements.emplace_back(sql::upgrade_sql);
  statements.emplace_back("CALL pawl_upgrade()");
  for (const std::string& statement : schema_statements()) {
    const std::string procedure = procedure_of(statement);
    if (procedure.empty()) continue;
    statements.push_back(drop(procedure));
    statements.push_back(statement);
  }
  statements.push_back("UPDATE pawl_meta SET layout = " + std::to_string(layout) + " WHERE id = 1");
  statements.push_back(drop("pawl_upgrade"));
  return statements;
}

awaitable<Result<Answer>> run(std::shared_ptr<Connection> connection, std::string text, Deadline deadline) {
  Statement statement(std::move(text));
  co_return co_await connection->call(std::move(statement), deadline, Turn::in_order);
}

/// 0: there is none yet.
awaitable<Result<int>> find_layout(std::shared_ptr<Connection> connection, Deadline deadline) {
  Result<Answer> found = co_await run(connection, "SELECT layout FROM pawl_meta WHERE id = 1", deadline);
  if (!found) co_return found.error();
  if (found->refused == ER_NO_SUCH_TABLE) co_return 0;
  if (found->refused != 0) co_return error_of(*found);
  if (found->rows.empty()) co_return 0;
  co_return static_cast<int>(signed_number(found->rows[0].at(0)));
}

}  // namespace

Result<void> accept_layout(std::string_view found) {
  const std::int64_t number = signed_number(found);
  if (number == layout) return {};
  const std::string ours = "this pawl uses layout " + std::to_string(layout);
  const std::string command = "\"pawl schema --store URL --apply\"";
  if (number > layout) {
    return Error{Errc::unsupported, "the tables are those of a newer pawl, layout " + base::printable(found) +
                                        ", and " + ours + ": use the newer one"};
  }
  if (number < 0) {
    return Error{Errc::unsupported, "an upgrade of the tables from layout " + std::to_string(-number) +
                                        " has begun and is not finished: " + command + " finishes it"};
  }
  return Error{Errc::unsupported, "the tables are those of an older pawl, layout " + base::printable(found) + ", and " +
                                      ours + ": " + command + " upgrades them"};
}

const std::vector<std::string>& schema_statements() {
  static const std::vector<std::string> statements = all();
  return statements;
}

std::string schema_script() {
  std::string script = "-- Makes the tables and procedures of pawl, layout " + std::to_string(layout) +
                       ", or upgrades those of an older pawl: mariadb DATABASE < this file\n"
                       "SET SESSION sql_mode = 'STRICT_TRANS_TABLES';\n\nDELIMITER //\n";
  for (const std::string& statement : upgrade_statements()) {
    const std::size_t end = statement.find_last_not_of('\n');
    script += statement.substr(0, end + 1) + "\n//\n";
  }
  return script + "DELIMITER ;\n";
}

awaitable<Result<std::string>> apply_schema(std::shared_ptr<Connection> connection, Deadline deadline) {
  Result<int> found = co_await find_layout(connection, deadline);
  if (!found) co_return found.error();
  if (*found > layout) co_return accept_layout(std::to_string(*found)).error();
  const bool is_older = *found != 0 && *found != layout;
  const std::vector<std::string> statements = is_older ? upgrade_statements() : schema_statements();
  for (const std::string& statement : statements) {
    Result<Answer> answer = co_await run(connection, statement, deadline);
    if (!answer) co_return answer.error();
    if (answer->refused == ER_SIGNAL_EXCEPTION) co_return Error{Errc::unsupported, answer->why};
    const bool done = answer->refused == 0 || answer->refused == ER_SP_ALREADY_EXISTS;
    if (!done) co_return error_of(*answer);
  }
  const std::string now = "layout " + std::to_string(layout);
  if (*found == layout) co_return "the tables and procedures are there, " + now;
  if (*found == 0) co_return "made the tables and procedures, " + now;
  co_return "upgraded the tables and procedures from layout " + std::to_string(std::abs(*found)) + " to " + now;
}

}  // namespace pawl::store::mysql
