// <pawl/mysql.hpp>: locks inside the caller's own transaction.

#include "tests/support/mysql_server.hpp"
#include "tests/support/threads.hpp"

#include <pawl/mysql.hpp>
#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mariadb/mysqld_error.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using mysql::lock_row;
using mysql::prepare_row;
using mysql::update_versioned;
using mysql::VersionedRow;
using mysql::VersionGuard;
using test::eventually;
using test::MysqlClient;
using test::MysqlServer;
using testing::HasSubstr;

/// A user's own connection, prepared for one name.
class Caller {
 public:
  explicit Caller(const MysqlServer& server, const std::string& name = {})
      : client_(server.port(), "pawl", "secret", "pawl") {
    if (!name.empty()) prepare_row(connection(), name).value();
  }

  MYSQL* connection() { return client_.handle(); }
  void begin() { client_.query("START TRANSACTION"); }
  void commit() { client_.query("COMMIT"); }
  void roll_back() { client_.query("ROLLBACK"); }
  std::string id() { return client_.field("SELECT CONNECTION_ID()"); }
  MysqlClient& sql() { return client_; }

 private:
  MysqlClient client_;
};

/// With pawl's tables, and a table of the user's.
class MysqlTransaction : public testing::Test {
 protected:
  MysqlTransaction() {
    static const Client installed(MysqlServer::shared().url());
    root_.query(
        "CREATE TABLE IF NOT EXISTS account (id VARCHAR(64) PRIMARY KEY, balance INT NOT NULL, version INT NOT NULL);"
        "DELETE FROM account; INSERT INTO account VALUES ('alice', 100, 1), ('bob', 100, 1)");
  }

  std::string balance(const std::string& of) {
    return root_.field("SELECT balance FROM account WHERE id = '" + of + "'");
  }
  /// Any connection. (information_schema.innodb_trx is a copy that grows old while it is read often.)
  bool one_waits_for_a_row() {
    return eventually([&] {
      const auto rows = root_.query("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'");
      return rows.at(0).at(1) == "1";
    });
  }

  MysqlServer& server_ = MysqlServer::shared();
  MysqlClient root_ = server_.root();
};

using MysqlRow = MysqlTransaction;
using MysqlVersion = MysqlTransaction;

TEST_F(MysqlRow, TwoTransactionsTakeTurnsAndTheLaterOneHasTheLargerToken) {
  Caller alice(server_, "turns"), bob(server_, "turns");
  alice.begin();
  bob.begin();
  const Sequencer first = lock_row(alice.connection(), "turns").value();
  auto waiting = std::async(std::launch::async, [&] { return lock_row(bob.connection(), "turns"); });
  ASSERT_TRUE(one_waits_for_a_row());
  alice.commit();
  const Sequencer second = waiting.get().value();
  EXPECT_GT(second.token, first.token);
  EXPECT_EQ(second.store_id, first.store_id);
  EXPECT_EQ(second.name, "turns");
  EXPECT_EQ(Sequencer::parse(second.to_string()).value(), second);
}

TEST_F(MysqlRow, ARollbackFreesTheRowAndItsTokenIsNeverRepeated) {
  Caller alice(server_, "rollback"), bob(server_, "rollback");
  alice.begin();
  const Token first = lock_row(alice.connection(), "rollback").value().token;
  alice.roll_back();
  bob.begin();
  EXPECT_GT(lock_row(bob.connection(), "rollback", {.wait = 0s}).value().token, first);
}

TEST_F(MysqlRow, ATryIsBusyAndABoundedWaitTimesOutWithTheTransactionStillOpen) {
  Caller alice(server_, "busy"), bob(server_, "busy");
  alice.begin();
  ASSERT_TRUE(lock_row(alice.connection(), "busy"));
  bob.begin();
  bob.sql().query("UPDATE account SET balance = 1 WHERE id = 'bob'");
  EXPECT_EQ(lock_row(bob.connection(), "busy", {.wait = 0s}).code(), Errc::busy);
  EXPECT_EQ(lock_row(bob.connection(), "busy", {.wait = 1ms}).code(), Errc::timed_out);
  EXPECT_EQ(lock_row(bob.connection(), "busy", {.wait = -1s}).code(), Errc::invalid_argument);
  EXPECT_EQ(bob.sql().field("SELECT @@SESSION.innodb_lock_wait_timeout"),
            root_.field("SELECT @@innodb_lock_wait_timeout"));
  alice.commit();
  EXPECT_TRUE(lock_row(bob.connection(), "busy", {.wait = 0s}));
  bob.commit();
  EXPECT_EQ(balance("bob"), "1");
}

