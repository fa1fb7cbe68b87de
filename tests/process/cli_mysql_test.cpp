#include "tests/process/cli_servers.hpp"
#include "tests/support/mysql_server.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace pawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CliMysql : public CliOnServer {
 protected:
  std::string url() const override { return server_.url("?timeout=30s"); }

  MysqlServer server_;
};

const std::vector<std::string> all_schemes{"queue", "unique", "version", "named", "for-update"};

const ServedStore mysql{"mysql", all_schemes, all_schemes, [] {
                          const auto server = std::make_shared<MysqlServer>();
                          const std::string file = server->folder() + "/password";  // that commands can read as well
                          std::ofstream(file) << "secret\n";
                          return Served{server, "mysql://pawl@127.0.0.1:" + std::to_string(server->port()) +
                                                    "/pawl?timeout=30s&password_file=" + file};
                        }};
INSTANTIATE_TEST_SUITE_P(Mysql, CliServers, testing::Values(mysql));

TEST_F(CliMysql, AServerThatIsNotThereIsNamed) {
  const Port nobody;
  const std::string address = "127.0.0.1:" + std::to_string(nobody.number());
  for (const Words& words : {Words{"ls"}, Words{"run", "job", "--", "true"}, Words{"schema", "--apply"}}) {
    const Ended ended = at("mysql://alice:s3cret@" + address + "/locks?timeout=200ms", words);
    EXPECT_EQ(ended.code, 121) << words.front();
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, AllOf(StartsWith("pawl: "), HasSubstr(address), Not(HasSubstr("s3cret"))));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }
}

TEST_F(CliMysql, ABadUrlIsToldInOneLine) {
  for (const std::string bad : {"mysql:", "mysql://h:99999/db", "mysql://h", "mysql://h/db?wake=odd", "mysql://a,b/db",
                                "mysql://h/db?nonsense=1", "mysql://h/db?names=raw"}) {
    const Ended ended = at(bad, {"ls"});
    EXPECT_EQ(ended.code, 125) << bad;
    EXPECT_THAT(ended.err, StartsWith("pawl: ")) << bad;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }
}

TEST_F(CliMysql, APasswordIsNeverPrinted) {
  const std::string wrong = "mysql://pawl:hush-hush@127.0.0.1:" + std::to_string(server_.port()) + "/pawl";
  for (const Words& words : {Words{"ls"}, Words{"schema"}, Words{"schema", "--apply"}}) {
    const Ended ended = at(wrong, words);
    EXPECT_THAT(ended.out + ended.err, Not(HasSubstr("hush-hush")));
  }
  EXPECT_EQ(at(wrong, {"schema", "--apply"}).code, 121);
}

// --- pawl schema

class CliMysqlSchema : public CliMysql {
 protected:
  /// By the server's own client, as the account `pawl`; its exit code.
  int feed(const std::string& script) {
    const std::string file = folder_ / "script.sql";
    std::ofstream(file) << script;
    return std::system(("mariadb --no-defaults --host=127.0.0.1 --port=" + std::to_string(server_.port()) +
                        " --user=pawl --password=secret pawl < " + file + " > " + (folder_ / "fed") + " 2>&1")
                           .c_str());
  }
  void make_layout_1() {
    ASSERT_EQ(feed(read_file(PAWL_SOURCE "/tests/mysql/schema_1.sql")), 0) << read_file(folder_ / "fed");
    server_.root().query(
        "INSERT INTO pawl_meta VALUES (1, 1, 1700000000000, 'the same server', 1, '0123456789abcdef', 41, 0);"
        "INSERT INTO pawl_session VALUES (REPEAT('b', 32), 1000000, 1, '', '', 1, '');"
        "INSERT INTO pawl_lock VALUES ('pawl/mutex:job', 'job', 0, 0, '');"
        "INSERT INTO pawl_claim VALUES (REPEAT('a', 32), REPEAT('b', 32), 'pawl/mutex:job', 1, 0, 0, 0, 1, NULL, 40, "
        "1700000000000, 41, 0, '', '', '')");
  }
  std::string layout() { return server_.root().field("SELECT layout FROM pawl_meta"); }
  Ended take_job() const {
    return at(server_.url("?timeout=5s"), {"run", "job", "--", "sh", "-c", "echo $PAWL_TOKEN"});
  }
};

TEST_F(CliMysqlSchema, WhatItPrintsMakesTheTablesAndCanBeRepeated) {
  const Ended printed = at("mysql://nobody@h.example/db", {"schema"});  // no server is asked
  EXPECT_EQ(printed.code, 0) << printed.err;
  ASSERT_EQ(feed(printed.out), 0) << read_file(folder_ / "fed");
  ASSERT_EQ(feed(printed.out), 0) << read_file(folder_ / "fed");
  server_.root().query(
      "CREATE USER app IDENTIFIED BY 'pw'; GRANT EXECUTE ON pawl.* TO app; GRANT SELECT ON pawl.pawl_mail TO app");
  const std::string app = "mysql://app:pw@127.0.0.1:" + std::to_string(server_.port()) + "/pawl?timeout=30s";
  EXPECT_EQ(at(app, {"run", "job", "--", "true"}).code, 0) << "with the rights that the documents name";
  EXPECT_EQ(
      server_.root().field("SELECT COUNT(*) FROM information_schema.routines WHERE routine_name = 'pawl_upgrade'"),
      "0");
}

