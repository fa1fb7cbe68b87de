// What concerns single schemes of the MySQL store: what they are made of, what ends them, and what they cost a server.

#include "tests/support/mysql_server.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
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

MysqlServer& server() { return MysqlServer::shared(); }

/// A test has a prefix of its own on the server that they share.
std::string new_prefix() {
  static int prefixes = 0;
  return "schemes-" + std::to_string(++prefixes);
}

std::string url_of(const std::string& prefix, const std::string& query) {
  return server().url("?prefix=" + prefix + "&timeout=30s&" + query);
}

/// By a client of its own that waits for what it gets.
auto acquire_elsewhere(const std::string& url, std::string name) {
  return std::async(std::launch::async, [url, name = std::move(name)] {
    Client client(url);
    Hold hold = client.mutex(name).acquire({.wait = 120s}).value();
    const Token token = hold.token();
    (void)hold.release();
    return token;
  });
}

void wait_until_it_waits(const std::string& prefix) {
  MysqlClient root = server().root();
  const std::string waiting = "SELECT COUNT(*) FROM pawl_claim WHERE state = 0 AND lock_id LIKE '" + prefix + "~%'";
  ASSERT_TRUE(eventually([&] { return root.field(waiting) == "1"; }));
}

/// The connections of the account `pawl`, by their numbers.
std::set<std::string> connections(const MysqlServer& at = server()) {
  std::set<std::string> numbers;
  MysqlClient root = at.root();
  for (const auto& row : root.query("SELECT id FROM information_schema.processlist WHERE user = 'pawl'")) {
    numbers.insert(row[0]);
  }
  return numbers;
}

TEST(MysqlUnique, TheRowIsThereForAsLongAsTheLockIsHeld) {
  const std::string prefix = new_prefix();
  Client client(url_of(prefix, "scheme=unique"));
  const std::string rows = "SELECT COUNT(*) FROM pawl_unique WHERE lock_name = '" + prefix + "~unique/mutex:job'";
  Hold hold = client.mutex("job").acquire().value();
  EXPECT_EQ(server().root().field(rows), "1");
  EXPECT_TRUE(hold.release());
  EXPECT_EQ(server().root().field(rows), "0");
}

TEST(MysqlUnique, TheRowOfADeadClientIsSweptByWhoeverComesNext) {
  const std::string prefix = new_prefix();
  const std::string url = url_of(prefix, "scheme=unique");
  { ASSERT_TRUE(Client(url).mutex("other").acquire()); }  // the tables are there
  const std::string lock = prefix + "~unique/mutex:job";
  const std::string dead(32, 'd');
  server().root().query("INSERT INTO pawl_session VALUES ('" + dead + "', 1000000, 5000000, '', '', 1, '');" +
                        "INSERT INTO pawl_lock VALUES ('" + lock + "', 'job', 0, 0, '');" +
                        "INSERT INTO pawl_claim VALUES ('" + dead + "', '" + dead + "', '" + lock +
                        "', 1, 0, 0, 0, 1, NULL, 1, 1, 1, 0, '', '', '');" +  //
                        "INSERT INTO pawl_unique VALUES ('" + lock + "', '" + dead + "')");
  EXPECT_TRUE(Client(url).mutex("job").try_acquire());
}

TEST(MysqlVersionScheme, AnUpdateWithAnOldVersionChangesNothing) {
  const std::string prefix = new_prefix();
  const std::string lock = prefix + "~version/mutex:job";
  Client alice(url_of(prefix, "scheme=version")), bob(url_of(prefix, "scheme=version"));
  Hold kept = bob.mutex("kept").acquire().value();
  Hold hold = alice.mutex("job").acquire().value();
  MysqlClient root = server().root();
  const std::string version = root.field("SELECT version FROM pawl_version WHERE lock_name = '" + lock + "'");
  const std::string session =
      root.field("SELECT session FROM pawl_claim WHERE lock_id = '" + prefix + "~version/mutex:kept'");
  // Somebody waits, so that the row stays when it is free, and read the version before it was taken.
  auto waiting = acquire_elsewhere(url_of(prefix, "scheme=version"), "job");
  wait_until_it_waits(prefix);
  const auto claim = [&](const std::string& seen) {
    return root.query("CALL pawl_version_claim(REPEAT('c', 32), '" + session + "', '" + lock +
                      "', 'job', 30000000, 0, 0, '', '" + seen + "')")[0][0];
  };
  EXPECT_EQ(claim(std::to_string(std::stoull(version) - 1)), "waiting");
  EXPECT_EQ(claim(version), "waiting") << "it is held";
  EXPECT_EQ(root.field("SELECT version FROM pawl_version WHERE lock_name = '" + lock + "'"), version);
  EXPECT_TRUE(hold.release());
  EXPECT_GT(waiting.get(), hold.token());
}