TEST_F(MysqlRow, AKilledConnectionFreesTheRowAndItsWorkIsUndone) {
  Caller alice(server_, "killed"), bob(server_, "killed");
  alice.begin();
  const Token first = lock_row(alice.connection(), "killed").value().token;
  alice.sql().query("UPDATE account SET balance = 0 WHERE id = 'alice'");
  root_.query("KILL " + alice.id());
  bob.begin();
  EXPECT_GT(lock_row(bob.connection(), "killed").value().token, first);
  EXPECT_EQ(bob.sql().field("SELECT balance FROM account WHERE id = 'alice'"), "100");
  const Result<Sequencer> late = lock_row(alice.connection(), "killed");
  EXPECT_EQ(late.code(), Errc::store_unavailable) << late.error().message;
}

TEST_F(MysqlRow, OneOfADeadlockIsToldToBeginAgainAndTheOtherGoesOn) {
  Caller alice(server_, "dead-a"), bob(server_, "dead-a");
  ASSERT_TRUE(prepare_row(alice.connection(), "dead-b"));
  alice.begin();
  bob.begin();
  ASSERT_TRUE(lock_row(alice.connection(), "dead-a"));
  ASSERT_TRUE(lock_row(bob.connection(), "dead-b"));
  auto waiting = std::async(std::launch::async, [&] { return lock_row(alice.connection(), "dead-b"); });
  ASSERT_TRUE(one_waits_for_a_row());
  const Result<Sequencer> other = lock_row(bob.connection(), "dead-a");
  const bool bob_lost = !other;
  if (bob_lost) {
    EXPECT_EQ(other.code(), Errc::lost) << other.error().message;
  } else {
    bob.commit();
  }
  const Result<Sequencer> one = waiting.get();
  EXPECT_NE(one.has_value(), other.has_value()) << "one of them";
  Caller& loser = bob_lost ? bob : alice;
  (bob_lost ? alice : bob).commit();
  loser.begin();
  EXPECT_TRUE(lock_row(loser.connection(), "dead-a"));
  EXPECT_TRUE(lock_row(loser.connection(), "dead-b"));
}

TEST_F(MysqlRow, ItIsFirstComeForAllWhoUseANewNameAndNobodyIsDeadlocked) {
  root_.query("CREATE TABLE IF NOT EXISTS tally (n INT); DELETE FROM tally; INSERT INTO tally VALUES (0)");
  for (int round = 0; round < 5; ++round) {
    const std::string name = "new-" + std::to_string(round);
    std::vector<std::future<Errc>> turns;
    for (int i = 0; i < 8; ++i) {
      turns.push_back(std::async(std::launch::async, [&] {
        Caller caller(server_, name);
        caller.begin();
        const Result<Sequencer> locked = lock_row(caller.connection(), name);
        if (!locked) return locked.code();
        const int seen = std::stoi(caller.sql().field("SELECT n FROM tally"));  // as it was when the row was locked
        caller.sql().query("UPDATE tally SET n = " + std::to_string(seen + 1));
        caller.commit();
        return Errc{};
      }));
    }
    for (auto& turn : turns) EXPECT_EQ(turn.get(), Errc{});
    EXPECT_EQ(root_.field("SELECT n FROM tally"), std::to_string(8 * (round + 1)));
  }
}

TEST_F(MysqlRow, ItLeavesTheCallersConnectionAsItWas) {
  Caller alice(server_, "as-it-was");
  alice.sql().query(
      "CREATE TABLE IF NOT EXISTS numbered (n INT AUTO_INCREMENT PRIMARY KEY); INSERT INTO numbered VALUES ()");
  const std::string settings =
      "SELECT CONCAT_WS(' ', LAST_INSERT_ID(), @@autocommit, @@tx_isolation, @@sql_mode, @@innodb_lock_wait_timeout)";
  const std::string before = alice.sql().field(settings);
  ASSERT_TRUE(prepare_row(alice.connection(), "as-it-was"));
  alice.begin();
  ASSERT_TRUE(lock_row(alice.connection(), "as-it-was", {.wait = 7s}));
  EXPECT_EQ(alice.sql().field(settings), before);
  alice.commit();
}

