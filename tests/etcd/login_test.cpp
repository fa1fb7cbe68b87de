// The etcd transport and users: who may do what, tokens that expire, and credentials that are late.

#include "tests/etcd/transport_client.hpp"
#include "tests/etcd/users.hpp"
#include "tests/support/etcd_frames.hpp"
#include "tests/support/etcd_server.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <future>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using store::etcd::Cluster;
using test::Ear;
using test::EtcdServer;
using test::eventually;
using test::get;
using test::Proxy;
using test::put;
using test::ServerWithUsers;
using testing::HasSubstr;
using Client = test::TransportClient;
namespace pb = store::etcd::pb;

TEST(EtcdLogin, AUserMayDoWhatHisRoleSays) {
  ServerWithUsers users;
  Client alice(users.url("alice:pw"));
  ASSERT_TRUE(alice.connect());
  EXPECT_TRUE(alice.txn(put("alice/a", "1")));
  EXPECT_EQ(alice.value("alice/a"), "1");
  EXPECT_EQ(alice.txn(put("bob/a", "1")).code(), Errc::permission_denied);
  EXPECT_EQ(alice.range(get("bob/a")).code(), Errc::permission_denied);
  Ear ear;
  const auto forbidden = alice.watch("bob/a", ear);
  const auto allowed = alice.watch("alice/a", ear);
  EXPECT_EQ(alice.watched_from(forbidden).code(), Errc::permission_denied);
  EXPECT_TRUE(alice.watched_from(allowed));
}

TEST(EtcdLogin, AWrongPasswordIsRefused) {
  ServerWithUsers users;
  Client wrong(users.url("alice:wrong"));
  const Result<void> connected = wrong.connect();
  EXPECT_EQ(connected.code(), Errc::permission_denied);
  EXPECT_THAT(connected.error().message, HasSubstr("authentication failed"));
  EXPECT_EQ(wrong.txn(put("alice/a", "1")).code(), Errc::permission_denied);
}

TEST(EtcdLogin, WhoHasNoPasswordIsRefusedWhereOneIsNeeded) {
  ServerWithUsers users;
  Client nobody(users.server().url());
  const Result<pb::TxnResponse> refused = nobody.txn(put("alice/a", "1"));
  EXPECT_EQ(refused.code(), Errc::permission_denied);
  EXPECT_THAT(refused.error().message, HasSubstr("user and a password"));
}

TEST(EtcdLogin, CredentialsAreNotNeededAndDoNotHurtWithoutUsers) {
  const std::string address = EtcdServer::shared().address();
  Client client("etcd://alice:pw@" + address);
  EXPECT_TRUE(client.txn(put("transport/no_users", "1")));
}

TEST(EtcdLogin, ThePasswordIsReadFromItsFileOrAsked) {
  ServerWithUsers users;
  const test::TemporaryFolder folder;
  std::ofstream(folder / "password") << "pw\n";
  Client from_file(users.url("alice", "?password_file=" + folder / "password"));
  EXPECT_TRUE(from_file.txn(put("alice/a", "1")));
  Cluster::Plan plan;
  plan.credentials = []() -> Result<Credentials> { return Credentials{.user = "alice", .password = "pw"}; };
  Client asked(users.server().url(), plan);
  EXPECT_TRUE(asked.txn(put("alice/a", "2")));
}

// Calls end in time, and the next ones find the login done once the words have come.
TEST(EtcdLogin, CredentialsThatAreNotGivenInTimeHoldNoCallUp) {
  ServerWithUsers users;
  std::promise<void> given;
  std::atomic<bool> hangs = false;
  Cluster::Plan plan;
  plan.credentials = [&, future = given.get_future().share()]() -> Result<Credentials> {
    if (hangs) future.wait();
    return Credentials{.user = "alice", .password = "pw"};
  };
  Client alice(users.server().url(), plan);
  EXPECT_TRUE(alice.txn(put("alice/a", "1")));
  hangs = true;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"user", "delete", "alice"}, {"user", "add", "alice:pw"}, {"user", "grant-role", "alice", "alice"}}) {
    users.server().must_ctl(words);  // her token is of no use now
  }
  auto late = alice.begin_txn(put("alice/a", "2"), 1s);
  const bool in_time = late.wait_for(30s) == std::future_status::ready;
  given.set_value();
  EXPECT_TRUE(in_time);
  const Result<pb::TxnResponse> refused = test::take(late);
  EXPECT_EQ(refused.code(), Errc::store_unavailable);
  EXPECT_TRUE(alice.txn(put("alice/a", "3")));
  EXPECT_EQ(alice.value("alice/a"), "3");
}

// Whoever adds a user changes the revision that tokens of this kind name.
TEST(EtcdLogin, AUserWhoIsAddedMeanwhileDisturbsNobody) {
  const test::JwtKey key;
  ServerWithUsers users(key.flags("5m"));
  std::atomic<int> old = 0;
  Proxy proxy(users.server().port(), test::etcd_framing({}, [&](const test::EtcdMessage& reply) {
                if (reply.failure.find("revision of auth store is old") != std::string::npos) ++old;
              }));
  Client alice("etcd://alice:pw@127.0.0.1:" + std::to_string(proxy.port()));
  Ear ear;
  ASSERT_TRUE(alice.txn(put("alice/a", "1")));
  for (const char* name : {"carol:pw", "dave:pw", "erin:pw"}) {
    const int before = old;
    users.server().must_ctl({"user", "add", name});
    EXPECT_TRUE(alice.txn(put("alice/a", name)));
    EXPECT_GT(old, before) << "it was refused once";
    EXPECT_EQ(alice.value("alice/a"), name);
    EXPECT_TRUE(alice.watched_from(alice.watch("alice/a", ear)));
  }
}

TEST(EtcdLogin, ATokenThatExpiresIsReplaced) {
  const test::JwtKey key;
  ServerWithUsers users(key.flags("2s"));
  Proxy proxy(users.server().port(), test::etcd_framing());
  Client alice("etcd://alice:pw@127.0.0.1:" + std::to_string(proxy.port()));
  Ear first, second;
  ASSERT_TRUE(alice.watched_from(alice.watch("alice/watched", first)));
  std::size_t failures = 0;
  EXPECT_TRUE(eventually([&] {
    failures += alice.txn(put("alice/a", "1")) ? 0 : 1;
    return proxy.seen("Authenticate") >= 3;
  })) << "it logs in again every 2 s";
  EXPECT_EQ(failures, 0U);
  // The stream of watches still speaks with the first token.
  const Result<std::int64_t> made = alice.watched_from(alice.watch("alice/watched", second));
  EXPECT_TRUE(made) << made.error().to_string();
  ASSERT_TRUE(alice.txn(put("alice/watched", "1")));
  EXPECT_TRUE(second.waits_for(1));
  EXPECT_TRUE(first.waits_for(1));
}

}  // namespace
}  // namespace pawl
