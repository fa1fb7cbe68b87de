// What concerns MySQL and MariaDB alone: restarts, killed connections, bad servers, accounts with few rights, and wake-ups.

#include "tests/support/mysql_server.hpp"
#include "tests/support/socket.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <future>
#include <set>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::MysqlClient;
using test::MysqlServer;
using testing::HasSubstr;
using testing::Not;

/// A test has a prefix of its own on the server that they share.
std::string shared_url(const std::string& query = {}) {
  static int prefixes = 0;
  return MysqlServer::shared().url("?prefix=weather-" + std::to_string(++prefixes) + query);
}

Error error_of(const std::string& url) {
  const Result<Client> client = Client::open(url);
  return client ? Error{} : client.error();
}

/// The connections of the account `pawl`, by their numbers; those of listeners are in SLEEP.
std::vector<std::string> connections(MysqlClient& root, const std::string& which = "1") {
  std::vector<std::string> numbers;
  for (const auto& row : root.query("SELECT id FROM information_schema.processlist WHERE user = 'pawl' AND " + which)) {
    numbers.push_back(row[0]);
  }
  return numbers;
}

TEST(Mysql, ARestartNeverRepeatsAToken) {
  MysqlServer server;
  std::set<Token> seen;
  for (int life = 0; life < 3; ++life) {
    Client client(server.url("?timeout=30s"));
    for (int i = 0; i < 5; ++i) {
      const Hold hold = client.mutex("job").acquire({.wait = 60s}).value();
      EXPECT_TRUE(seen.empty() || hold.token() > *seen.rbegin());
      seen.insert(hold.token());
    }
    server.kill();
    server.start();
  }
  EXPECT_EQ(seen.size(), 15U);
}

TEST(Mysql, AnotherIdentityStartsANewEpoch) {
  Client client(shared_url());
  const Token before = client.mutex("job").acquire().value().token();
  // As it stands there after a dump of another server was restored.
  MysqlServer::shared().root().query("UPDATE pawl_meta SET identity = 'another server', counter = 0 WHERE id = 1");
  Client later(shared_url());
  const Token after = later.mutex("job").acquire().value().token();
  EXPECT_GT(after.epoch(), before.epoch());
  EXPECT_GT(after, before);
}

/// As if the server had been started again without its last writes, where they were lost.
void start_another_epoch(MysqlClient& root) {
  root.query("UPDATE pawl_meta SET identity = 'another server' WHERE id = 1");
  for (const std::string& number : connections(root)) root.query("KILL " + number);
}

TEST(Mysql, AGrantThatTheServerHasLostIsToldToItsHolder) {
  MysqlServer server;
  Client client(server.url("?lease=600s&timeout=30s"));
  const Hold lost = client.mutex("lost").acquire().value(), kept = client.mutex("kept").acquire().value();
  MysqlClient root = server.root();
  root.query("DELETE FROM pawl_claim WHERE lock_id = 'pawl/mutex:lost'");
  start_another_epoch(root);
  EXPECT_TRUE(eventually([&] { return lost.lost().stop_requested(); }));
  EXPECT_TRUE(kept.valid());
}

TEST(Mysql, AReleaseThatTheServerHasLostIsDoneAgain) {
  MysqlServer server;
  Client client(server.url("?lease=600s&timeout=30s")), other(server.url("?timeout=30s"));
  const Hold hold = client.mutex("other").acquire().value();
  MysqlClient root = server.root();
  root.query(
      "INSERT INTO pawl_lock SELECT 'pawl/mutex:job', 'job', permits, used, taken FROM pawl_lock;"
      "INSERT INTO pawl_claim SELECT REPEAT('a', 32), session, 'pawl/mutex:job', state, shared, wanted, delay, since, "
      "until,"
      " ticket, epoch, counter, asked, slots, label, value FROM pawl_claim");
  EXPECT_EQ(other.mutex("job").try_acquire().code(), Errc::busy);
  start_another_epoch(root);
  EXPECT_TRUE(other.mutex("job").acquire({.wait = 60s}));
  EXPECT_TRUE(hold.valid());
}

// What the tables look like then.
TEST(Mysql, AServersClockThatWasSetBackAnHourProlongsNoLease) {
  MysqlServer server;
  Client client(server.url("?timeout=30s"));
  ASSERT_TRUE(client.mutex("other").acquire());
  server.root().query(
      "SET @later = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + 3600000000;"
      "UPDATE pawl_meta SET clock = @later;"
      "INSERT INTO pawl_session VALUES (REPEAT('b', 32), 1000000, @later + 1000000, '', '', 1, '');"
      "INSERT INTO pawl_lock VALUES ('pawl/mutex:job', 'job', 0, 0, '');"
      "INSERT INTO pawl_claim VALUES (REPEAT('a', 32), REPEAT('b', 32), 'pawl/mutex:job', 1, 0, 0, 0, @later, NULL, 1, "
      "1, 1, 0, "
      "'', '', '')");
  EXPECT_TRUE(client.mutex("job").acquire({.wait = 60s})) << "a dead client with a lease of a second had it";
}

