#include "base/ids.hpp"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace pawl::base {
namespace {

TEST(HexTest, KeepsLeadingZeros) {
  EXPECT_EQ(hex(0), "0000000000000000");
  EXPECT_EQ(hex(0x0123456789abcdef), "0123456789abcdef");
  EXPECT_EQ(hex(1, 0xff), "000000000000000100000000000000ff");
  EXPECT_EQ(hex(~0ULL, ~0ULL), std::string(32, 'f'));
}

TEST(HexTest, ComesBack) {
  for (int shift = 0; shift < 64; ++shift) {
    const std::uint64_t high = 0x9E3779B97F4A7C15 >> shift;
    const std::uint64_t low = 0xD1B54A32D192ED03 << shift;
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    ASSERT_TRUE(parse_hex(hex(high, low), a, b));
    EXPECT_EQ(a, high);
    EXPECT_EQ(b, low);
    ASSERT_TRUE(parse_hex(hex(high), a));
    EXPECT_EQ(a, high);
  }
}

TEST(HexTest, RefusesEverythingElseAndChangesNothing) {
  const std::string good(32, 'a');
  const std::string upper = std::string(31, 'a') + 'A';
  const std::string late = std::string(31, 'a') + 'g';
  const std::string signs = "0x" + std::string(30, '1');
  for (const std::string& bad : {std::string(), good.substr(1), good + "a", upper, late, signs, " " + good.substr(1)}) {
    std::uint64_t high = 1;
    std::uint64_t low = 2;
    EXPECT_FALSE(parse_hex(bad, high, low)) << bad;
    EXPECT_EQ(high, 1U);
    EXPECT_EQ(low, 2U);
  }
  std::uint64_t value = 3;
  EXPECT_FALSE(parse_hex(good, value));
  EXPECT_FALSE(parse_hex("000000000000000G", value));
  EXPECT_EQ(value, 3U);
}

TEST(IdTest, KindsOfIdDoNotMix) {
  static_assert(!std::is_convertible_v<ClaimId, SessionId>);
  static_assert(!std::is_constructible_v<ClaimId, SessionId>);
}

TEST(IdTest, ZeroMeansNone) {
  EXPECT_FALSE(ClaimId{});
  EXPECT_TRUE((ClaimId{0, 1}));
  EXPECT_TRUE((ClaimId{1, 0}));
}

TEST(IdTest, PrintsAndHashes) {
  EXPECT_EQ(to_string(ClaimId{1, 2}), "00000000000000010000000000000002");
  const std::unordered_set<ClaimId> ids = {{1, 2}, {2, 1}, {1, 2}};
  EXPECT_EQ(ids.size(), 2U);
}

}  // namespace
}  // namespace pawl::base
