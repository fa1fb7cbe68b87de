// Every request to a MySQL server lost in turn, before and after the server has done it.

#include "tests/support/mysql_frames.hpp"
#include "tests/support/mysql_server.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/threads.hpp"

#include <pawl/mysql.hpp>
#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <ostream>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::Fault;
using test::MysqlClient;
using test::MysqlServer;
using test::Proxy;

struct Scene {
  std::string request;
  Fault fault;
};

std::string to_string(Fault fault) {
  switch (fault) {
    case Fault::lose_reply: return "the reply is lost";
    case Fault::lose_request: return "the request is lost";
    default: return "the server says nothing more";
  }
}

/// Takes the lock, keeps it until the fault has come about where that is not before, and releases it.
void take_and_release(const std::string& url, const Proxy& proxy, const Scene& scene) {
  Result<Client> client = Error{};
  ASSERT_TRUE(eventually([&] { return (client = Client::open(url)).has_value(); }));
  Result<Hold> hold = client->mutex("job").acquire({.wait = 60s});
  ASSERT_TRUE(hold) << hold.error().message;
  if (scene.request == "CALL pawl_renew") {
    EXPECT_TRUE(eventually([&] { return proxy.happened() == 1; }));
  }
  EXPECT_TRUE(hold->valid() || hold->lost().stop_requested());
  const Result<void> released = hold->release();
  EXPECT_TRUE(released || released.code() == Errc::outcome_unknown || released.code() == Errc::store_unavailable ||
              released.code() == Errc::lost)
      << released.error().to_string();
  if (scene.request == "CALL pawl_forget") {  // soon after the release
    EXPECT_TRUE(eventually([&] { return proxy.happened() == 1; }));
  }
}

struct SchemeUnderFaults {
  std::string scheme;
  std::vector<std::string> requests;  ///< that its claims and releases consist of
};

void PrintTo(const SchemeUnderFaults& of, std::ostream* out) { *out << of.scheme; }

class MysqlFaults : public testing::TestWithParam<SchemeUnderFaults> {};
INSTANTIATE_TEST_SUITE_P(
    Schemes, MysqlFaults,
    testing::Values(
        SchemeUnderFaults{"queue",
                          {"CALL pawl_begin", "prepare CALL pawl_open_session", "CALL pawl_open_session",
                           "CALL pawl_claim", "CALL pawl_withdraw", "CALL pawl_renew"}},
        SchemeUnderFaults{"unique", {"CALL pawl_unique_claim", "CALL pawl_withdraw"}},
        SchemeUnderFaults{"version", {"CALL pawl_version_read", "CALL pawl_version_claim", "CALL pawl_withdraw"}},
        SchemeUnderFaults{"named", {"CALL pawl_named_claim", "SELECT RELEASE_ALL_LOCKS", "CALL pawl_forget"}},
        SchemeUnderFaults{"for-update",
                          {"SELECT GET_LOCK", "SELECT 1", "CALL pawl_record", "CALL pawl_withdraw", "COMMIT"}}),
    [](const auto& info) { return info.param.scheme == "for-update" ? "for_update" : info.param.scheme; });

TEST_P(MysqlFaults, LeaveNothingBehindAndNoLockShut) {
  MysqlServer& server = MysqlServer::shared();
  MysqlClient root = server.root();
  { const Client installed(server.url()); }
  int scenes = 0;
  for (const std::string& request : GetParam().requests) {
    for (const Fault fault : {Fault::lose_reply, Fault::lose_request, Fault::go_silent}) {
      const Scene scene{request, fault};
      SCOPED_TRACE(request + ": " + to_string(fault));
      const std::string prefix = "fault-" + GetParam().scheme + "-" + std::to_string(++scenes);
      const std::string query = "&scheme=" + GetParam().scheme + "&prefix=" + prefix;
      Proxy proxy(server.port(), test::mysql_framing());
      proxy.arrange(fault, request);
      take_and_release(MysqlServer::url_at(proxy.port(), "?timeout=1s&lease=6s" + query), proxy, scene);
      EXPECT_EQ(proxy.happened(), 1U);
      Client next(server.url("?timeout=30s" + query));
      EXPECT_TRUE(next.mutex("job").acquire({.wait = 60s}));
      EXPECT_TRUE(eventually(
          [&] { return root.field("SELECT COUNT(*) FROM pawl_claim WHERE lock_id LIKE '" + prefix + "%/%'") == "0"; }));
    }
  }
}

// The server has committed; its answer is lost.
TEST(MysqlLostReply, ALostReplyToTheCommitOfAVersionIsUnknownAndNotCalledAFailure) {
  MysqlServer& server = MysqlServer::shared();
  MysqlClient root = server.root();
  root.query(
      "CREATE TABLE IF NOT EXISTS stock (id VARCHAR(64) PRIMARY KEY, version INT NOT NULL);"
      "REPLACE INTO stock VALUES ('pears', 1)");
  for (const auto& [fault, left] : {std::pair{Fault::lose_reply, "2"}, {Fault::lose_request, "2"}}) {
    Proxy proxy(server.port(), test::mysql_framing());
    MysqlClient user(proxy.port(), "pawl", "secret", "pawl");
    auto guard = mysql::VersionGuard::begin(user.handle(), {.table = "stock", .key = "pears"}).value();
    proxy.arrange(fault, "COMMIT");
    EXPECT_EQ(guard.commit().code(), Errc::outcome_unknown);
    EXPECT_EQ(proxy.happened(), 1U);
    EXPECT_TRUE(eventually([&] { return root.field("SELECT version FROM stock") == left; }))
        << (fault == Fault::lose_reply ? "it was done" : "it was not, and the row says so");
  }
}

}  // namespace
}  // namespace pawl
