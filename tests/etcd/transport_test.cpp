// The etcd transport against real servers: calls, streams, and servers that go or hang.

#include "tests/etcd/transport_client.hpp"
#include "tests/support/etcd_frames.hpp"
#include "tests/support/etcd_server.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/socket.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <utility>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using store::etcd::Cluster;
using store::etcd::Heard;
using test::Ear;
using test::erase;
using test::EtcdServer;
using test::eventually;
using test::Fault;
using test::get;
using test::Proxy;
using test::put;
using test::take;
using testing::Contains;
using testing::HasSubstr;
using Client = test::TransportClient;
namespace pb = store::etcd::pb;

// One server

TEST(EtcdTransport, AWriteIsReadBack) {
  Client client(EtcdServer::shared().url());
  ASSERT_TRUE(client.connect());
  const Result<pb::TxnResponse> written = client.txn(put("transport/a", "1"));
  ASSERT_TRUE(written) << written.error().to_string();
  EXPECT_TRUE(written->succeeded());
  EXPECT_EQ(client.value("transport/a"), "1");
  EXPECT_EQ(EtcdServer::shared().records("transport/a").at(0).mod_revision, written->header().revision());
}

TEST(EtcdTransport, LeasesAreGrantedKeptAndRevoked) {
  Client client(EtcdServer::shared().url());
  constexpr std::int64_t id = 0x5eed'0001;
  EXPECT_EQ(client.grant(id, 30).value(), 30);
  EXPECT_EQ(client.grant(id, 30).value(), 30) << "a lease that exists is a success";
  ASSERT_TRUE(client.txn(put("transport/leased", "1", id)));
  const Result<Cluster::Kept> kept = client.keep_alive(id);
  ASSERT_TRUE(kept) << kept.error().to_string();
  EXPECT_EQ(kept->ttl, 30);
  EXPECT_GT(kept->raft_term, 0U);
  EXPECT_TRUE(client.revoke(id));
  EXPECT_TRUE(client.revoke(id)) << "a lease that does not exist is a success";
  EXPECT_EQ(client.value("transport/leased"), "none");
  EXPECT_EQ(client.keep_alive(id).code(), Errc::lost);
  EXPECT_EQ(client.txn(put("transport/leased", "1", id)).code(), Errc::lost);
}

TEST(EtcdTransport, AWatchTellsWhatHappensAfterItsRevision) {
  Client client(EtcdServer::shared().url());
  Ear one, many;
  const auto watch = client.watch("transport/watched/a", one);
  const auto range = client.watch("transport/watched/", many, "transport/watched0");
  const Result<std::int64_t> from = client.watched_from(watch);
  ASSERT_TRUE(from) << from.error().to_string();
  ASSERT_TRUE(client.watched_from(range));
  const std::int64_t revision = client.txn(put("transport/watched/a", "1")).value().header().revision();
  EXPECT_GT(revision, *from);
  ASSERT_TRUE(client.txn(put("transport/watched/b", "2")));
  ASSERT_TRUE(client.txn(erase("transport/watched/a")));
  ASSERT_TRUE(one.waits_for(2));
  EXPECT_EQ(one.heard()[0].what, Heard::What::put);
  EXPECT_EQ(one.heard()[0].key, "transport/watched/a");
  EXPECT_EQ(one.heard()[0].value, "1");
  EXPECT_EQ(one.heard()[0].create_revision, revision);
  EXPECT_EQ(one.heard()[0].before, std::nullopt);
  EXPECT_EQ(one.heard()[1].what, Heard::What::deleted);
  EXPECT_EQ(one.heard()[1].before, "1");
  EXPECT_EQ(one.heard()[1].create_revision, revision);
  EXPECT_GT(one.heard()[1].mod_revision, revision);
  ASSERT_TRUE(many.waits_for(3));
  EXPECT_EQ(many.heard()[1].key, "transport/watched/b");
}

TEST(EtcdTransport, NothingIsHeardAfterUnwatch) {
  Client client(EtcdServer::shared().url());
  Ear ended, other;
  const auto watch = client.watch("transport/unwatched", ended);
  const auto another = client.watch("transport/unwatched", other);
  ASSERT_TRUE(client.watched_from(watch));
  ASSERT_TRUE(client.watched_from(another));
  client.unwatch(watch);
  ASSERT_TRUE(client.txn(put("transport/unwatched", "1")));
  ASSERT_TRUE(other.waits_for(1));
  EXPECT_TRUE(ended.heard().empty());
  EXPECT_EQ(client.watched_from(watch).code(), Errc::cancelled);
}

TEST(EtcdTransport, AThousandWatchesShareOneStream) {
  Proxy proxy(EtcdServer::shared().port(), test::etcd_framing());
  Client client("etcd://127.0.0.1:" + std::to_string(proxy.port()));
  Ear ear;
  std::vector<Cluster::WatchId> watches;
  for (int i = 0; i < 1000; ++i) watches.push_back(client.watch("transport/many/" + std::to_string(i), ear));
  for (const Cluster::WatchId watch : watches) ASSERT_TRUE(client.watched_from(watch));
  EXPECT_EQ(proxy.connections(), 1U);
  for (int i = 0; i < 1000; i += 100) ASSERT_TRUE(client.txn(put("transport/many/" + std::to_string(i), "1")));
  EXPECT_TRUE(ear.waits_for(10));
}

