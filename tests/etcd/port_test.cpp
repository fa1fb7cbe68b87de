// The etcd store at its port: what a claim may not become, and what a cluster may not forget unnoticed.

#include "store/etcd/layout.hpp"
#include "store/record.hpp"
#include "tests/etcd/altering_members.hpp"
#include "tests/etcd/port_client.hpp"
#include "tests/etcd/transport_client.hpp"
#include "tests/support/etcd_frames.hpp"
#include "tests/support/etcd_server.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/threads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using store::Claim;
using store::ClaimState;
using store::Granted;
using store::SessionId;
using store::Standing;
using store::Withdrawn;
using test::EtcdMessage;
using test::EtcdServer;
using test::eventually;
using test::Fault;
using test::PortClient;
using test::Proxy;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string url_of(const EtcdServer& server, const std::string& prefix) { return server.url("?prefix=" + prefix); }

std::string url_through(const Proxy& proxy, const std::string& prefix) {
  return "etcd://127.0.0.1:" + std::to_string(proxy.port()) + "?prefix=" + prefix;
}

void fill_up(const EtcdServer& server) {
  for (int i = 0; i < 200 && server.ctl({"alarm", "list"}).find("NOSPACE") == std::string::npos; ++i) {
    server.put("junk" + std::to_string(i), std::string(200'000, 'x'), false);
  }
  ASSERT_THAT(server.ctl({"alarm", "list"}), HasSubstr("NOSPACE"));
}

void make_room(const EtcdServer& server) {
  server.must_ctl({"del", "junk", "--prefix"});
  server.compact();
  server.must_ctl({"defrag"});
  server.must_ctl({"alarm", "disarm"});
}

std::int64_t lease_of(SessionId session) { return static_cast<std::int64_t>(session.low); }

// E7: the same flags give the same cluster id, and a revision that was there before.
TEST(EtcdPort, AfterTheRestoreOfASnapshotTokensDoNotRepeat) {
  EtcdServer server;
  const test::TemporaryFolder folder;
  PortClient alice(url_of(server, "restore/"));
  const SessionId before = alice.open();
  const Claim early = alice.wish(before, "job");
  alice.must_have(early);
  EXPECT_EQ(alice.withdraw(early).value(), Withdrawn::done);
  server.snapshot(folder.path() + "/snapshot");
  Token last;
  for (int i = 0; i < 5; ++i) {
    const Claim late = alice.wish(before, "job");
    last = alice.must_have(late);
    EXPECT_EQ(alice.withdraw(late).value(), Withdrawn::done);
  }
  server.restore(folder.path() + "/snapshot");

  EXPECT_FALSE(alice.renew(before)) << "claims that were released since the snapshot may be there again";
  EXPECT_EQ(alice.renew(before).code(), Errc::lost);
  const Token next = alice.must_have(alice.wish(alice.open(), "another job"));
  EXPECT_GT(next, last);
  EXPECT_GT(next.epoch(), last.epoch());
  PortClient bob(url_of(server, "restore/"));
  EXPECT_EQ(bob.epoch(), next.epoch()) << "a client that has seen nothing of it learns it from the record";
}

// Its revisions begin anew as well, and nothing but the id tells.
TEST(EtcdPort, AfterARestoreUnderAnotherClusterIdTokensDoNotFall) {
  EtcdServer server;
  const test::TemporaryFolder folder;
  PortClient alice(url_of(server, "renamed/")), bob(url_of(server, "renamed/"));
  const SessionId bobs = bob.open();
  EXPECT_TRUE(bob.renew(bobs));
  server.snapshot(folder.path() + "/snapshot");
  const SessionId alices = alice.open();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(alice.withdraw(alice.wish(alices, "other")).value(), Withdrawn::not_there);
  const Token last = alice.must_have(alice.wish(alices, "job"));
  server.restore(folder.path() + "/snapshot", "another-cluster");

  EXPECT_TRUE(test::eventually([&] { return bob.renew(bobs).code() == Errc::lost; }))
      << "what was released since the snapshot may be there again";
  const Token next = bob.must_have(bob.wish(bob.open(), "job"));
  EXPECT_GT(next, last);
  EXPECT_GT(next.epoch(), last.epoch());
  EXPECT_TRUE(test::eventually([&] { return alice.renew(alices).code() == Errc::lost; }));
  EXPECT_EQ(alice.epoch(), next.epoch()) << "she raises it no further";
}

// Claims that are made while the epoch is being raised.
TEST(EtcdPort, NoClaimIsGrantedInTheOldEpochOnceARestoreWasNoticed) {
  EtcdServer server;
  const test::TemporaryFolder folder;
  PortClient alice(url_of(server, "window/"));
  const SessionId session = alice.open();
  EXPECT_TRUE(alice.renew(session));
  server.snapshot(folder.path() + "/snapshot");
  Token last;
  for (int i = 0; i < 2000; ++i) {
    const Claim late = alice.wish(session, "job");
    last = alice.must_have(late);
    EXPECT_EQ(alice.withdraw(late).value(), Withdrawn::done);
  }
  server.restore(folder.path() + "/snapshot");
  const auto granted_behind = [&](const Result<ClaimState>& state) {
    return state && std::get<Granted>(*state).token <= last;
  };
  std::vector<std::future<Result<ClaimState>>> claims;
  bool over = false;
  for (int i = 0; !over; ++i) {
    auto claim = alice.begin_claim(alice.wish(session, "late " + std::to_string(i)));
    if (claim.wait_for(1ms) == std::future_status::ready) {
      const Result<ClaimState> state = test::take(claim);
      over = state.code() == Errc::lost;
      EXPECT_FALSE(granted_behind(state));
    } else {
      claims.push_back(std::move(claim));
    }
  }
  for (auto& claim : claims) EXPECT_FALSE(granted_behind(test::take(claim)));
}

TEST(EtcdPort, ALeaderThatHasNotHeardOfTheSessionYetDoesNotEndIt) {
  const EtcdServer& server = EtcdServer::shared();
  test::NewLeader leader(server.port());
  PortClient alice("etcd://127.0.0.1:" + std::to_string(leader.port()) + "?prefix=new-leader/");
  const SessionId session = alice.open(60s);
  leader.deny(60, 1);
  EXPECT_TRUE(alice.renew(session));
  leader.deny(60, 1000);
  EXPECT_EQ(alice.renew(session).code(), Errc::store_unavailable);
  leader.deny(60, 0);
  EXPECT_TRUE(alice.renew(session));
  leader.deny(60, 1000);
  server.revoke(lease_of(session));
  EXPECT_EQ(alice.renew(session).code(), Errc::lost);
}

TEST(EtcdPort, AHoldWithADelayIsNotConfirmedUntilItsOwnLeaseIs) {
  const EtcdServer& server = EtcdServer::shared();
  test::NewLeader leader(server.port());
  PortClient alice("etcd://127.0.0.1:" + std::to_string(leader.port()) + "?prefix=delays/");
  const SessionId session = alice.open(60s);
  Claim delayed = alice.wish(session, "job");
  delayed.lock_delay = 10s;
  alice.must_have(delayed);
  alice.must_have(alice.wish(session, "another job"));
  const int second = 71;  // a second more than both
  leader.deny(second, 1);
  EXPECT_THAT(alice.renew(session).value().unconfirmed, IsEmpty()) << "it is asked for again";
  leader.deny(second, 1000);
  EXPECT_THAT(alice.renew(session).value().unconfirmed, ElementsAre(delayed.id));
  leader.deny(second, 0);
  EXPECT_THAT(alice.renew(session).value().unconfirmed, IsEmpty()) << "as long as its key may be there, it is kept up";
}

// A lease beside the session's own that is gone ends what is bound to it, and nothing else.
TEST(EtcdPort, ALeaseOfADelayThatWasRevokedByHandEndsItsHoldsAlone) {
  const EtcdServer& server = EtcdServer::shared();
  PortClient alice(url_of(server, "second/"));
  const SessionId session = alice.open();
  Claim delayed = alice.wish(session, "job"), later = alice.wish(session, "another job");
  delayed.lock_delay = later.lock_delay = 10s;
  alice.must_have(delayed);
  const std::vector<test::EtcdRecord> line = server.records("second/queue/mutex/job/");
  ASSERT_FALSE(line.empty());
  ASSERT_NE(line.at(0).lease, lease_of(session));
  server.revoke(line.at(0).lease);
  alice.must_have_at_last(later);
  EXPECT_THAT(alice.renew(session).value().unconfirmed, ElementsAre(delayed.id));
  EXPECT_EQ(alice.look(later).value().place, Standing::Place::held);
  EXPECT_EQ(alice.withdraw(delayed).value(), Withdrawn::not_there);
  EXPECT_THAT(alice.renew(session).value().unconfirmed, IsEmpty());
}

TEST(EtcdPort, ALeaseOfAHistoryThatWasRevokedByHandEndsNoElection) {
  const EtcdServer& server = EtcdServer::shared();
  PortClient alice(url_of(server, "history/"));
  const SessionId session = alice.open();
  alice.must_have(alice.wish(session, "chair", Kind::election));
  std::int64_t history = 0;
  for (const test::EtcdRecord& record : server.records("history/")) {
    if (record.lease != 0 && record.lease != lease_of(session)) history = record.lease;
  }
  ASSERT_NE(history, 0);
  server.revoke(history);
  alice.must_have_at_last(alice.wish(session, "another chair", Kind::election));
  EXPECT_TRUE(alice.renew(session));
}

// A session that could not be made, and a delay that nobody has any more.
TEST(EtcdPort, LeasesThatAreNotNeededAnyMoreAreRevoked) {
  EtcdServer server;
  PortClient alice(url_of(server, "unused/"));
  const SessionId session = alice.open();
  Claim delayed = alice.wish(session, "job");
  delayed.lock_delay = 10s;
  alice.must_have(delayed);
  EXPECT_EQ(server.leases().size(), 2U);
  EXPECT_EQ(alice.withdraw(delayed).value(), Withdrawn::done);
  EXPECT_TRUE(alice.renew(session));
  EXPECT_TRUE(test::eventually([&] { return server.leases().size() == 1U; }));
}

// etcd#11456: a waiter whose lease has ended is not the next holder, although it has waited.
TEST(EtcdPort, AWaiterWhoseLeaseWasRevokedIsNotGranted) {
  const EtcdServer& server = EtcdServer::shared();
  PortClient alice(url_of(server, "dead-waiter/")), bob(url_of(server, "dead-waiter/"));
  const Claim held = alice.wish(alice.open(), "job");
  alice.must_have(held);
  const SessionId bobs = bob.open();
  const Claim waiting = bob.wish(bobs, "job");
  EXPECT_TRUE(bob.waits(waiting));
  server.revoke(lease_of(bobs));
  EXPECT_EQ(alice.withdraw(held).value(), Withdrawn::done);
  EXPECT_EQ(bob.claim(waiting).code(), Errc::lost);
  EXPECT_EQ(bob.renew(bobs).code(), Errc::lost);
}

// It takes two requests, and the client or the server may be stopped between them for longer than a short lease.
TEST(EtcdPort, ASessionWhoseLeaseIsOverBeforeItIsMadeIsMadeAgain) {
  const EtcdServer server;
  std::atomic<int> ended = 0;
  const auto end_the_lease = [&](const EtcdMessage& message) {
    if (ended >= 2 || message.method != "Txn" || !message.names("short/sessions/")) return;
    for (const std::int64_t lease : server.leases()) server.revoke(lease);
    ++ended;
  };
  const Proxy proxy(server.port(), test::etcd_framing(end_the_lease));
  PortClient alice(url_through(proxy, "short/"));
  const SessionId session = alice.open();
  EXPECT_EQ(ended, 2);
  EXPECT_TRUE(alice.renew(session));
  EXPECT_TRUE(alice.has(alice.wish(session, "job")));
}

TEST(EtcdPort, ASessionWhoseLeaseWasRevokedByHandIsLostAtTheNextRenewal) {
  const EtcdServer& server = EtcdServer::shared();
  PortClient alice(url_of(server, "revoked/"));
  const SessionId session = alice.open();
  EXPECT_TRUE(alice.renew(session));
  server.revoke(lease_of(session));
  EXPECT_EQ(alice.renew(session).code(), Errc::lost);
}

// A request whose outcome was unknown may arrive behind its withdrawal.
TEST(EtcdPort, AClaimThatWasWithdrawnUnsettledIsRefusedWhenItArrives) {
  PortClient alice(url_of(EtcdServer::shared(), "late/"));
  const Claim late = alice.wish(alice.open(), "job");
  store::Withdrawal how;
  how.unsettled = true;
  EXPECT_EQ(alice.withdraw(late, how).value(), Withdrawn::not_there);
  EXPECT_EQ(alice.claim(late).code(), Errc::not_owner);
  EXPECT_EQ(alice.look(late).value().place, Standing::Place::gone);
}

TEST(EtcdPort, AHolderWithALockDelayThatFailedUnsettledIsRefusedWhenItArrives) {
  PortClient alice(url_of(EtcdServer::shared(), "late-failed/"));
  Claim late = alice.wish(alice.open(), "job");
  late.lock_delay = 60s;
  alice.must_have(late);
  store::Withdrawal how;
  how.ending = store::Ending::failed;
  how.unsettled = true;
  EXPECT_EQ(alice.withdraw(late, how).value(), Withdrawn::done);
  EXPECT_EQ(alice.claim(late).code(), Errc::not_owner);
}

TEST(EtcdPort, WithoutRoomForATombstoneTheLockIsFreedAllTheSame) {
  EtcdServer server({.flags = {"--quota-backend-bytes", "4194304"}});
  PortClient alice(url_of(server, "no-room/"));
  const Claim held = alice.wish(alice.open(), "job");
  alice.must_have(held);
  fill_up(server);
  store::Withdrawal how;
  how.unsettled = true;
  EXPECT_EQ(alice.withdraw(held, how).code(), Errc::overloaded) << "the tombstone is still to come";
  EXPECT_THAT(server.records("no-room/queue/"), testing::IsEmpty());
  make_room(server);
  EXPECT_EQ(alice.withdraw(held, how).value(), Withdrawn::not_there);
  EXPECT_EQ(alice.claim(held).code(), Errc::not_owner);
}

// The request with which a waiter takes the lock, once more and too late.
TEST(EtcdPort, ALateCopyOfAGrantDoesNotUndoADowngrade) {
  const EtcdServer& server = EtcdServer::shared();
  std::mutex mutex;
  std::string last;
  const auto keep = [&](const EtcdMessage& message) {
    const std::lock_guard lock(mutex);
    if (message.method == "Txn") last = message.message;
  };
  Proxy proxy(server.port(), test::etcd_framing(keep));
  PortClient alice(url_of(server, "late-grant/")), bob(url_through(proxy, "late-grant/"));
  Claim first = alice.wish(alice.open(), "job"), next = bob.wish(bob.open(), "job");
  Claim reading = alice.wish(first.session, "job");
  first.key.kind = next.key.kind = reading.key.kind = Kind::rw;
  reading.mode = Mode::shared;
  alice.must_have(first);
  EXPECT_TRUE(bob.waits(next));
  EXPECT_EQ(alice.withdraw(first).value(), Withdrawn::done);
  EXPECT_TRUE(eventually([&] { return bob.has(next); }));
  test::pb::TxnRequest taking;
  {
    const std::lock_guard lock(mutex);
    ASSERT_TRUE(taking.ParseFromString(last));
  }
  EXPECT_TRUE(bob.downgrade(next));
  test::TransportClient late(server.url());
  EXPECT_FALSE(late.txn(taking).value().succeeded());
  EXPECT_TRUE(alice.has(reading));
}

// Permits

TEST(EtcdPort, AWaiterForPermitsThatMissesTheGrantBeforeItDoesNotWaitForItsRelease) {
  const EtcdServer& server = EtcdServer::shared();
  Proxy proxy(server.port(), test::etcd_framing());
  const std::string prefix = "missed-grant/";
  PortClient alice(url_of(server, prefix)), bob(url_of(server, prefix)), carol(url_through(proxy, prefix));
  const Claim both = alice.wish_permits(alice.open(), "pool", 2, 2);
  const Claim bobs = bob.wish_permits(bob.open(), "pool", 1, 2);
  const Claim carols = carol.wish_permits(carol.open(), "pool", 1, 2);
  alice.must_have(both);
  EXPECT_TRUE(bob.waits(bobs));
  EXPECT_TRUE(carol.waits(carols));
  proxy.shut(true);
  proxy.cut();
  EXPECT_EQ(alice.withdraw(both).value(), Withdrawn::done);
  EXPECT_TRUE(eventually([&] { return bob.has(bobs); }));
  proxy.shut(false);
  EXPECT_TRUE(eventually([&] { return carol.has(carols); })) << "one is free";
}

TEST(EtcdPort, ATryForPermitsWhoseReplyWasLostIsNotInItsOwnWay) {
  Proxy proxy(EtcdServer::shared().port(), test::etcd_framing());
  PortClient alice(url_through(proxy, "own-permit/"));
  Claim only = alice.wish_permits(alice.open(), "pool", 1, 1);
  only.may_queue = false;
  const auto its_own = [id = to_string(only.id)](const std::string&, std::string_view request) {
    return test::etcd_message(request).find(id) != std::string::npos;
  };
  proxy.arrange(Fault::lose_reply, its_own);
  EXPECT_EQ(alice.claim(only).code(), Errc::outcome_unknown);
  EXPECT_EQ(proxy.happened(), 1U);
  EXPECT_TRUE(alice.has(only));
}

// Letters

TEST(EtcdPort, AWaiterThatIsAskedForItsLockIsStillAskedOnceItHasIt) {
  const EtcdServer& server = EtcdServer::shared();
  PortClient alice(url_of(server, "asked/")), bob(url_of(server, "asked/"));
  const Claim held = alice.wish(alice.open(), "job"), next = bob.wish(bob.open(), "job");
  alice.must_have(held);
  EXPECT_TRUE(bob.waits(next));
  EXPECT_TRUE(alice.ask_for(next));
  EXPECT_EQ(alice.withdraw(held).value(), Withdrawn::done);
  EXPECT_TRUE(eventually([&] { return bob.has(next); }));
  EXPECT_TRUE(bob.look(next).value().release_requested);
}

TEST(EtcdPort, ACandidateThatIsAskedWhileItTakesTheLeadKeepsIt) {
  const EtcdServer& server = EtcdServer::shared();
  PortClient alice(url_of(server, "asked-candidate/")), bob(url_of(server, "asked-candidate/"));
  Claim leading = alice.wish(alice.open(), "job"), next = bob.wish(bob.open(), "job");
  leading.key.kind = next.key.kind = Kind::election;
  alice.must_have(leading);
  EXPECT_TRUE(bob.waits(next));
  // Stands in for bob's taking: it comes between what carol has read and what she writes.
  const std::string record = store::etcd::Layout("asked-candidate/", false).candidate(next.key, next.id);
  const auto its_record = [&] { return store::Record::parse(server.records(record).at(0).value).value(); };
  std::atomic<bool> taken = false;
  const auto take_first = [&](const EtcdMessage& message) {
    if (message.method != "Txn" || !message.names(to_string(next.id)) || taken.exchange(true)) return;
    store::Record held = its_record();
    held.stage = store::Record::Stage::held;
    server.put(record, held.to_text(), true);
  };
  Proxy proxy(server.port(), test::etcd_framing(take_first));
  PortClient carol(url_through(proxy, "asked-candidate/"));
  EXPECT_TRUE(carol.ask_for(next));
  EXPECT_TRUE(taken);
  EXPECT_TRUE(its_record().release_requested);
  EXPECT_EQ(its_record().stage, store::Record::Stage::held);
}

// Users

TEST(EtcdPort, AWaiterWhoseRightsComeBackWaitsOn) {
  EtcdServer server({.ctl = {"--user", "root:secret"}});
  const std::vector<std::string> grant{"role", "grant-permission", "bob", "readwrite", "--prefix=true", "rights/"};
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"user", "add", "root:secret"},
                                             {"user", "grant-role", "root", "root"},
                                             {"role", "add", "bob"},
                                             grant,
                                             {"user", "add", "bob:pw"},
                                             {"user", "grant-role", "bob", "bob"},
                                             {"auth", "enable"}}) {
    server.must_ctl(words);
  }
  std::atomic<int> refusals = 0;
  const auto count = [&](const EtcdMessage& message) {
    if (message.method == "Watch" && message.message.find("permission denied") != std::string::npos) ++refusals;
  };
  Proxy proxy(server.port(), test::etcd_framing({}, count));
  const std::string at = ":" + std::to_string(proxy.port()) + "?prefix=rights/";
  PortClient alice("etcd://root:secret@" + server.address() + "?prefix=rights/"), bob("etcd://bob:pw@127.0.0.1" + at);
  const Claim held = alice.wish(alice.open(), "job"), waiting = bob.wish(bob.open(), "job");
  alice.must_have(held);
  EXPECT_TRUE(bob.waits(waiting));
  server.must_ctl({"role", "revoke-permission", "bob", "--prefix=true", "rights/"});
  proxy.cut();
  EXPECT_TRUE(eventually([&] { return refusals >= 2; })) << "its own session's, and the holder's";
  EXPECT_EQ(bob.claim(waiting).code(), Errc::permission_denied);
  server.must_ctl(grant);
  EXPECT_TRUE(eventually([&] { return bob.claim(waiting).has_value(); }));
  EXPECT_EQ(alice.withdraw(held).value(), Withdrawn::done);
  EXPECT_TRUE(eventually([&] { return bob.has(waiting); }));
}

