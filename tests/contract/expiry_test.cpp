// Promise: a session that is not renewed ends by the store's own time: not before its lease (and lock-delay) is over since
// the last renewal, and not much later, however often it was renewed before. Elsewhere tests end sessions by a word to the
// store; here nothing is said, and time passes.

#include "tests/contract/contract.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace pawl::contract {

class Expiry : public Contract {
 protected:
  struct Renewed {
    Actor client;
    Hold hold;
  };
  /// A hold that was renewed often and is still valid. A machine that stands still may cost one; then there is another.
  Renewed hold_for_long(AcquireOptions options = {}) {
    constexpr std::size_t often = 6;
    for (int i = 0; i < 30; ++i) {
      const Actor alice = world().brief_client();
      Hold hold = must_acquire(alice, "job", options);
      const auto renewed = [&] { return alice.metrics().renewals >= often || !hold.valid(); };
      EXPECT_TRUE(world().eventually(renewed));
      if (hold.valid()) return {alice, std::move(hold)};
    }
    throw std::runtime_error("no hold lives long enough");
  }

  /// Cuts it off; nothing is sent for it any more. Until when it is certain to be held.
  Time silence(const Renewed& alice) {
    world().cut(alice.client);
    const Time now = world().now();
    return base::after(now, alice.hold.remaining());  // asked later, so that the sum is not too late
  }
};
INSTANTIATE_TEST_SUITE_P(Schemes, Expiry, ::testing::ValuesIn(all_schemes()), line_name);

// D1: a renewal that adds a lease to what is left, in place of beginning a new one.
TEST_P(Expiry, AHoldThatWasOftenRenewedEndsALeaseAfterItsLastRenewal) {
  PAWL_NEEDS(bounded_by_lease);
  const Actor bob = world().client();
  const Renewed alice = hold_for_long();
  for (const ClaimView& holder : world().view("job").holders) {
    // Sessions of ZooKeeper outlast a lease by half, and end with a tick.
    EXPECT_LE(holder.lease_left, 2 * world().lease()) << "renewals add up";
  }
  PAWL_NEEDS(needs_renewals);
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(waits_or_has(bobs, "job"));
  const Time held_until = silence(alice);
  EXPECT_TRUE(bobs.get());
  EXPECT_GE(world().now(), held_until);
  EXPECT_EQ(alice.hold.remaining(), 0s);
  if (world().virtual_time()) {
    EXPECT_LE(world().now() - held_until, base::drift(world().lease()) + 2ms);
  }
}

// D3: the key of `simple` or `redisson` has its lock-delay in its lease, and a renewal must not forget it.
TEST_P(Expiry, ItsLockDelayBeginsALeaseAfterItsLastRenewal) {
  PAWL_NEEDS(lock_delay);
  PAWL_NEEDS(needs_renewals);
  const Duration delay = 2 * world().lease();
  const Actor bob = world().client();
  const Renewed alice = hold_for_long({.lock_delay = delay});
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(waits_or_has(bobs, "job"));
  const Time held_until = silence(alice);
  const bool lived_until_then = alice.hold.valid();
  EXPECT_TRUE(bobs.get());
  if (lived_until_then) {
    EXPECT_GE(world().now() - held_until, delay - 5ms) << "servers may count in whole milliseconds";
  }
  if (world().virtual_time()) {
    EXPECT_LE(world().now() - held_until, delay + base::drift(world().lease()) + 2ms);
  }
}

namespace {

/// A session at the port, that nobody renews.
class Idle {
 public:
  Idle(const Actor& actor, Duration lease) : actor_(actor), lease_(lease) {
    store::SessionRequest request;
    request.lease = lease;
    session_ = await(actor_, actor_.store().open_session(request, soon())).value().id;
  }

  store::Claim wish(const std::string& name) const {
    const store::LockKey key{Kind::mutex, store::LockName::make(name).value()};
    store::Claim claim{actor_.runtime().make_id<store::ClaimId>(), session_, key};
    claim.lease = lease_;
    return claim;
  }
  Result<store::ClaimState> claim(const store::Claim& wish) const {
    return await(actor_, scheme().claim(wish, soon()));
  }
  bool granted(const store::Claim& wish) const { return std::holds_alternative<store::Granted>(claim(wish).value()); }
  Result<store::Withdrawn> withdraw(const store::Claim& claim) const {
    return await(actor_, scheme().withdraw(claim, {}, soon()));
  }
  store::Standing look(const store::Claim& claim) const { return await(actor_, scheme().look(claim, soon())).value(); }
  Result<store::Renewal> renew() const { return await(actor_, actor_.store().renew(session_, soon())); }
  void close() const { EXPECT_TRUE(await(actor_, actor_.store().close_session(session_, soon()))); }
  store::Scheme& scheme() const { return *actor_.store().scheme(actor_.world().scheme()); }

 private:
  base::Deadline soon() const { return base::Deadline::in(actor_.runtime().now(), actor_.world().hang() / 4); }

  const Actor actor_;
  const Duration lease_;
  store::SessionId session_;
};

}  // namespace

// Scenario: so many sessions end at once that a store which cleans up bit by bit has not come to each of them.
// D4: a renewal that looks whether the session is known, and not whether its time is over.
TEST_P(Expiry, ASessionWhoseTimeIsOverIsNeverRenewed) {
  PAWL_NEEDS(needs_renewals);
  const Actor alice = world().client();
  const Duration lease = can().shortest_lease;
  std::vector<Idle> sessions;
  std::vector<store::Claim> claims;
  for (int i = 0; i < 20; ++i) {
    sessions.emplace_back(alice, lease);
    claims.push_back(sessions.back().wish("job " + std::to_string(i)));
    [[maybe_unused]] const auto state = sessions.back().claim(claims.back());  // on a slow machine its time may be over
  }
  world().sleep(lease + 20ms);
  for (const Idle& session : sessions) EXPECT_EQ(session.renew().code(), Errc::lost);
}

// Scenario: the head of the queue has died, and nobody has looked since. D5: a release that makes it the holder.
TEST_P(Expiry, AWaiterWhoseTimeIsOverIsNeverGranted) {
  PAWL_NEEDS(fair);
  PAWL_NEEDS(wakes_waiters);
  PAWL_NEEDS(needs_renewals);
  const Actor clients = world().client();
  const Idle alice(clients, 60s), carol(clients, 60s);
  const store::Claim hers = alice.wish("job"), carols = carol.wish("job");
  ASSERT_TRUE(alice.granted(hers));
  // The head may be dead before the other one has queued up behind it, and is forgotten then: there will be another head.
  for (int i = 0; i < 3; ++i) {
    const Idle dead(clients, can().shortest_lease);
    [[maybe_unused]] const auto state = dead.claim(dead.wish("job"));
  }
  ASSERT_FALSE(carol.granted(carols));
  world().sleep(can().shortest_lease + 20ms);
  EXPECT_EQ(alice.withdraw(hers).value(), store::Withdrawn::done);
  // Where each claim takes the lock by itself, it looks again when its turn has come.
  const auto held = [&] { return carol.look(carols).place == store::Standing::Place::held || carol.granted(carols); };
  EXPECT_TRUE(world().eventually(held));
  EXPECT_EQ(carol.withdraw(carols).value(), store::Withdrawn::done);
  alice.close();
  carol.close();
}

}  // namespace pawl::contract
