// How a client of the MySQL store learns that it has mail: what wakes it, what it asks meanwhile, and what it does where it may not
// be woken.

#include "tests/support/mysql_frames.hpp"
#include "tests/support/mysql_server.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::Fault;
using test::MysqlClient;
using test::MysqlServer;
using test::Proxy;

std::string url_of(const std::string& user, std::uint16_t port, const std::string& query) {
  return "mysql://" + user + ":pw@127.0.0.1:" + std::to_string(port) + "/pawl?timeout=30s" + query;
}

/// One account has made the tables, and another one uses them, with the rights that the documents name.
class MysqlTwoAccounts : public testing::Test {
 protected:
  void SetUp() override {
    root_.query(
        "CREATE USER maker IDENTIFIED BY 'pw'; CREATE USER app IDENTIFIED BY 'pw';"
        "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, CREATE ROUTINE, ALTER ROUTINE, EXECUTE ON pawl.* TO maker;"
        "GRANT EXECUTE ON pawl.* TO app");
    ASSERT_TRUE(Client(url_of("maker", server_.port(), "")).mutex("job").acquire());
  }
  void let_app_read_its_mail() { root_.query("GRANT SELECT ON pawl.pawl_mail TO app"); }
  bool somebody_waits() {
    return eventually([&] { return root_.field("SELECT COUNT(*) FROM pawl_claim WHERE state = 0") == "1"; });
  }

  /// Listeners of an account that sleep for so many seconds.
  std::size_t sleepers(const std::string& account, int seconds) {
    return std::stoul(root_.field("SELECT COUNT(*) FROM information_schema.processlist WHERE user = '" + account +
                                  "' AND info LIKE '%SLEEP(" + std::to_string(seconds) + ")%'"));
  }

  MysqlServer server_;
  MysqlClient root_ = server_.root();
};

// A wake-up that is lost costs a second claim: a renewal, every 5 s, tells of the mail.
TEST_F(MysqlTwoAccounts, AWaiterIsWokenThoughTheProceduresBelongToTheOtherAccount) {
  let_app_read_its_mail();
  const std::string query = "&lease=600s&recheck=120s";
  Proxy proxy(server_.port(), test::mysql_framing());
  Client alice(url_of("app", server_.port(), query)), bob(url_of("app", proxy.port(), query));
  constexpr std::size_t turns = 10;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    Hold hold = alice.mutex("job").acquire().value();
    auto waiting = std::async(std::launch::async, [&] { return bob.mutex("job").acquire({.wait = 240s}); });
    ASSERT_TRUE(somebody_waits());
    ASSERT_TRUE(eventually([&] { return sleepers("app", 120) == 2; }));
    EXPECT_TRUE(hold.release());
    EXPECT_TRUE(waiting.get());
  }
  EXPECT_GE(proxy.seen("CALL pawl_claim"), turns);
  EXPECT_LE(proxy.seen("CALL pawl_claim"), turns + 3) << "a renewal may come across the mail before it is read";
}

TEST_F(MysqlTwoAccounts, AClientThatMayNotReadItsMailAsksSeldom) {
  Proxy proxy(server_.port(), test::mysql_framing());
  Client client(url_of("app", proxy.port(), "&lease=600s"));
  const Hold hold = client.mutex("job").acquire().value();
  const auto asked = [&proxy] { return proxy.seen("prepare SELECT seq,"); };
  ASSERT_TRUE(eventually([&] { return asked() >= 1; }));
  const std::size_t before = asked();
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(eventually([&] { return asked() >= before + 6; }));
  EXPECT_GT(std::chrono::steady_clock::now() - began, 300ms) << "six refusals, and a longer pause behind each";
  EXPECT_TRUE(hold.valid());
}

TEST(MysqlListener, ALimitForStatementsInterruptsNoSleep) {
  MysqlServer server({"--max-statement-time=1"});
  Proxy proxy(server.port(), test::mysql_framing());
  Client client(MysqlServer::url_at(proxy.port(), "?timeout=30s&lease=600s"));
  const Hold hold = client.mutex("job").acquire().value();
  MysqlClient root = server.root();
  const std::string longer =
      "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(5)%' AND time_ms > 2000";
  EXPECT_TRUE(eventually([&] { return root.field(longer) == "1"; }));
  EXPECT_TRUE(hold.valid());
}