// A server that is pinged too often says GOAWAY to the third one.
TEST(EtcdTransport, AnIdleWatchIsPingedNoMoreOftenThanServersAllow) {
  std::atomic<int> pings = 0, downs = 0;
  Proxy proxy(EtcdServer::shared().port(), test::etcd_framing([&](const test::EtcdMessage& message) {
                if (message.method == "PING") ++pings;
              }));
  Cluster::Plan plan;
  plan.down = [&](const std::string&) { ++downs; };
  Client client("etcd://127.0.0.1:" + std::to_string(proxy.port()), plan);
  Ear ear;
  ASSERT_TRUE(client.watched_from(client.watch("transport/idle", ear)));
  EXPECT_TRUE(eventually([&] { return pings >= 4; }, 300s));
  ASSERT_TRUE(client.txn(put("transport/idle", "1")));
  EXPECT_TRUE(ear.waits_for(1));
  EXPECT_EQ(downs, 0);
}

// Larger than a window of HTTP/2 (64 KiB) each way.
TEST(EtcdTransport, LargeMessagesGoBothWays) {
  Client client(EtcdServer::shared().url());
  const std::string large(1 << 20, 'x');
  for (const char* key : {"transport/large/1", "transport/large/2", "transport/large/3"}) {
    const auto written = client.txn(put(key, large));
    ASSERT_TRUE(written) << written.error().to_string();
  }
  pb::RangeRequest all = get("transport/large/");
  all.set_range_end("transport/large0");
  const Result<pb::RangeResponse> found = client.range(all);
  ASSERT_TRUE(found) << found.error().to_string();
  ASSERT_EQ(found->kvs_size(), 3);
  for (const pb::KeyValue& record : found->kvs()) EXPECT_EQ(record.value(), large);
  EXPECT_EQ(client.txn(put("transport/large/4", std::string(2 << 20, 'x'))).code(), Errc::invalid_argument);
  ASSERT_TRUE(client.txn(erase("transport/large/1")));
}

TEST(EtcdTransport, WhatIsAskedInOneTurnIsAnsweredTogether) {
  Client client(EtcdServer::shared().url());
  ASSERT_TRUE(client.connect());
  std::vector<std::future<Result<pb::TxnResponse>>> begun;
  for (int i = 0; i < 500; ++i) begun.push_back(client.begin_txn(put("transport/crowd/" + std::to_string(i), "1")));
  for (auto& one : begun) {
    const auto done = take(one);
    ASSERT_TRUE(done) << done.error().to_string();
  }
}

// Servers that go, and answers that get lost

class EtcdTransportFaults : public testing::Test {
 protected:
  std::string url(const std::string& query = {}) const {
    return "etcd://127.0.0.1:" + std::to_string(proxy_.port()) + query;
  }

  Proxy proxy_{EtcdServer::shared().port(), test::etcd_framing()};
};

TEST_F(EtcdTransportFaults, AWriteWhoseAnswerIsLostIsUnknown) {
  Client client(url());
  proxy_.arrange(Fault::lose_reply, "Txn");
  EXPECT_EQ(client.txn(put("faults/a", "1")).code(), Errc::outcome_unknown);
  EXPECT_EQ(client.value("faults/a"), "1") << "it was applied, and nobody could know";
}

TEST_F(EtcdTransportFaults, WhatChangesNothingOrCanBeRepeatedIsAskedAgain) {
  Client client(url());
  ASSERT_TRUE(client.txn(put("faults/read", "1")));
  constexpr std::int64_t id = 0x5eed'0002;
  for (const char* name : {"Range", "LeaseGrant", "LeaseRevoke"}) proxy_.arrange(Fault::lose_reply, name);
  EXPECT_EQ(client.value("faults/read"), "1");
  EXPECT_EQ(client.grant(id, 30).value(), 30);
  EXPECT_TRUE(client.revoke(id));
  EXPECT_EQ(proxy_.happened(), 3U);
  EXPECT_FALSE(EtcdServer::shared().seconds_left(id));
}

TEST_F(EtcdTransportFaults, AKeepaliveWhoseAnswerIsLostIsAskedAgain) {
  Client client(url());
  constexpr std::int64_t id = 0x5eed'0003;
  ASSERT_TRUE(client.grant(id, 30));
  ASSERT_TRUE(client.keep_alive(id));
  proxy_.arrange(Fault::lose_reply, "LeaseKeepAlive");
  EXPECT_EQ(client.keep_alive(id).value().ttl, 30);
  EXPECT_EQ(proxy_.happened(), 1U);
}

