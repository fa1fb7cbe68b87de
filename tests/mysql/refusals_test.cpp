// What a MySQL server refuses in the middle of a transaction: for another one's sake, or because it may not write any more.

#include "tests/support/mysql_frames.hpp"
#include "tests/support/mysql_procedures.hpp"
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

constexpr unsigned lock_wait_timeout = 1205, deadlock = 1213, read_only_option = 1290, read_only_mode = 1836;

/// A server whose procedures are refused just before they commit, as often as it is told.
class RefusingServer {
 public:
  RefusingServer() {
    { const Client installed(server.url("?timeout=30s")); }
    std::string real = test::text_of_procedure("exit");
    const std::string name = "CREATE PROCEDURE pawl_exit()";
    real.replace(real.find(name), name.size(), "CREATE PROCEDURE pawl_real_exit()");
    root.query("DROP PROCEDURE pawl_exit");
    root.query(real);
    // It is not transactional: what is rolled back is counted all the same.
    root.query(
        "CREATE TABLE refusals (number INT, left_over INT) ENGINE = Aria; INSERT INTO refusals VALUES (0, 0);"
        "CREATE PROCEDURE pawl_exit() BEGIN"
        " DECLARE v_number INT DEFAULT (SELECT number FROM refusals);"
        " UPDATE refusals SET left_over = left_over - 1 WHERE left_over > 0;"
        " IF ROW_COUNT() = 1 THEN"
        "  SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = v_number, MESSAGE_TEXT = 'refused by the test'; END IF;"
        " CALL pawl_real_exit(); END");
  }
  void refuse(unsigned number, int times) {
    root.query("UPDATE refusals SET number = " + std::to_string(number) + ", left_over = " + std::to_string(times));
  }
  bool has_refused_all() {
    return eventually([&] { return root.field("SELECT left_over FROM refusals") == "0"; });
  }
  std::string claims(const std::string& of_state) {
    return root.field("SELECT COUNT(*) FROM pawl_claim WHERE lock_id LIKE '%/mutex:job'" + of_state);
  }

  MysqlServer server;
  MysqlClient root = server.root();
};

class MysqlRolledBack : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Numbers, MysqlRolledBack, testing::Values(lock_wait_timeout, deadlock),
                         [](const auto& info) { return std::to_string(info.param); });

TEST_P(MysqlRolledBack, ATransactionIsRepeatedAsAWhole) {
  RefusingServer refusing;
  for (const std::string scheme : {"queue", "unique", "version", "named", "for-update"}) {
    SCOPED_TRACE(scheme);
    Client client(refusing.server.url("?timeout=60s&lease=600s&scheme=" + scheme));
    const Hold anchor = client.mutex("anchor").acquire({.wait = 60s}).value();
    refusing.refuse(GetParam(), 3);
    Hold hold = client.mutex("job").acquire({.wait = 120s}).value();
    EXPECT_TRUE(refusing.has_refused_all());
    EXPECT_EQ(refusing.claims(" AND state = 1"), "1");
    EXPECT_EQ(refusing.claims(""), "1") << "nothing is left of the transactions that were rolled back";
    EXPECT_GT(hold.token(), anchor.token());
    refusing.refuse(GetParam(), 3);
    EXPECT_TRUE(hold.release());
    EXPECT_TRUE(refusing.has_refused_all());
    EXPECT_TRUE(eventually([&] { return refusing.claims("") == "0"; }));
  }
}

TEST(MysqlRefusals, AClaimThatWaitsLongerThanTheServersLockWaitIsRepeated) {
  MysqlServer server;
  Proxy proxy(server.port(), test::mysql_framing());
  Client client(MysqlServer::url_at(proxy.port(), "?timeout=120s&lease=600s"));
  { ASSERT_TRUE(client.mutex("other").acquire({.wait = 60s})); }
  const std::size_t before = proxy.seen("CALL pawl_claim");
  MysqlClient root = server.root();
  root.query("START TRANSACTION");
  root.query("SELECT * FROM pawl_meta FOR UPDATE");
  auto waiting = std::async(std::launch::async, [&] { return client.mutex("job").acquire({.wait = 120s}); });
  EXPECT_TRUE(eventually([&] { return proxy.seen("CALL pawl_claim") == before + 2; })) << "1205 comes after 5 s";
  root.query("ROLLBACK");
  EXPECT_TRUE(waiting.get());
}

class MysqlReadOnly : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Numbers, MysqlReadOnly, testing::Values(read_only_option, read_only_mode),
                         [](const auto& info) { return std::to_string(info.param); });

// New connections lead to the new server, and the old ones stay where they were.
TEST_P(MysqlReadOnly, AServerThatRefusesWritesIsLeftForTheNewOne) {
  RefusingServer first;
  MysqlServer second;
  Proxy address(first.server.port(), test::mysql_framing());
  Client alice(MysqlServer::url_at(address.port(), "?lease=600s&timeout=20s"));
  { ASSERT_TRUE(alice.mutex("job").acquire({.wait = 60s})); }
  address.move_to(second.port());
  first.refuse(GetParam(), 1'000'000);
  EXPECT_TRUE(alice.mutex("job").acquire({.wait = 120s}));
  MysqlClient root = second.root();
  EXPECT_TRUE(eventually([&] {
    return root.field("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'pawl'") == "2";
  })) << "the listener as well";
}

// It does not say that it is read-only, and refuses the first write.
TEST(MysqlRefusals, AServerWhoseEngineIsReadOnlyIsUnavailable) {
  MysqlServer server;
  { ASSERT_TRUE(Client(server.url("?timeout=30s")).mutex("job").acquire()); }
  server.end();
  server.start({"--innodb-read-only=1"});
  const Result<Client> client = Client::open(server.url("?timeout=2s"));
  EXPECT_EQ(client.code(), Errc::store_unavailable) << client.error().message;
}

}  // namespace
}  // namespace pawl
