#include "store/chronicle.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace pawl::store {
namespace {

using namespace std::chrono_literals;

base::Time at(Duration time) { return base::Time(time); }

Leader leader(std::uint64_t number) { return {.value = std::to_string(number), .token = Token(1, number)}; }

TEST(Chronicle, NobodyHasEverLed) {
  const Succession none = Chronicle().after({}, at(1s));
  EXPECT_TRUE(none.vacant);
  EXPECT_TRUE(none.reigns.empty());
}

TEST(Chronicle, TellsWhoCameAfterAToken) {
  Chronicle chronicle;
  chronicle.begin(leader(1), at(1s));
  chronicle.end(at(2s));
  chronicle.begin(leader(2), at(2s));
  const Succession all = chronicle.after({}, at(5s));
  ASSERT_EQ(all.reigns.size(), 2U);
  EXPECT_FALSE(all.vacant);
  EXPECT_EQ(all.reigns[1].leader.age, 3s);
  const Succession later = chronicle.after(Token(1, 1), at(5s));
  ASSERT_EQ(later.reigns.size(), 1U);
  EXPECT_EQ(later.reigns[0].leader.value, "2");
  EXPECT_TRUE(chronicle.after(Token(1, 2), at(5s)).reigns.empty());
}

TEST(Chronicle, KnowsWhetherNobodyLedInBetween) {
  Chronicle chronicle;
  chronicle.begin(leader(1), at(1s));
  chronicle.end(at(2s));
  chronicle.begin(leader(2), at(2s));
  chronicle.end(at(3s));
  EXPECT_TRUE(chronicle.after({}, at(3s)).vacant);
  chronicle.begin(leader(3), at(4s));
  const Succession all = chronicle.after({}, at(5s));
  EXPECT_TRUE(all.reigns[0].after_nobody);
  EXPECT_FALSE(all.reigns[1].after_nobody);
  EXPECT_TRUE(all.reigns[2].after_nobody);
}

TEST(Chronicle, ForgetsTheOldestAndDoesNotKnowWhatWasBefore) {
  Chronicle chronicle;
  for (std::uint64_t i = 0; i < Chronicle::most + 1; ++i) {
    chronicle.end(at(1s * i));
    chronicle.begin(leader(i), at(1s * i));
  }
  const Succession all = chronicle.after({}, at(1h));
  ASSERT_EQ(all.reigns.size(), Chronicle::most);
  EXPECT_EQ(all.reigns.front().leader.value, "1");
  EXPECT_FALSE(all.reigns.front().after_nobody);
}

TEST(Chronicle, IsStaleAMinuteAfterTheLastOneLed) {
  Chronicle chronicle;
  EXPECT_TRUE(chronicle.stale(at(0s)));
  chronicle.begin(leader(1), at(1s));
  EXPECT_FALSE(chronicle.stale(at(1h)));
  chronicle.end(at(1h));
  EXPECT_FALSE(chronicle.stale(at(1h + 59s)));
  EXPECT_TRUE(chronicle.stale(at(1h + 60s)));
}

}  // namespace
}  // namespace pawl::store
