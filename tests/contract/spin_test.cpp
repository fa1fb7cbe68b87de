// Promise: whoever spins asks again and again without a place in the queue, for a bounded time, and then queues up.

#include "tests/contract/contract.hpp"

#include <stop_token>

namespace pawl::contract {

class Spin : public Contract {
 protected:
  static constexpr LockOptions spins{.waiting = WaitStyle::spin};
  static StartedHold start(const Actor& actor, AcquireOptions options = {}, std::stop_token stop = {}) {
    return start_acquire(actor, actor.mutex("job", spins), options, std::move(stop));
  }
};
INSTANTIATE_TEST_SUITE_P(Schemes, Spin, ::testing::ValuesIn(all_schemes()), line_name);

TEST_P(Spin, AFreeLockIsHadAtOnce) {
  const Actor alice = world().client();
  EXPECT_TRUE(start(alice).get());
  EXPECT_EQ(alice.sent(Operation::claim), 1U);
}

TEST_P(Spin, ItAsksAgainAndHasNoPlaceInTheQueue) {
  const Actor alice = world().client(), bob = world().client();
  Hold held = must_acquire(alice, "job");
  StartedHold spinner = start(bob);
  ASSERT_TRUE(world().eventually([&] { return bob.sent(Operation::claim) >= 4; }));
  const bool queues = !world().view("job").waiters.empty();
  EXPECT_FALSE(queues && world().virtual_time()) << "on real time it may have spun long enough by now";
  EXPECT_TRUE(release(alice, held));
  EXPECT_GT(spinner.get().value().token(), held.token());
}

TEST_P(Spin, AfterAWhileItQueuesUp) {
  const Actor alice = world().client(), bob = world().client();
  Hold held = must_acquire(alice, "job");
  StartedHold spinner = start(bob);
  ASSERT_TRUE(world().queued("job", 1)) << "or it would burn the store for ever";
  const std::size_t asked = bob.sent(Operation::claim);
  EXPECT_LT(asked, 2000U);
  EXPECT_TRUE(release(alice, held));
  EXPECT_TRUE(spinner.get());
}

TEST_P(Spin, WhoeverGivesUpLeavesNothing) {
  const Actor alice = world().client(), bob = world().client();
  const Hold held = must_acquire(alice, "job");
  EXPECT_EQ(start(bob, {.wait = 5ms}).get().code(), Errc::timed_out);
  std::stop_source stop;
  StartedHold spinner = start(bob, {}, stop.get_token());
  stop.request_stop();
  EXPECT_EQ(spinner.get().code(), Errc::cancelled);
  EXPECT_TRUE(world().ask_until([&] { return world().view("job").waiters.empty(); }));
}

TEST_P(Spin, AnAnswerThatIsLostIsFoundAgain) {
  const Actor alice = world().impatient_client();
  const Hold opened = must_acquire(alice, "other");  // the session is open
  alice.faults().lose_next_reply(Operation::claim);
  EXPECT_TRUE(start(alice).get());
}

TEST_P(Spin, HandlesOfOneLockMustAgreeOnIt) {
  const Actor alice = world().client();
  const auto notified = alice.mutex("job");
  EXPECT_THROW(alice.mutex("job", spins), Exception);
}

}  // namespace pawl::contract