TEST(Mysql, AKilledConnectionCostsNoHold) {
  Client client(shared_url("&lease=60s"));
  Hold hold = client.mutex("job").acquire().value();
  MysqlClient root = MysqlServer::shared().root();
  for (const std::string& number : connections(root)) root.query("KILL " + number);
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(client.mutex("other").acquire({.wait = 60s})) << "it connects again";
  EXPECT_TRUE(hold.release());
}

TEST(Mysql, AWaiterWhoseListenerWasKilledIsWokenByTheNextOne) {
  const std::string url = shared_url("&lease=300s");
  Client alice(url), bob(url);
  Hold hold = alice.mutex("job").acquire().value();
  auto waiting = std::async(std::launch::async, [&] { return bob.mutex("job").acquire({.wait = 240s}); });
  MysqlClient root = MysqlServer::shared().root();
  ASSERT_TRUE(eventually([&] { return root.field("SELECT COUNT(*) FROM pawl_claim WHERE state = 0") == "1"; }));
  for (const std::string& number : connections(root, "info LIKE '%SLEEP(5)%'")) root.query("KILL " + number);
  EXPECT_TRUE(hold.release());
  EXPECT_EQ(waiting.wait_for(60s), std::future_status::ready) << "it would look again by itself after 100 s";
  EXPECT_TRUE(waiting.get());
}

TEST(Mysql, PollingFindsItsMail) {
  const std::string url = shared_url("&lease=180s&wake=poll");
  Client alice(url), bob(url);
  Hold hold = alice.mutex("job").acquire().value();
  auto waiting = std::async(std::launch::async, [&] { return bob.mutex("job").acquire({.wait = 50s}); });
  MysqlClient root = MysqlServer::shared().root();
  ASSERT_TRUE(eventually([&] { return root.field("SELECT COUNT(*) FROM pawl_claim WHERE state = 0") == "1"; }));
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(waiting.get()) << "it would look again by itself after 60 s";
}

TEST(Mysql, ATransactionThatBlocksTheStoreIsWaitedFor) {
  Client client(shared_url("&timeout=30s"));
  ASSERT_TRUE(client.mutex("first").acquire());
  MysqlClient root = MysqlServer::shared().root();
  root.query("START TRANSACTION");
  root.query("SELECT * FROM pawl_meta FOR UPDATE");
  auto waiting = std::async(std::launch::async, [&] { return client.mutex("job").acquire({.wait = 60s}); });
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
  root.query("ROLLBACK");
  EXPECT_TRUE(waiting.get());
}

TEST(Mysql, FiftyClientsAtOnceAreAllServed) {
  const std::string url = shared_url("&timeout=30s");
  std::vector<std::future<bool>> turns;
  for (int i = 0; i < 50; ++i) {
    turns.push_back(std::async(std::launch::async, [&url] {
      Client client(url);
      for (int turn = 0; turn < 4; ++turn) {
        Result<Hold> hold = client.mutex("job").acquire({.wait = 240s});
        if (!hold || !hold->release()) return false;
      }
      return true;
    }));
  }
  for (auto& turn : turns) EXPECT_TRUE(turn.get());
}

TEST(Mysql, AServerWithoutAFreeConnectionIsTriedAgain) {
  MysqlServer server({"--max-connections=10"});  // that is the least; one more is for root
  std::vector<MysqlClient> others;
  others.reserve(10);
  for (int i = 0; i < 10; ++i) others.emplace_back(server.port(), "pawl", "secret");
  const Error error = error_of(server.url("?timeout=5s"));
  EXPECT_EQ(error.code, Errc::store_unavailable);
  EXPECT_THAT(error.message, HasSubstr("Too many connections"));
  auto opening = std::async(std::launch::async, [&] { return Client::open(server.url("?timeout=60s")); });
  EXPECT_EQ(opening.wait_for(100ms), std::future_status::timeout);
  others.clear();
  Result<Client> client = opening.get();
  ASSERT_TRUE(client);
  EXPECT_TRUE(client->mutex("job").acquire({.wait = 60s}));
}

TEST(Mysql, AReadOnlyServerIsRefused) {
  MysqlServer server({"--read-only=1"});
  const Error error = error_of(server.url("?timeout=5s"));
  EXPECT_EQ(error.code, Errc::store_unavailable);
  EXPECT_THAT(error.message, HasSubstr("read-only"));
}