/// Takes the lock so often, and releases it. How long it took at the most.
std::chrono::steady_clock::duration take_turns(Mutex mutex, int turns) {
  std::chrono::steady_clock::duration slowest{};
  for (int turn = 0; turn < turns; ++turn) {
    const auto began = std::chrono::steady_clock::now();
    Hold hold = mutex.acquire({.wait = 240s}).value();
    slowest = std::max(slowest, std::chrono::steady_clock::now() - began);
    EXPECT_TRUE(hold.release());
  }
  return slowest;
}

// What is not pushed is found by a renewal, every 5 s, and costs a second claim; by the listener, after 60 s.
TEST(MysqlListener, OfAThousandHandOversNoneLosesItsWakeUpAndEachIsOneClaimAndOneRelease) {
  constexpr std::size_t turns = 500;
  MysqlServer server;
  { const Client installed(server.url("?timeout=60s")); }
  const std::string query = "?timeout=60s&lease=600s&recheck=60s";
  Proxy hers(server.port(), test::mysql_framing()), his(server.port(), test::mysql_framing());
  Client alice(MysqlServer::url_at(hers.port(), query)), bob(MysqlServer::url_at(his.port(), query));
  auto others = std::async(std::launch::async, [&] { return take_turns(bob.mutex("job"), turns); });
  const auto slowest = take_turns(alice.mutex("job"), turns);
  EXPECT_LT(std::max(slowest, others.get()), 50s) << "the listener has found it by itself";
  std::size_t claims = 0;
  for (const Proxy* const proxy : {&hers, &his}) {
    claims += proxy->seen("CALL pawl_claim");
    EXPECT_EQ(proxy->seen("CALL pawl_withdraw"), turns);
    // Each tells of a waiter that came behind the grant, or of a grant.
    EXPECT_LE(proxy->seen("CALL pawl_look"), turns);
    EXPECT_EQ(proxy->seen("CALL pawl_record"), 0U);
  }
  EXPECT_GE(claims, 2 * turns);
  EXPECT_LE(claims, 2 * turns + 10) << "a renewal may come across a notice that is under way";
}

// After a restart the server counts its connections from the beginning.
TEST(MysqlListener, AKillNeverHitsAStrangerThatHasTheListenersOldNumber) {
  MysqlServer server;
  Proxy proxy(server.port(), test::mysql_framing());
  const std::string url = MysqlServer::url_at(proxy.port(), "?lease=600s&timeout=30s");
  std::string old;
  {
    // So that nobody but the strangers comes so far when the server is started again.
    std::vector<MysqlClient> others;
    for (int i = 0; i < 30; ++i) others.emplace_back(server.port(), "pawl", "secret");
  }
  Client alice(url), bob(url);
  Hold hold = alice.mutex("job").acquire().value();
  auto waiting = std::async(std::launch::async, [&] { return bob.mutex("job").acquire({.wait = 240s}); });
  const std::string listeners = "FROM information_schema.processlist WHERE user = 'pawl' AND info LIKE '%SLEEP(5)%'";
  {
    MysqlClient root = server.root();
    ASSERT_TRUE(eventually([&] { return root.field("SELECT COUNT(*) FROM pawl_claim WHERE state = 0") == "1"; }));
    ASSERT_TRUE(eventually([&] { return root.field("SELECT COUNT(*) " + listeners) == "2"; }));
    old = root.field("SELECT MAX(id) " + listeners);  // bob's: his client was opened last, and is to be woken
  }
  proxy.shut(true);
  proxy.cut();
  server.kill();
  server.start();
  std::vector<MysqlClient> strangers;
  do {
    strangers.emplace_back(server.port(), "pawl", "secret");
    ASSERT_LT(strangers.size(), 1000U);
  } while (strangers.back().field("SELECT CONNECTION_ID()") != old);
  auto sleeper = std::async(std::launch::async, [&] { return strangers.back().attempt("DO SLEEP(600)"); });
  MysqlClient root = server.root();
  const auto stranger_sleeps = [&] {
    return root.field("SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'DO SLEEP(600)' AND id = " +
                      old) == "1";
  };
  ASSERT_TRUE(eventually(stranger_sleeps));
  proxy.shut(false);
  ASSERT_TRUE(eventually([&] { return root.field("SELECT COUNT(*) " + listeners) == "2"; }, 120s));
  EXPECT_TRUE(stranger_sleeps());
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(waiting.get());
  auto others = std::async(std::launch::async, [&] { return take_turns(bob.mutex("job"), 20); });
  take_turns(alice.mutex("job"), 20);
  others.get();
  EXPECT_TRUE(stranger_sleeps()) << "it was interrupted";
  root.query("KILL QUERY " + old);
  EXPECT_TRUE(eventually([&] { return !stranger_sleeps(); })) << "an interruption would have been seen";
  sleeper.get();
}

