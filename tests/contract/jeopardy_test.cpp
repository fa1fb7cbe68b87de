// Promise: jeopardy is told before loss, and ends when the lease is confirmed in time.

#include "tests/contract/contract.hpp"
#include "tests/contract/diary.hpp"

#include <cstdint>

namespace pawl::contract {

PAWL_CONTRACT(Jeopardy);

TEST_P(Jeopardy, ComesAThirdOfTheLeaseBeforeTheLoss) {
  const Duration lease = world().lease();
  expect_undisturbed([&] {
    const Diary diary;
    const Actor alice = world().impatient_client(diary.options(lease));
    const Time began = world().now();
    const Hold hold = must_acquire(alice, "job");
    world().cut(alice);
    EXPECT_TRUE(world().eventually([&] { return diary.has(EventType::jeopardy) || diary.has(EventType::lost); }));
    if (world().virtual_time()) {
      EXPECT_EQ(world().now() - began, lease - base::drift(lease) - lease / 3);
      EXPECT_EQ(hold.state(), HoldState::jeopardy);
      EXPECT_TRUE(hold.valid());
    }
    EXPECT_TRUE(world().eventually([&] { return diary.has(EventType::lost); }));
    if (!diary.has(EventType::jeopardy)) return "its lease was over first";
    EXPECT_EQ(diary.told(), (Told{EventType::granted, EventType::jeopardy, EventType::lost}));
    EXPECT_EQ(alice.metrics().jeopardies, 1U);
    return "";
  });
}

TEST_P(Jeopardy, EndsWhenTheLeaseIsConfirmedInTime) {
  expect_undisturbed([&] {
    const Diary diary;
    const Actor alice = world().impatient_client(diary.options(sturdy_lease()));
    Hold hold = must_acquire(alice, "job");
    world().cut(alice);
    if (!lives_until(hold, [&] { return diary.has(EventType::jeopardy); })) return "its lease was over first";
    world().heal(alice);
    if (!lives_until(hold, [&] { return diary.has(EventType::safe); })) return "its lease was over later";
    world().sleep(world().lease());
    if (hold.state() != HoldState::held || diary.told().size() > 3) return "it was in jeopardy again";
    EXPECT_FALSE(is_lost(hold));
    if (!release(alice, hold)) return "it was not released in time";
    EXPECT_TRUE(world().eventually([&] { return diary.has(EventType::released); }));
    EXPECT_EQ(diary.told(), (Told{EventType::granted, EventType::jeopardy, EventType::safe, EventType::released}));
    return "";
  });
}

TEST_P(Jeopardy, AHoldInJeopardyCanBeReleasedCleanly) {
  const Actor bob = world().client();
  expect_undisturbed([&] {
    const Diary diary;
    const Actor alice = world().impatient_client(diary.options(sturdy_lease()));
    Hold hold = must_acquire(alice, "job");
    world().cut(alice);
    if (!lives_until(hold, [&] { return diary.has(EventType::jeopardy); })) return "its lease was over first";
    world().heal(alice);
    const Result<void> released = release(alice, hold);
    if (!released) return "its lease was over later";
    EXPECT_FALSE(is_lost(hold));
    EXPECT_TRUE(try_acquire(bob, "job"));
    return "";
  });
}

TEST_P(Jeopardy, IsToldAgainWhenItComesAgain) {
  expect_undisturbed([&] {
    const Diary diary;
    const Actor alice = world().impatient_client(diary.options(sturdy_lease()));
    const Hold hold = must_acquire(alice, "job");
    for (std::uint64_t time = 1; time <= 2; ++time) {
      world().cut(alice);
      if (!lives_until(hold, [&] { return alice.metrics().jeopardies >= time; })) return "its lease was over first";
      world().heal(alice);
      if (!lives_until(hold, [&] { return hold.state() == HoldState::held; })) return "its lease was over later";
    }
    EXPECT_FALSE(is_lost(hold));
    return "";
  });
}

}  // namespace pawl::contract