TEST_F(MysqlRow, WithoutAnOpenTransactionItIsRefused) {
  Caller alice(server_, "open");
  EXPECT_EQ(lock_row(alice.connection(), "open").code(), Errc::invalid_argument);
  alice.sql().query("SET autocommit = 0");
  EXPECT_TRUE(lock_row(alice.connection(), "open")) << "this begins one";
  alice.commit();
  EXPECT_TRUE(prepare_row(alice.connection(), "open-2")) << "and this commits what it makes";
  EXPECT_EQ(root_.field("SELECT COUNT(*) FROM pawl_row WHERE id = 'open-2'"), "1");
}

TEST_F(MysqlRow, WhatWasNotPreparedIsSaid) {
  Caller fresh(server_), other(server_, "prepared");
  fresh.begin();
  EXPECT_THAT(lock_row(fresh.connection(), "prepared").error().message, HasSubstr("this connection"));
  EXPECT_THAT(prepare_row(fresh.connection(), "prepared").error().message, HasSubstr("comes before"));
  other.begin();
  EXPECT_THAT(lock_row(other.connection(), "never-heard-of").error().message, HasSubstr("this name"));
  EXPECT_EQ(lock_row(other.connection(), "").code(), Errc::invalid_argument);
}

TEST_F(MysqlRow, NamesThatACollationMixesUpAreDifferentLocks) {
  const std::vector<std::string> names{"job",
                                       "Job",
                                       "job ",
                                       "jöb",
                                       std::string("job\0x", 5),
                                       "'; DROP TABLE pawl_row; --",
                                       std::string(4096, 'n'),
                                       std::string(4095, 'n') + 'm'};
  std::vector<std::unique_ptr<Caller>> callers;
  for (const std::string& name : names) {
    callers.push_back(std::make_unique<Caller>(server_, name));
    callers.back()->begin();
    EXPECT_EQ(lock_row(callers.back()->connection(), name, {.wait = 0s}).value().name, name);
  }
}

TEST_F(MysqlRow, AConnectionOfTheDefaultFlagsWillDo) {
  const std::unique_ptr<MYSQL, void (*)(MYSQL*)> plain(mysql_init(nullptr), mysql_close);
  ASSERT_NE(mysql_real_connect(plain.get(), "127.0.0.1", "pawl", "secret", "pawl", server_.port(), nullptr, 0),
            nullptr);
  ASSERT_TRUE(prepare_row(plain.get(), "flags"));
  ASSERT_EQ(mysql_query(plain.get(), "START TRANSACTION"), 0);
  EXPECT_TRUE(lock_row(plain.get(), "flags"));
  EXPECT_EQ(mysql_commit(plain.get()), 0);
}

// The transactions of callers must not keep the locks of the store waiting, whatever their isolation.
TEST_F(MysqlRow, AnOpenTransactionHindersNoOtherLockAndNoNewClient) {
  for (const std::string level : {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}) {
    Caller alice(server_, "long");
    alice.sql().query("SET SESSION TRANSACTION ISOLATION LEVEL " + level);
    alice.begin();
    ASSERT_TRUE(lock_row(alice.connection(), "long"));
    Client client(server_.url("?prefix=beside&timeout=3s"));  // less than the store's own lock wait timeout
    EXPECT_TRUE(client.mutex("job").acquire({.wait = 3s})) << level;
    Caller bob(server_, "another");
    bob.begin();
    EXPECT_TRUE(lock_row(bob.connection(), "another", {.wait = 0s})) << level;
  }
}

TEST_F(MysqlRow, TheFenceRefusesAHolderWhoseConnectionWasKilled) {
  Caller alice(server_, "fenced"), bob(server_, "fenced");
  Fence fence(Kind::mutex, "fenced");
  alice.begin();
  const Sequencer first = lock_row(alice.connection(), "fenced").value();
  root_.query("KILL " + alice.id());
  bob.begin();
  const Sequencer second = lock_row(bob.connection(), "fenced").value();
  ASSERT_TRUE(fence.mark(second));
  bool written = false;
  EXPECT_EQ(fence.admit(first, [&] { written = true; }).code(), Errc::overtaken) << "alice has not noticed";
  EXPECT_FALSE(written);
  EXPECT_TRUE(fence.admit(second, [&] { written = true; }));
}

