// The etcd store at its port: what a claim may not become, and what a cluster may not forget unnoticed.

#include "base/real_runtime.hpp"
#include "base/url.hpp"
#include "store/registry.hpp"
#include "store/store.hpp"
#include "tests/support/etcd_server.hpp"
#include "tests/support/real_work.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <variant>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using base::Deadline;
using store::Claim;
using store::ClaimState;
using store::Granted;
using store::SessionId;
using store::Standing;
using store::Withdrawn;
using test::EtcdServer;
using testing::HasSubstr;

/// One client at the port, from the test's thread.
class PortClient {
 public:
  explicit PortClient(const std::string& url)
      : store_(store::open_store(base::Url::parse(url).value(), runtime_).value()) {
    store::Surroundings surroundings;
    surroundings.timeout = 5s;
    store_->attach(std::move(surroundings));
  }

  Deadline soon() const { return Deadline::in(runtime_.now(), 30s); }
  Result<void> connect() { return run(store_->connect(soon())); }
  SessionId open(Duration lease = 60s) {
    store::SessionRequest request;
    request.lease = lease;
    return run(store_->open_session(request, soon())).value().id;
  }
  Result<store::Renewal> renew(SessionId session) { return run(store_->renew(session, soon())); }
  Claim wish(SessionId session, const std::string& name) {
    const store::LockKey key{Kind::mutex, store::LockName::make(name).value()};
    Claim claim{runtime_.make_id<store::ClaimId>(), session, key};
    claim.lease = 60s;
    return claim;
  }
  Result<ClaimState> claim(const Claim& wish) { return run(scheme().claim(wish, soon())); }
  Token must_have(const Claim& wish) { return std::get<Granted>(claim(wish).value()).token; }
  bool waits(const Claim& wish) { return std::holds_alternative<store::Waiting>(claim(wish).value()); }
  Result<Withdrawn> withdraw(const Claim& claim, store::Withdrawal how = {}) {
    return run(scheme().withdraw(claim, how, soon()));
  }
  Result<Standing> look(const Claim& claim) { return run(scheme().look(claim, soon())); }
  std::uint64_t epoch() { return run(store_->epoch(soon())).value(); }

 private:
  template <class T>
  Result<T> run(base::awaitable<Result<T>> work) {
    auto begun = test::begin(runtime_, std::move(work));
    return test::take(begun);
  }
  store::Scheme& scheme() { return *store_->scheme("queue"); }

  base::RealRuntime runtime_;
  const std::shared_ptr<store::Store> store_;
};

std::string url_of(const EtcdServer& server, const std::string& prefix) { return server.url("?prefix=" + prefix); }

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
