#pragma once

#include "store/mysql/connection.hpp"

#include <pawl/result.hpp>

#include <mariadb/mysql.h>

#include <cstdint>
#include <string>
#include <vector>

/// Statements on the caller's own connection, which block.
namespace pawl::mysql {

using store::mysql::Row;

struct Answered {
  std::vector<Row> rows = {};  ///< NULL is an empty text
  std::uint64_t changed = 0;   ///< rows
};

/// With values bound to its question marks; prepared for this one time. Errors: as error_of() of <pawl/mysql.hpp>.
Result<Answered> run(MYSQL* connection, const std::string& text, const std::vector<std::string>& values);
/// As it is: for what cannot be prepared.
Result<Answered> run(MYSQL* connection, const std::string& text);

/// Errors: invalid_argument for a connection that connects again by itself: a transaction would end unnoticed.
Result<void> check_connection(MYSQL* connection);

/// Is a transaction open, as far as the server has said?
bool in_transaction(MYSQL* connection);
/// Does each statement commit itself, where no transaction is open?
bool commits_by_itself(MYSQL* connection);

}  // namespace pawl::mysql
