// Promise: several locks are had together or not at all, and two who want several never wait for each other.

#include "tests/contract/contract.hpp"
#include "tests/contract/diary.hpp"

#include "lock/multi_core.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace pawl::contract {

class Several : public Contract {
 protected:
  using Plan = std::shared_ptr<lock::MultiPlan>;

  static Plan mutexes(const Actor& actor, const std::vector<std::string>& names) {
    auto plan = std::make_shared<lock::MultiPlan>();
    for (const std::string& name : names) plan->parts.push_back({actor.mutex(name)});
    return plan;
  }
  static Started<Result<MultiHold>> start(const Actor& actor, const Plan& plan, AcquireOptions options = {},
                                          std::stop_token stop = {}) {
    return scene::start(actor, lock::MultiPlan::acquire(plan, options, std::move(stop)));
  }
  static Result<MultiHold> take(const Actor& actor, const std::vector<std::string>& names,
                                AcquireOptions options = {}) {
    return start(actor, mutexes(actor, names), options).get();
  }
  static Result<void> let_go(const Actor& actor, const MultiHold& hold) {
    return await(actor, lock::MultiHoldCore::release(lock::Access::core(hold)));
  }
  bool is_free(std::string_view name) {
    return world().view(name).holders.empty() && world().view(name).waiters.empty();
  }
};
INSTANTIATE_TEST_SUITE_P(Schemes, Several, ::testing::ValuesIn(all_schemes()), line_name);

TEST_P(Several, AllOfThemAreHeldAndStandAsTheyWereNamed) {
  const Actor alice = world().client(), bob = world().client();
  const MultiHold all = take(alice, {"c", "a", "b"}).value();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].sequencer().name, "c");
  EXPECT_EQ(all[1].sequencer().name, "a");
  EXPECT_TRUE(all.valid());
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(try_acquire(bob, name).code(), Errc::busy);
  EXPECT_TRUE(let_go(alice, all));
  EXPECT_FALSE(all.valid());
  EXPECT_TRUE(take(bob, {"a", "b", "c"}, {.wait = 0s}));
}

TEST_P(Several, IfOneIsTakenNoneIsKept) {
  const Actor alice = world().client(), bob = world().client();
  const Hold taken = must_acquire(bob, "b");
  EXPECT_EQ(take(alice, {"a", "b", "c"}, {.wait = 0s}).code(), Errc::busy);
  EXPECT_TRUE(world().ask_until([&] { return is_free("a"); }));
  EXPECT_TRUE(world().ask_until([&] { return is_free("c"); }));
  expect_undisturbed([&]() -> std::string {
    const Result<MultiHold> late = take(alice, {"a", "b", "c"}, {.wait = 1s});  // enough to get as far as b
    EXPECT_EQ(late.code(), Errc::timed_out);
    return late.error().message.find('b') == std::string::npos ? late.error().message : std::string();
  });
  EXPECT_TRUE(world().ask_until([&] { return is_free("a"); }));
  EXPECT_TRUE(world().ask_until([&] { return world().view("b").waiters.empty(); }));
}

TEST_P(Several, AWaitThatIsCancelledLeavesNothing) {
  const Actor alice = world().client(), bob = world().client();
  const Hold taken = must_acquire(bob, "b");
  std::stop_source stop;
  Started<Result<MultiHold>> wait = start(alice, mutexes(alice, {"b", "a"}), {}, stop.get_token());
  ASSERT_TRUE(world().queued("b", 1));
  stop.request_stop();
  EXPECT_EQ(wait.get().code(), Errc::cancelled);
  EXPECT_TRUE(world().ask_until([&] { return is_free("a"); }));
  EXPECT_TRUE(world().ask_until([&] { return world().view("b").waiters.empty(); }));
}

TEST_P(Several, WhoeverNamesThemInAnotherOrderIsNotInTheWay) {
  const Actor alice = world().client(), bob = world().client();
  for (int round = 0; round < 20; ++round) {
    Started<Result<MultiHold>> one = start(alice, mutexes(alice, {"a", "b", "c"}));
    Started<Result<MultiHold>> other = start(bob, mutexes(bob, {"c", "b", "a"}));
    const bool alice_first = world().eventually([&] { return one.ready() || other.ready(); }) && one.ready();
    auto& first = alice_first ? one : other;
    auto& second = alice_first ? other : one;
    {
      const MultiHold hold = first.get().value();
      EXPECT_TRUE(hold.valid());
      EXPECT_FALSE(second.ready());
    }
    EXPECT_TRUE(second.get());
  }
}