TEST(MysqlNamed, TheLockIsAUserLockWhoseNameIsAHash) {
  const std::string prefix = new_prefix();
  const std::string url = url_of(prefix, "scheme=named");
  Client client(url);
  MysqlClient root = server().root();
  const std::string used = "SELECT IS_USED_LOCK(SHA2('pawl/" + prefix + "~named/mutex:job', 256)) IS NOT NULL";
  Hold hold = client.mutex("job").acquire().value();
  EXPECT_EQ(root.field(used), "1");
  EXPECT_TRUE(Client(url).mutex("JOB").try_acquire()) << "the server takes capital letters for small ones";
  EXPECT_TRUE(hold.release());
  EXPECT_EQ(root.field(used), "0");
}

// A release waits for no commit.
TEST(MysqlNamed, TheRecordOfAReleasedLockIsTakenAwaySoon) {
  const std::string prefix = new_prefix();
  Client client(url_of(prefix, "scheme=named"));
  const Hold anchor = client.mutex("anchor").acquire().value();
  MysqlClient root = server().root();
  const std::string records = "SELECT COUNT(*) FROM pawl_claim WHERE lock_id LIKE '" + prefix + "~%'";
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(client.mutex("job " + std::to_string(i)).acquire());
  EXPECT_TRUE(eventually([&] { return root.field(records) == "1"; }));
  EXPECT_TRUE(anchor.valid());
  EXPECT_EQ(client.list().value().size(), 1U);
}

TEST(MysqlNamed, WhatIsReleasedIsNotShownThoughItsRecordIsThere) {
  const std::string prefix = new_prefix();
  Client client(url_of(prefix, "scheme=named"));
  Hold hold = client.mutex("job").acquire().value();
  const Sequencer sequencer = hold.sequencer();
  EXPECT_TRUE(client.check(sequencer));
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(client.list().value().empty());
  EXPECT_FALSE(client.check(sequencer));
}

/// Schemes whose lock belongs to a connection.
class MysqlOnConnection : public testing::TestWithParam<std::string> {
 protected:
  std::string url(const std::string& query = {}) const {
    return url_of(prefix_, "scheme=" + GetParam() + (query.empty() ? "" : "&" + query));
  }
  const std::string prefix_ = new_prefix();
};
INSTANTIATE_TEST_SUITE_P(Schemes, MysqlOnConnection, testing::Values("named", "for-update"),
                         [](const auto& info) { return info.param == "named" ? "named" : "for_update"; });

TEST_P(MysqlOnConnection, AKilledConnectionIsALossAndTheNextTokenIsLarger) {
  const std::set<std::string> before = connections();
  Client alice(url("lease=60s"));
  const Hold lost = alice.mutex("job").acquire().value();
  const std::set<std::string> hers = connections();
  auto next = acquire_elsewhere(url(), "job");
  wait_until_it_waits(prefix_);
  MysqlClient root = server().root();
  for (const std::string& number : hers) {
    if (!before.contains(number)) root.query("KILL " + number);
  }
  EXPECT_TRUE(eventually([&] { return lost.lost().stop_requested(); }));
  EXPECT_EQ(lost.remaining(), 0s);
  EXPECT_GT(next.get(), lost.token());
}

TEST_P(MysqlOnConnection, WithoutAFreeConnectionItIsOverloadedAndNeverHangs) {
  Client client(url("connections=2"));
  const Hold one = client.mutex("one").acquire().value(), two = client.mutex("two").acquire().value();
  const Result<Hold> third = client.mutex("three").acquire({.wait = 120s});
  ASSERT_EQ(third.code(), Errc::overloaded);
  EXPECT_THAT(third.error().message, HasSubstr("all 2 connections"));
  EXPECT_THAT(third.error().message, HasSubstr("connections="));
  EXPECT_TRUE(one.valid());
  EXPECT_TRUE(two.valid());
}

TEST_P(MysqlOnConnection, ConnectionsAreUsedAgain) {
  MysqlServer own;
  Client client(own.url("?timeout=30s&scheme=" + GetParam()));
  Hold first = client.mutex("job").acquire().value();
  ASSERT_TRUE(first.release());
  const std::set<std::string> before = connections(own);
  EXPECT_EQ(before.size(), 3U) << "for statements, for mail, and of the hold";
  for (int i = 0; i < 20; ++i) {
    Hold hold = client.mutex("job " + std::to_string(i)).acquire().value();
    ASSERT_TRUE(hold.release());
  }
  EXPECT_EQ(connections(own), before);
}