// etcd#22082: a release that is repeated must not release what was taken after it.
TEST(EtcdPort, ARepeatedReleaseLeavesTheNextHolderAlone) {
  PortClient alice(url_of(EtcdServer::shared(), "repeated/"));
  const SessionId session = alice.open();
  const Claim first = alice.wish(session, "job"), second = alice.wish(session, "job");
  alice.must_have(first);
  EXPECT_EQ(alice.withdraw(first).value(), Withdrawn::done);
  alice.must_have(second);
  EXPECT_EQ(alice.withdraw(first).value(), Withdrawn::not_there);
  EXPECT_EQ(alice.look(second).value().place, Standing::Place::held);
}

// etcd#14704: a release of what was never claimed must not delete a key with less in its name.
TEST(EtcdPort, AReleaseOfWhatWasNeverClaimedDeletesNothing) {
  const EtcdServer& server = EtcdServer::shared();
  PortClient alice(url_of(server, "never/"));
  const SessionId session = alice.open();
  const Claim held = alice.wish(session, "job"), never = alice.wish(session, "job");
  alice.must_have(held);
  const std::size_t before = server.records("never/").size();
  EXPECT_EQ(alice.withdraw(never).value(), Withdrawn::not_there);
  EXPECT_EQ(server.records("never/").size(), before);
  EXPECT_EQ(alice.look(held).value().place, Standing::Place::held);
}

