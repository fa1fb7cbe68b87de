// Bad weather at one etcd: restarts, hangs, leases that end, quotas, compaction, backups.

#include "tests/etcd/stage.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

namespace pawl {
namespace {

using namespace stage;
using testing::AnyOf;
using testing::IsEmpty;
using testing::SizeIs;

TEST(EtcdWeather, AHoldSurvivesARestartWithinItsLease) {
  EtcdServer server({.fsync = true});
  Client client(server.url("?lease=30s"));
  Hold hold = client.mutex("job").acquire().value();
  server.kill();
  server.start();
  Client other(server.url());
  EXPECT_EQ(other.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(other.mutex("job").acquire({.wait = hang}));
}

TEST(EtcdWeather, AServerThatLostEverythingNeverRepeatsAToken) {
  EtcdServer server;
  Client client(server.url("?timeout=2s&lease=3s"));
  Token newest{};
  for (int life = 0; life < 3; ++life) {
    std::optional<Hold> last;
    for (int i = 0; i < 5; ++i) {
      last.reset();
      last = client.mutex("job").acquire({.wait = hang}).value();
      EXPECT_GT(last->token(), newest);
      newest = last->token();
    }
    server.kill();
    std::filesystem::remove_all(server.folder() + "/data");
    server.start();
    EXPECT_TRUE(eventually([&] { return last->lost().stop_requested(); })) << "the server knows it no more";
  }
}

// With the same flags it is the same cluster to all who ask, and its revision is lower.
TEST(EtcdWeather, AfterARestoreFromASnapshotNoTokenComesTwice) {
  EtcdServer server;
  Client client(server.url("?timeout=2s&lease=3s"));
  EXPECT_TRUE(client.mutex("job").acquire());
  server.snapshot(server.folder() + "/snapshot");
  Token newest{};
  for (int i = 0; i < 10; ++i) newest = client.mutex("job").acquire({.wait = hang}).value().token();
  server.restore(server.folder() + "/snapshot");
  Hold after = client.mutex("job").acquire({.wait = hang}).value();
  EXPECT_GT(after.token(), newest);
  EXPECT_TRUE(after.release());
  Client fresh(server.url());
  EXPECT_GT(fresh.mutex("job").acquire({.wait = hang}).value().token(), after.token())
      << "the epoch was raised by the client that knew";
}

TEST(EtcdWeather, AServerThatHangsIsUnavailableAndItsHoldsAreLostInTime) {
  EtcdServer server;
  Client client(server.url("?timeout=1s&lease=3s"));
  const Hold hold = client.mutex("job").acquire().value();
  server.stop();
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_EQ(client.mutex("other").try_acquire().code(), Errc::store_unavailable);
  server.go_on();
  EXPECT_TRUE(client.mutex("job").acquire({.wait = hang}));
}

TEST(EtcdWeather, APortWhereNobodyListensIsUnavailable) {
  const test::Port nobody;
  const Result<Client> client = Client::open(url_at(nobody.number(), "?timeout=300ms"));
  EXPECT_EQ(client.code(), Errc::store_unavailable);
}

TEST(EtcdWeather, ALeaseRevokedByHandEndsItsHoldsAndFreesTheirLocks) {
  const EtcdServer& server = EtcdServer::shared();
  const std::string prefix = fresh_prefix();
  Client alice(server.url("?lease=6s&prefix=" + prefix)), bob(server.url("?prefix=" + prefix));
  const Hold hold = alice.mutex("job").acquire().value();
  ASSERT_THAT(line_of(server, prefix), SizeIs(1));
  server.revoke(line_of(server, prefix).at(0).lease);
  const Result<Hold> next = bob.mutex("job").acquire({.wait = hang});
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_GT(next->token(), hold.token());
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_TRUE(next->valid());
}

TEST(EtcdWeather, AKeyDeletedByHandEndsItsHoldAtTheNextRenewal) {
  const EtcdServer& server = EtcdServer::shared();
  const std::string prefix = fresh_prefix();
  Client alice(server.url("?lease=15s&prefix=" + prefix)), bob(server.url("?prefix=" + prefix));
  Hold hold = alice.mutex("job").acquire().value();
  const std::string key = line_of(server, prefix).at(0).key;
  const Hold other = alice.mutex("other").acquire().value();
  server.must_ctl({"del", key});
  const Result<Hold> next = bob.mutex("job").acquire({.wait = hang});
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_GT(next->token(), hold.token());
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_EQ(other.state(), HoldState::held) << "its session lives on";
  EXPECT_EQ(alice.metrics().sessions_opened, 1U);
  EXPECT_THAT(hold.release().code(), AnyOf(Errc::lost, Errc::not_owner));
  EXPECT_TRUE(next->valid());
  EXPECT_THAT(line_of(server, prefix), SizeIs(2)) << "the next holder's, and the other one";
}

// With the session's key: long before the next renewal, which is due after 200 s.
TEST(EtcdWeather, ADeletedPrefixEndsItsHoldsAtOnce) {
  const EtcdServer& server = EtcdServer::shared();
  const std::string prefix = fresh_prefix();
  Client alice(server.url("?lease=600s&prefix=" + prefix)), bob(server.url("?prefix=" + prefix));
  const Hold hold = alice.mutex("job").acquire().value();
  server.must_ctl({"del", "--prefix", prefix});
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_FALSE(hold.valid());
  const Result<Hold> next = bob.mutex("job").acquire({.wait = hang});
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_GT(next->token(), hold.token());
  EXPECT_TRUE(alice.mutex("another").acquire({.wait = hang})) << "with a new session";
}

// reliability.md, etcd: the lease of a waiter ends, and then its turn comes.
TEST(EtcdWeather, AWaiterWhoseOwnLeaseEndsIsNeverGrantedByTheKeyThatWentWithIt) {
  const EtcdServer& server = EtcdServer::shared();
  const std::string prefix = fresh_prefix();
  const std::string query = "?timeout=1s&lease=3s&prefix=" + prefix;
  Proxy proxy(server.port(), test::etcd_framing());
  Client alice(server.url(query)), bob(url_at(proxy.port(), query)), carol(server.url(query));
  Hold hold = alice.mutex("job").acquire().value();
  auto bobs = wait_for(bob, "job");
  ASSERT_TRUE(waiters_are(alice, "job", 1));
  proxy.hold();
  ASSERT_TRUE(eventually([&] { return line_of(server, prefix).size() == 1; })) << "bob's key ends with his lease";
  EXPECT_TRUE(hold.release());
  Hold carols = carol.mutex("job").acquire({.wait = hang}).value();
  proxy.go_on();
  // Bob's client is back when it does something else.
  EXPECT_TRUE(eventually([&] { return bob.mutex("other").try_acquire().code() == Errc{}; }));
  EXPECT_EQ(bobs.wait_for(500ms), std::future_status::timeout) << "bob waits on, with a key of a new lease";
  EXPECT_TRUE(carols.valid());
  const Token before = carols.token();
  EXPECT_TRUE(carols.release());
  const Result<Hold> granted = bobs.get();
  ASSERT_TRUE(granted) << granted.error().to_string();
  EXPECT_GT(granted->token(), before);
  EXPECT_THAT(line_of(server, prefix), SizeIs(1));
}

TEST(EtcdWeather, AWaiterWhoseLeaseIsRevokedByHandIsNeverGrantedByTheKeyThatWentWithIt) {
  const EtcdServer& server = EtcdServer::shared();
  const std::string prefix = fresh_prefix();
  const std::string query = "?lease=3s&prefix=" + prefix;
  Client alice(server.url(query)), bob(server.url(query));
  Hold hold = alice.mutex("job").acquire().value();
  auto bobs = wait_for(bob, "job");
  ASSERT_TRUE(eventually([&] { return line_of(server, prefix).size() == 2; }));
  server.revoke(line_of(server, prefix).at(1).lease);
  EXPECT_TRUE(hold.release());
  const Result<Hold> granted = bobs.get();
  ASSERT_TRUE(granted) << granted.error().to_string();
  EXPECT_GT(granted->token(), hold.token());
  const std::vector<EtcdRecord> line = line_of(server, prefix);
  ASSERT_THAT(line, SizeIs(1));
  EXPECT_TRUE(server.seconds_left(line[0].lease)) << "by a key that is there, of a lease that lives";
}

TEST(EtcdWeather, TwentyWaitersOutliveCompactionsAndDefragmentation) {
  EtcdServer server;
  Client holder(server.url());
  Hold hold = holder.mutex("job").acquire().value();
  std::vector<Client> waiters;
  std::vector<std::future<Result<Hold>>> waits;
  for (int i = 0; i < 20; ++i) {
    waiters.emplace_back(server.url());
    waits.push_back(wait_for(waiters.back(), "job"));
    ASSERT_TRUE(waiters_are(holder, "job", waits.size()));
  }
  server.compact();
  server.must_ctl({"defrag"});
  Token newest = hold.token();
  EXPECT_TRUE(hold.release());
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const Result<Hold> granted = waits[i].get();
    ASSERT_TRUE(granted) << granted.error().to_string();
    EXPECT_GT(granted->token(), newest) << "in the order of their coming";
    newest = granted->token();
    server.compact();
  }
}

TEST(EtcdWeather, AQuotaAlarmRefusesNewClientsAndLetsHoldsLiveOn) {
  EtcdServer server({.flags = {"--quota-backend-bytes", "4194304"}});
  Client client(server.url("?lease=3s&timeout=1s"));
  Hold hold = client.mutex("job").acquire().value();
  for (int i = 0; i < 200 && server.ctl({"alarm", "list"}).find("NOSPACE") == std::string::npos; ++i) {
    server.put("junk" + std::to_string(i), std::string(200'000, 'x'), false);
  }
  ASSERT_THAT(server.ctl({"alarm", "list"}), testing::HasSubstr("NOSPACE"));
  Client fresh(server.url("?lease=3s&timeout=1s"));
  EXPECT_EQ(fresh.mutex("other").try_acquire().code(), Errc::overloaded) << "it needs a lease, which is refused";
  const std::uint64_t renewals = client.metrics().renewals;
  EXPECT_TRUE(eventually([&] { return client.metrics().renewals >= renewals + 3; }));
  EXPECT_EQ(hold.state(), HoldState::held) << "keepalives and deletes are allowed";
  EXPECT_TRUE(hold.release());
  EXPECT_THAT(server.records("pawl/queue/"), IsEmpty());
  server.must_ctl({"del", "junk", "--prefix"});
  server.compact();
  server.must_ctl({"defrag"});
  server.must_ctl({"alarm", "disarm"});
  EXPECT_TRUE(client.mutex("job").acquire({.wait = hang}));
}

// docs/fencing.md, for a resource in etcd itself.
TEST(EtcdWeather, AnOvertakenHolderCannotWriteBehindTheGuard) {
  const EtcdServer& server = EtcdServer::shared();
  const std::string prefix = fresh_prefix(), balance = prefix + "balance";
  Client alice(server.url("?lease=6s&prefix=" + prefix)), bob(server.url("?prefix=" + prefix));
  const auto mark = [&](const Hold& hold) {
    return server.txn({{balance + "/token", "LESS", hold.token().to_string()}},
                      {{balance + "/token", hold.token().to_string()}});
  };
  const auto write = [&](const Hold& hold, const std::string& value) {
    return server.txn({{balance + "/token", "EQUAL", hold.token().to_string()}}, {{balance, value}});
  };
  server.put(balance + "/token", std::string(32, '0'), false);
  const Hold alices = alice.mutex("job").acquire().value();
  EXPECT_TRUE(mark(alices));
  EXPECT_TRUE(write(alices, "1"));
  server.revoke(line_of(server, prefix).at(0).lease);
  const Hold bobs = bob.mutex("job").acquire({.wait = hang}).value();
  EXPECT_TRUE(mark(bobs));
  EXPECT_FALSE(write(alices, "2"));
  EXPECT_FALSE(mark(alices));
  EXPECT_TRUE(write(bobs, "3"));
  EXPECT_EQ(server.records(balance).at(0).value, "3");
}

TEST(EtcdWeather, AHoldThatTheSnapshotDidNotKnowIsLost) {
  EtcdServer server;
  Client client(server.url("?timeout=2s&lease=6s")), other(server.url("?timeout=2s&lease=6s"));
  EXPECT_TRUE(other.mutex("warm-up").acquire());
  server.snapshot(server.folder() + "/snapshot");
  const Hold hold = client.mutex("job").acquire().value();
  server.restore(server.folder() + "/snapshot");
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  // The client that has seen the higher revision begins a new epoch, by itself; until then another one cannot know.
  EXPECT_TRUE(eventually([&] {
    const Hold next = other.mutex("job").acquire({.wait = hang}).value();
    return next.token().epoch() > hold.token().epoch();
  }));
}

// The watch of a client that does not read falls behind; what it missed is then compacted away, and the server ends it.
TEST(EtcdWeather, AWaiterWhoseWatchFellBehindACompactionIsGrantedAllTheSame) {
  EtcdServer server;
  const std::string prefix = fresh_prefix();
  Proxy proxy(server.port(), test::etcd_framing());
  Client alice(server.url("?lease=60s&prefix=" + prefix));
  Client bob(url_at(proxy.port(), "?lease=60s&timeout=30s&prefix=" + prefix));
  Hold hold = alice.mutex("job").acquire().value();
  const std::string key = line_of(server, prefix).at(0).key;
  const std::string value = line_of(server, prefix).at(0).value;
  auto bobs = wait_for(bob, "job");
  ASSERT_TRUE(waiters_are(alice, "job", 1));
  proxy.hold();
  // The server keeps 1,024 messages for a watch, and sends as much as the client's window allows.
  for (int i = 0; i < 1500; ++i) server.put(key, value + std::string(16'000, ' '), true);
  server.put(key, value, true);
  server.compact();
  EXPECT_TRUE(hold.release());
  server.compact();
  proxy.go_on();
  const Result<Hold> granted = bobs.get();
  ASSERT_TRUE(granted) << granted.error().to_string();
  EXPECT_GT(granted->token(), hold.token());
}

}  // namespace
}  // namespace pawl
