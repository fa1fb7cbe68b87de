// Behind etcd's own gRPC proxy, which shares watches and keepalives between its clients.

#include "tests/etcd/stage.hpp"

#include <cstdlib>

namespace pawl {
namespace {

using namespace stage;

/// `etcd grpc-proxy`, in front of the server that all tests share.
class GrpcProxy {
 public:
  GrpcProxy() { start(); }

  void restart() {
    process_.kill();
    start();
  }
  std::string url(const std::string& query) const { return url_at(port_.number(), query); }

 private:
  void start() {
    const char* given = std::getenv("PAWL_ETCD");
    const std::vector<std::string> command{given != nullptr ? given : "etcd", "grpc-proxy", "start",
                                           "--endpoints=" + EtcdServer::shared().address(),
                                           "--listen-addr=127.0.0.1:" + std::to_string(port_.number())};
    process_.start(command, folder_.path(),
                   [this] { return test::answers(port_.number(), "GET /health HTTP/1.0\r\n\r\n"); });
  }

  const test::TemporaryFolder folder_;
  const test::Port port_;
  test::ServerProcess process_;
};

TEST(EtcdGrpcProxy, LocksAreSharedWithClientsThatDoNotUseItInTheOrderOfComing) {
  const GrpcProxy proxy;
  const std::string query = "?lease=60s&timeout=30s&prefix=" + fresh_prefix();
  Client alice(proxy.url(query)), bob(EtcdServer::shared().url(query)), carol(proxy.url(query));
  Hold hold = alice.mutex("job").acquire().value();
  EXPECT_EQ(bob.mutex("job").try_acquire().code(), Errc::busy);
  auto bobs = wait_for(bob, "job");
  ASSERT_TRUE(waiters_are(alice, "job", 1));
  auto carols = wait_for(carol, "job");
  ASSERT_TRUE(waiters_are(alice, "job", 2));
  EXPECT_TRUE(hold.release());
  Hold second = bobs.get().value();
  EXPECT_GT(second.token(), hold.token());
  EXPECT_EQ(carols.wait_for(0s), std::future_status::timeout);
  EXPECT_TRUE(second.release());
  EXPECT_GT(carols.get().value().token(), second.token());
}

TEST(EtcdGrpcProxy, AHoldIsRenewedAndItsHolderIsAskedForIt) {
  const GrpcProxy proxy;
  const std::string query = "?timeout=30s&prefix=" + fresh_prefix();
  Client alice(proxy.url(query + "&lease=9s")), bob(proxy.url(query + "&lease=60s"));
  const Hold hold = alice.mutex("job").acquire().value();
  EXPECT_TRUE(eventually([&] { return alice.metrics().renewals >= 2 || hold.lost().stop_requested(); }));
  EXPECT_FALSE(hold.lost().stop_requested());
  EXPECT_TRUE(bob.revoke("job"));
  EXPECT_TRUE(eventually([&] { return hold.release_requested().stop_requested(); }));
}

TEST(EtcdGrpcProxy, HoldsAndWaitersOutliveItsRestart) {
  GrpcProxy proxy;
  const std::string query = "?lease=60s&timeout=30s&prefix=" + fresh_prefix();
  Client alice(proxy.url(query)), bob(proxy.url(query)), carol(EtcdServer::shared().url(query));
  Hold hold = alice.mutex("job").acquire().value();
  auto bobs = wait_for(bob, "job");
  ASSERT_TRUE(waiters_are(carol, "job", 1));
  proxy.restart();
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(hold.release());
  EXPECT_GT(bobs.get().value().token(), hold.token());
}

TEST(EtcdGrpcProxy, ALeaseThatIsRevokedByHandEndsItsHolds) {
  const GrpcProxy proxy;
  const std::string prefix = fresh_prefix();
  Client alice(proxy.url("?timeout=30s&lease=6s&prefix=" + prefix));
  const Hold hold = alice.mutex("job").acquire().value();
  for (const std::int64_t lease : sessions_of(EtcdServer::shared(), prefix)) EtcdServer::shared().revoke(lease);
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
}

}  // namespace
}  // namespace pawl