// ProxySQL and MaxScale share connections between clients: who is interrupted there is not known.
TEST(MysqlListener, BehindAProxyThatSharesConnectionsTheMailIsPolledAndLocksOfConnectionsAreRefused) {
  MysqlServer server;
  Proxy proxy(server.port(), test::mysql_framing_with_other_numbers());
  const std::string url = MysqlServer::url_at(proxy.port(), "?timeout=30s&lease=600s");
  Client alice(url), bob(url);
  auto others = std::async(std::launch::async, [&] { return take_turns(bob.mutex("job"), 20); });
  take_turns(alice.mutex("job"), 20);
  others.get();
  EXPECT_EQ(proxy.seen("SELECT GET_LOCK"), 0U);
  EXPECT_TRUE(eventually([&] { return proxy.seen("SELECT IF") > 20; }));
  for (const char* scheme : {"named", "for-update"}) {
    const Result<Hold> hold = alice.mutex("job", {.scheme = scheme}).acquire({.wait = 60s});
    EXPECT_EQ(hold.code(), Errc::unsupported) << scheme;
  }
}

// The connection runs one statement at a time, and the first claim waits at the server.
TEST(MysqlListener, ARenewalGoesAheadOfClaimsThatWaitForTheirTurn) {
  MysqlServer server;
  Proxy proxy(server.port(), test::mysql_framing());
  Client client(MysqlServer::url_at(proxy.port(), "?timeout=60s&lease=12s"));
  const Hold hold = client.mutex("held").acquire({.wait = 60s}).value();
  ASSERT_TRUE(eventually([&] { return client.metrics().renewals >= 1; }));
  // How many claims the server is sent before the next renewal.
  std::atomic<std::size_t> before_renewal = 0;
  std::atomic<bool> counts = false;
  proxy.arrange(Fault::lose_reply, [&](const std::string& name, std::string_view) {
    if (name == "CALL pawl_renew") counts = false;
    if (counts && name == "CALL pawl_claim") ++before_renewal;
    return false;
  });
  MysqlClient root = server.root();
  root.query("START TRANSACTION");
  root.query("SELECT * FROM pawl_meta FOR UPDATE");
  counts = true;
  std::vector<std::future<Result<Hold>>> waiting;
  for (int i = 0; i < 20; ++i) {
    waiting.push_back(std::async(
        std::launch::async, [&client, i] { return client.mutex("job " + std::to_string(i)).acquire({.wait = 120s}); }));
  }
  ASSERT_TRUE(eventually([&] { return before_renewal >= 1 && hold.remaining() < 7500ms; }))
      << "a renewal is due at 8 s";
  EXPECT_TRUE(counts) << "it waits for the claim that is under way";
  root.query("ROLLBACK");
  for (auto& one : waiting) EXPECT_TRUE(one.get());
  EXPECT_EQ(before_renewal, 1U);
}

}  // namespace
}  // namespace pawl
