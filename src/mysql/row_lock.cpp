// The row of a name, locked in the caller's own transaction.

#include "base/ids.hpp"
#include "base/lock_name.hpp"
#include "mysql/statement.hpp"
#include "store/mysql/answers.hpp"
#include "store/mysql/identity.hpp"
#include "store/mysql/schema.hpp"

#include <pawl/mysql.hpp>

#include <algorithm>
#include <chrono>
#include <map>

namespace pawl::mysql {

namespace {

using store::mysql::number;

constexpr std::size_t longest_id = 255;

Result<std::string> id_of(std::string_view name) {
  const Result<base::LockName> valid = base::LockName::make(name);
  if (!valid) return valid.error();
  return base::fit_name(valid->bytes(), longest_id);
}

/// Row locks of a cluster whose members all take writes are known to one member only.
Result<void> refuse_clusters(const std::map<std::string, std::string>& variables) {
  if (!store::mysql::has_many_writers(variables)) return {};
  return Error{Errc::unsupported,
               "row locks exist on one member of a cluster only (Galera, multi-primary Group "
               "Replication): the other members do not know them"};
}

Result<store::mysql::Identity> look_at_server(MYSQL* connection) {
  const std::string variables_of_interest =
      "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid', 'hostname', 'port', 'wsrep_on', "
      "'group_replication_group_name', 'group_replication_single_primary_mode')";
  const Result<Answered> found = run(connection, variables_of_interest);
  if (!found) return found.error();
  std::map<std::string, std::string> variables;
  for (const Row& row : found->rows) variables[row.at(0)] = row.at(1);
  if (Result<void> alone = refuse_clusters(variables); !alone) return alone.error();
  const Result<Answered> told = run(connection, std::string(store::mysql::age_of_server));
  if (!told) return told.error();
  if (told->rows.size() != 1 || told->rows[0].size() != 3) return store::mysql::unexpected();
  return store::mysql::identity_of(variables, told->rows[0][0], told->rows[0][1]);
}

/// What a client of the store does with every new connection: a server that was started again begins a new epoch.
Result<void> begin_epoch(MYSQL* connection) {
  const Result<store::mysql::Identity> server = look_at_server(connection);
  if (!server) return server.error();
  const Result<Answered> fresh = run(connection, "SELECT SUBSTRING(SHA2(CONCAT(UUID(), RAND(), NOW(6)), 256), 1, 16)");
  if (!fresh) return fresh.error();
  if (fresh->rows.size() != 1) return store::mysql::unexpected();
  const Result<Answered> begun = run(connection, "CALL pawl_begin(?, ?, ?, 0, 0)",
                                     {server->words, std::to_string(server->started), fresh->rows[0].at(0)});
  if (!begun) return begun.error();
  if (begun->rows.size() != 1) return store::mysql::unexpected();
  return store::mysql::accept_layout(begun->rows[0].at(0));
}

std::string seconds(std::optional<Duration> wait) {
  if (!wait) return "-1";
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(*wait).count());
}

}  // namespace

Result<void> prepare_row(MYSQL* connection, std::string_view name) {
  const Result<std::string> id = id_of(name);
  if (!id) return id.error();
  if (Result<void> fit = check_connection(connection); !fit) return fit;
  if (in_transaction(connection)) {
    return Error{Errc::invalid_argument, "a transaction is open: prepare_row() comes before it"};
  }
  // Known to the server as long as the connection lasts.
  const Result<Answered> known = run(connection, "SELECT @pawl_row");
  if (!known) return known.error();
  if (known->rows.at(0).at(0) != "1") {
    if (Result<void> begun = begin_epoch(connection); !begun) return begun;
  }
  const Result<Answered> made = run(connection, "CALL pawl_make_row(?, ?)", {*id, std::string(name)});
  if (!made) return made.error();
  return {};
}

Result<Sequencer> lock_row(MYSQL* connection, std::string_view name, RowOptions options) {
  const Result<std::string> id = id_of(name);
  if (!id) return id.error();
  if (options.wait && *options.wait < Duration::zero()) {
    return Error{Errc::invalid_argument, "the wait for a row must not be negative"};
  }
  if (!in_transaction(connection) && commits_by_itself(connection)) {
    return Error{Errc::invalid_argument,
                 "no transaction is open, and the row would be free at once: START TRANSACTION"};
  }
  Result<Answered> locked = run(connection, "CALL pawl_lock_row(?, ?)", {*id, seconds(options.wait)});
  if (!locked) {
    Error error = locked.error();
    if (error.code == Errc::timed_out && options.wait == Duration::zero()) error.code = Errc::busy;
    return error;
  }
  if (locked->rows.size() != 1 || locked->rows[0].size() != 4) return store::mysql::unexpected();
  const Row& row = locked->rows[0];
  if (row[0] == "over") {
    return Error{Errc::lost,
                 "the transaction is over: the server has rolled it back (a deadlock), or a statement has ended it"};
  }
  if (row[0] != "locked") {
    return Error{Errc::invalid_argument, "prepare_row() was not called for " +
                                             std::string(row[0] == "unprepared" ? "this connection" : "this name") +
                                             " before the transaction"};
  }
  Sequencer sequencer;
  sequencer.token = Token(number(row[1]), number(row[2]));
  sequencer.name = name;
  if (!base::parse_hex(row[3], sequencer.store_id)) return store::mysql::unexpected();
  return sequencer;
}

}  // namespace pawl::mysql
