// Promise: no more permits are held than there are; each has a slot, and a token that grows.

#include "tests/contract/contract.hpp"

#include <pawl/fence.hpp>

#include <algorithm>
#include <set>
#include <vector>

namespace pawl::contract {

class Permits : public Contract {
 protected:
  static StartedHold start(const Actor& actor, std::uint32_t wanted, std::uint32_t of, AcquireOptions options = {}) {
    lock::Wanted what;
    what.permits = {wanted, of};
    return start_acquire(actor, actor.lock(Kind::permits, "job"), options, {}, what);
  }
  static Hold take(const Actor& actor, std::uint32_t wanted, std::uint32_t of, AcquireOptions options = {}) {
    return start(actor, wanted, of, options).get().value();
  }
  static Errc try_take(const Actor& actor, std::uint32_t wanted, std::uint32_t of) {
    return start(actor, wanted, of, {.wait = 0s}).get().code();
  }
  static std::set<std::uint32_t> slots_of(const Hold& hold) {
    std::set<std::uint32_t> slots;
    for (std::size_t i = 0; i < hold.permits(); ++i) slots.insert(hold.sequencer(i).slot.value());
    return slots;
  }
  bool queued(std::size_t waiters) { return world().queued("job", waiters, Kind::permits); }
};
INSTANTIATE_TEST_SUITE_P(Schemes, Permits, ::testing::ValuesIn(all_schemes()), line_name);

TEST_P(Permits, AsManyAsThereAreAreHeldAtTheSameTime) {
  PAWL_NEEDS(permits);
  const Actor alice = world().client(), bob = world().client();
  Hold one = take(alice, 1, 3), two = take(alice, 1, 3), three = take(bob, 1, 3);
  EXPECT_EQ(try_take(bob, 1, 3), Errc::busy);
  EXPECT_TRUE(release(alice, one));
  EXPECT_EQ(try_take(bob, 1, 3), no_error);
}

TEST_P(Permits, EveryHolderHasASlotOfItsOwn) {
  PAWL_NEEDS(permits);
  const Actor alice = world().client();
  std::set<std::uint32_t> all;
  std::vector<Hold> holds;
  for (int i = 0; i < 5; ++i) holds.push_back(take(alice, 1, 5));
  for (const Hold& hold : holds) all.merge(slots_of(hold));
  EXPECT_EQ(all, (std::set<std::uint32_t>{0, 1, 2, 3, 4}));
}

TEST_P(Permits, SeveralAreTakenTogetherOrNotAtAll) {
  PAWL_NEEDS(permits);
  const Actor alice = world().client(), bob = world().client();
  Hold three = take(alice, 3, 5);
  EXPECT_EQ(three.permits(), 3U);
  EXPECT_EQ(slots_of(three).size(), 3U);
  EXPECT_EQ(try_take(bob, 3, 5), Errc::busy);
  EXPECT_EQ(try_take(bob, 2, 5), no_error);
  EXPECT_TRUE(release(alice, three));
  EXPECT_EQ(take(bob, 5, 5).permits(), 5U);
}

TEST_P(Permits, WhoeverWantsManyIsNotOvertakenByThoseWhoWantFew) {
  PAWL_NEEDS(permits);
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().client(), carol = world().client();
  Hold hold = take(alice, 2, 3);
  StartedHold many = start(bob, 3, 3);
  ASSERT_TRUE(queued(1));
  EXPECT_EQ(try_take(carol, 1, 3), Errc::busy);
  StartedHold few = start(carol, 1, 3);
  ASSERT_TRUE(queued(2));
  EXPECT_TRUE(release(alice, hold));
  Hold all = many.get().value();
  EXPECT_FALSE(few.ready());
  EXPECT_TRUE(release(bob, all));
  EXPECT_TRUE(few.get());
}

TEST_P(Permits, TheNumberIsAgreedWhileAnybodyHoldsOrWaits) {
  PAWL_NEEDS(permits);
  const Actor alice = world().client(), bob = world().client();
  Hold hold = take(alice, 1, 3);
  const Result<Hold> refused = start(bob, 1, 5).get();
  ASSERT_EQ(refused.code(), Errc::invalid_argument);
  EXPECT_NE(refused.error().message.find('3'), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find('5'), std::string::npos) << refused.error().message;
  EXPECT_TRUE(release(alice, hold));
  EXPECT_EQ(try_take(bob, 1, 5), no_error) << "nobody uses it any more: a new number";
}

TEST_P(Permits, WhatCanNeverBeHadIsRefused) {
  PAWL_NEEDS(permits);
  const Actor alice = world().client();
  EXPECT_EQ(try_take(alice, 4, 3), Errc::invalid_argument);
  EXPECT_EQ(try_take(alice, 0, 3), Errc::invalid_argument);
}

TEST_P(Permits, APermitWhoseHolderFailedStaysTakenForItsLockDelayAndTheOthersDoNot) {
  PAWL_NEEDS(permits);
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = take(alice, 1, 2, {.lock_delay = 60s});
  world().expire(alice);
  const Hold other = take(bob, 1, 2);
  EXPECT_NE(slots_of(other), slots_of(hold));
  EXPECT_EQ(try_take(bob, 1, 2), Errc::busy);
}

TEST_P(Permits, TheFenceGuardsEverySlot) {
  PAWL_NEEDS(permits);
  const Actor alice = world().client(), bob = world().client();
  Fence fence(Kind::permits, "job");
  const auto nothing = [] {};
  const Hold overtaken = take(alice, 2, 2);
  EXPECT_TRUE(fence.admit(overtaken.sequencer(0), nothing));
  world().expire(alice);
  const Hold next = take(bob, 1, 2);
  EXPECT_TRUE(fence.admit(next.sequencer(), nothing));
  const bool first = next.sequencer().slot == overtaken.sequencer(0).slot;
  EXPECT_EQ(fence.admit(overtaken.sequencer(first ? 0 : 1), nothing).code(), Errc::overtaken);
  EXPECT_TRUE(fence.admit(overtaken.sequencer(first ? 1 : 0), nothing)) << "nobody has that permit yet";
}

TEST_P(Permits, AThousandAreTakenAtOnceAndTheNextInLineIsServed) {
  PAWL_NEEDS(permits);
  constexpr std::uint32_t all = 1'000;
  const Actor alice = world().client(), bob = world().client();
  Hold one = take(bob, 1, all);
  StartedHold waits = start(alice, all, all);
  ASSERT_TRUE(queued(1));
  EXPECT_TRUE(release(bob, one));
  Hold hold = waits.get().value();
  EXPECT_EQ(slots_of(hold).size(), all);
  const std::vector<ClaimView> holders = world().view("job", Kind::permits).holders;
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_EQ(std::set<std::uint32_t>(holders.front().slots.begin(), holders.front().slots.end()), slots_of(hold));
  EXPECT_EQ(try_take(bob, 1, all), Errc::busy);
  StartedHold next = start(bob, 1, all);
  ASSERT_TRUE(queued(1));
  EXPECT_TRUE(release(alice, hold));
  EXPECT_EQ(next.get().value().permits(), 1U);
}

TEST_P(Permits, ManyClientsNeverHoldMoreThanThereAre) {
  PAWL_NEEDS(permits);
  constexpr std::uint32_t all = 4;
  std::vector<Actor> actors;
  std::vector<StartedHold> started;
  for (int i = 0; i < 12; ++i) {
    actors.push_back(world().client());
    started.push_back(start(actors.back(), 1 + static_cast<std::uint32_t>(i) % 3, all));
  }
  for (std::size_t left = started.size(); left > 0; --left) {
    const auto ready = [](const StartedHold& one) { return one.ready(); };
    ASSERT_TRUE(world().eventually([&] { return std::any_of(started.begin(), started.end(), ready); }));
    const auto one = std::find_if(started.begin(), started.end(), ready);
    const Hold hold = one->get().value();  // released at the end of this round
    started.erase(one);
    std::size_t held = 0;
    for (const ClaimView& holder : world().view("job", Kind::permits).holders) held += holder.slots.size();
    EXPECT_LE(held, all);
  }
}

TEST_P(Permits, WhoFindsTooFewIsToldHowManyAreTakenAndInLockDelay) {
  PAWL_NEEDS(permits);
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().client(), bob = world().client(), carol = world().client();
  const auto refused = [&] { return start(carol, 3, 4, {.wait = 0s}).get().error().message; };
  const Hold two = take(bob, 2, 4);
  EXPECT_EQ(refused(), "\"job\" has 2 of 4 permits taken");
  const Hold one = take(alice, 1, 4, {.lock_delay = 60s});
  EXPECT_EQ(refused(), "\"job\" has 3 of 4 permits taken");
  world().expire(alice);
  const std::string message = start(carol, 2, 4, {.wait = 0s}).get().error().message;
  EXPECT_EQ(message, "\"job\" has 2 of 4 permits taken and 1 in lock-delay");
}

}  // namespace pawl::contract
