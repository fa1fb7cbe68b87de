#include "store/file/place.hpp"

#include <gtest/gtest.h>

namespace pawl::store::file {
namespace {

const Place here{.boot = {'b', 'o', 'o', 't'}, .pid_namespace = 1, .time_namespace = 2};
const std::optional<Somebody> nobody;
const std::optional<Somebody> somebody = Somebody{42};

Found ours() { return {.layout = current_layout, .machine = this_machine, .finished = true, .place = here}; }

TEST(Judge, WhatIsOursIsJoinedOrTakenOver) {
  EXPECT_EQ(judge(ours(), here, somebody).value(), Verdict::join);
  EXPECT_EQ(judge(ours(), here, nobody).value(), Verdict::take_over);
}

TEST(Judge, WhatIsNotThereIsMade) {
  EXPECT_EQ(judge(std::nullopt, here, nobody).value(), Verdict::rebuild);
  Found half = ours();
  half.finished = false;
  EXPECT_EQ(judge(half, here, nobody).value(), Verdict::rebuild);
  EXPECT_EQ(judge(half, here, somebody).code(), Errc::store_unavailable);
  EXPECT_EQ(judge(std::nullopt, here, somebody).code(), Errc::store_unavailable);
}

TEST(Judge, ANewerLayoutIsRefusedInAnyCase) {
  Found newer = ours();
  newer.layout = current_layout + 1;
  EXPECT_EQ(judge(newer, here, nobody).code(), Errc::unsupported);
  EXPECT_EQ(judge(newer, here, somebody).code(), Errc::unsupported);
}

TEST(Judge, AnOlderLayoutOrAnotherMachineIsMadeAnewWhenNobodyUsesIt) {
  Found older = ours(), other = ours();
  older.layout = 0;
  other.machine ^= 1;
  for (const Found& found : {older, other}) {
    EXPECT_EQ(judge(found, here, nobody).value(), Verdict::rebuild);
    EXPECT_EQ(judge(found, here, somebody).code(), Errc::store_unavailable);
  }
}

TEST(Judge, AnotherBootOrTimeMeansNothingHere) {
  Found boot = ours(), time = ours();
  boot.place.boot[0] = 'x';
  time.place.time_namespace = 9;
  for (const Found& found : {boot, time}) {
    EXPECT_EQ(judge(found, here, nobody).value(), Verdict::rebuild);
    EXPECT_EQ(judge(found, here, somebody).code(), Errc::store_unavailable);
  }
}

TEST(Judge, AnotherPidNamespaceIsTakenOverWhenNobodyLivesThere) {
  Found other = ours();
  other.place.pid_namespace = 9;
  EXPECT_EQ(judge(other, here, nobody).value(), Verdict::take_over);
  const auto refused = judge(other, here, Somebody{});
  EXPECT_EQ(refused.code(), Errc::store_unavailable);
  EXPECT_NE(refused.error().message.find("pid namespace"), std::string::npos);
}

TEST(Place, IsTheSameForOneProcess) { EXPECT_EQ(Place::here().value(), Place::here().value()); }

}  // namespace
}  // namespace pawl::store::file