TEST(MysqlRowServer, TokensGrowAcrossAKillOfTheServerThatForgetsThem) {
  MysqlServer server({"--innodb-flush-log-at-trx-commit=0"});
  { const Client installed(server.url("?timeout=30s")); }
  Token last;
  for (int life = 0; life < 3; ++life) {
    Caller caller(server, "job");
    for (int i = 0; i < 50; ++i) {
      caller.begin();
      const Token token = lock_row(caller.connection(), "job").value().token;
      EXPECT_GT(token, last);
      last = token;
      if (i % 2 == 0) caller.roll_back();  // the end of a life comes in an open transaction
      if (i % 2 == 1 && i < 49) caller.commit();
    }
    server.kill();
    server.start();
  }
}

TEST(MysqlRowServer, TheStoresClientsAndRowsAgreeOnTheEpoch) {
  MysqlServer server;
  Client client(server.url("?timeout=30s"));
  const std::uint64_t epoch = client.epoch().value();
  Caller caller(server, "job");
  EXPECT_EQ(client.epoch().value(), epoch) << "it is the same server for both";
  caller.begin();
  const Sequencer before = lock_row(caller.connection(), "job").value();
  EXPECT_EQ(before.token.epoch(), epoch);
  EXPECT_EQ(before.store_id, client.store_id());
  caller.commit();
  const std::uint64_t later = client.raise_epoch().value();  // `pawl epoch new`, after a dump was restored
  caller.begin();
  EXPECT_EQ(lock_row(caller.connection(), "job").value().token.epoch(), later) << "on a connection from before";
}

TEST(MysqlRowServer, MissingTablesAreNamedWithTheCommandThatMakesThem) {
  MysqlServer server;
  MysqlClient user(server.port(), "pawl", "secret", "pawl");
  const Result<void> prepared = prepare_row(user.handle(), "job");
  EXPECT_EQ(prepared.code(), Errc::invalid_argument);
  EXPECT_THAT(prepared.error().message, HasSubstr("pawl schema"));
}

TEST(MysqlRowServer, AnAccountThatMayOnlyExecuteHasEnoughRights) {
  MysqlServer server;
  { const Client installed(server.url("?timeout=30s")); }
  server.root().query("CREATE USER app IDENTIFIED BY 'pw'; GRANT EXECUTE ON pawl.* TO app");
  MysqlClient app(server.port(), "app", "pw", "pawl");
  ASSERT_TRUE(prepare_row(app.handle(), "job"));
  app.query("START TRANSACTION");
  EXPECT_TRUE(lock_row(app.handle(), "job"));
}

/// A deadlock between two accounts' rows, of which the server ends `loser`'s transaction: the other one has changed more.
void end_by_deadlock(Caller& loser, Caller& winner, const std::function<bool()>& one_waits) {
  winner.begin();
  winner.sql().query("CREATE TEMPORARY TABLE IF NOT EXISTS many (n INT) ENGINE = InnoDB");
  for (int i = 0; i < 50; ++i) winner.sql().query("INSERT INTO many VALUES (1)");
  winner.sql().query("UPDATE account SET balance = balance + 1 WHERE id = 'bob'");
  ASSERT_EQ(loser.sql().attempt("UPDATE account SET balance = 0 WHERE id = 'alice'"), 0U);
  auto waiting = std::async(std::launch::async, [&] {
    winner.sql().query("UPDATE account SET balance = balance + 1 WHERE id = 'alice'");
    winner.commit();
  });
  ASSERT_TRUE(one_waits());
  ASSERT_EQ(loser.sql().attempt("UPDATE account SET balance = 0 WHERE id = 'bob'"), unsigned{ER_LOCK_DEADLOCK});
  waiting.get();
}

// The client library does not know either: an error packet says nothing of the transaction.
TEST_F(MysqlRow, ATransactionThatADeadlockHasEndedUnnoticedIsGivenNoRow) {
  Caller alice(server_, "unnoticed"), bob(server_);
  alice.begin();
  end_by_deadlock(alice, bob, [&] { return one_waits_for_a_row(); });
  EXPECT_EQ(lock_row(alice.connection(), "unnoticed").code(), Errc::lost) << "it would be free at once";
  alice.begin();
  EXPECT_TRUE(lock_row(alice.connection(), "unnoticed"));
}

