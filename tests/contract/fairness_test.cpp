// Promise: first come, first served between clients; inside one client as well, with a bounded hand-off.

#include "tests/contract/contract.hpp"

#include <algorithm>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

namespace pawl::contract {

class Fairness : public Contract {
 protected:
  /// Where a store tells its holders that others wait: this one has been told.
  bool has_heard_of_waiters(const Actor& holder) {
    const auto told = [&] { return holder.heard(store::Notice::What::contended) > 0; };
    return (!can().knows_contention || world().eventually(told)) && list(holder).has_value();
  }
};
INSTANTIATE_TEST_SUITE_P(Schemes, Fairness, ::testing::ValuesIn(all_schemes()), line_name);

namespace {

/// Who was served, in order.
class Turns {
 public:
  void add(const std::string& who) {
    const std::lock_guard lock(mutex_);
    order_.push_back(who);
  }
  std::vector<std::string> order() const {
    const std::lock_guard lock(mutex_);
    return order_;
  }
  /// How many were served before.
  std::ptrdiff_t before(const std::string& who) const {
    const std::vector<std::string> all = order();
    return std::find(all.begin(), all.end(), who) - all.begin();
  }

 private:
  mutable std::mutex mutex_;  // guards the order
  std::vector<std::string> order_;
};

using Mutex = std::shared_ptr<lock::LockCore>;
using Turn = Started<bool>;

// Written down while the lock is held, so the list cannot lie about the order.
awaitable<bool> take_turn(Mutex mutex, Turns& turns, std::string who, Duration work) {
  const AcquireOptions options;
  Result<Hold> hold = co_await mutex->acquire(options, std::stop_token());
  if (!hold) co_return false;
  turns.add(who);
  if (work > 0s) co_await base::sleep_for(mutex->client().runtime(), work);
  co_return true;
}

Turn start_turn(const Actor& actor, const Mutex& mutex, Turns& turns, const std::string& who, Duration work = {}) {
  return start(actor, take_turn(mutex, turns, who, work));
}

void finish(std::vector<Turn>& turns) {
  for (Turn& turn : turns) EXPECT_TRUE(turn.get());
}

Hold hold_of(const Actor& actor, const Mutex& mutex) { return start_acquire(actor, mutex).get().value(); }

}  // namespace

TEST_P(Fairness, ClientsAreServedInTheOrderInWhichTheyCame) {
  PAWL_NEEDS(fair);
  const Actor alice = world().client();
  Hold hold = must_acquire(alice, "job");
  Turns turns;
  std::vector<Turn> started;
  std::vector<std::string> arrival;
  for (std::size_t i = 1; i <= 10; ++i) {
    const Actor actor = world().client();
    arrival.push_back("client " + std::to_string(i));
    started.push_back(start_turn(actor, actor.mutex("job"), turns, arrival.back()));
    ASSERT_TRUE(world().queued("job", i));
  }
  EXPECT_TRUE(release(alice, hold));
  finish(started);
  EXPECT_EQ(turns.order(), arrival);
}

TEST_P(Fairness, WhoeverAsksAgainGoesToTheBack) {
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().client(), carol = world().client();
  Turns turns;
  std::vector<Turn> started;
  Hold hold = must_acquire(alice, "job");
  started.push_back(start_turn(bob, bob.mutex("job"), turns, "bob"));
  ASSERT_TRUE(world().queued("job", 1));
  started.push_back(start_turn(carol, carol.mutex("job"), turns, "carol"));
  ASSERT_TRUE(world().queued("job", 2));

  Started<Result<void>> released = start_release_in_order(alice, hold);
  started.push_back(start_turn(alice, alice.mutex("job"), turns, "alice"));
  EXPECT_TRUE(released.get());
  finish(started);
  EXPECT_EQ(turns.order(), (std::vector<std::string>{"bob", "carol", "alice"}));
}

TEST_P(Fairness, AWaiterThatLeavesDoesNotDisturbTheOrder) {
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().client(), carol = world().client(), dave = world().client();
  Turns turns;
  std::vector<Turn> started;
  Hold hold = must_acquire(alice, "job");
  started.push_back(start_turn(bob, bob.mutex("job"), turns, "bob"));
  ASSERT_TRUE(world().queued("job", 1));
  std::stop_source stop;
  StartedHold carols = start_acquire(carol, "job", {}, stop.get_token());
  ASSERT_TRUE(world().queued("job", 2));
  started.push_back(start_turn(dave, dave.mutex("job"), turns, "dave"));
  ASSERT_TRUE(world().queued("job", 3));

  stop.request_stop();
  EXPECT_EQ(carols.get().code(), Errc::cancelled);
  ASSERT_TRUE(world().queued("job", 2));
  EXPECT_TRUE(release(alice, hold));
  finish(started);
  EXPECT_EQ(turns.order(), (std::vector<std::string>{"bob", "dave"}));
}

TEST_P(Fairness, ThreadsOfOneClientAreServedInOrder) {
  const Actor alice = world().client();
  const Mutex mutex = alice.mutex("job");
  Hold hold = hold_of(alice, mutex);
  Turns turns;
  std::vector<Turn> started;
  std::vector<std::string> arrival;
  for (int i = 0; i < 20; ++i) {
    arrival.push_back(std::to_string(i));
    started.push_back(start_turn(alice, mutex, turns, arrival.back()));
  }
  EXPECT_TRUE(release(alice, hold));
  finish(started);
  EXPECT_EQ(turns.order(), arrival);
}

TEST_P(Fairness, WithZeroPassesAnotherClientGoesFirst) {
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().client();
  const Mutex mutex = alice.mutex("job", {.local_passes = 0});
  Turns turns;
  std::vector<Turn> started;
  Hold hold = hold_of(alice, mutex);
  started.push_back(start_turn(bob, bob.mutex("job"), turns, "bob"));
  ASSERT_TRUE(world().queued("job", 1));
  started.push_back(start_turn(alice, mutex, turns, "alice"));
  EXPECT_TRUE(release(alice, hold));
  finish(started);
  EXPECT_EQ(turns.order(), (std::vector<std::string>{"bob", "alice"}));
  EXPECT_EQ(alice.metrics().local_passes, 0U);
}

TEST_P(Fairness, WithZeroPassesThreadsQueueBetweenOtherClients) {
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().client();
  const Mutex mutex = alice.mutex("job", {.local_passes = 0});
  Turns turns;
  std::vector<Turn> started;
  Hold hold = hold_of(alice, mutex);
  started.push_back(start_turn(alice, mutex, turns, "alice 1"));
  ASSERT_TRUE(world().queued("job", 1)) << "it waits in the store, not inside";
  started.push_back(start_turn(bob, bob.mutex("job"), turns, "bob"));
  ASSERT_TRUE(world().queued("job", 2));
  started.push_back(start_turn(alice, mutex, turns, "alice 2"));
  ASSERT_TRUE(world().queued("job", 3));
  EXPECT_TRUE(release(alice, hold));
  finish(started);
  EXPECT_EQ(turns.order(), (std::vector<std::string>{"alice 1", "bob", "alice 2"}));
  EXPECT_EQ(alice.metrics().sessions_opened, 1U);
}

TEST_P(Fairness, WithZeroPassesCloseReachesEveryWaiterAndHolder) {
  const Actor alice = world().client();
  const Mutex mutex = alice.mutex("job", {.local_passes = 0});
  Hold hold = hold_of(alice, mutex);
  std::vector<StartedHold> started;
  for (int i = 0; i < 40; ++i) started.push_back(start_acquire(alice, mutex));
  ASSERT_TRUE(world().queued("job", 40));
  EXPECT_TRUE(close(alice));
  for (StartedHold& waiter : started) EXPECT_EQ(waiter.get().code(), Errc::closed);
  EXPECT_EQ(hold.state(), HoldState::lost);
}

TEST_P(Fairness, WhileOthersWaitTheLockIsPassedOnInside64TimesAtMost) {
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().client();
  const Mutex mutex = alice.mutex("job", {.local_pass_time = 1h});
  Turns turns;
  std::vector<Turn> started;
  Hold hold = hold_of(alice, mutex);
  started.push_back(start_turn(bob, bob.mutex("job"), turns, "bob"));
  ASSERT_TRUE(world().queued("job", 1));
  ASSERT_TRUE(has_heard_of_waiters(alice));
  for (int i = 0; i < 100; ++i) started.push_back(start_turn(alice, mutex, turns, "alice"));
  EXPECT_TRUE(release(alice, hold));
  finish(started);
  EXPECT_EQ(turns.before("bob"), 64);
}

TEST_P(Fairness, TheNumberOfPassesIsAnOption) {
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().client();
  const Mutex mutex = alice.mutex("job", {.local_passes = 3, .local_pass_time = 1h});
  Turns turns;
  std::vector<Turn> started;
  Hold hold = hold_of(alice, mutex);
  started.push_back(start_turn(bob, bob.mutex("job"), turns, "bob"));
  ASSERT_TRUE(world().queued("job", 1));
  ASSERT_TRUE(has_heard_of_waiters(alice));
  for (int i = 0; i < 10; ++i) started.push_back(start_turn(alice, mutex, turns, "alice"));
  EXPECT_TRUE(release(alice, hold));
  finish(started);
  EXPECT_EQ(turns.before("bob"), 3);
}

// Scenario: each of alice's threads works for 4 ms. In virtual time the passes come 4 and 8 ms after bob's arrival.
TEST_P(Fairness, WhileOthersWaitTheLockStaysInsideFor10MillisecondsAtMost) {
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().client();
  const Mutex mutex = alice.mutex("job", {.local_passes = 1'000'000});
  Turns turns;
  std::vector<Turn> started;
  Hold hold = hold_of(alice, mutex);
  started.push_back(start_turn(bob, bob.mutex("job"), turns, "bob"));
  ASSERT_TRUE(world().queued("job", 1));
  ASSERT_TRUE(has_heard_of_waiters(alice));
  for (int i = 0; i < 8; ++i) started.push_back(start_turn(alice, mutex, turns, "alice", 4ms));
  if (world().virtual_time()) world().sleep(4ms);
  EXPECT_TRUE(release(alice, hold));
  finish(started);
  if (world().virtual_time()) {
    EXPECT_EQ(turns.before("bob"), 2);
  } else {
    EXPECT_LT(turns.before("bob"), 8);
  }
}

TEST_P(Fairness, WhenNobodyWaitsElsewhereTheLockStaysInside) {
  PAWL_NEEDS(knows_contention);
  const Actor alice = world().client();
  const Mutex mutex = alice.mutex("job", {.local_pass_time = 1ns});
  Hold hold = hold_of(alice, mutex);
  Turns turns;
  std::vector<Turn> started;
  for (int i = 0; i < 300; ++i) started.push_back(start_turn(alice, mutex, turns, "alice"));
  EXPECT_TRUE(release(alice, hold));
  finish(started);
  EXPECT_EQ(alice.metrics().store_claims, 1U);
  EXPECT_EQ(alice.metrics().local_passes, 300U);
}

// Scenario: the word "others wait now" is lost. The change number of the next renewal tells it all the same.
TEST_P(Fairness, AHolderLearnsThatOthersWaitAlsoWhenTheNoticeIsLost) {
  PAWL_NEEDS(knows_contention);
  const Actor alice = world().client({.lease = sturdy_lease()}), bob = world().client();
  const Mutex mutex = alice.mutex("job", {.local_passes = 0});
  alice.faults().drop_notices(true);
  Hold hold = hold_of(alice, mutex);
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  EXPECT_TRUE(world().eventually([&] { return alice.sent(Operation::look) > 0; }));
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(bobs.get());
}

TEST_P(Fairness, ADeadWaiterAtTheHeadOnlyCostsItsLease) {
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().brief_client(), carol = world().client();
  Hold hold = must_acquire(alice, "job");
  std::stop_source stop;
  StartedHold bobs = start_acquire(bob, "job", {}, stop.get_token());
  ASSERT_TRUE(world().queued("job", 1));
  StartedHold carols = start_acquire(carol, "job");
  ASSERT_TRUE(world().queued("job", 2));

  world().cut(bob);
  const Time released = world().now();
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(carols.get());
  if (world().virtual_time()) {
    EXPECT_LE(world().now() - released, world().lease() + 2ms);
  }
  stop.request_stop();
  EXPECT_FALSE(bobs.get());
}

}  // namespace pawl::contract
