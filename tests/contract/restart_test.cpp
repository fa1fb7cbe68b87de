// Promise: what a store declares of its restarts (survives_restart). Its server is killed, and started again.

#include "tests/contract/contract.hpp"

namespace pawl::contract {

PAWL_CONTRACT(Restart);

TEST_P(Restart, WhatIsHeldAndWaitedForIsKeptOrItsLossIsTold) {
  PAWL_NEEDS(has_server);
  // One that outlives the restart, or one that a test can wait for.
  const Duration lease = can().survives_restart ? Duration(60s) : sturdy_lease();
  const Actor alice = world().client({.lease = lease}), bob = world().client({.lease = lease}),
              carol = world().client();
  Hold hold = must_acquire(alice, "job");
  const Token token = hold.token();
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  const std::string place = world().view("job").waiters.at(0).claim;
  world().restart();
  if (can().survives_restart) {
    EXPECT_TRUE(world().queued("job", 1));
    const LockView view = world().view("job");
    EXPECT_EQ(view.holders.at(0).token, token);
    EXPECT_EQ(view.waiters.at(0).claim, place);
    EXPECT_FALSE(bobs.ready());
    EXPECT_TRUE(hold.valid());
    EXPECT_TRUE(release(alice, hold));
  } else {
    EXPECT_TRUE(world().eventually([&] { return is_lost(hold); }));
    EXPECT_EQ(hold.remaining(), 0s);
  }
  Hold next = bobs.get().value();
  EXPECT_GT(next.token(), token);
  EXPECT_TRUE(release(bob, next));
  EXPECT_TRUE(acquire(carol, "job", {.wait = world().hang()}));
}

}  // namespace pawl::contract
