#include "base/simulated_runtime.hpp"

#include "base/wakeup.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::base {
namespace {

using namespace std::chrono_literals;

using Diary = std::vector<std::pair<std::string, Time>>;

awaitable<void> keep_diary(Runtime& runtime, std::string name, Duration pause, int entries, Diary& diary) {
  for (int i = 0; i < entries; ++i) {
    co_await sleep_for(runtime, pause);
    diary.emplace_back(name, runtime.now());
  }
}

awaitable<void> say_when_offloaded(Runtime& runtime, std::string& said) {
  const std::string lane = "test";
  co_await runtime.offload(lane, [&said] { said += "work;"; });
  said += "back;";
}

awaitable<Result<int>> seven() { co_return 7; }

/// Who ran in which step, drawing chance now and then.
Diary play(std::uint64_t seed) {
  SimWorld world{seed};
  Diary diary;
  for (const char* name : {"alice", "bob", "carol"}) {
    SimProcess& process = world.add_process();
    for (int i = 0; i < 20; ++i) {
      process.send([&diary, &process, name] { diary.emplace_back(name, Time(Duration(process.random() % 1000))); });
    }
    spawn(process, keep_diary(process, name, 1s, 5, diary));
  }
  world.run_for(10s);
  return diary;
}

class SimulatedRuntimeTest : public testing::Test {
 protected:
  SimWorld world_{1};
  SimProcess& alice_ = world_.add_process();
  SimProcess& bob_ = world_.add_process();
  const Time start_ = world_.now();
};

TEST_F(SimulatedRuntimeTest, TheSameSeedGivesTheSameRun) {
  EXPECT_EQ(play(7), play(7));
  EXPECT_NE(play(7), play(8));
}

TEST_F(SimulatedRuntimeTest, TimeMovesOnlyWhenNobodyHasAnythingToDo) {
  Diary diary;
  int busy = 100;
  std::function<void()> work = [&] {
    EXPECT_EQ(world_.now(), start_);
    if (--busy > 0) bob_.send(work);
  };
  spawn(alice_, keep_diary(alice_, "alice", 1ns, 1, diary));
  bob_.send(work);
  world_.run_for(1s);
  EXPECT_EQ(busy, 0);
  EXPECT_EQ(diary, (Diary{{"alice", start_ + 1ns}}));
}

TEST_F(SimulatedRuntimeTest, RunForTakesExactlyThatLong) {
  Diary diary;
  spawn(alice_, keep_diary(alice_, "alice", 1s, 10, diary));
  world_.run_for(3500ms);
  EXPECT_EQ(world_.now(), start_ + 3500ms);
  EXPECT_EQ(diary.size(), 3u);
  world_.run_for(500ms);
  EXPECT_EQ(diary.size(), 4u) << "what is due at the end belongs to it";
}

TEST_F(SimulatedRuntimeTest, RunUntilStopsWhenItIsDoneAndSaysSo) {
  Diary diary;
  spawn(alice_, keep_diary(alice_, "alice", 1s, 10, diary));
  EXPECT_TRUE(world_.run_until([&] { return diary.size() == 2; }));
  EXPECT_EQ(world_.now(), start_ + 2s);
  EXPECT_FALSE(world_.run_until([&] { return diary.size() == 9; }, start_ + 4s));
  EXPECT_EQ(diary.size(), 4u);
  EXPECT_FALSE(world_.run_until([] { return false; })) << "nothing can happen any more";
}

TEST_F(SimulatedRuntimeTest, EveryStepIsSeen) {
  std::uint64_t seen = 0;
  world_.after_step = [&] { ++seen; };
  for (int i = 0; i < 5; ++i) alice_.send([] {});
  world_.run_for(1s);
  EXPECT_EQ(seen, 5u);
  EXPECT_EQ(world_.steps(), 5u);
}

TEST_F(SimulatedRuntimeTest, APausedProcessRunsNothingWhileTimeGoesOn) {
  Diary diary;
  spawn(alice_, keep_diary(alice_, "alice", 1s, 3, diary));
  spawn(bob_, keep_diary(bob_, "bob", 2s, 1, diary));
  world_.run_for(0s);
  alice_.pause();
  bool ran = false, rang = false;
  alice_.send([&] { ran = true; });
  alice_.set_alarm(start_ + 1s, [&] { rang = true; });
  world_.run_for(10s);
  EXPECT_FALSE(ran || rang);
  EXPECT_EQ(diary, (Diary{{"bob", start_ + 2s}}));
  EXPECT_EQ(alice_.now(), start_ + 10s);
}

TEST_F(SimulatedRuntimeTest, AResumedProcessFindsItsTimersOverdue) {
  Diary diary;
  spawn(alice_, keep_diary(alice_, "alice", 1s, 2, diary));
  world_.run_for(0s);
  alice_.pause();
  EXPECT_TRUE(alice_.paused());
  world_.run_for(10s);
  alice_.resume();
  world_.run_for(1s);
  EXPECT_EQ(diary, (Diary{{"alice", start_ + 10s}, {"alice", start_ + 11s}}));
}

TEST_F(SimulatedRuntimeTest, ACrashedProcessIsInertAndNeverRunsAgain) {
  Diary diary;
  spawn(alice_, keep_diary(alice_, "alice", 1s, 2, diary));
  world_.run_for(1s);
  EXPECT_FALSE(alice_.inert());
  alice_.crash();
  EXPECT_TRUE(alice_.inert());
  EXPECT_FALSE(bob_.inert());
  alice_.resume();
  world_.run_for(10s);
  EXPECT_EQ(diary.size(), 1u);
}

TEST_F(SimulatedRuntimeTest, AlarmsFireInOrderOfTimeAndThenOfSetting) {
  std::vector<std::string> said;
  alice_.set_alarm(start_ + 2s, [&] { said.push_back("later"); });
  alice_.set_alarm(start_ + 1s, [&] { said.push_back("first"); });
  alice_.set_alarm(start_ + 1s, [&] { said.push_back("second"); });
  world_.run_for(1s);
  EXPECT_EQ(said, (std::vector<std::string>{"first", "second"}));
  world_.run_for(1s);
  EXPECT_EQ(said.back(), "later");
}

TEST_F(SimulatedRuntimeTest, ACancelledAlarmNeverFires) {
  bool rang = false;
  const Runtime::AlarmId id = alice_.set_alarm(start_ + 1s, [&] { rang = true; });
  EXPECT_NE(id, 0u);
  alice_.cancel_alarm(id);
  alice_.cancel_alarm(id);
  alice_.cancel_alarm(0);
  world_.run_for(2s);
  EXPECT_FALSE(rang);
}

TEST_F(SimulatedRuntimeTest, AnAlarmMaySetTheNext) {
  int rung = 0;
  std::function<void()> ring = [&] {
    if (++rung < 3) alice_.set_alarm(alice_.now() + 1s, ring);
  };
  alice_.set_alarm(start_ + 1s, ring);
  world_.run_for(10s);
  EXPECT_EQ(rung, 3);
}

TEST_F(SimulatedRuntimeTest, OffloadedWorkRunsInline) {
  std::string said;
  spawn(alice_, say_when_offloaded(alice_, said));
  world_.run_for(0s);
  EXPECT_EQ(said, "work;back;");
}

TEST_F(SimulatedRuntimeTest, NothingBlocks) {
  EXPECT_FALSE(alice_.may_block());
  EXPECT_EQ(alice_.block_on(seven()).code(), Errc::would_deadlock);
}

TEST(SimulatedRuntimeDrift, AClockThatIsTooFastOrTooSlowRingsItsAlarmsSo) {
  SimWorld world{1};
  SimProcess& fast = world.add_process(10'000);
  SimProcess& slow = world.add_process(-10'000);
  SimProcess& right = world.add_process();
  const Time began = world.now();
  std::map<std::string, Duration> rang;
  const auto ring_after_100s = [&](SimProcess& process, const std::string& name) {
    process.set_alarm(process.now() + 100s, [&, name] { rang[name] = world.now() - began; });
  };
  ring_after_100s(fast, "fast");
  ring_after_100s(slow, "slow");
  ring_after_100s(right, "right");
  world.run_for(200s);
  EXPECT_EQ(rang["right"], 100s);
  EXPECT_EQ(rang["fast"] / 1ms, 99'009);
  EXPECT_EQ(rang["slow"] / 1ms, 101'010);
  EXPECT_EQ(fast.now() - began, 202s);
  EXPECT_EQ(slow.now() - began, 198s);
}

TEST(SimulatedRuntimeDrift, WorldTimeIsTheFirstMomentAtWhichItIsThatTime) {
  for (const std::int64_t ppm : {-9'900, -1, 0, 1, 9'900}) {
    SimWorld world{1};
    SimProcess& process = world.add_process(ppm);
    for (const Duration since : {Duration(1ns), Duration(999'999ns), Duration(12'345'678'901ns)}) {
      const Time local = SimWorld::began + since;
      world.run_for(process.in_world_time(local) - world.now() - 1ns);
      EXPECT_LT(process.now(), local) << ppm;
      world.run_for(1ns);
      EXPECT_GE(process.now(), local) << ppm;
    }
  }
}

TEST(SimulatedRuntimeAtTheEnd, WhatWasWaitingIsDroppedAndWakesNobody) {
  const auto guest = std::make_shared<int>(0);
  {
    SimWorld world{1};
    SimProcess& alice = world.add_process();
    SimProcess& bob = world.add_process();
    const auto waits = [](std::shared_ptr<int> kept, Runtime& runtime) -> awaitable<void> {
      co_await sleep_for(runtime, 1h);
      ++*kept;
    };
    spawn(alice, waits(guest, alice));
    spawn(bob, waits(guest, bob));
    alice.set_alarm(world.now() + 1h, [guest] { ++*guest; });
    world.run_for(1s);
    bob.send([guest] { ++*guest; });
  }
  EXPECT_EQ(guest.use_count(), 1);
  EXPECT_EQ(*guest, 0);
}

}  // namespace
}  // namespace pawl::base