TEST_F(MysqlVersion, WorkOfATransactionThatADeadlockHasEndedUnnoticedIsNotCommitted) {
  Caller alice(server_), bob(server_);
  VersionGuard guard = VersionGuard::begin(alice.connection(), {.table = "account", .key = "alice"}).value();
  end_by_deadlock(alice, bob, [&] { return one_waits_for_a_row(); });
  EXPECT_EQ(guard.commit().code(), Errc::lost);
  EXPECT_EQ(root_.field("SELECT version FROM account WHERE id = 'alice'"), "1");
  EXPECT_EQ(balance("alice"), "101");
}

TEST_F(MysqlRow, AConnectionThatConnectsAgainByItselfIsRefused) {
  Caller alice(server_);
  const my_bool yes = 1;
  mysql_options(alice.connection(), MYSQL_OPT_RECONNECT, &yes);
  EXPECT_EQ(prepare_row(alice.connection(), "reconnect").code(), Errc::invalid_argument);
  EXPECT_EQ(VersionGuard::begin(alice.connection(), {.table = "account", .key = "alice"}).code(),
            Errc::invalid_argument);
}

// --- versions

const VersionedRow alices_row{.table = "account", .key = "alice"};

TEST_F(MysqlVersion, TheWorkIsCommittedIfNobodyElseHasChangedTheRow) {
  Caller caller(server_);
  VersionGuard guard = VersionGuard::begin(caller.connection(), alices_row).value();
  EXPECT_EQ(guard.version(), 1U);
  caller.sql().query("UPDATE account SET balance = balance + 7 WHERE id = 'alice'");
  EXPECT_EQ(guard.commit().value(), 2U);
  EXPECT_EQ(balance("alice"), "107");
  EXPECT_EQ(root_.field("SELECT version FROM account WHERE id = 'alice'"), "2");
  EXPECT_EQ(guard.commit().code(), Errc::not_owner);
}

TEST_F(MysqlVersion, OfTwoTheSecondToCommitIsRefusedAndItsWorkUndone) {
  Caller alice(server_), bob(server_);
  VersionGuard first = VersionGuard::begin(alice.connection(), alices_row).value();
  VersionGuard second = VersionGuard::begin(bob.connection(), alices_row).value();
  alice.sql().query("UPDATE account SET balance = 107 WHERE id = 'alice'");
  ASSERT_TRUE(first.commit());
  bob.sql().query("UPDATE account SET balance = 101 WHERE id = 'alice'");
  bob.sql().query("UPDATE account SET balance = 0 WHERE id = 'bob'");
  const Result<std::uint64_t> late = second.commit();
  EXPECT_EQ(late.code(), Errc::overtaken);
  EXPECT_THAT(late.error().message, HasSubstr("alice"));
  EXPECT_EQ(balance("alice"), "107");
  EXPECT_EQ(balance("bob"), "100");
}

TEST_F(MysqlVersion, UnderContentionEveryUpdateIsDoneOnce) {
  std::vector<std::future<bool>> workers;
  for (int i = 0; i < 4; ++i) {
    workers.push_back(std::async(std::launch::async, [&] {
      Caller caller(server_);
      for (int turn = 0; turn < 10; ++turn) {
        const auto add_one = [&](const VersionGuard&) {
          const int seen = std::stoi(caller.sql().field("SELECT balance FROM account WHERE id = 'alice'"));
          caller.sql().query("UPDATE account SET balance = " + std::to_string(seen + 1) + " WHERE id = 'alice'");
        };
        if (!update_versioned(caller.connection(), alices_row, add_one, 1000)) return false;
      }
      return true;
    }));
  }
  for (auto& worker : workers) EXPECT_TRUE(worker.get());
  EXPECT_EQ(balance("alice"), "140");
  EXPECT_EQ(root_.field("SELECT version FROM account WHERE id = 'alice'"), "41");
}

