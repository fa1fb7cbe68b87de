// Locks that belong to a connection (`named`, `for-update`), when calls come late and connections end in between.

#include "tests/support/checkpoint.hpp"
#include "tests/support/mysql_frames.hpp"
#include "tests/support/mysql_procedures.hpp"
#include "tests/support/mysql_server.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <future>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::Checkpoint;
using test::eventually;
using test::Fault;
using test::MysqlClient;
using test::MysqlServer;
using test::Proxy;
using testing::HasSubstr;

auto acquire(Client& client, const std::string& name) {
  return std::async(std::launch::async, [&client, name] { return client.mutex(name).acquire({.wait = 240s}); });
}

const std::string count_of_ours = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'pawl'";

/// The number of the youngest connection: where one client was opened, that of its first hold.
std::string youngest(MysqlClient& root) {
  return root.field("SELECT MAX(id) FROM information_schema.processlist WHERE user = 'pawl'");
}

// Alice has locked the row, and her connection ends before she has recorded it. Bob locks it and records it. Then her call comes.
TEST(MysqlForUpdate, ALateRecordTakesNoLockFromTheNextHolder) {
  MysqlServer server;
  MysqlClient root = server.root();
  const std::string query = "?timeout=60s&lease=600s&scheme=for-update";
  Proxy proxy(server.port(), test::mysql_framing());
  Checkpoint record("CALL pawl_record");
  proxy.arrange(Fault::lose_reply, record.match());
  Client alice(MysqlServer::url_at(proxy.port(), query));
  record.arm();
  auto hers = acquire(alice, "job");
  ASSERT_TRUE(record.wait_until_reached());
  root.query("KILL " + youngest(root));
  Client bob(server.url(query));
  Hold his = bob.mutex("job").acquire({.wait = 120s}).value();
  record.let_pass();
  EXPECT_TRUE(eventually([&] { return root.field("SELECT COUNT(*) FROM pawl_claim WHERE state <> 1") == "1"; }));
  EXPECT_TRUE(bob.check(his.sequencer())) << "her call has deleted his record";
  EXPECT_TRUE(his.valid());
  const Token first = his.token();
  EXPECT_TRUE(his.release());
  EXPECT_GT(hers.get().value().token(), first);
}

// Alice's token is committed, and then her connection ends: bob's token is larger, and she must not be told that she holds the lock.
TEST(MysqlForUpdate, AConnectionThatEndsBehindItsTokenGetsNoGrant) {
  MysqlServer server;
  MysqlClient root = server.root();
  const std::string query = "?timeout=60s&lease=600s&scheme=for-update";
  Proxy proxy(server.port(), test::mysql_framing());
  Checkpoint record("CALL pawl_record"), again("prepare SELECT GET_LOCK");
  proxy.arrange(Fault::lose_reply, record.match());
  proxy.arrange(Fault::lose_reply, again.match());
  Client alice(MysqlServer::url_at(proxy.port(), query));
  Hold other = alice.mutex("other").acquire({.wait = 60s}).value();
  ASSERT_TRUE(other.release());  // leaves an idle connection
  ASSERT_TRUE(eventually([&] { return root.field(count_of_ours + " AND info LIKE '%SLEEP(5)%'") == "1"; }));
  // What is called behind the commit of the token, once.
  root.query(
      "CREATE TABLE victim (id BIGINT UNSIGNED, token BIGINT UNSIGNED) ENGINE = Aria;"
      "CREATE PROCEDURE kill_victim(IN p_token BIGINT UNSIGNED) BEGIN"
      " DECLARE v BIGINT UNSIGNED DEFAULT (SELECT id FROM victim WHERE token IS NULL);"
      " IF v IS NOT NULL THEN UPDATE victim SET token = p_token; KILL v; END IF; END;"
      "DROP PROCEDURE pawl_answer");
  std::string answer = test::text_of_procedure("answer");
  answer.insert(answer.find("BEGIN") + 5, " CALL kill_victim((SELECT counter FROM pawl_claim WHERE id = p_claim)); ");
  root.query(answer);

  record.arm();
  auto hers = acquire(alice, "job");
  ASSERT_TRUE(record.wait_until_reached());
  root.query("INSERT INTO victim VALUES (" + youngest(root) + ", NULL)");
  again.arm();
  record.let_pass();
  EXPECT_TRUE(again.wait_until_reached()) << "she begins again, on another connection";
  EXPECT_EQ(hers.wait_for(0s), std::future_status::timeout) << "she was told that she holds it";
  Client bob(server.url(query));
  Hold his = bob.mutex("job").acquire({.wait = 120s}).value();
  const Token his_token = his.token();
  EXPECT_GT(his_token.counter(), std::stoull(root.field("SELECT token FROM victim")));
  again.let_pass();
  EXPECT_TRUE(his.release());
  EXPECT_GT(hers.get().value().token(), his_token);
}

