// The accidents of docs/hazards.md on a MySQL server: first with the naive lock, then with pawl.

#include "store/registry.hpp"
#include "tests/support/mysql_frames.hpp"
#include "tests/support/mysql_server.hpp"
#include "tests/support/naive_mysql.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/threads.hpp"

#include <pawl/mysql.hpp>
#include <pawl/pawl.hpp>

#include <mariadb/mysqld_error.h>

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using mysql::lock_row;
using mysql::prepare_row;
using test::eventually;
using test::MysqlClient;
using test::MysqlServer;
using test::Proxy;
using test::naive::FindOrMakeLock;
using test::naive::UniqueRowLock;

MysqlClient user(const MysqlServer& server) { return {server.port(), "pawl", "secret", "pawl"}; }

class NaiveMysqlLock : public testing::Test {
 protected:
  NaiveMysqlLock() { root_.query(test::naive::lock_table + "; DELETE FROM method_lock"); }

  MysqlServer& server_ = MysqlServer::shared();
  MysqlClient root_ = server_.root();
  MysqlClient alice_ = user(server_), bob_ = user(server_), carol_ = user(server_);
};

/// Those whose locks belong to a lease, and not to a connection.
std::vector<std::string> schemes_with_leases() {
  std::vector<std::string> names;
  for (const store::Capabilities* scheme : store::all_capabilities()) {
    if (scheme->store == "mysql" && scheme->bounded_by_lease) names.emplace_back(scheme->scheme);
  }
  return names;
}

class MysqlHazard : public testing::Test {
 protected:
  std::string url(const std::string& query = {}) const { return server_.url("?timeout=30s&prefix=" + prefix_ + query); }

  MysqlServer& server_ = MysqlServer::shared();
  const std::string prefix_ = "hazard-" + std::to_string(++tests);

 private:
  static inline int tests = 0;
};

