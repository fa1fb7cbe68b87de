#include "store/file/records.hpp"

#include <pawl/semaphore.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace pawl::store::file {
namespace {

using namespace std::chrono_literals;

LockKey key(Kind kind = Kind::mutex) { return {kind, LockName::make("job").value()}; }

ClaimRecord a_claim() {
  ClaimRecord record{.id = {1, 2}, .session = {3, 4}, .ticket = 5, .since = Time(6s), .lease = 7s, .lock_delay = 8s};
  record.token = Token(9, 10);
  record.mode = Mode::shared;
  record.release_requested = true;
  record.permits = 3;
  record.slots = {0, 4, 7};
  record.label = "nightly";
  record.value = std::string("host:80\0x", 9);
  return record;
}

void expect_same(const ClaimRecord& one, const ClaimRecord& other) {
  EXPECT_EQ(one.id, other.id);
  EXPECT_EQ(one.session, other.session);
  EXPECT_EQ(one.ticket, other.ticket);
  EXPECT_EQ(one.since, other.since);
  EXPECT_EQ(one.lease, other.lease);
  EXPECT_EQ(one.lock_delay, other.lock_delay);
  EXPECT_EQ(one.token, other.token);
  EXPECT_EQ(one.mode, other.mode);
  EXPECT_EQ(one.release_requested, other.release_requested);
  EXPECT_EQ(one.permits, other.permits);
  EXPECT_EQ(one.slots, other.slots);
  EXPECT_EQ(one.label, other.label);
  EXPECT_EQ(one.value, other.value);
}

LockRecord a_semaphore() {
  LockRecord record{.key = key(Kind::permits), .number = 1, .waiters = 2, .sharers = 3, .permits = 5};
  record.taken = {true, false, true, true, false};
  record.ghosts = {{Time(50s), Mode::exclusive, {2}}, {Time(60s), Mode::shared, {}}};
  return record;
}

TEST(RecordsTest, AClaimIsReadAsItWasWritten) {
  expect_same(unpack_claim(pack(a_claim())), a_claim());
  expect_same(unpack_claim(pack(ClaimRecord{})), ClaimRecord{});
}

TEST(RecordsTest, ALockIsReadAsItWasWritten) {
  const LockRecord record = a_semaphore();
  const LockRecord read = LockRecord::unpack(record.pack());
  EXPECT_EQ(read.key, record.key);
  EXPECT_EQ(read.number, 1u);
  EXPECT_EQ(read.waiters, 2u);
  EXPECT_EQ(read.sharers, 3u);
  EXPECT_EQ(read.permits, 5u);
  EXPECT_EQ(read.taken, record.taken);
  ASSERT_EQ(read.ghosts.size(), 2u);
  EXPECT_EQ(read.ghosts[0].until, Time(50s));
  EXPECT_EQ(read.ghosts[0].mode, Mode::exclusive);
  EXPECT_EQ(read.ghosts[0].slots, Slots{2});
  EXPECT_EQ(read.ghosts[1].until, Time(60s));
  EXPECT_EQ(read.ghosts[1].mode, Mode::shared);
  EXPECT_TRUE(read.ghosts[1].slots.empty());
  EXPECT_FALSE(read.holder);
}

TEST(RecordsTest, AnExclusiveHolderStandsInItsLock) {
  LockRecord record{.key = key(Kind::rw), .number = 1};
  record.ghosts = {{Time(50s), Mode::shared, {}}};
  record.holder = a_claim();
  const LockRecord read = LockRecord::unpack(record.pack());
  ASSERT_TRUE(read.holder);
  expect_same(*read.holder, a_claim());
  EXPECT_EQ(read.ghosts.size(), 1u);
}

TEST(RecordsTest, AChronicleIsReadAsItWasWritten) {
  Chronicle chronicle;
  chronicle.begin({.value = "one:80", .token = Token(1, 2), .owner = {.host = "here", .pid = 7, .label = "x"}},
                  Time(3s));
  chronicle.end(Time(4s));
  chronicle.begin({.value = "two:80", .token = Token(1, 5)}, Time(6s));
  const Chronicle read = unpack_chronicle(pack(chronicle));
  ASSERT_EQ(read.entries.size(), 2u);
  const Chronicle::Entry& first = read.entries.front();
  EXPECT_EQ(first.leader.value, "one:80");
  EXPECT_EQ(first.leader.token, Token(1, 2));
  EXPECT_EQ(first.leader.owner.host, "here");
  EXPECT_EQ(first.leader.owner.pid, 7);
  EXPECT_EQ(first.leader.owner.label, "x");
  EXPECT_EQ(first.since, Time(3s));
  EXPECT_EQ(first.until, Time(4s));
  EXPECT_EQ(read.entries.back().leader.value, "two:80");
  EXPECT_FALSE(read.entries.back().until) << "it leads";
  EXPECT_TRUE(unpack_chronicle(pack(Chronicle())).entries.empty());
}

TEST(RecordsTest, APlaceIsReadAsItWasWritten) {
  const ClaimPlace read = ClaimPlace::unpack(ClaimPlace{.tombstone = true, .ticket = 7, .lock = "0job"}.pack());
  EXPECT_TRUE(read.tombstone);
  EXPECT_EQ(read.ticket, 7u);
  EXPECT_EQ(read.lock, "0job");
}

TEST(RecordsTest, ALockIsInUseByWhateverKeepsIt) {
  LockRecord record{.key = key()};
  EXPECT_FALSE(record.in_use());
  record.permits = 3;
  record.taken.resize(3);
  EXPECT_FALSE(record.in_use()) << "permits that nobody has keep nothing";
  record.sharers = 1;
  EXPECT_TRUE(record.in_use());
  record.sharers = 0;
  record.waiters = 1;
  EXPECT_TRUE(record.in_use());
  record.waiters = 0;
  record.ghosts.push_back({Time(1s)});
  EXPECT_TRUE(record.in_use());
  record.ghosts.clear();
  record.holder = a_claim();
  EXPECT_TRUE(record.in_use());
}

TEST(RecordsTest, SlotsAreTakenFromTheLowestAndGivenBack) {
  LockRecord record = a_semaphore();
  EXPECT_EQ(record.take_slots(1), Slots{1});
  EXPECT_EQ(record.take_slots(2), Slots{4}) << "there are no more";
  record.free_slots({2, 4});
  EXPECT_EQ(record.taken, (std::vector<bool>{true, true, false, true, false}));
  EXPECT_EQ(record.take_slots(2), (Slots{2, 4}));
  EXPECT_EQ(record.take_slots(0), Slots{});
}

TEST(RecordsTest, NoTwoKindsHaveOneKey) {
  EXPECT_NE(lock_key(key(Kind::mutex)), lock_key(key(Kind::rw)));
  EXPECT_NE(lock_key(key(Kind::permits)), lock_key(key(Kind::rw)));
  EXPECT_NE(lock_key(key(Kind::permits)), lock_key(key(Kind::election)));
}

// However much of a record is missing, what is read does not lie beyond its end, and fits together.
TEST(RecordsTest, ADamagedRecordIsReadWithoutHarm) {
  LockRecord record = a_semaphore();
  record.holder = a_claim();
  const std::string lock = record.pack(), claim = pack(a_claim());
  for (std::size_t size = 0; size < lock.size(); ++size) {
    const LockRecord read = LockRecord::unpack(std::string_view(lock).substr(0, size));
    EXPECT_EQ(read.taken.size(), read.permits) << size;
  }
  for (std::size_t size = 0; size < claim.size(); ++size) {
    EXPECT_LE(unpack_claim(std::string_view(claim).substr(0, size)).slots.size(), 3u) << size;
  }
}

// Found by fuzzing: a damaged record made us take half a gigabyte.
TEST(RecordsTest, ADamagedNumberOfPermitsIsBounded) {
  LockRecord record{.key = key(Kind::permits)};
  std::string bytes = record.pack();
  const std::size_t permits =
      sizeof(Kind) + sizeof(std::uint32_t) + record.key.name.bytes().size() + 3 * sizeof(std::uint64_t);
  bytes.replace(permits, 4, "\xff\xff\xff\xff");
  const LockRecord read = LockRecord::unpack(bytes);
  EXPECT_EQ(read.permits, Semaphore::most_permits);
  EXPECT_EQ(read.taken.size(), Semaphore::most_permits);
}

// Found by fuzzing: a bool that is neither true nor false is undefined behaviour.
TEST(RecordsTest, ADamagedYesOrNoIsOneOfThem) {
  std::string bytes = ClaimPlace{.tombstone = false, .ticket = 7, .lock = "0job"}.pack();
  bytes[0] = 6;
  EXPECT_EQ(ClaimPlace::unpack(bytes).pack()[0], 1);
}

}  // namespace
}  // namespace pawl::store::file