TEST_F(CliMysqlSchema, ApplyMakesThemOnceAndDisturbsNoHolder) {
  Ended applied = pawl({"schema", "--apply"});
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_THAT(applied.out, HasSubstr("made the tables"));
  Process alice = holder("job");
  server_.root().query("DROP PROCEDURE pawl_revoke");
  applied = pawl({"schema", "--apply"});
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_THAT(applied.out, HasSubstr("are there"));
  EXPECT_TRUE(alice.running());
  EXPECT_EQ(try_run({"job", "--", "true"}), 124);
  EXPECT_EQ(pawl({"revoke", "job"}).code, 0) << "what was missing was made";
}

TEST_F(CliMysqlSchema, AnOlderLayoutIsRefusedWithTheWayToUpgradeItAndTokensGoOn) {
  make_layout_1();
  const Ended refused = take_job();
  EXPECT_EQ(refused.code, 125) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("layout 1"), HasSubstr("pawl schema --store URL --apply")));
  const Ended applied = pawl({"schema", "--apply"});
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_THAT(applied.out, HasSubstr("from layout 1"));
  const Ended done = take_job();
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_GT(done.out, "018bcfe56800") << "the epoch from before";
  EXPECT_EQ(server_.root().field("SELECT store FROM pawl_meta"), "0123456789abcdef") << "the same store";
}

// Layout 2 had all tables but one, and other procedures.
TEST_F(CliMysqlSchema, Layout2IsUpgradedAndWhatADeadClientLeftInItIsFree) {
  ASSERT_EQ(feed(pawl({"schema"}).out), 0) << read_file(folder_ / "fed");
  server_.root().query(
      "DROP TABLE pawl_untold; DROP PROCEDURE pawl_inspect; DROP PROCEDURE pawl_mark;"
      "CREATE PROCEDURE pawl_inspect(IN p_lock BLOB, IN p_start BLOB, IN p_prefix BLOB) SELECT 1;"
      "INSERT INTO pawl_meta VALUES (1, 2, 1700000000000, 'the same server', 1, '0123456789abcdef', 41, 0);"
      "INSERT INTO pawl_session VALUES (REPEAT('b', 32), 1000000, 1, '', '', 1, '');"
      "INSERT INTO pawl_lock VALUES ('pawl/mutex:job', 'job', 0, 0, '');"
      "INSERT INTO pawl_claim VALUES (REPEAT('a', 32), REPEAT('b', 32), 'pawl/mutex:job', 1, 0, 0, 0, 1, NULL, 40, "
      "1700000000000, 41, 0, '', '', '')");
  EXPECT_THAT(take_job().err, HasSubstr("layout 2"));
  const Ended applied = pawl({"schema", "--apply"});
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_THAT(applied.out, HasSubstr("from layout 2"));
  EXPECT_EQ(take_job().code, 0);
  EXPECT_EQ(pawl({"ls"}).code, 0);
}

TEST_F(CliMysqlSchema, ThePrintedStatementsUpgradeAsWell) {
  make_layout_1();
  ASSERT_EQ(feed(pawl({"schema"}).out), 0) << read_file(folder_ / "fed");
  EXPECT_EQ(take_job().code, 0);
}

TEST_F(CliMysqlSchema, AnUpgradeIsRefusedWhileClientsAreConnected) {
  make_layout_1();
  server_.root().query("UPDATE pawl_session SET ends = 1 << 62");
  const Ended refused = pawl({"schema", "--apply"});
  EXPECT_EQ(refused.code, 125);
  EXPECT_THAT(refused.err, HasSubstr("stop the programs"));
  EXPECT_EQ(layout(), "1");
  EXPECT_NE(feed(pawl({"schema"}).out), 0);
  EXPECT_EQ(layout(), "1");
}

TEST_F(CliMysqlSchema, AnUpgradeThatWasInterruptedIsFinished) {
  make_layout_1();
  server_.root().query("UPDATE pawl_meta SET layout = -1; DROP PROCEDURE pawl_claim");
  const Ended refused = take_job();
  EXPECT_EQ(refused.code, 125) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("not finished"));
  EXPECT_EQ(pawl({"schema", "--apply"}).code, 0);
  EXPECT_EQ(take_job().code, 0);
}

TEST_F(CliMysqlSchema, TheTablesOfANewerPawlAreLeftAlone) {
  ASSERT_EQ(pawl({"schema", "--apply"}).code, 0);
  ASSERT_EQ(take_job().code, 0);
  server_.root().query("UPDATE pawl_meta SET layout = 99");
  for (const Ended& refused : {pawl({"schema", "--apply"}), take_job()}) {
    EXPECT_EQ(refused.code, 125);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("layout 99"), HasSubstr("newer")));
  }
  EXPECT_NE(feed(pawl({"schema"}).out), 0);
  EXPECT_EQ(layout(), "99");
}

TEST_F(CliMysqlSchema, AnAccountThatMayNotIsTold) {
  server_.root().query("CREATE USER app IDENTIFIED BY 'pw'; GRANT SELECT ON pawl.* TO app");
  const std::string app = "mysql://app:pw@127.0.0.1:" + std::to_string(server_.port()) + "/pawl?timeout=30s";
  const Ended refused = at(app, {"schema", "--apply"});
  EXPECT_EQ(refused.code, 121);
  EXPECT_THAT(refused.err, HasSubstr("denied"));
}

TEST_F(CliMysqlSchema, AStoreWithoutTablesNeedsNone) {
  for (const Words& words : {Words{"schema"}, Words{"schema", "--apply"}}) {
    const Ended ended = at("memory:", words);
    EXPECT_EQ(ended.code, 125);
    EXPECT_THAT(ended.err, HasSubstr("needs no schema"));
  }
}

}  // namespace
}  // namespace pawl::test