class MysqlSchemeHazard : public MysqlHazard, public testing::WithParamInterface<std::string> {
 protected:
  std::string query() const { return "&scheme=" + GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Schemes, MysqlSchemeHazard, testing::ValuesIn(schemes_with_leases()),
                         [](const auto& scheme) { return scheme.param; });

// A late release

TEST_F(NaiveMysqlLock, ALateDeleteFreesTheLockOfAnother) {
  UniqueRowLock alices(alice_, "job"), bobs(bob_, "job"), carols(carol_, "job");
  ASSERT_TRUE(alices.try_lock("UTC_TIMESTAMP(6)"));  // her work takes longer than that
  EXPECT_TRUE(eventually([&] {
    bobs.sweep();
    return bobs.try_lock();
  }));
  EXPECT_FALSE(carols.try_lock()) << "bob works";
  alices.unlock();
  EXPECT_TRUE(carols.try_lock()) << "and so do two now";
}

TEST_P(MysqlSchemeHazard, ALateReleaseFreesNobodysLockButItsOwn) {
  Proxy proxy(server_.port(), test::mysql_framing());
  Client alice(MysqlServer::url_at(proxy.port(), "?timeout=30s&lease=3s&prefix=" + prefix_ + query()));
  Client bob(url(query())), carol(url(query()));
  Hold first = alice.mutex("job").acquire({.wait = 60s}).value();
  proxy.hold();
  const Hold second = bob.mutex("job").acquire({.wait = 60s}).value();
  proxy.go_on();
  const Result<void> late = first.release();
  EXPECT_EQ(late.code(), Errc::lost) << late.error().message;
  EXPECT_EQ(carol.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_TRUE(bob.check(second.sequencer()));
}

// Nothing cannot be locked

TEST_F(NaiveMysqlLock, TwoThatFindNothingAndMakeTheRowDeadlock) {
  FindOrMakeLock alices(alice_, "job"), bobs(bob_, "job");
  EXPECT_FALSE(alices.find());
  EXPECT_FALSE(bobs.find()) << "both have the gap";
  auto making = std::async(std::launch::async, [&] { return alices.make(); });
  ASSERT_TRUE(eventually([&] {
    return root_.field(
               "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'INSERT INTO method_lock%'") == "1";
  }));
  const unsigned bobs_outcome = bobs.make();
  const unsigned alices_outcome = making.get();
  EXPECT_TRUE(alices_outcome == ER_LOCK_DEADLOCK || bobs_outcome == ER_LOCK_DEADLOCK)
      << alices_outcome << " " << bobs_outcome;
}

TEST_F(MysqlHazard, TwoThatPrepareARowWaitForEachOtherAndNeverDeadlock) {
  { const Client installed(url()); }
  for (int round = 0; round < 10; ++round) {
    const std::string name = prefix_ + "/" + std::to_string(round);
    std::vector<std::future<Errc>> turns;
    for (int i = 0; i < 4; ++i) {
      turns.push_back(std::async(std::launch::async, [&] {
        MysqlClient client = user(server_);
        if (Result<void> prepared = prepare_row(client.handle(), name); !prepared) return prepared.code();
        client.query("START TRANSACTION");
        const Result<Sequencer> locked = lock_row(client.handle(), name);
        client.query("COMMIT");
        return locked.code();
      }));
    }
    for (auto& turn : turns) EXPECT_EQ(turn.get(), Errc{});
  }
}

// The row of a dead client

TEST_F(NaiveMysqlLock, TheRowOfADeadClientShutsTheLockForEver) {
  auto dead = std::make_unique<MysqlClient>(user(server_));
  ASSERT_TRUE(UniqueRowLock(*dead, "job").try_lock());
  const std::string number = dead->field("SELECT CONNECTION_ID()");
  dead.reset();
  ASSERT_TRUE(eventually([&] {
    return root_.field("SELECT COUNT(*) FROM information_schema.processlist WHERE id = " + number) == "0";
  })) << "the server knows that it has gone";
  UniqueRowLock bobs(bob_, "job");
  bobs.sweep();
  EXPECT_FALSE(bobs.try_lock());
}

TEST_P(MysqlSchemeHazard, TheLockOfADeadClientIsFreeWhenItsLeaseIsOver) {
  Proxy proxy(server_.port(), test::mysql_framing());
  Client dead(MysqlServer::url_at(proxy.port(), "?timeout=30s&lease=3s&prefix=" + prefix_ + query()));
  const Hold hold = dead.mutex("job").acquire({.wait = 60s}).value();
  proxy.hold();  // the server hears nothing of it any more, nor that it has gone
  Client bob(url(query()));
  EXPECT_TRUE(bob.mutex("job").acquire({.wait = 60s}));
  EXPECT_FALSE(hold.valid());
}

// All connections used up

TEST_F(NaiveMysqlLock, WaitersForARowUseUpAllConnections) {
  MysqlServer small({"--max-connections=10"});
  std::vector<std::future<void>> waiting;
  {
    MysqlClient alice = user(small);
    alice.query("CREATE TABLE job (id INT PRIMARY KEY); INSERT INTO job VALUES (1); START TRANSACTION");
    alice.query("SELECT * FROM job WHERE id = 1 FOR UPDATE");
    std::vector<std::unique_ptr<MysqlClient>> waiters;
    for (int i = 0; i < 9; ++i) waiters.push_back(std::make_unique<MysqlClient>(user(small)));
    for (auto& waiter : waiters) {
      waiting.push_back(std::async(
          std::launch::async, [one = std::move(waiter)] { one->query("SELECT * FROM job WHERE id = 1 FOR UPDATE"); }));
    }
    EXPECT_THROW(user(small), std::runtime_error) << "and the service with it, which only wants to read";
    alice.query("COMMIT");
  }
  for (auto& one : waiting) one.get();
}

TEST_F(MysqlHazard, FiftyWaitersOfAClientNeedTwoConnections) {
  MysqlServer small({"--max-connections=10"});
  Client alice(small.url("?timeout=30s")), bob(small.url("?timeout=30s"));
  Hold hold = alice.semaphore("pool", 1).acquire({.wait = 60s}).value();
  std::vector<std::future<bool>> waiting;
  for (int i = 0; i < 50; ++i) {
    waiting.push_back(std::async(std::launch::async, [&] {
      return bob.semaphore("pool", 1).acquire({.wait = 240s}).has_value();  // each has a place in the queue of its own
    }));
  }
  {
    MysqlClient root = small.root();
    EXPECT_TRUE(eventually([&] { return root.field("SELECT COUNT(*) FROM pawl_claim WHERE state = 0") == "50"; }));
    EXPECT_TRUE(eventually([&] {
      return root.field("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'pawl'") == "4";
    })) << "two of each client";
  }
  EXPECT_NO_THROW(user(small));
  EXPECT_TRUE(hold.release());
  for (auto& one : waiting) EXPECT_TRUE(one.get());
}

// Optimistic updates under contention

/// Somebody is always faster: between the reading and the writing of a slow client comes a fast one's update.
TEST_F(NaiveMysqlLock, ASlowOptimisticUpdateAlwaysLosesToFastOnes) {
  root_.query("INSERT INTO method_lock (method_name) VALUES ('job')");
  const auto update = [](MysqlClient& client, const std::string& seen) {
    client.query("UPDATE method_lock SET version = version + 1 WHERE method_name = 'job' AND version = " + seen);
    return client.field("SELECT ROW_COUNT()") == "1";
  };
  const std::string version = "SELECT version FROM method_lock WHERE method_name = 'job'";
  int done = 0;
  for (int tries = 0; tries < 100; ++tries) {
    const std::string seen = alice_.field(version);
    EXPECT_TRUE(update(bob_, bob_.field(version)));
    done += update(alice_, seen) ? 1 : 0;
  }
  EXPECT_EQ(done, 0) << "of a hundred";
}

TEST_F(MysqlHazard, AnOptimisticUpdateGivesUpInTimeAndTheRowLockLetsTheSlowOneThrough) {
  { const Client installed(url()); }
  MysqlClient alice = user(server_), bob = user(server_);
  alice.query(
      "CREATE TABLE IF NOT EXISTS prices (id VARCHAR(32) PRIMARY KEY, version INT NOT NULL);"
      "REPLACE INTO prices VALUES ('pears', 1)");
  const mysql::VersionedRow pears{.table = "prices", .key = "pears"};
  int tries = 0;
  const Result<std::uint64_t> slow = mysql::update_versioned(
      alice.handle(), pears,
      [&](const mysql::VersionGuard&) {
        ++tries;
        EXPECT_TRUE(mysql::update_versioned(bob.handle(), pears, [](const mysql::VersionGuard&) {}));
      },
      10);
  EXPECT_EQ(slow.code(), Errc::overtaken);
  EXPECT_EQ(tries, 10) << "and not for ever";

  ASSERT_TRUE(prepare_row(alice.handle(), prefix_) && prepare_row(bob.handle(), prefix_));
  alice.query("START TRANSACTION");
  ASSERT_TRUE(lock_row(alice.handle(), prefix_));
  bob.query("START TRANSACTION");
  EXPECT_EQ(lock_row(bob.handle(), prefix_, {.wait = 0s}).code(), Errc::busy) << "the fast one waits";
  alice.query("UPDATE prices SET version = version + 1 WHERE id = 'pears'");
  alice.query("COMMIT");
  EXPECT_TRUE(lock_row(bob.handle(), prefix_, {.wait = 0s}));
}

// A pause and a late write

/// The statements of docs/fencing.md: the table, the mark, the write.
std::vector<std::string> documented_guard() {
  std::ifstream file(PAWL_SOURCE "/docs/fencing.md");
  std::vector<std::string> blocks;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "```sql") blocks.emplace_back();
    if (line.starts_with("```")) {
      inside = line == "```sql";
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

/// With values in place of :names.
std::string with(std::string statement, const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) {
    for (std::size_t at = 0; (at = statement.find(":" + name, at)) != std::string::npos; at += value.size()) {
      statement.replace(at, name.size() + 1, value);
    }
  }
  return statement;
}

TEST_F(MysqlHazard, TheDocumentedGuardRefusesAHolderThatWasOvertaken) {
  const std::vector<std::string> guard = documented_guard();
  ASSERT_EQ(guard.size(), 3U);
  MysqlClient root = server_.root();
  root.query("DROP TABLE IF EXISTS register");
  root.query(guard[0]);
  root.query("INSERT INTO register (id, value) VALUES ('balance', 100)");
  const auto rows = [&](const std::string& statement, const Hold& hold, const std::string& value = "0") {
    const std::string text = hold.sequencer().to_string();
    root.query(with(statement, {{"id", "'balance'"},
                                {"value", value},
                                {"store", "'" + text.substr(text.find('.') + 1, 16) + "'"},
                                {"token", "'" + hold.token().to_string() + "'"}}));
    return root.field("SELECT ROW_COUNT()");
  };
  Proxy proxy(server_.port(), test::mysql_framing());
  Client alice(MysqlServer::url_at(proxy.port(), "?timeout=30s&lease=3s&prefix=" + prefix_)), bob(url());
  const Hold first = alice.mutex("job").acquire({.wait = 60s}).value();
  EXPECT_EQ(rows(guard[1], first), "1");
  EXPECT_EQ(rows(guard[2], first, "107"), "1");
  proxy.hold();
  const Hold second = bob.mutex("job").acquire({.wait = 60s}).value();
  EXPECT_EQ(rows(guard[1], second), "1") << "marked before the first read";
  EXPECT_EQ(rows(guard[2], first, "999"), "0") << "alice's late write";
  EXPECT_EQ(rows(guard[1], first), "0") << "and her late mark";
  EXPECT_EQ(rows(guard[2], second, "108"), "1");
  EXPECT_EQ(root.field("SELECT value FROM register"), "108");
}

}  // namespace
}  // namespace pawl