TEST(Mysql, AHolderOnAServerThatBecomesReadOnlyIsLost) {
  MysqlServer server;
  Client client(server.url("?lease=5s&timeout=10s"));
  const Hold hold = client.mutex("job").acquire({.wait = 60s}).value();
  server.root().query("SET GLOBAL read_only = 1");
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
}

TEST(Mysql, StatementBasedReplicationIsNamed) {
  MysqlServer server({"--log-bin=binlog", "--binlog-format=STATEMENT"});
  const Error error = error_of(server.url("?timeout=30s"));
  EXPECT_EQ(error.code, Errc::unsupported);
  EXPECT_THAT(error.message, HasSubstr("binlog_format"));
}

TEST(Mysql, AWrongPasswordIsToldWithoutIt) {
  const std::string port = std::to_string(MysqlServer::shared().port());
  const Error error = error_of("mysql://pawl:not-this-one@127.0.0.1:" + port + "/pawl");
  EXPECT_EQ(error.code, Errc::permission_denied);
  EXPECT_THAT(error.message, Not(HasSubstr("not-this-one")));
}

TEST(Mysql, AnUnknownDatabaseIsToldWithTheWayToMakeIt) {
  MysqlServer::shared().root().query("GRANT ALL ON nowhere.* TO pawl@'%'");
  const std::string port = std::to_string(MysqlServer::shared().port());
  const Error error = error_of("mysql://pawl:secret@127.0.0.1:" + port + "/nowhere");
  EXPECT_EQ(error.code, Errc::invalid_argument);
  EXPECT_THAT(error.message, HasSubstr("CREATE DATABASE"));
}

TEST(Mysql, AnAccountThatMayNotMakeTheTablesIsToldWhichStatementMakesThem) {
  MysqlServer server;
  server.root().query("CREATE USER app IDENTIFIED BY 'pw'; GRANT EXECUTE ON pawl.* TO app");
  const Error error = error_of("mysql://app:pw@127.0.0.1:" + std::to_string(server.port()) + "/pawl?timeout=30s");
  EXPECT_EQ(error.code, Errc::permission_denied);
  EXPECT_THAT(error.message, HasSubstr("CREATE TABLE"));
}

TEST(Mysql, TheRightsThatTheDocumentsNameAreEnough) {
  MysqlServer server;
  MysqlClient root = server.root();
  root.query(
      "CREATE USER maker IDENTIFIED BY 'pw'; CREATE USER app IDENTIFIED BY 'pw';"
      "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, CREATE ROUTINE, EXECUTE ON pawl.* TO maker");
  const std::string at = "@127.0.0.1:" + std::to_string(server.port()) + "/pawl?lease=180s&wake=poll&timeout=30s";
  ASSERT_TRUE(Client("mysql://maker:pw" + at).mutex("job").acquire());
  root.query("GRANT EXECUTE ON pawl.* TO app; GRANT SELECT ON pawl.pawl_mail TO app");
  Client alice("mysql://app:pw" + at), bob("mysql://app:pw" + at);
  Hold hold = alice.mutex("job").acquire().value();
  auto waiting = std::async(std::launch::async, [&] { return bob.mutex("job").acquire({.wait = 50s}); });
  ASSERT_TRUE(eventually([&] { return root.field("SELECT COUNT(*) FROM pawl_claim WHERE state = 0") == "1"; }));
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(waiting.get());
}

TEST(Mysql, AnotherLayoutIsRefused) {
  MysqlServer server;
  { ASSERT_TRUE(Client(server.url()).mutex("job").acquire()); }
  server.root().query("UPDATE pawl_meta SET layout = 99");
  const Error error = error_of(server.url("?timeout=30s"));
  EXPECT_EQ(error.code, Errc::unsupported);
  EXPECT_THAT(error.message, HasSubstr("layout 99"));
}

// The client library blocks while it connects.
TEST(Mysql, AServerThatSaysNothingDelaysNoRenewalOfAnotherStore) {
  const test::Socket silent = test::listen_on_tcp();
  Client other("memory:beside-a-silent-server", {.lease = 1s});
  const Hold hold = other.mutex("job").acquire().value();
  const Error error = error_of("mysql://a:b@127.0.0.1:" + std::to_string(silent.port()) + "/db?timeout=4s");
  EXPECT_EQ(error.code, Errc::store_unavailable);
  EXPECT_TRUE(hold.valid());
}

TEST(Mysql, ASocketFileWillDo) {
  MysqlServer& server = MysqlServer::shared();
  const std::string file = server.folder() + "/password";
  std::ofstream(file) << "secret\n";
  Client client("mysql+unix://" + server.socket() + "?db=pawl&user=pawl&prefix=socket&password_file=" + file);
  EXPECT_TRUE(client.mutex("job").acquire());
}

}  // namespace
}  // namespace pawl