TEST_F(MysqlVersion, ADeadlockInTheWorkBeginsItAgain) {
  Caller alice(server_), bob(server_);
  bob.begin();
  // Bob has changed more rows, so that the server chooses Alice.
  bob.sql().query("CREATE TEMPORARY TABLE many (n INT) ENGINE = InnoDB");
  for (int i = 0; i < 50; ++i) bob.sql().query("INSERT INTO many VALUES (1)");
  bob.sql().query("UPDATE account SET balance = balance + 1 WHERE id = 'bob'");
  std::future<void> waiting;
  int tries = 0;
  const Result<std::uint64_t> done =
      update_versioned(alice.connection(), alices_row, [&](const VersionGuard&) -> Result<void> {
        MYSQL* const connection = alice.connection();
        const auto update = [&](const std::string& statement) -> Result<void> {
          if (mysql_query(connection, statement.c_str()) != 0) return mysql::error_of(connection);
          return {};
        };
        if (Result<void> own = update("UPDATE account SET balance = balance - 1 WHERE id = 'alice'"); !own) return own;
        if (++tries == 1) {
          waiting = std::async(std::launch::async, [&] {
            bob.sql().query("UPDATE account SET balance = balance + 1 WHERE id = 'alice'");
            bob.commit();
          });
          EXPECT_TRUE(one_waits_for_a_row());
        }
        return update("UPDATE account SET balance = balance + 1 WHERE id = 'bob'");
      });
  waiting.get();
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(balance("alice"), "100");
  EXPECT_EQ(balance("bob"), "102");
}

TEST_F(MysqlVersion, AKilledConnectionIsToldAndTheWorkUndone) {
  Caller alice(server_);
  const std::string alices = alice.id();
  const Result<std::uint64_t> done = update_versioned(alice.connection(), alices_row, [&](const VersionGuard&) {
    alice.sql().query("UPDATE account SET balance = 0 WHERE id = 'alice'");
    root_.query("KILL " + alices);
  });
  EXPECT_EQ(done.code(), Errc::store_unavailable) << done.error().message;
  EXPECT_EQ(balance("alice"), "100");
}

TEST_F(MysqlVersion, WhoGivesUpIsRolledBack) {
  Caller caller(server_);
  const auto spend = [&] { caller.sql().query("UPDATE account SET balance = 0 WHERE id = 'alice'"); };
  {
    const VersionGuard guard = VersionGuard::begin(caller.connection(), alices_row).value();
    spend();
  }
  EXPECT_EQ(balance("alice"), "100");
  const Result<std::uint64_t> refused =
      update_versioned(caller.connection(), alices_row, [&](const VersionGuard&) -> Result<void> {
        spend();
        return Error{Errc::cancelled, "not today"};
      });
  EXPECT_EQ(refused.code(), Errc::cancelled);
  EXPECT_EQ(balance("alice"), "100");
  EXPECT_THROW((void)update_versioned(caller.connection(), alices_row,
                                      [&](const VersionGuard&) {
                                        spend();
                                        throw std::runtime_error("no");
                                      }),
               std::runtime_error);
  EXPECT_EQ(balance("alice"), "100");
}

TEST_F(MysqlVersion, WorkThatEndsTheTransactionItselfIsRefused) {
  Caller caller(server_);
  VersionGuard guard = VersionGuard::begin(caller.connection(), alices_row).value();
  caller.commit();
  EXPECT_EQ(guard.commit().code(), Errc::lost);
}

TEST_F(MysqlVersion, WrongRowsAndNamesAreRefused) {
  Caller caller(server_);
  const auto code = [&](VersionedRow row) { return VersionGuard::begin(caller.connection(), std::move(row)).code(); };
  EXPECT_EQ(code({.table = "account", .key = "nobody"}), Errc::invalid_argument);
  EXPECT_EQ(code({.table = "account; DROP TABLE account", .key = "alice"}), Errc::invalid_argument);
  EXPECT_EQ(code({.table = "account", .key = "alice", .version_column = "version` = 1 --"}), Errc::invalid_argument);
  EXPECT_EQ(code({.table = "nowhere", .key = "alice"}), Errc::invalid_argument);
  EXPECT_EQ(code({.table = "pawl.account", .key = "alice' OR '1' = '1"}), Errc::invalid_argument);
  EXPECT_EQ(code({.table = "pawl.account", .key = "alice"}), Errc{});
  caller.begin();
  EXPECT_EQ(code(alices_row), Errc::invalid_argument) << "it would commit that transaction";
}

}  // namespace
}  // namespace pawl
