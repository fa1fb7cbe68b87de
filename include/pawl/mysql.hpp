#pragma once

/// Locks inside the caller's own transaction, on the caller's own connection to MySQL or MariaDB: the row lock
/// (SELECT ... FOR UPDATE) and the version column (optimistic locking). They need no session and no lease: what is locked is
/// free when the transaction ends, and the work is undone when it does not.
///
/// Installed where pawl was built with the MySQL store. Needs the header of MariaDB Connector/C.
/// Threads: as the connection: one at a time. All calls block. A connection with MYSQL_OPT_RECONNECT is refused.
/// Limit:   not through a proxy that shares connections between clients (ProxySQL, MaxScale), and not on Galera or
///          multi-primary Group Replication, where row locks exist on one node only: unsupported.

#include <pawl/options.hpp>
#include <pawl/result.hpp>
#include <pawl/sequencer.hpp>

#include <mariadb/mysql.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pawl::mysql {

/// What the last call on this connection failed with, named for what the caller does next:
/// lost              deadlock (1213): the server has rolled back the whole transaction; begin it again
/// timed_out         lock wait timeout (1205): the transaction is still open, unless the server has
///                   innodb_rollback_on_timeout; roll it back, or go on without that row
/// store_unavailable the connection is gone, and the transaction with it; or the server is read-only
/// permission_denied and what else the store's own errors say.
Error error_of(MYSQL* connection);

/// Makes the row that lock_row() locks, and commits it: a row that is made in the transaction that locks it invites
/// deadlocks. Outside of a transaction, once for each connection and name; costs one round trip when that has been done.
/// Errors: invalid_argument (inside a transaction; not a lock's name; pawl's tables are missing in the connection's
///         database, `pawl schema` makes them), unsupported (row locks of this server are not the cluster's; another version
///         of the schema), and error_of().
Result<void> prepare_row(MYSQL* connection, std::string_view name);

struct RowOptions {
  /// How long to wait for the row, in whole seconds (rounded up); 0: do not wait (MySQL: a second). Unset: the session's
  /// innodb_lock_wait_timeout.
  std::optional<Duration> wait = {};
};

/// Locks the row of a name in the caller's transaction, by SELECT ... FOR UPDATE, until COMMIT or ROLLBACK.
/// Let it be the first statement of the transaction: what was read before may be older than the lock. It takes no snapshot.
/// Promise: no other transaction has the row until this one ends. Of two grants of a row the later one has the larger token,
///          also when the transaction is rolled back, and when the server is killed. LAST_INSERT_ID() stays as it is.
/// Limit:   the server frees the row when it ends the connection (KILL, wait_timeout), and undoes what was written in the
///          transaction. Work elsewhere is not undone: guard it with the sequencer's token (`pawl::Fence`, docs/fencing.md).
///          Client::check() does not know these grants.
/// Errors:  busy (wait = 0), timed_out, lost (deadlock, now or in a statement before: begin the transaction again),
///          invalid_argument (no transaction is open; prepare_row() was not called), and error_of().
Result<Sequencer> lock_row(MYSQL* connection, std::string_view name, RowOptions options = {});

/// A row of the caller's own table with a version: an integer column that each change raises by one.
struct VersionedRow {
  std::string table = {};  ///< "accounts" or "shop.accounts"; names have letters, digits, '_' and '$'
  std::string key = {};    ///< the value of the key; bound, never pasted
  std::string key_column = "id";
  std::string version_column = "version";
};

/// Optimistic locking: reads the version, lets the work be done, and commits it if the version is still the same.
/// Nobody waits for the work of another; of two that work at the same time the second to commit begins again.
///
/// | state     | commit()                                  | rollback(), destructor | moved from |
/// |-----------|-------------------------------------------|------------------------|------------|
/// | open      | one row: committed. none: rolled back,    | rolled back            | over       |
/// |           | `overtaken`                               |                        |            |
/// | over      | not_owner                                 | nothing                | over       |
class VersionGuard {
 public:
  /// START TRANSACTION, and reads the version.
  /// Errors: invalid_argument (a transaction is open already; there is no such row; not a table's name), and error_of().
  static Result<VersionGuard> begin(MYSQL* connection, VersionedRow row);

  VersionGuard(VersionGuard&& other) noexcept;
  VersionGuard& operator=(VersionGuard&& other) noexcept;
  ~VersionGuard();

  /// As it was read. It grows with each change, and so is a token for what is derived from this row.
  std::uint64_t version() const { return version_; }

  /// UPDATE ... SET version = version + 1 WHERE id = ? AND version = ?, and COMMIT. The new version.
  /// Errors: overtaken (another client has changed the row: begin again), lost (deadlock: begin again), outcome_unknown (the
  ///         connection broke during COMMIT: read the row), and error_of(). After an error nothing of the work is kept.
  Result<std::uint64_t> commit();
  void rollback() noexcept;

 private:
  VersionGuard(MYSQL* connection, VersionedRow row) : connection_(connection), row_(std::move(row)) {}

  MYSQL* connection_;  // none: it is over
  VersionedRow row_;
  std::uint64_t version_ = 0;
};

namespace detail {
/// After try number `tried` (from 1): whether to begin again. Waits a random time before, which doubles up to 0.1 s.
bool try_again(MYSQL* connection, const Error& error, unsigned tried, unsigned tries);
}  // namespace detail

/// Does `work(guard)` between begin() and commit(), and all of it again when another client was faster or the server chose
/// this transaction to end a deadlock, up to `tries` times. `work` returns nothing or a Result<void>; its error ends the
/// matter, and the transaction, unless it is `overtaken` or `lost`. What `work` throws is passed on after a rollback.
/// The new version.
template <std::invocable<const VersionGuard&> Work>
Result<std::uint64_t> update_versioned(MYSQL* connection, const VersionedRow& row, Work&& work, unsigned tries = 20) {
  for (unsigned tried = 1;; ++tried) {
    Result<std::uint64_t> outcome = Error{};
    Result<VersionGuard> guard = VersionGuard::begin(connection, row);
    if (!guard) {
      outcome = guard.error();
    } else if constexpr (std::is_void_v<std::invoke_result_t<Work, const VersionGuard&>>) {
      work(std::as_const(*guard));
      outcome = guard->commit();
    } else {
      Result<void> done = work(std::as_const(*guard));
      if (!done) guard->rollback();
      outcome = done ? guard->commit() : Result<std::uint64_t>(done.error());
    }
    if (outcome || !detail::try_again(connection, outcome.error(), tried, tries)) return outcome;
  }
}

}  // namespace pawl::mysql