// Alice has freed it, and bob has it by then; neither her record is away nor his is there.
TEST(MysqlNamed, AReleasedTokenIsNotConfirmedByTheNextHoldersUserLock) {
  MysqlServer server;
  MysqlClient root = server.root();
  const std::string query = "?timeout=60s&lease=600s&scheme=named";
  Proxy hers(server.port(), test::mysql_framing()), his(server.port(), test::mysql_framing());
  Checkpoint forget("CALL pawl_forget"), prepare_forget("prepare CALL pawl_forget");
  hers.arrange(Fault::lose_reply, forget.match());
  hers.arrange(Fault::lose_reply, prepare_forget.match());
  Client alice(MysqlServer::url_at(hers.port(), query)), bob(MysqlServer::url_at(his.port(), query));
  Client carol(server.url(query));
  Hold hold = alice.mutex("job").acquire().value();
  const Sequencer sequencer = hold.sequencer();
  EXPECT_TRUE(carol.check(sequencer));
  auto next = acquire(bob, "job");
  ASSERT_TRUE(eventually([&] { return root.field("SELECT COUNT(*) FROM pawl_claim WHERE state = 0") == "1"; }));
  Checkpoint claim("CALL pawl_named_claim");
  his.arrange(Fault::lose_reply, claim.match());
  claim.arm();
  forget.arm();
  prepare_forget.arm();
  EXPECT_TRUE(hold.release());
  ASSERT_TRUE(claim.wait_until_reached());  // he has the user lock
  EXPECT_FALSE(carol.check(sequencer));
  claim.let_pass();
  prepare_forget.let_pass();
  forget.let_pass();
  EXPECT_GT(next.get().value().token(), sequencer.token);
}

TEST(MysqlConnections, AreCountedForBothSchemesTogether) {
  MysqlServer server;
  MysqlClient root = server.root();
  Client client(server.url("?timeout=30s&lease=600s&connections=2"));
  const auto mutex = [&client](const std::string& scheme, const std::string& name) {
    return client.mutex(name, {.scheme = scheme});
  };
  Hold one = mutex("named", "one").acquire().value(), two = mutex("for-update", "two").acquire().value();
  for (const char* scheme : {"named", "for-update"}) {
    const Result<Hold> third = mutex(scheme, "three").acquire({.wait = 120s});
    EXPECT_EQ(third.code(), Errc::overloaded) << scheme;
  }
  EXPECT_TRUE(two.release());
  const Hold three = mutex("named", "three").acquire().value();
  EXPECT_TRUE(eventually([&] { return root.field(count_of_ours) == "4"; }))
      << "for statements, for mail, and of two holds: the idle one of the other scheme gave its place up";
  EXPECT_TRUE(one.valid());
}

/// A server with the variables of a Galera cluster. It has no provider, so it is a cluster of its own.
class MysqlCluster : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Schemes, MysqlCluster, testing::Values("named", "for-update"),
                         [](const auto& info) { return info.param == "named" ? "named" : "for_update"; });

TEST_P(MysqlCluster, WithSeveralWritersHasNoLocksOfAConnection) {
  MysqlServer server({"--wsrep-on=ON", "--binlog-format=ROW"});
  Client client(server.url("?timeout=30s&scheme=" + GetParam()));
  const Result<Hold> hold = client.mutex("job").acquire({.wait = 60s});
  EXPECT_EQ(hold.code(), Errc::unsupported);
  EXPECT_THAT(hold.error().message, HasSubstr("cluster"));
}

TEST(MysqlClusterQueue, IsThereWithoutUserLocksAsWell) {
  MysqlServer server({"--wsrep-on=ON", "--binlog-format=ROW"});
  Client client(server.url("?timeout=30s"));
  EXPECT_TRUE(client.mutex("job").acquire({.wait = 60s}));
}

}  // namespace
}  // namespace pawl
