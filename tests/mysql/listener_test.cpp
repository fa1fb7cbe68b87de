// How a client of the MySQL store learns that it has mail: what wakes it, what it asks meanwhile, and what it does where it may not
// be woken.

#include "tests/support/mysql_frames.hpp"
#include "tests/support/mysql_server.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <future>
#include <string>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::eventually;
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

}  // namespace
}  // namespace pawl