// etcd#6278: "a" waits for nobody of "ab" or "a/b".
TEST(EtcdPort, NamesThatBeginAlikeAreDifferentLocks) {
  PortClient alice(url_of(EtcdServer::shared(), "alike/"));
  const SessionId session = alice.open();
  for (const std::string name : {"ab", "a/b", "a"}) alice.must_have(alice.wish(session, name));
}

TEST(EtcdPort, ALayoutOfANewerPawlIsRefused) {
  const EtcdServer& server = EtcdServer::shared();
  server.put("newer/epoch", "pawl-epoch 2 epoch=5 store=0000000000000001 identity=x", false);
  PortClient alice(url_of(server, "newer/"));
  const Result<void> refused = alice.connect();
  EXPECT_EQ(refused.code(), Errc::unsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("layout 2"));
}

// Of a cluster that was made anew the record is gone, whatever its revisions are.
TEST(EtcdPort, AnEmptiedStoreBeginsANewEpoch) {
  const EtcdServer& server = EtcdServer::shared();
  PortClient alice(url_of(server, "emptied/"));
  const SessionId session = alice.open();
  const Claim first = alice.wish(session, "job");
  const Token before = alice.must_have(first);
  EXPECT_EQ(alice.withdraw(first).value(), Withdrawn::done);
  server.must_ctl({"del", "emptied/epoch"});
  EXPECT_GT(alice.must_have(alice.wish(session, "job")).epoch(), before.epoch());
}

}  // namespace
}  // namespace pawl
