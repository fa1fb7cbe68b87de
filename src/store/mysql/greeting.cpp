// The first words on a new connection: which server it is, whether it can be used, and which epoch it is in.

#include "store/mysql/server.hpp"

#include "base/ids.hpp"
#include "base/lock_name.hpp"
#include "store/mysql/answers.hpp"
#include "store/mysql/schema.hpp"

#include <mariadb/mysqld_error.h>

#include <cstdlib>
#include <map>
#include <utility>

namespace pawl::store::mysql {

namespace {

/// The same server, started again: its uptime is whole seconds.
constexpr std::int64_t tolerance = 2;

/// A server's limit for statements is not meant for those that wait. The servers call it by different names, and each skips
/// the other's comment.
constexpr std::string_view no_limit_for_statements =
    " /*M!100101 , SESSION max_statement_time = 0 */ /*!50708 , SESSION max_execution_time = 0 */";

bool is_denied(const Answer& answer) { return error_of(answer).code == Errc::permission_denied; }

std::string first_line_of(const std::string& statement) {
  std::size_t begin = 0;
  while (statement.compare(begin, 2, "--") == 0 || statement[begin] == '\n') begin = statement.find('\n', begin) + 1;
  return statement.substr(begin, statement.find('\n', begin) - begin);
}

}  // namespace

awaitable<Result<void>> Server::set_up(SharedConnection connection) {
  const auto self = shared_from_this();
  // What the procedures rely on, and what they are made with.
  const std::vector<std::string> settings{"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
                                          "SET SESSION sql_mode = 'STRICT_TRANS_TABLES', SESSION "
                                          "innodb_lock_wait_timeout = 5, SESSION wait_timeout = 28800, "
                                          "SESSION autocommit = 1" +
                                              std::string(no_limit_for_statements)};
  for (const std::string& setting : settings) {
    Statement statement(setting);
    Result<Answer> answer = co_await connection->ask(std::move(statement));
    if (!answer) co_return answer.error();
    if (answer->refused != 0) co_return error_of(*answer);
  }
  co_return Result<void>();
}

awaitable<Result<Identity>> Server::look_at_server(SharedConnection connection) {
  const auto self = shared_from_this();
  Statement variables(
      "SHOW GLOBAL VARIABLES WHERE Variable_name IN "
      "('server_uuid', 'server_uid', 'hostname', 'port', 'read_only', 'log_bin', 'binlog_format', 'wsrep_on', "
      "'group_replication_group_name', 'group_replication_single_primary_mode')");
  Result<Answer> found = co_await connection->ask(std::move(variables));
  if (!found) co_return found.error();
  if (found->refused != 0) co_return error_of(*found);
  std::map<std::string, std::string> known;
  for (const Row& row : found->rows) {
    if (row.size() == 2) known[row[0]] = row[1];
  }
  if (known["read_only"] != "OFF") co_return Error{Errc::store_unavailable, "the server is read-only: a replica?"};
  if (known["log_bin"] == "ON" && known["binlog_format"] == "STATEMENT") {
    co_return Error{
        Errc::unsupported,
        "the server has binlog_format=STATEMENT, which READ COMMITTED cannot be used with; MIXED or ROW is right"};
  }
  Statement age{std::string(age_of_server)};
  Result<Answer> told = co_await connection->ask(std::move(age));
  if (!told) co_return told.error();
  if (told->refused != 0) co_return error_of(*told);
  if (told->rows.size() != 1 || told->rows[0].size() != 3) co_return unexpected();
  const Row& row = told->rows[0];
  Identity identity = identity_of(known, row[0], row[1]);
  identity.behind_proxy = number(row[2]) != connection->number();
  identity.many_writers = has_many_writers(known);
  co_return identity;
}

awaitable<Result<void>> Server::greet() {
  const auto self = shared_from_this();
  Result<void> ready = co_await set_up(statements_);
  if (!ready) co_return ready;
  Result<Identity> identity = co_await look_at_server(statements_);
  if (!identity) co_return identity.error();
  // The others may stay with the server from before, where no mail comes any more, and locks exclude nobody.
  const bool moved = !identity_.words.empty() && identity_.words != identity->words;
  if (moved) leave_others(Error{Errc::store_unavailable, "the address leads to another server by now"});
  identity_ = std::move(*identity);
  co_return co_await learn_epoch();
}

awaitable<Result<void>> Server::learn_epoch() {
  const auto self = shared_from_this();
  for (int tries = 0;; ++tries) {
    Statement begin = Statement::call("begin", words_of_begin(false));
    Result<Answer> answer = co_await statements_->ask(std::move(begin));
    if (!answer) co_return answer.error();
    if (answer->refused == 0) co_return take_epoch(answer->rows);
    if (rolled_back(answer->refused) && tries < 10) continue;
    if (answer->refused != ER_SP_DOES_NOT_EXIST || tries > 10) co_return error_of(*answer);
    Result<void> installed = co_await install();
    if (!installed) co_return installed;
  }
}

// Several clients may do so at the same time.
awaitable<Result<void>> Server::install() {
  const auto self = shared_from_this();
  for (const std::string& text : schema_statements()) {
    Statement statement(text);
    Result<Answer> answer = co_await statements_->ask(std::move(statement));
    if (!answer) co_return answer.error();
    const bool made = answer->refused == 0 || answer->refused == ER_SP_ALREADY_EXISTS;
    if (made) continue;
    if (!is_denied(*answer)) co_return error_of(*answer);
    co_return Error{Errc::permission_denied,
                    "pawl's tables and procedures are missing in the database " + base::printable(config_.database) +
                        ", and this account may not make them; \"pawl schema --store URL --apply\" makes "
                        "them with one that may, beginning with " +
                        first_line_of(text)};
  }
  co_return Result<void>();
}

// A connection beside that for statements.
awaitable<Result<void>> Server::greet_another(SharedConnection connection) {
  const auto self = shared_from_this();
  Result<void> ready = co_await set_up(connection);
  if (!ready) co_return ready;
  Result<Identity> identity = co_await look_at_server(connection);
  if (!identity) co_return identity.error();
  const bool same = identity->words == identity_.words && std::abs(identity->started - identity_.started) <= tolerance;
  if (same) co_return Result<void>();
  // The address has moved, and it is not known which of them was first: both connect again.
  const Error moved{Errc::store_unavailable, "the address leads to another server by now"};
  statements_->leave(moved);
  co_return moved;
}

}  // namespace pawl::store::mysql