TEST_P(Several, OneThatIsNamedTwiceIsRefused) {
  const Actor alice = world().client();
  const Result<MultiHold> twice = take(alice, {"a", "b", "a"});
  EXPECT_EQ(twice.code(), Errc::invalid_argument);
  EXPECT_EQ(take(alice, {}).code(), Errc::invalid_argument);
}

TEST_P(Several, TheLossOfOneIsTheLossOfAll) {
  const Actor alice = world().client(), bob = world().client();
  const MultiHold all = take(alice, {"a", "b"}).value();
  EXPECT_FALSE(all.lost().stop_requested());
  ASSERT_TRUE(revoke(bob, "b", {.now = true}));
  EXPECT_TRUE(world().eventually([&] { return all.lost().stop_requested(); }));
  EXPECT_FALSE(all.valid());
  EXPECT_EQ(all.remaining(), Duration::zero());
  EXPECT_TRUE(all[0].valid()) << "each of them stands for itself";
}

TEST_P(Several, WhatIsLostDuringTheWaitIsTakenAgain) {
  const Actor alice = world().client(), bob = world().client();
  Hold taken = must_acquire(bob, "b");
  Started<Result<MultiHold>> wait = start(alice, mutexes(alice, {"a", "b"}));
  ASSERT_TRUE(world().queued("b", 1));
  ASSERT_TRUE(revoke(bob, "a", {.now = true}));
  ASSERT_TRUE(world().eventually([&] { return alice.metrics().lost == 1; })) << "she must know before she gets b";
  EXPECT_TRUE(release(bob, taken));
  const MultiHold all = wait.get().value();
  EXPECT_TRUE(all.valid());
  EXPECT_FALSE(world().view("a").holders.empty());
}

TEST_P(Several, AnAnswerThatIsLostInTheMiddleLeavesNothingHalfTaken) {
  const Actor alice = world().impatient_client(), bob = world().client();
  const Hold taken = must_acquire(bob, "c"), opened = must_acquire(alice, "other");
  expect_undisturbed([&] {
    alice.faults().lose_next_reply(Operation::claim);
    const Errc tried = take(alice, {"a", "b", "c"}, {.wait = 0s}).code();
    EXPECT_TRUE(world().ask_until([&] { return is_free("a") && is_free("b"); }));
    const bool late = tried == Errc::store_unavailable || tried == Errc::outcome_unknown;
    if (late && !world().virtual_time()) return "it was not asked again in time";
    EXPECT_EQ(tried, Errc::busy);
    return "";
  });
}

// Scenario: every claim, then every release, loses its request or its answer once.
TEST_P(Several, WhateverIsLostOnTheWayAllAreHadOrNone) {
  const Actor alice = world().impatient_client(), bob = world().client();
  const Hold opened = must_acquire(alice, "other");
  const auto held = [&] {
    int count = 0;
    for (const char* name : {"a", "b", "c"}) count += static_cast<int>(world().view(name).holders.size());
    return count;
  };
  const auto all_free = [&] { return is_free("a") && is_free("b") && is_free("c"); };
  for (const bool replies : {false, true}) {
    const auto lose_three = [&](Operation operation) {
      for (int i = 0; i < 3; ++i) {
        replies ? alice.faults().lose_next_reply(operation) : alice.faults().lose_next_request(operation);
      }
    };
    lose_three(Operation::claim);
    const MultiHold all = take(alice, {"a", "b", "c"}, {.wait = world().hang()}).value();
    EXPECT_TRUE(all.valid());
    EXPECT_EQ(held(), 3);
    lose_three(Operation::withdraw);
    [[maybe_unused]] const Result<void> released = let_go(alice, all);  // or it goes on in the background
    EXPECT_TRUE(world().ask_until(all_free));
    Hold taken = must_acquire(bob, "c");
    lose_three(Operation::claim);
    EXPECT_FALSE(take(alice, {"a", "b", "c"}, {.wait = 0s}));
    EXPECT_TRUE(world().ask_until([&] { return held() == 1; })) << "only bob's";
    EXPECT_TRUE(release(bob, taken));
    EXPECT_TRUE(world().ask_until(all_free));
  }
}

