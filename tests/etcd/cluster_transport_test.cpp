// The etcd transport against three members, of which one is dead, hangs, or is cut off.

#include "tests/etcd/transport_client.hpp"
#include "tests/support/etcd_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include <string>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using store::etcd::Cluster;
using store::etcd::Heard;
using test::Ear;
using test::EtcdCluster;
using test::eventually;
using test::get;
using test::put;
using Client = test::TransportClient;
namespace pb = store::etcd::pb;

/// Each member in turn: one of them is ours.
class EtcdClusterTransport : public testing::Test {
 protected:
  /// A write may be unknown when its member goes; then the next one must do.
  bool writes(const std::string& value) {
    return eventually([&] { return client_.txn(put("cluster/a", value), 5s).has_value(); });
  }
  /// The watch lives, and has heard of a break at most once more than before.
  bool watch_hears(const std::string& value) {
    return eventually([&] {
      const auto heard = ear_.heard();
      return !heard.empty() && heard.back().what == Heard::What::put && heard.back().value == value;
    });
  }

  EtcdCluster cluster_;
  Client client_{cluster_.url()};
  Ear ear_;
};

TEST_F(EtcdClusterTransport, AnyMemberMayDie) {
  ASSERT_TRUE(client_.watched_from(client_.watch("cluster/a", ear_)));
  for (std::size_t i = 0; i < EtcdCluster::size; ++i) {
    const std::string value = "killed " + std::to_string(i);
    cluster_.kill(i);
    EXPECT_EQ(client_.value("cluster/none"), "none") << "a read is asked of another member within its deadline";
    ASSERT_TRUE(writes(value));
    EXPECT_TRUE(watch_hears(value) || client_.value("cluster/a") == value);
    cluster_.start(i);
  }
}

TEST_F(EtcdClusterTransport, AnyMemberMayHang) {
  ASSERT_TRUE(client_.connect());
  for (std::size_t i = 0; i < EtcdCluster::size; ++i) {
    cluster_.stop(i);
    EXPECT_EQ(client_.value("cluster/none"), "none") << "a read is asked of another member within its deadline";
    ASSERT_TRUE(writes("stopped " + std::to_string(i)));
    cluster_.go_on(i);
    cluster_.wait_until_they_serve();
  }
}

// It answers, and knows of no leader: the stream of watches ends (`hasleader`), and linearizable reads go elsewhere.
TEST_F(EtcdClusterTransport, AnyMemberMayBeCutOff) {
  ASSERT_TRUE(client_.watched_from(client_.watch("cluster/a", ear_)));
  for (std::size_t i = 0; i < EtcdCluster::size; ++i) {
    const std::string value = "cut " + std::to_string(i);
    cluster_.cut(i);
    EXPECT_EQ(client_.value("cluster/none"), "none");
    ASSERT_TRUE(writes(value));
    EXPECT_TRUE(eventually([&] { return !ear_.heard().empty(); }));
    cluster_.heal(i);
    cluster_.wait_until_they_serve();
  }
  ASSERT_TRUE(writes("healed"));
  EXPECT_TRUE(watch_hears("healed"));
}

// It answers pings, and there is no other request: without `hasleader` its watches would be silent for as long as it is cut off.
TEST_F(EtcdClusterTransport, AWatchOnAMemberThatIsCutOffNoticesIt) {
  const std::size_t alone = cluster_.follower();
  std::atomic<int> downs = 0;
  Cluster::Plan plan;
  plan.down = [&](const std::string&) { ++downs; };
  Client client(cluster_[alone].url(), plan);
  Ear ear;
  ASSERT_TRUE(client.watched_from(client.watch("cluster/a", ear)));
  cluster_.cut(alone);
  EXPECT_TRUE(eventually([&] { return downs > 0; })) << "while it is cut off";
  cluster_.heal(alone);
  ASSERT_TRUE(ear.waits_for(1));
  EXPECT_EQ(ear.heard().front().what, Heard::What::missed);
}

TEST_F(EtcdClusterTransport, WithoutAMajorityNothingIsPromised) {
  ASSERT_TRUE(client_.txn(put("cluster/a", "1")));
  cluster_.kill(0);
  cluster_.kill(1);
  EXPECT_FALSE(client_.txn(put("cluster/a", "2"), 2s));
  EXPECT_EQ(client_.range(get("cluster/a"), 2s).code(), Errc::store_unavailable);
  cluster_.start(0);
  EXPECT_TRUE(writes("3"));
}

}  // namespace
}  // namespace pawl
