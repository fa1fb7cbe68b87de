// The etcd store and replies that are old, not true, or never come: what a member may say, and what became of it meanwhile.

#include "tests/etcd/altering_members.hpp"
#include "tests/etcd/port_client.hpp"
#include "tests/support/etcd_frames.hpp"
#include "tests/support/etcd_server.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using store::Claim;
using store::SessionId;
using store::Standing;
using test::EtcdMessage;
using test::EtcdServer;
using test::eventually;
using test::PortClient;
using test::Proxy;

std::string url_to(std::uint16_t port, const std::string& prefix) {
  return "etcd://127.0.0.1:" + std::to_string(port) + "?prefix=" + prefix;
}

std::int64_t lease_behind(SessionId session) { return static_cast<std::int64_t>(session.low); }

// etcd#20418: after a pause of the server, Debian's 3.4 may answer a read with what was true before.
TEST(EtcdReplies, AStaleReadIsNoRestore) {
  const EtcdServer server;  // nothing else may move its revision
  test::StaleReads stale(server.port());
  PortClient alice(url_to(stale.port(), "stale/"));
  const SessionId session = alice.open();
  const Claim held = alice.wish(session, "job");
  const Token token = alice.must_have(held);
  stale.give(1);
  EXPECT_EQ(alice.look(held).value().place, Standing::Place::held) << "it is read again";
  EXPECT_EQ(stale.left(), 0);
  stale.give(1);
  EXPECT_EQ(alice.epoch(), token.epoch());
  EXPECT_EQ(stale.left(), 0);
  stale.give(1000);
  EXPECT_EQ(alice.look(held).code(), Errc::store_unavailable);
  EXPECT_LT(stale.left(), 1000);
  EXPECT_TRUE(alice.renew(session)) << "by a write, whose reply is never stale";
  stale.give(0);
  EXPECT_EQ(alice.look(held).value().token, token);
  EXPECT_EQ(alice.epoch(), token.epoch());
}

// A read tells of it first.
TEST(EtcdReplies, ARestoreThatAReadHasNoticedIsConfirmedByAWriteAndBeginsANewEpoch) {
  EtcdServer server;
  const test::TemporaryFolder folder;
  PortClient alice(url_to(server.port(), "read-restore/"));
  const SessionId session = alice.open();
  const Claim early = alice.wish(session, "job");
  const Token before = alice.must_have(early);
  server.snapshot(folder.path() + "/snapshot");
  for (int i = 0; i < 5; ++i) alice.must_have(alice.wish(session, "late " + std::to_string(i)));
  server.restore(folder.path() + "/snapshot");
  EXPECT_TRUE(eventually([&] {
    const Result<Standing> standing = alice.look(early);
    return standing.code() == Errc::lost;
  }));
  EXPECT_GT(alice.epoch(), before.epoch());
}

// etcd#6922: the other leases of a client are renewed all the same.
TEST(EtcdReplies, AStreamOfKeepalivesThatEndsWithAStatusIsOpenedAgain) {
  test::EndedKeepalives keepalives(EtcdServer::shared().port());
  PortClient alice(url_to(keepalives.port(), "ended/"));
  const SessionId first = alice.open(60s), second = alice.open(60s);
  EXPECT_TRUE(alice.renew(first));
  keepalives.end(60, 1);
  EXPECT_TRUE(alice.renew(first));
  EXPECT_EQ(keepalives.left(), 0);
  EXPECT_TRUE(alice.renew(second));
  keepalives.end(60, 1);
  EXPECT_TRUE(alice.renew(second));
  EXPECT_EQ(keepalives.left(), 0);
  EXPECT_TRUE(alice.renew(first));
}

// etcd#20616: an answer alone confirms nothing.
TEST(EtcdReplies, ARenewalOfARevokedLeaseIsNotBelieved) {
  const EtcdServer& server = EtcdServer::shared();
  test::Flatterer flatterer(server.port());
  PortClient alice(url_to(flatterer.port(), "flattered/"));
  const SessionId session = alice.open(60s);
  EXPECT_TRUE(alice.renew(session));
  flatterer.vouch_for(lease_behind(session));
  server.revoke(lease_behind(session));
  EXPECT_EQ(alice.renew(session).code(), Errc::lost);
  EXPECT_GE(flatterer.untrue(), 1);
}

// python-etcd3#1107: the key before ours goes after we were told of it, and before it is watched.
TEST(EtcdReplies, AKeyThatGoesBeforeItIsWatchedIsNotWaitedFor) {
  const EtcdServer& server = EtcdServer::shared();
  std::string first;
  std::atomic<int> deleted = 0;
  const auto delete_it = [&](const EtcdMessage& message) {
    if (message.method != "Watch" || !message.names("unseen/queue/") || deleted > 0) return;
    ++deleted;
    server.must_ctl({"del", first});
  };
  const Proxy proxy(server.port(), test::etcd_framing(delete_it));
  PortClient alice(url_to(server.port(), "unseen/")), bob(url_to(proxy.port(), "unseen/"));
  alice.must_have(alice.wish(alice.open(), "job"));
  first = server.records("unseen/queue/").at(0).key;
  const Claim next = bob.wish(bob.open(), "job");
  EXPECT_TRUE(bob.has(next)) << "in one go: nothing will tell of it later";
  EXPECT_EQ(deleted, 1);
}

}  // namespace
}  // namespace pawl
