// The etcd transport against real servers: calls, streams, login, TLS, and members that go.

#include "base/real_runtime.hpp"
#include "store/etcd/cluster.hpp"
#include "tests/support/etcd_frames.hpp"
#include "tests/support/etcd_server.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/real_work.hpp"
#include "tests/support/threads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using base::Deadline;
using store::etcd::Cluster;
using store::etcd::Config;
using store::etcd::Heard;
using test::EtcdServer;
using test::eventually;
using test::Fault;
using test::Proxy;
using test::take;
using testing::ElementsAre;
using testing::HasSubstr;
namespace pb = store::etcd::pb;

pb::TxnRequest put(const std::string& key, const std::string& value, std::int64_t lease = 0) {
  pb::TxnRequest request;
  pb::PutRequest& put = *request.add_success()->mutable_request_put();
  put.set_key(key);
  put.set_value(value);
  put.set_lease(lease);
  return request;
}

pb::TxnRequest erase(const std::string& key) {
  pb::TxnRequest request;
  request.add_success()->mutable_request_delete_range()->set_key(key);
  return request;
}

pb::RangeRequest get(const std::string& key) {
  pb::RangeRequest request;
  request.set_key(key);
  return request;
}

/// What a watch heard, for another thread.
class Ear {
 public:
  std::function<void(const Heard&)> hear() {
    return [this](const Heard& heard) {
      const std::lock_guard lock(mutex_);
      heard_.push_back(heard);
    };
  }
  std::vector<Heard> heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  bool waits_for(std::size_t count) const {
    return eventually([&] { return heard().size() >= count; });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Heard> heard_;
};

Config config_of(const std::string& url) {
  const base::Url parsed = base::Url::parse(url).value();
  base::UrlOptions options(parsed);
  return store::etcd::read_config(parsed, options).value();
}

/// One client of the transport, from the test's thread.
class Client {
 public:
  explicit Client(const std::string& url, Cluster::Plan plan = {})
      : cluster_(std::make_shared<Cluster>(runtime_, config_of(url))) {
    test::on_executor(runtime_, [&] { cluster_->start(std::move(plan)); });
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() {
    test::on_executor(runtime_, [&] { cluster_->stop(); });
  }

  Deadline in(Duration time) const { return Deadline::in(runtime_.now(), time); }
  Result<void> connect(Duration time = 30s) {
    return run([=, this] { return cluster_->connect(in(time)); });
  }
  std::future<Result<pb::TxnResponse>> begin_txn(const pb::TxnRequest& request, Duration time = 30s) {
    return begin([=, this] { return cluster_->txn(request, in(time)); });
  }
  Result<pb::TxnResponse> txn(const pb::TxnRequest& request, Duration time = 30s) {
    auto begun = begin_txn(request, time);
    return take(begun);
  }
  Result<pb::RangeResponse> range(const pb::RangeRequest& request, Duration time = 30s) {
    return run([=, this] { return cluster_->range(request, in(time)); });
  }
  /// The value, or what went wrong.
  std::string value(const std::string& key) {
    const Result<pb::RangeResponse> found = range(get(key));
    if (!found) return found.error().to_string();
    return found->kvs_size() == 1 ? found->kvs(0).value() : "none";
  }
  Result<std::int64_t> grant(std::int64_t id, std::int64_t seconds) {
    return run([=, this] { return cluster_->grant_lease(id, seconds, in(30s)); });
  }
  Result<void> revoke(std::int64_t id) {
    return run([=, this] { return cluster_->revoke_lease(id, in(30s)); });
  }
  Result<Cluster::Kept> keep_alive(std::int64_t id, Duration time = 30s) {
    return run([=, this] { return cluster_->keep_alive(id, in(time)); });
  }
  Cluster::WatchId watch(const std::string& key, Ear& ear, const std::string& range_end = {}) {
    Cluster::WatchId id = 0;
    test::on_executor(runtime_, [&] { id = cluster_->watch(key, range_end, ear.hear()); });
    return id;
  }
  Result<std::int64_t> watched_from(Cluster::WatchId watch, Duration time = 30s) {
    return run([=, this] { return cluster_->watched_from(watch, in(time)); });
  }
  void unwatch(Cluster::WatchId watch) {
    test::on_executor(runtime_, [&] { cluster_->unwatch(watch); });
  }

 private:
  template <class Start>
  auto begin(const Start& start) -> std::future<typename decltype(start())::value_type> {
    std::future<typename decltype(start())::value_type> begun;
    test::on_executor(runtime_, [&] { begun = test::begin(runtime_, start()); });
    return begun;
  }
  template <class Start>
  auto run(const Start& start) -> typename decltype(start())::value_type {
    auto begun = begin(start);
    return take(begun);
  }

  base::RealRuntime runtime_;
  const std::shared_ptr<Cluster> cluster_;
};

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

}  // namespace
}  // namespace pawl