// They come one after the other, and the first one is over each time when the last one comes. Contention alone could be the
// reason, so that it goes on as long as it may; each time it is told.
TEST_P(Several, AMaxHoldThatIsOverBeforeTheLastOneComesIsToldEachTimeAndTheWaitGoesOn) {
  const Diary diary;
  const Actor alice = world().client(diary.options(sturdy_lease()));
  const Duration step = world().virtual_time() ? 500ms : 60ms;
  alice.faults().delay_all(step);
  const Plan plan = mutexes(alice, {"a", "b", "c"});
  std::stop_source stop;
  Started<Result<MultiHold>> wait = start(alice, plan, {.max_hold = step + step / 2}, stop.get_token());
  const auto times_told = [&] {
    const std::vector<Event> events = diary.events();
    return std::count_if(events.begin(), events.end(), [](const Event& event) {
      return event.type == EventType::lost && event.name == "a" && event.message.find("max_hold") != std::string::npos;
    });
  };
  EXPECT_TRUE(world().eventually([&] { return times_told() >= 3; }));
  EXPECT_FALSE(wait.ready());
  stop.request_stop();
  EXPECT_EQ(wait.get().code(), Errc::cancelled);
  const Result<MultiHold> bounded = take(alice, {"a", "b", "c"}, {.wait = 5 * step, .max_hold = step + step / 2});
  EXPECT_EQ(bounded.code(), Errc::timed_out);
  EXPECT_TRUE(world().ask_until([&] { return is_free("a") && is_free("b") && is_free("c"); }));
}

TEST_P(Several, AStoreThatIsSilentDoesNotKeepTheOthersShut) {
  const Actor alice = world().impatient_client(), bob = world().client();
  const Hold opened = must_acquire(alice, "other");
  const MultiHold all = take(alice, {"a", "b", "c"}).value();
  alice.faults().lose_next_reply(Operation::withdraw);
  Started<Result<void>> release = scene::start(alice, lock::MultiHoldCore::release(lock::Access::core(all)));
  EXPECT_TRUE(acquire(bob, "a", {.wait = world().hang()}));
  EXPECT_TRUE(acquire(bob, "b", {.wait = world().hang()}));
  const Errc released = release.get().code();
  const bool late = released == Errc::outcome_unknown && !world().virtual_time();  // a machine stood still
  EXPECT_TRUE(released == no_error || late) << to_string(released);
}

TEST_P(Several, ItMayBeLetGoInsideItsOwnLossSignal) {
  const Actor alice = world().client(), bob = world().client();
  std::optional<MultiHold> all(take(alice, {"a", "b"}).value());
  std::atomic<bool> told = false;
  const std::stop_callback stop(all->lost(), [&] {
    all.reset();
    told = true;
  });
  ASSERT_TRUE(revoke(bob, "b", {.now = true}));
  EXPECT_TRUE(world().eventually([&] { return told.load(); }));
}

TEST_P(Several, KindsMayBeMixed) {
  PAWL_NEEDS(shared_mode);
  PAWL_NEEDS(permits);
  const Actor alice = world().client(), bob = world().client();
  const auto plan = [](const Actor& actor) {
    Plan made = mutexes(actor, {"job"});
    made->parts.push_back({actor.lock(Kind::rw, "job")});
    made->parts.back().wanted.mode = Mode::shared;
    made->parts.push_back({actor.lock(Kind::permits, "job")});
    made->parts.back().wanted.permits = {2, 3};
    return made;
  };
  const MultiHold all = start(alice, plan(alice)).get().value();
  EXPECT_EQ(all[1].mode(), Mode::shared);
  EXPECT_EQ(all[2].permits(), 2U);
  EXPECT_EQ(all.sequencers().size(), 4U);
  EXPECT_EQ(start(bob, plan(bob), {.wait = 0s}).get().code(), Errc::busy);
}

}  // namespace pawl::contract