TEST_F(EtcdTransportFaults, AWatchIsMadeAgainAndTellsThatItMissedSomething) {
  Client client(url());
  Ear ear;
  const auto watch = client.watch("faults/watched", ear);
  ASSERT_TRUE(client.watched_from(watch));
  proxy_.cut();
  ASSERT_TRUE(ear.waits_for(1));
  EXPECT_EQ(ear.heard()[0].what, Heard::What::missed);
  EXPECT_EQ(ear.heard()[0].key, "faults/watched");
  ASSERT_TRUE(client.txn(put("faults/watched", "1")));
  ASSERT_TRUE(ear.waits_for(2));
  EXPECT_EQ(ear.heard()[1].what, Heard::What::put);
}

TEST_F(EtcdTransportFaults, ThePlanHearsOfDownAndUp) {
  std::atomic<int> downs = 0, ups = 0, headers = 0;
  Cluster::Plan plan;
  plan.down = [&](const std::string&) { ++downs; };
  plan.up = [&] { ++ups; };
  plan.seen = [&](const pb::ResponseHeader& header) { headers += header.cluster_id() != 0; };
  Client client(url(), plan);
  ASSERT_TRUE(client.txn(put("faults/plan", "1")));
  EXPECT_EQ(headers, 1);
  EXPECT_EQ(ups, 0) << "the first time is no news";
  proxy_.cut();
  EXPECT_TRUE(eventually([&] { return downs == 1 && ups == 1; }));
}

TEST_F(EtcdTransportFaults, AServerThatHangsIsUnknownToWritersAndUnavailableToReaders) {
  Client client(url("?timeout=1s"));
  ASSERT_TRUE(client.txn(put("faults/hangs", "1")));
  proxy_.hold();
  EXPECT_EQ(client.txn(put("faults/hangs", "2"), 1s).code(), Errc::outcome_unknown);
  EXPECT_EQ(client.range(get("faults/hangs"), 1s).code(), Errc::store_unavailable);
  proxy_.go_on();
  EXPECT_TRUE(client.txn(put("faults/hangs", "3")));
}

TEST_F(EtcdTransportFaults, ASilentConnectionIsLeftWhileOnlyAWatchWaits) {
  std::atomic<int> downs = 0;
  Cluster::Plan plan;
  plan.down = [&](const std::string&) { ++downs; };
  Client client(url("?timeout=1s"), plan);
  Ear ear;
  ASSERT_TRUE(client.watched_from(client.watch("faults/silent", ear)));
  proxy_.hold();  // nobody asks anything: the ping finds out
  ASSERT_TRUE(eventually([&] { return downs > 0; }));
  proxy_.go_on();
  ASSERT_TRUE(ear.waits_for(1));
  EXPECT_EQ(ear.heard()[0].what, Heard::What::missed);
}

TEST(EtcdTransport, AServerThatIsGoneIsFoundAgain) {
  EtcdServer server;
  Client client(server.url());
  Ear ear;
  ASSERT_TRUE(client.watched_from(client.watch("restart", ear)));
  ASSERT_TRUE(client.txn(put("restart", "1")));
  server.end();
  EXPECT_EQ(client.range(get("restart"), 100ms).code(), Errc::store_unavailable);
  server.start();
  EXPECT_EQ(client.value("restart"), "1");
  ASSERT_TRUE(ear.waits_for(2));
  EXPECT_EQ(ear.heard()[1].what, Heard::What::missed);
}

TEST(EtcdTransport, AnEndpointThatHangsIsPassedOver) {
  const test::Socket hangs = test::listen_on_tcp(64);
  const std::string url = "etcd://127.0.0.1:" + std::to_string(hangs.port()) + "," + EtcdServer::shared().address();
  // Where a client begins is drawn at random.
  for (int i = 0; i < 50 && !hangs.somebody_comes(); ++i) {
    Client client(url);
    EXPECT_TRUE(client.connect());
    EXPECT_TRUE(client.txn(put("transport/passed_over", "1")));
  }
  EXPECT_TRUE(hangs.somebody_comes());
}

TEST(EtcdTransport, NobodyThereIsUnavailable) {
  const test::Port nobody;
  Client client("etcd://127.0.0.1:" + std::to_string(nobody.number()));
  const Result<pb::RangeResponse> none = client.range(get("a"), 200ms);
  EXPECT_EQ(none.code(), Errc::store_unavailable);
  EXPECT_THAT(none.error().message, HasSubstr(std::to_string(nobody.number())));
  EXPECT_EQ(client.txn(put("a", "1"), 200ms).code(), Errc::store_unavailable) << "it was never sent";
}

TEST(EtcdTransport, AFullQuotaIsOverload) {
  EtcdServer server({.flags = {"--quota-backend-bytes", "1048576"}});
  Client client(server.url());
  const std::string large(300 << 10, 'x');
  ASSERT_TRUE(client.txn(put("quota/0", large)));
  // The size is looked at when the server has written it to its file, every 100 ms.
  Errc code{};
  EXPECT_TRUE(eventually([&] {
    code = client.txn(put("quota/more", large)).code();
    return code != Errc{};
  }));
  EXPECT_EQ(code, Errc::overloaded);
  EXPECT_EQ(client.value("quota/0"), large) << "reading goes on";
}

}  // namespace
}  // namespace pawl
