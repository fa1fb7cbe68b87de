// The Redlock store at its port: what becomes of a claim whose session ends while it is asked for.

#include "base/real_runtime.hpp"
#include "base/url.hpp"
#include "store/registry.hpp"
#include "store/store.hpp"
#include "tests/redlock/nodes.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/real_work.hpp"
#include "tests/support/redis_frames.hpp"
#include "tests/support/threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>
#include <utility>
#include <variant>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using base::Deadline;
using redlock_test::key_of;
using redlock_test::nodes;
using redlock_test::nodes_with;
using store::Claim;
using store::ClaimState;
using store::SessionId;
using test::eventually;
using test::Proxy;
using test::RedisServers;

/// One client at the port, from the test's thread. A proxy stands in front of each of the five nodes.
class RedlockPort : public testing::Test {
 protected:
  RedlockPort() {
    std::string url = "redlock://";
    for (std::size_t i = 0; i < nodes; ++i) {
      proxies_.push_back(std::make_unique<Proxy>(servers_[i].port(), test::redis_framing({})));
      url += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(proxies_[i]->port());
    }
    url += "?node_timeout=500ms&prefix=p:";
    store_ = store::open_store(base::Url::parse(url).value(), runtime_).value();
    store::Surroundings surroundings;
    surroundings.timeout = 5s;
    surroundings.sessions_in_doubt = [this] { ++doubts_; };
    store_->attach(std::move(surroundings));
  }

  Deadline soon() const { return Deadline::in(runtime_.now(), 30s); }
  template <class T>
  Result<T> run(base::awaitable<Result<T>> work) {
    auto begun = test::begin(runtime_, std::move(work));
    return test::take(begun);
  }
  SessionId open(Duration lease = 60s) {
    store::SessionRequest request;
    request.lease = lease;
    return run(store_->open_session(request, soon())).value().id;
  }
  Claim wish(SessionId session, const std::string& name) {
    const store::LockKey key{Kind::mutex, store::LockName::make(name).value()};
    Claim claim{runtime_.make_id<store::ClaimId>(), session, key};
    claim.lease = 60s;
    return claim;
  }
  store::Scheme& scheme() { return *store_->scheme("majority"); }
  std::future<Result<ClaimState>> begin_claim(const Claim& wish) {
    return test::begin(runtime_, scheme().claim(wish, soon()));
  }

  /// From all nodes, until the proxies open again. The client has noticed.
  void cut_off() {
    for (const auto& proxy : proxies_) {
      const std::size_t before = proxy->accepted();
      proxy->shut(true);
      proxy->cut();
      EXPECT_TRUE(eventually([&] { return proxy->accepted() > before; })) << "it tries again";
    }
  }

  std::atomic<int> doubts_ = 0;
  RedisServers servers_{nodes};
  std::vector<std::unique_ptr<Proxy>> proxies_;
  base::RealRuntime runtime_;
  std::shared_ptr<store::Store> store_;
};

// An outage that is longer than the lease: the claim waits for a connection while its session ends.
TEST_F(RedlockPort, AClaimWhoseSessionEndsWhileItWaitsForTheNodesIsLostAndMakesNoSession) {
  const SessionId session = open();
  cut_off();
  std::future<Result<ClaimState>> claim = begin_claim(wish(session, "job"));
  ASSERT_NE(claim.wait_for(1s), std::future_status::ready) << "it waits";
  [[maybe_unused]] const Result<void> unconfirmed = run(store_->close_session(session, soon()));
  for (const auto& proxy : proxies_) proxy->shut(false);
  EXPECT_EQ(test::take(claim).code(), Errc::lost);
  EXPECT_EQ(run(store_->renew(session, soon())).code(), Errc::lost);
  EXPECT_EQ(nodes_with(servers_, key_of("p:", "job")), 0U);
}

TEST_F(RedlockPort, AClaimThatIsWithdrawnWhileItWaitsForTheNodesTakesNothing) {
  const SessionId session = open();
  cut_off();
  const Claim wanted = wish(session, "job");
  std::future<Result<ClaimState>> claim = begin_claim(wanted);
  ASSERT_NE(claim.wait_for(1s), std::future_status::ready) << "it waits";
  store::Withdrawal how;
  auto withdrawn = test::begin(runtime_, scheme().withdraw(wanted, how, soon()));
  for (const auto& proxy : proxies_) proxy->shut(false);
  EXPECT_TRUE(test::take(withdrawn));
  EXPECT_EQ(test::take(claim).code(), Errc::not_owner);
  EXPECT_EQ(nodes_with(servers_, key_of("p:", "job")), 0U);
}

// So that a holder finds out now, and not a third of its lease later.
TEST_F(RedlockPort, AMemberThatComesBackWithoutItsDataPutsTheSessionsInDoubt) {
  open();
  const int before = doubts_;
  servers_[1].kill();
  servers_[1].start();
  EXPECT_TRUE(eventually([&] { return doubts_ > before; }));
}

// Also by nodes that have forgotten it: or they would let one of their number rejoin too early.
TEST_F(RedlockPort, ALeaseIsAnnouncedAgainInANewEpochBeforeItIsUsed) {
  const SessionId session = open();
  const Claim wanted = wish(session, "job");
  for (std::size_t i = 0; i < nodes; ++i) {
    test::naive::Redis redis(servers_[i].port());
    redis.call({"FLUSHALL"});
    redis.call({"SET", key_of("p:", "job"), "bob"});
  }
  Result<ClaimState> state = run(scheme().claim(wanted, soon()));
  for (int i = 0; i < 10 && !state; ++i) state = run(scheme().claim(wanted, soon()));
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_TRUE(std::holds_alternative<store::Waiting>(*state));
  std::size_t told = 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    told += test::naive::Redis(servers_[i].port()).call({"HGET", "p:meta", "longest"}) == "60000" ? 1 : 0;
  }
  EXPECT_GE(told, 3U);
}

// In scripts of 500 each.
TEST_F(RedlockPort, ManyClaimsAreRenewedAndCountedOneByOne) {
  const SessionId session = open();
  constexpr std::size_t claims = 1201;
  std::vector<Claim> held;
  for (std::size_t i = 0; i < claims; ++i) held.push_back(wish(session, "job-" + std::to_string(i)));
  for (const Claim& claim : held) {
    const Result<ClaimState> state = run(scheme().claim(claim, soon()));
    ASSERT_TRUE(state && std::holds_alternative<store::Granted>(*state));
  }
  for (const std::size_t lost : {0U, 600U, 1200U}) {
    for (std::size_t i = 0; i < nodes; ++i) {
      test::naive::Redis(servers_[i].port()).call({"DEL", key_of("p:", held[lost].key.name.bytes())});
    }
  }
  const Result<store::Renewal> renewal = run(store_->renew(session, soon()));
  ASSERT_TRUE(renewal) << renewal.error().message;
  EXPECT_EQ(std::set(renewal->unconfirmed.begin(), renewal->unconfirmed.end()),
            (std::set{held[0].id, held[600].id, held[1200].id}));
}

}  // namespace
}  // namespace pawl
