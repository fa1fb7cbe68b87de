// What the other tests of etcd stand on, tried with etcd's own client.

#include "tests/support/etcd_frames.hpp"
#include "tests/support/etcd_server.hpp"
#include "tests/support/proxy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace pawl {
namespace {

using test::EtcdMessage;
using test::EtcdServer;

using test::Fault;
using test::Proxy;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(EtcdSupport, TheProxyNamesAndCountsRequests) {
  const EtcdServer& server = EtcdServer::shared();
  Proxy proxy(server.port(), test::etcd_framing());
  server.ctl({"put", "frames/a", "1"}, proxy.port());
  server.ctl({"get", "frames/a"}, proxy.port());
  server.ctl({"lease", "grant", "60"}, proxy.port());
  EXPECT_THAT(proxy.seen(),
              AllOf(Contains(Pair("Put", 1U)), Contains(Pair("Range", 1U)), Contains(Pair("LeaseGrant", 1U))));
}

TEST(EtcdSupport, AServerTellsItsVersion) { EXPECT_GE(EtcdServer::shared().version(), (std::array{3, 4, 0})); }

TEST(EtcdSupport, ARequestTellsWhetherItIsAboutARange) {
  const EtcdServer& server = EtcdServer::shared();
  std::mutex mutex;
  std::map<std::string, std::vector<bool>> heard;
  Proxy proxy(server.port(), test::etcd_framing([&](const EtcdMessage& request) {
                const std::lock_guard lock(mutex);
                if (request.names("ranges/")) heard[request.method].push_back(request.has_a_range());
              }));
  server.ctl({"get", "ranges/a"}, proxy.port());
  server.ctl({"get", "ranges/", "--prefix"}, proxy.port());
  const std::lock_guard lock(mutex);
  EXPECT_THAT(heard["Range"], ElementsAre(false, true));
}

TEST(EtcdSupport, RepliesAreHeardWithTheirMethod) {
  const EtcdServer& server = EtcdServer::shared();
  std::mutex mutex;
  std::vector<std::string> methods;
  Proxy proxy(server.port(), test::etcd_framing({}, [&](const EtcdMessage& reply) {
                const std::lock_guard lock(mutex);
                methods.push_back(reply.method);
              }));
  server.ctl({"put", "replies/a", "1"}, proxy.port());
  const std::lock_guard lock(mutex);
  EXPECT_THAT(methods, ElementsAre("Put"));
}

TEST(EtcdSupport, ARequestWhoseReplyIsLostWasApplied) {
  const EtcdServer& server = EtcdServer::shared();
  Proxy proxy(server.port(), test::etcd_framing());
  proxy.arrange(Fault::lose_reply, "Put");
  server.ctl({"put", "lost/reply", "1"}, proxy.port());
  EXPECT_EQ(proxy.happened(), 1U);
  EXPECT_THAT(server.records("lost/reply"), ElementsAre(Field(&test::EtcdRecord::value, "1")));
}

TEST(EtcdSupport, ALostRequestWasNot) {
  const EtcdServer& server = EtcdServer::shared();
  Proxy proxy(server.port(), test::etcd_framing());
  proxy.arrange(Fault::lose_request, [](const std::string&, std::string_view frame) {
    return test::etcd_message(frame).find("lost/request") != std::string::npos;
  });
  EXPECT_THAT(server.ctl({"--command-timeout", "1s", "put", "lost/request", "1"}, proxy.port()), HasSubstr("Error"));
  EXPECT_EQ(proxy.happened(), 1U);
  EXPECT_THAT(server.records("lost/request"), IsEmpty());
}

TEST(EtcdSupport, ARestoredSnapshotHasALowerRevision) {
  EtcdServer server;
  server.must_ctl({"put", "a", "1"});
  server.snapshot(server.folder() + "/snapshot");
  server.must_ctl({"put", "b", "1"});
  const auto before = server.revision();
  server.restore(server.folder() + "/snapshot");
  EXPECT_LT(server.revision(), before);
  EXPECT_THAT(server.records(""), ElementsAre(Field(&test::EtcdRecord::key, "a")));
}

TEST(EtcdSupport, LeasesAreListedAndRevoked) {
  EtcdServer server;
  server.must_ctl({"lease", "grant", "60"});
  const auto leases = server.leases();
  ASSERT_EQ(leases.size(), 1U);
  EXPECT_GT(server.seconds_left(leases[0]), 0);
  server.revoke(leases[0]);
  EXPECT_THAT(server.leases(), IsEmpty());
  EXPECT_FALSE(server.seconds_left(leases[0]));
}

}  // namespace
}  // namespace pawl
