// Promise: jeopardy is told before loss, and ends when the lease is confirmed in time.

#include "tests/contract/contract.hpp"
#include "tests/contract/diary.hpp"

#include <cstdint>

namespace pawl::contract {

PAWL_CONTRACT(Jeopardy);

TEST_P(Jeopardy, ComesAThirdOfTheLeaseBeforeTheLoss) {
  const Diary diary;
  const Actor alice = world().client(diary.options(world().lease()));
  const Time began = world().now();
  const Hold hold = must_acquire(alice, "job");
  world().cut(alice);
  EXPECT_TRUE(world().eventually([&] { return diary.has(EventType::jeopardy); }));
  const Duration lease = world().lease();
  if (world().virtual_time()) {
    EXPECT_EQ(world().now() - began, lease - base::drift(lease) - lease / 3);
    EXPECT_EQ(hold.state(), HoldState::jeopardy);
    EXPECT_TRUE(hold.valid());
  }
  EXPECT_TRUE(world().eventually([&] { return diary.has(EventType::lost); }));
  EXPECT_EQ(diary.told(), (Told{EventType::granted, EventType::jeopardy, EventType::lost}));
  EXPECT_EQ(alice.metrics().jeopardies, 1U);
}

TEST_P(Jeopardy, EndsWhenTheLeaseIsConfirmedInTime) {
  const Diary diary;
  const Actor alice = world().client(diary.options(sturdy_lease()));
  Hold hold = must_acquire(alice, "job");
  world().cut(alice);
  ASSERT_TRUE(world().eventually([&] { return diary.has(EventType::jeopardy); }));
  world().heal(alice);
  ASSERT_TRUE(world().eventually([&] { return diary.has(EventType::safe); }));
  EXPECT_EQ(hold.state(), HoldState::held);
  world().sleep(world().lease());
  EXPECT_TRUE(hold.valid());
  EXPECT_FALSE(hold.lost().stop_requested());
  EXPECT_TRUE(release(alice, hold));
  ASSERT_TRUE(world().eventually([&] { return diary.has(EventType::released); }));
  EXPECT_EQ(diary.told(), (Told{EventType::granted, EventType::jeopardy, EventType::safe, EventType::released}));
}

TEST_P(Jeopardy, AHoldInJeopardyCanBeReleasedCleanly) {
  const Diary diary;
  const Actor alice = world().client(diary.options(sturdy_lease()));
  const Actor bob = world().client();
  Hold hold = must_acquire(alice, "job");
  world().cut(alice);
  ASSERT_TRUE(world().eventually([&] { return diary.has(EventType::jeopardy); }));
  world().heal(alice);
  EXPECT_TRUE(release(alice, hold));
  EXPECT_FALSE(hold.lost().stop_requested());
  EXPECT_TRUE(try_acquire(bob, "job"));
}

TEST_P(Jeopardy, IsToldAgainWhenItComesAgain) {
  const Diary diary;
  const Actor alice = world().client(diary.options(sturdy_lease()));
  const Hold hold = must_acquire(alice, "job");
  for (std::uint64_t time = 1; time <= 2; ++time) {
    world().cut(alice);
    ASSERT_TRUE(world().eventually([&] { return alice.metrics().jeopardies == time; }));
    world().heal(alice);
    ASSERT_TRUE(world().eventually([&] { return hold.state() == HoldState::held; }));
  }
  EXPECT_FALSE(hold.lost().stop_requested());
}

}  // namespace pawl::contract
