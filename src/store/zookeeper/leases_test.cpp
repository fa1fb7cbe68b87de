#include "store/zookeeper/leases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <string>

namespace pawl::store::zookeeper {
namespace {

using testing::ElementsAre;

const std::string folder = "/pawl/sequential/permits/job/leases";

Record a_record(std::uint32_t wanted, std::uint32_t of) {
  Record record;
  record.id = {1, 2};
  record.owner = {.host = "db7", .pid = 4711, .label = "reindex"};
  record.permits = {.wanted = wanted, .of = of};
  record.epoch = 9;
  record.name = "a very long name";
  return record;
}

Record with_slots(Record record) {
  record.slots.resize(record.permits.wanted);
  std::iota(record.slots.begin(), record.slots.end(), record.permits.of - record.permits.wanted);
  return record;
}

std::size_t size(const std::vector<Part>& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::size_t{0},
                         [](std::size_t sum, const Part& part) { return sum + bytes_of(part); });
}

TEST(LeasesTest, EachNamesOneSlotAndHowManyThereAre) {
  const std::vector<Part> parts = making_leases(folder, with_slots(a_record(3, 8)));
  ASSERT_EQ(parts.size(), 3U);
  Slots slots;
  for (const Part& part : parts) {
    const std::optional<Record> record = Record::parse(part.data);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->id, (ClaimId{1, 2}));
    EXPECT_EQ(record->permits, (Claim::Permits{.wanted = 3, .of = 8}));
    slots.insert(slots.end(), record->slots.begin(), record->slots.end());
  }
  EXPECT_THAT(slots, ElementsAre(5, 6, 7));
}

TEST(LeasesTest, OnlyTheFirstSaysWhoseTheyAre) {
  const std::vector<Part> parts = making_leases(folder, with_slots(a_record(2, 2)));
  EXPECT_EQ(Record::parse(parts[0].data)->owner.label, "reindex");
  EXPECT_EQ(Record::parse(parts[0].data)->name, "a very long name");
  EXPECT_EQ(Record::parse(parts[1].data)->owner.label, "");
  EXPECT_EQ(Record::parse(parts[1].data)->name, "");
}

TEST(LeasesTest, TheMostThatFitDoAndOneMoreDoesNot) {
  const std::vector<Part> others{removing("/somewhere"), making("/delay", std::string(20'000, 'x'), 0)};
  const std::uint32_t most = most_leases(folder, a_record(1, 9'999), others);
  EXPECT_GT(most, 1'000U);
  const std::vector<Part> leases = making_leases(folder, with_slots(a_record(most, 9'999)));
  EXPECT_LE(size(leases) + size(others), most_bytes);
  // But for the slots that a node of a lock-delay names, it would not have been many more.
  EXPECT_GT(size(leases) + size(others) + bytes_of(leases.back()) + std::size_t{most} * 6, most_bytes);
}

TEST(LeasesTest, ALongNameIsWrittenOnceAndALongPathForEach) {
  Record named = a_record(1, 9'999);
  named.name = std::string(4'000, 'n');
  EXPECT_GT(most_leases(folder, named, {}), most_leases(folder, a_record(1, 9'999), {}) * 9 / 10);
  EXPECT_LT(most_leases(folder + std::string(1'000, 'p'), named, {}), 1'000U);
}

TEST(LeasesTest, NoneFitBesideWhatFillsATransactionAlone) {
  EXPECT_EQ(most_leases(folder, a_record(1, 1), {making("/x", std::string(most_bytes, 'x'), 0)}), 0U);
}

}  // namespace
}  // namespace pawl::store::zookeeper