// The server ends a connection on which nothing was said for a lease. A machine that stands still may end one as well: then there
// is another.
TEST_P(MysqlOnConnection, RenewalsAreHeardOnItsConnection) {
  const auto lives_for_two_leases = [this] {
    Client client(url("lease=3s"));
    const Hold hold = client.mutex("job").acquire().value();
    EXPECT_TRUE(eventually([&] { return client.metrics().renewals >= 6 || !hold.valid(); }));
    return hold.valid();
  };
  int tries = 1;
  while (!lives_for_two_leases() && tries < 10) ++tries;
  EXPECT_LT(tries, 10);
}

TEST_P(MysqlOnConnection, AServerThatBecomesReadOnlyIsNoticedByTheRenewal) {
  MysqlServer own;
  Client client(own.url("?scheme=" + GetParam() + "&lease=5s&timeout=10s"));
  const Hold hold = client.mutex("job").acquire({.wait = 60s}).value();
  own.root().query("SET GLOBAL read_only = 1");
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
}

TEST(MysqlSchemes, LocksOfTwoSchemesNeverMeet) {
  const std::string prefix = new_prefix();
  std::vector<Client> clients;
  std::vector<Hold> holds;
  for (const char* scheme : {"queue", "unique", "version", "named", "for-update"}) {
    clients.emplace_back(url_of(prefix, std::string("scheme=") + scheme));
    holds.push_back(clients.back().mutex("job").try_acquire().value());
    EXPECT_EQ(clients.back().list().value().size(), 1U) << scheme;
  }
}

TEST(MysqlQueue, AWaitingClientHasTwoConnectionsWhateverTheNumberOfLocks) {
  MysqlServer own;
  Client alice(own.url("?timeout=30s")), bob(own.url("?timeout=30s"));
  std::vector<Hold> holds;
  std::vector<std::future<Result<Hold>>> waiting;
  for (int i = 0; i < 50; ++i) holds.push_back(alice.mutex("job " + std::to_string(i)).acquire().value());
  for (int i = 0; i < 50; ++i) {
    waiting.push_back(std::async(std::launch::async,
                                 [&bob, i] { return bob.mutex("job " + std::to_string(i)).acquire({.wait = 240s}); }));
  }
  MysqlClient root = own.root();
  ASSERT_TRUE(eventually([&] { return root.field("SELECT COUNT(*) FROM pawl_claim WHERE state = 0") == "50"; }));
  EXPECT_EQ(root.field("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'pawl'"), "4");
  holds.clear();
  for (auto& one : waiting) EXPECT_TRUE(one.get());
}

// A waiter looks again by itself after 60 s: so long a hand-over takes when its wake-up is lost.
TEST(MysqlQueue, OfAThousandHandOversNoneLosesItsWakeUp) {
  const std::string url = url_of(new_prefix(), "lease=180s");
  Client alice(url), bob(url);
  const auto take_turns = [](Mutex mutex) {
    std::chrono::steady_clock::duration slowest{};
    for (int turn = 0; turn < 500; ++turn) {
      const auto began = std::chrono::steady_clock::now();
      Hold hold = mutex.acquire({.wait = 240s}).value();
      slowest = std::max(slowest, std::chrono::steady_clock::now() - began);
      (void)hold.release();
    }
    return slowest;
  };
  auto others = std::async(std::launch::async, [&] { return take_turns(bob.mutex("job")); });
  const auto hers = take_turns(alice.mutex("job"));
  EXPECT_LT(std::max(hers, others.get()), 30s);
}

// innodb_flush_log_at_trx_commit=0 loses what was committed in the last second.
TEST(MysqlTokens, GrowAlsoWhenAKilledServerHasLostItsLastCommits) {
  MysqlServer own({"--innodb-flush-log-at-trx-commit=0"});
  Token last;
  for (int life = 0; life < 3; ++life) {
    Client client(own.url("?timeout=30s"));
    for (int i = 0; i < 100; ++i) {
      const Hold hold = client.mutex("job").acquire({.wait = 60s}).value();
      EXPECT_GT(hold.token(), last);
      last = hold.token();
    }
    own.kill();
    own.start();
  }
}

TEST(MysqlTokens, GrowAlsoWhenTheServerBeginsWithAFreshDataFolder) {
  MysqlServer own;
  Client client(own.url("?timeout=30s&lease=2s"));
  Token last = client.mutex("job").acquire({.wait = 60s}).value().token();
  own.kill();
  own.lose_data();
  own.start();
  const Token known = client.mutex("job").acquire({.wait = 120s}).value().token();
  EXPECT_GT(known, last) << "by a client that has seen the old tokens";
  own.kill();
  own.lose_data();
  own.start();
  EXPECT_GT(Client(own.url("?timeout=30s")).mutex("job").acquire({.wait = 120s}).value().token(), known)
      << "by one that has not";
}

}  // namespace
}  // namespace pawl
