// Promise: what happens to a client's locks is told in order, and counted.

#include "tests/contract/contract.hpp"
#include "tests/contract/diary.hpp"

#include <string>
#include <vector>

namespace pawl::contract {

class Observer : public Contract {
 protected:
  /// Waits until that many events were told.
  std::vector<Event> events(const Diary& diary, std::size_t count) {
    EXPECT_TRUE(world().eventually([&] { return diary.events().size() >= count; }));
    return diary.events();
  }
};
INSTANTIATE_TEST_SUITE_P(Schemes, Observer, ::testing::ValuesIn(all_schemes()), line_name);

TEST_P(Observer, AQuietLifeIsGrantedAndReleased) {
  const Diary diary;
  const Actor alice = world().client(diary.options(30s));
  Hold hold = must_acquire(alice, "job");
  world().sleep(a_moment());
  EXPECT_TRUE(release(alice, hold));
  const std::vector<Event> told = events(diary, 2);
  EXPECT_EQ(diary.told(), (Told{EventType::granted, EventType::released}));
  for (const Event& event : told) {
    EXPECT_EQ(event.name, "job");
    EXPECT_EQ(event.kind, Kind::mutex);
    EXPECT_EQ(event.token, hold.token());
  }
  EXPECT_GE(told[1].elapsed, a_moment());
}

TEST_P(Observer, AWaiterIsToldThatItWaitsAndForHowLongItDid) {
  const Diary diary;
  const Actor alice = world().client(), bob = world().client(diary.options(30s));
  Hold hold = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_EQ(events(diary, 1).at(0).type, EventType::waiting);
  world().sleep(a_moment());
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(bobs.get());
  const std::vector<Event> told = events(diary, 2);
  EXPECT_EQ(told[1].type, EventType::granted);
  EXPECT_GE(told[1].elapsed, a_moment());
}

TEST_P(Observer, ALossIsToldWithItsTokenAndASentence) {
  const Diary diary;
  const Actor alice = world().client(diary.options(world().lease()));
  const Hold hold = must_acquire(alice, "job");
  world().expire(alice);
  EXPECT_TRUE(world().eventually([&] { return diary.has(EventType::lost); }));
  const Event told = diary.events().back();  // before it, perhaps jeopardy
  EXPECT_EQ(told.type, EventType::lost);
  EXPECT_EQ(told.token, hold.token());
  EXPECT_FALSE(told.message.empty());
}

TEST_P(Observer, WhatWasUndoneIsTold) {
  const Diary diary;
  const Actor alice = world().impatient_client(diary.options(30s));
  { const Hold opened = must_acquire(alice, "other"); }
  alice.faults().delay_all(2 * world().timeout());
  std::stop_source stop;
  StartedHold alices = start_acquire(alice, "job", {}, stop.get_token());
  ASSERT_TRUE(world().eventually([&] { return alice.sent(Operation::claim) >= 2; }));
  stop.request_stop();
  EXPECT_EQ(alices.get().code(), Errc::cancelled);
  alice.faults().delay_all(0s);
  EXPECT_TRUE(world().eventually([&] { return diary.has(EventType::undone); }));
}

TEST_P(Observer, LocalPassesAreToldLikeAnyGrant) {
  const Diary diary;
  const Actor alice = world().client(diary.options(30s));
  Hold first = must_acquire(alice, "job");
  StartedHold next = start_acquire(alice, "job");
  EXPECT_TRUE(release(alice, first));
  Hold second = next.get().value();
  EXPECT_TRUE(release(alice, second));
  EXPECT_EQ(events(diary, 4).size(), 4U);
  EXPECT_EQ(diary.told(), (Told{EventType::granted, EventType::released, EventType::granted, EventType::released}));
}

TEST_P(Observer, OutcomesAreCounted) {
  const Actor alice = world().client(), bob = world().client();
  Hold hold = must_acquire(alice, "job");
  EXPECT_FALSE(try_acquire(bob, "job"));
  EXPECT_FALSE(acquire(bob, "job", {.wait = a_moment()}));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(acquire(bob, "job", {}, stop.get_token()));
  EXPECT_TRUE(release(alice, hold));

  const Metrics alices = alice.metrics(), bobs = bob.metrics();
  EXPECT_EQ(alices.granted, 1U);
  EXPECT_EQ(alices.released, 1U);
  EXPECT_EQ(alices.lost, 0U);
  EXPECT_EQ(alices.store_claims, 1U);
  EXPECT_EQ(alices.sessions_opened, 1U);
  EXPECT_EQ(bobs.granted, 0U);
  EXPECT_EQ(bobs.busy, 1U);
  EXPECT_EQ(bobs.timed_out, 1U);
  EXPECT_EQ(bobs.cancelled, 1U);
}

TEST_P(Observer, EverythingIsToldBeforeCloseReturns) {
  const Diary diary;
  const Actor alice = world().client(diary.options(30s));
  Hold hold = must_acquire(alice, "job");
  EXPECT_TRUE(close(alice));
  EXPECT_EQ(diary.told(), (Told{EventType::granted, EventType::lost}));
}

TEST_P(Observer, FailuresAreCounted) {
  const Actor alice = world().impatient_client();
  alice.faults().refuse(true);
  EXPECT_FALSE(acquire(alice, "job"));
  EXPECT_EQ(alice.metrics().failed, 1U);
  EXPECT_EQ(alice.metrics().granted, 0U);
}

TEST_P(Observer, LatenciesAreMeasured) {
  const Actor alice = world().client(), bob = world().client();
  Hold hold = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job");
  ASSERT_TRUE(world().queued("job", 1));
  world().sleep(a_moment());
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(bobs.get());
  EXPECT_EQ(alice.metrics().hold.count, 1U);
  EXPECT_GE(alice.metrics().hold.total, a_moment());
  EXPECT_EQ(bob.metrics().wait.count, 1U);
  EXPECT_GE(bob.metrics().wait.total, a_moment());
  EXPECT_GE(bob.metrics().wait.quantile(0.5), a_moment() / 2);
}

TEST_P(Observer, AnotherKindOfTheSameNameIsToldOnceToWhomeverIsGrantedLater) {
  PAWL_NEEDS(shared_mode);
  const Diary alices, bobs;
  const Actor alice = world().client(alices.options(30s)), bob = world().client(bobs.options(30s));
  const auto mixed = [](const Diary& diary) {
    std::vector<Event> found = diary.events();
    std::erase_if(found, [](const Event& event) { return event.type != EventType::other_kind; });
    return found;
  };
  const Hold mutex = must_acquire(alice, "job");
  ASSERT_TRUE(world().eventually([&] { return alice.sent(Operation::inspect) > 1; })) << "she has looked for a rw lock";
  Hold writer = start_acquire(bob, bob.lock(Kind::rw, "job")).get().value();
  ASSERT_TRUE(world().eventually([&] { return mixed(bobs).size() == 1; }));
  EXPECT_EQ(mixed(bobs)[0].name, "job");
  EXPECT_EQ(mixed(bobs)[0].kind, Kind::rw);
  EXPECT_EQ(mixed(bobs)[0].message, "\"job\" is also in use as a mutex: a rw lock does not exclude it");
  EXPECT_TRUE(release(bob, writer));

  Hold again = start_acquire(bob, bob.lock(Kind::rw, "job")).get().value();
  Hold other = start_acquire(bob, bob.lock(Kind::rw, "other")).get().value();
  EXPECT_TRUE(close(alice));
  EXPECT_TRUE(close(bob));
  EXPECT_EQ(mixed(bobs).size(), 1U) << "once for each lock, and not of another name";
  EXPECT_TRUE(mixed(alices).empty()) << "it was the only one when it came";
}

TEST_P(Observer, TwoKindsOfOneNameInOneClientAreToldToo) {
  PAWL_NEEDS(election);
  const Diary diary;
  const Actor alice = world().client(diary.options(30s));
  const Hold mutex = must_acquire(alice, "job");
  const Hold lead = start_acquire(alice, alice.lock(Kind::election, "job")).get().value();
  EXPECT_TRUE(world().eventually([&] { return diary.has(EventType::other_kind); }));
}

TEST_P(Observer, WithoutAnObserverNobodyLooksForOtherKindsAndWithOneOnlyNowAndThen) {
  PAWL_NEEDS(shared_mode);
  const Diary diary;
  const Actor alice = world().client(), bob = world().client(diary.options(30s));
  constexpr std::size_t kinds = 3;
  const auto take_many = [&](const Actor& actor) {
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(acquire(actor, "job " + std::to_string(i)));
  };
  take_many(alice);
  EXPECT_EQ(alice.sent(Operation::inspect), 0U);
  const Time began = world().now();
  take_many(bob);
  const auto seconds = static_cast<std::size_t>(std::chrono::ceil<std::chrono::seconds>(world().now() - began).count());
  EXPECT_TRUE(close(bob));
  EXPECT_LE(bob.sent(Operation::inspect), kinds * (lock::LookAllowance::at_once + seconds));
}

}  // namespace pawl::contract
