// The version of a row, compared when the work is done.

#include "base/lock_name.hpp"
#include "mysql/statement.hpp"
#include "store/mysql/answers.hpp"

#include <pawl/mysql.hpp>

#include <algorithm>

namespace pawl::mysql {

namespace {

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
  });
}

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

/// "shop.accounts" as `shop`.`accounts`; empty: that is no table's name.
std::string quoted_table(std::string_view table) {
  const std::size_t dot = table.find('.');
  const std::string_view last = table.substr(dot == std::string_view::npos ? 0 : dot + 1);
  if (!is_name(last)) return {};
  if (dot == std::string_view::npos) return quoted(last);
  return is_name(table.substr(0, dot)) ? quoted(table.substr(0, dot)) + "." + quoted(last) : std::string();
}

Result<void> check_names(const VersionedRow& row) {
  if (!quoted_table(row.table).empty() && is_name(row.key_column) && is_name(row.version_column)) return {};
  return Error{Errc::invalid_argument,
               "a table or column of a VersionedRow has another name than letters, digits, '_' "
               "and '$'"};
}

}  // namespace

Result<VersionGuard> VersionGuard::begin(MYSQL* connection, VersionedRow row) {
  if (Result<void> valid = check_names(row); !valid) return valid.error();
  if (Result<void> fit = check_connection(connection); !fit) return fit.error();
  if (in_transaction(connection)) {
    return Error{Errc::invalid_argument, "a transaction is open already: a VersionGuard begins its own"};
  }
  const std::string read = "SELECT " + quoted(row.version_column) + " FROM " + quoted_table(row.table) + " WHERE " +
                           quoted(row.key_column) + " = ?";
  if (const Result<Answered> begun = run(connection, "START TRANSACTION"); !begun) return begun.error();
  VersionGuard guard(connection, std::move(row));
  if (const Result<Answered> marked = run(connection, "SAVEPOINT pawl_version"); !marked) return marked.error();
  const Result<Answered> found = run(connection, read, {guard.row_.key});
  if (!found) return found.error();
  if (found->rows.size() != 1) {
    return Error{Errc::invalid_argument, "the table " + guard.row_.table + " has " +
                                             std::to_string(found->rows.size()) + " rows of the key " +
                                             base::printable(guard.row_.key, 60) + ", and needs one"};
  }
  guard.version_ = store::mysql::number(found->rows[0].at(0));
  return guard;
}

VersionGuard::VersionGuard(VersionGuard&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)), row_(std::move(other.row_)), version_(other.version_) {}

VersionGuard& VersionGuard::operator=(VersionGuard&& other) noexcept {
  if (this == &other) return *this;
  rollback();
  connection_ = std::exchange(other.connection_, nullptr);
  row_ = std::move(other.row_);
  version_ = other.version_;
  return *this;
}

VersionGuard::~VersionGuard() { rollback(); }

Result<std::uint64_t> VersionGuard::commit() {
  if (connection_ == nullptr) return Error{Errc::not_owner, "this VersionGuard has committed or rolled back already"};
  const std::string version = quoted(row_.version_column);
  const std::string update = "UPDATE " + quoted_table(row_.table) + " SET " + version + " = " + version +
                             " + 1 WHERE " + quoted(row_.key_column) + " = ? AND " + version + " = ?";
  // It goes with its transaction: where the server has rolled that back, and the work has overlooked it, the rest of the work
  // was not undone, and must not be committed.
  const Result<Answered> whole = run(connection_, "RELEASE SAVEPOINT pawl_version");
  if (!whole) {
    rollback();
    if (whole.code() == Errc::store_unavailable) return whole.error();
    return Error{Errc::lost,
                 "the transaction was over before commit(): the server has rolled it back (a deadlock), or the "
                 "work has ended it"};
  }
  const Result<Answered> compared = run(connection_, update, {row_.key, std::to_string(version_)});
  if (!compared) {
    rollback();
    return compared.error();
  }
  if (compared->changed != 1) {
    rollback();
    return Error{Errc::overtaken, "another client has changed the row " + base::printable(row_.key, 60) + " of " +
                                      row_.table + " since its version " + std::to_string(version_) + " was read"};
  }
  MYSQL* const connection = std::exchange(connection_, nullptr);
  const Result<Answered> committed = run(connection, "COMMIT");
  if (committed) return version_ + 1;
  if (committed.code() != Errc::store_unavailable) return committed.error();
  return Error{Errc::outcome_unknown, "the connection broke during COMMIT: " + committed.error().message};
}

// A connection that is broken has rolled back by itself.
void VersionGuard::rollback() noexcept {
  MYSQL* const connection = std::exchange(connection_, nullptr);
  if (connection != nullptr) mysql_rollback(connection);
}

namespace detail {

bool try_again(MYSQL* connection, const Error& error, unsigned tried, unsigned tries) {
  if (tried >= tries || (error.code != Errc::overtaken && error.code != Errc::lost)) return false;
  // The server has the random numbers, and the time to wait: the connection is idle meanwhile.
  const double longest = std::min(0.1, 0.001 * static_cast<double>(1U << std::min(tried, 7U)));
  return run(connection, "SELECT SLEEP(RAND() * ?)", {std::to_string(longest)}).has_value();
}

}  // namespace detail

}  // namespace pawl::mysql
