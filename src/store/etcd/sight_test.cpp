#include "store/etcd/sight.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

namespace pawl::store::etcd {
namespace {

using namespace std::chrono_literals;
using Stage = Record::Stage;

const std::string folder = "pawl/queue/mutex/a/";
const std::string own_key = folder + "1f.00000000000000010000000000000002";

Record record(Stage stage, Mode mode = Mode::exclusive) {
  Record record;
  record.id = {1, 2};
  record.stage = stage;
  record.mode = mode;
  return record;
}

Heard put(const Record& record) { return {.what = Heard::What::put, .value = record.to_text(), .create_revision = 5}; }
Heard deleted(const Record& record) {
  return {.what = Heard::What::deleted, .before = record.to_text(), .create_revision = 5};
}

pb::KeyValue kv(const std::string& key, const std::string& value, std::int64_t created = 5) {
  pb::KeyValue kv;
  kv.set_key(key);
  kv.set_value(value);
  kv.set_create_revision(created);
  kv.set_mod_revision(created + 1);
  return kv;
}

const Waiter writer{.created = 9};
const Waiter reader{.created = 9, .mode = Mode::shared, .kind = Kind::rw};

TEST(EtcdSightTest, OursHasARecord) {
  const Seen seen = see(kv(own_key, record(Stage::held).to_text()), folder, Kind::mutex);
  EXPECT_TRUE(seen.holds());
  EXPECT_TRUE(seen.holds_alone());
  EXPECT_EQ(seen.id(), (ClaimId{1, 2}));
  EXPECT_EQ(seen.created, 5);
  EXPECT_EQ(seen.changed, 6);
}

TEST(EtcdSightTest, AnotherLibrarysKeyWaitsAndIsNamedByItsRevision) {
  const Seen seen = see(kv(folder + "694d7a8b1c2d3e4f", ""), folder, Kind::mutex);
  EXPECT_TRUE(seen.waits());
  EXPECT_EQ(seen.mode(), Mode::exclusive);
  EXPECT_EQ(seen.id(), (ClaimId{0, 5}));
}

TEST(EtcdSightTest, WhatAnotherLibraryWritesIsNoRecordWhateverItLooksLike) {
  const Seen seen = see(kv(folder + "694d7a8b1c2d3e4f", record(Stage::held).to_text()), folder, Kind::mutex);
  EXPECT_FALSE(seen.holds());
}

TEST(EtcdSightTest, ACandidatesValueIsNoRecord) {
  const Seen seen = see(kv(own_key, record(Stage::held).to_text()), folder, Kind::election);
  EXPECT_FALSE(seen.record);
  EXPECT_EQ(seen.value, record(Stage::held).to_text());
}

TEST(EtcdSightTest, OnlyWithALockDelayAKeyOutlastsItsSession) {
  Record with_delay = record(Stage::held);
  with_delay.lock_delay = 1s;
  EXPECT_TRUE(see(kv(own_key, with_delay.to_text()), folder, Kind::mutex).outlasts_session());
  EXPECT_FALSE(see(kv(own_key, record(Stage::held).to_text()), folder, Kind::mutex).outlasts_session());
  with_delay.stage = Stage::waiting;
  EXPECT_FALSE(see(kv(own_key, with_delay.to_text()), folder, Kind::mutex).outlasts_session());
}

TEST(EtcdSightTest, ReadersDoNotBlockReaders) {
  const Seen held_alone = see(kv(own_key, record(Stage::held).to_text()), folder, Kind::rw);
  const Seen downgraded = see(kv(own_key, record(Stage::held, Mode::shared).to_text()), folder, Kind::rw);
  EXPECT_TRUE(blocks(held_alone, reader));
  EXPECT_TRUE(blocks(downgraded, writer));
  EXPECT_FALSE(blocks(downgraded, reader));
}

TEST(EtcdSightTest, ForPermitsOneWaitsBehindThoseWhoWaitThemselves) {
  const Waiter behind{.created = 9, .kind = Kind::permits};
  for (const auto& [stage, waits] : {std::pair(Stage::waiting, true), {Stage::held, false}, {Stage::failed, false}}) {
    EXPECT_EQ(blocks(see(kv(own_key, record(stage).to_text()), folder, Kind::permits), behind), waits);
  }
}

TEST(EtcdMeaningTest, AHolderThatEndsPassesTheLockOn) {
  EXPECT_EQ(meaning_for(writer, deleted(record(Stage::held))), Meaning::held_and_gone);
  EXPECT_EQ(meaning_for(reader, deleted(record(Stage::held))), Meaning::held_and_gone);
}

TEST(EtcdMeaningTest, AWaiterOrAReaderThatEndsDoesNot) {
  EXPECT_EQ(meaning_for(writer, deleted(record(Stage::waiting))), Meaning::gone);
  EXPECT_EQ(meaning_for(writer, deleted(record(Stage::failed))), Meaning::gone);
  EXPECT_EQ(meaning_for(writer, deleted(record(Stage::held, Mode::shared))), Meaning::gone);
  EXPECT_EQ(meaning_for(writer, {.what = Heard::What::deleted, .create_revision = 5}), Meaning::gone);
  EXPECT_EQ(meaning_for(writer, {.what = Heard::What::deleted, .before = "", .create_revision = 5}), Meaning::gone);
}

TEST(EtcdMeaningTest, AKeyThatWasMadeAgainBehindUsIsNotBeforeUs) {
  Heard again = put(record(Stage::held));
  again.create_revision = 10;
  EXPECT_EQ(meaning_for(writer, again), Meaning::gone);
  again.what = Heard::What::deleted;
  again.before = record(Stage::held).to_text();
  EXPECT_EQ(meaning_for(writer, again), Meaning::gone) << "the lock is not passed on by one that came later";
}

TEST(EtcdMeaningTest, AGrantOfTheOneBeforeIsNoNews) {
  EXPECT_EQ(meaning_for(writer, put(record(Stage::held))), Meaning::nothing);
  EXPECT_EQ(meaning_for(writer, put(record(Stage::waiting))), Meaning::nothing);
}

TEST(EtcdMeaningTest, AGrantWithALockDelayIsBecauseItsSessionMustBeWatched) {
  Record delayed = record(Stage::held);
  delayed.lock_delay = 1s;
  EXPECT_EQ(meaning_for(writer, put(delayed)), Meaning::look);
  delayed.stage = Stage::failed;
  EXPECT_EQ(meaning_for(writer, put(delayed)), Meaning::look);
}

TEST(EtcdMeaningTest, ADowngradeLetsReadersIn) {
  EXPECT_EQ(meaning_for(reader, put(record(Stage::held, Mode::shared))), Meaning::gone);
  EXPECT_EQ(meaning_for(writer, put(record(Stage::held, Mode::shared))), Meaning::nothing);
}

TEST(EtcdMeaningTest, AfterABreakOneLooks) { EXPECT_EQ(meaning_for(writer, Heard{}), Meaning::look); }

TEST(EtcdMeaningTest, ACandidatesValueSaysNothing) {
  const Waiter candidate{.created = 9, .kind = Kind::election};
  EXPECT_EQ(meaning_for(candidate, deleted(record(Stage::held))), Meaning::gone);
  EXPECT_EQ(meaning_for(candidate, put(record(Stage::waiting))), Meaning::look);
}

TEST(EtcdMeaningTest, OfPermitsAGrantIsAsGoodAsAnEnd) {
  const Waiter one{.created = 9, .kind = Kind::permits};
  EXPECT_EQ(meaning_for(one, put(record(Stage::held))), Meaning::gone);
  EXPECT_EQ(meaning_for(one, put(record(Stage::waiting))), Meaning::nothing);
  EXPECT_EQ(meaning_for(one, deleted(record(Stage::waiting))), Meaning::gone);
}

TEST(EtcdMeaningTest, PermitsAreFreedByHoldersOnly) {
  EXPECT_TRUE(may_free_permits(deleted(record(Stage::held))));
  EXPECT_TRUE(may_free_permits(deleted(record(Stage::failed))));
  EXPECT_FALSE(may_free_permits(deleted(record(Stage::waiting))));
  EXPECT_FALSE(may_free_permits(put(record(Stage::held))));
  EXPECT_FALSE(may_free_permits(put(record(Stage::waiting))));
  EXPECT_TRUE(may_free_permits(put(record(Stage::failed)))) << "when its lock-delay ends, without an event";
  EXPECT_TRUE(may_free_permits({.what = Heard::What::deleted})) << "the server did not say whose it was";
  EXPECT_TRUE(may_free_permits(Heard{}));
}

Seen permit(Stage stage, Slots slots, std::int64_t created, std::uint32_t of = 4) {
  Record its = record(stage);
  its.slots = std::move(slots);
  its.permits = {.wanted = 1, .of = of};
  return see(kv(folder + "1f.0000000000000000000000000000000" + std::to_string(created), its.to_text(), created),
             folder, Kind::permits);
}

TEST(EtcdRoomTest, AnUnusedSemaphoreHasAllSlots) {
  const Room room = room_in({}, {.wanted = 2, .of = 4}, 0);
  EXPECT_EQ(room.slots, (Slots{0, 1}));
  EXPECT_FALSE(room.agreed);
}

TEST(EtcdRoomTest, SlotsThatAreHeldOrShutAreNotFree) {
  const Room room = room_in({permit(Stage::held, {1}, 2), permit(Stage::failed, {0, 3}, 3)}, {.wanted = 1, .of = 4}, 0);
  EXPECT_EQ(room.slots, Slots{2});
  EXPECT_EQ(room.used, (Waiting::Permits{.taken = 1, .in_lock_delay = 2}));
  EXPECT_EQ(room.agreed, 4u);
}

TEST(EtcdRoomTest, TooFewAreNone) {
  const Room room = room_in({permit(Stage::held, {0, 1, 2}, 2)}, {.wanted = 2, .of = 4}, 0);
  EXPECT_TRUE(room.slots.empty());
}

TEST(EtcdRoomTest, OnlyThoseWhoCameEarlierAreBeforeUs) {
  const std::vector<Seen> all{permit(Stage::waiting, {}, 2), permit(Stage::waiting, {}, 5),
                              permit(Stage::waiting, {}, 7)};
  EXPECT_EQ(room_in(all, {.wanted = 1, .of = 4}, 5).before, std::vector{all[0].key});
  EXPECT_EQ(room_in(all, {.wanted = 1, .of = 4}, 0).before.size(), 3u);
}

TEST(EtcdRoomTest, ASemaphoreOfBillionsIsNotCountedOut) {
  const Room room = room_in({permit(Stage::held, {0}, 2, 4'000'000'000)}, {.wanted = 2, .of = 4'000'000'000}, 0);
  EXPECT_EQ(room.slots, (Slots{1, 2}));
}

}  // namespace
}  // namespace pawl::store::etcd
