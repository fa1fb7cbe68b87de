#include <pawl/token.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace pawl {
namespace {

constexpr std::uint64_t max64 = std::numeric_limits<std::uint64_t>::max();

/// The corners of each field, and a few in between.
std::vector<Token> corner_tokens() {
  std::vector<Token> tokens;
  for (const std::uint64_t epoch : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{255}, std::uint64_t{256},
                                    std::uint64_t{1'700'000'000'000}, Token::max_epoch - 1, Token::max_epoch}) {
    for (const std::uint64_t counter : {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{10}, std::uint64_t{0xFFFF},
                                        std::uint64_t{1} << 48, std::uint64_t{1} << 63, max64 - 1, max64}) {
      for (const int sub : {0, 1, 255, 256, 0x7FFF, 0xFFFF}) {
        tokens.emplace_back(epoch, counter, static_cast<std::uint16_t>(sub));
      }
    }
  }
  return tokens;
}

TEST(TokenTest, KeepsItsFields) {
  const Token token(3, 5, 7);
  EXPECT_EQ(token.epoch(), 3U);
  EXPECT_EQ(token.counter(), 5U);
  EXPECT_EQ(token.sub(), 7U);
  EXPECT_EQ(token.with_sub(8), Token(3, 5, 8));
  EXPECT_EQ(Token(max64, 0).epoch(), Token::max_epoch);
}

TEST(TokenTest, TextIsEpochCounterSub) {
  EXPECT_EQ(Token().to_string(), std::string(32, '0'));
  EXPECT_EQ(Token(0x010203040506, 0x1112131415161718, 0x2122).to_string(), "01020304050611121314151617182122");
  EXPECT_EQ(Token(Token::max_epoch, max64, 0xFFFF).to_string(), std::string(32, 'f'));
}

TEST(TokenTest, ComesBackFromItsText) {
  for (const Token& token : corner_tokens()) {
    const auto back = Token::parse(token.to_string());
    ASSERT_TRUE(back) << token.to_string();
    EXPECT_EQ(*back, token);
  }
}

TEST(TokenTest, OrderOfTheBytesIsTheOrderOfTheTokens) {
  const auto tokens = corner_tokens();
  for (const Token& a : tokens) {
    for (const Token& b : tokens) {
      ASSERT_EQ(a <=> b, a.to_string() <=> b.to_string()) << a.to_string() << ' ' << b.to_string();
    }
  }
}

TEST(TokenTest, ParseTakesNothingElse) {
  const std::string good = Token(1, 2, 3).to_string();
  std::vector<std::string> bad = {"",
                                  "0x" + good.substr(2),
                                  good + "0",
                                  " " + good,
                                  good + "\n",
                                  "-" + good.substr(1),
                                  std::string(32, 'A'),
                                  std::string(32, 'g'),
                                  std::string(32, '\0')};
  for (std::size_t size = 0; size < good.size(); ++size) bad.push_back(good.substr(0, size));
  for (const auto& text : bad) EXPECT_EQ(Token::parse(text).code(), Errc::invalid_argument) << text;
}

TEST(TokenValue64, IsCounterAndSub) {
  EXPECT_EQ(Token(9, 1, 0).value64().value(), 4096U);
  EXPECT_EQ(Token(9, 1, 4095).value64().value(), 8191U);
  EXPECT_EQ(Token(9, (std::uint64_t{1} << 52) - 1, 4095).value64().value(), max64);
}

TEST(TokenValue64, GrowsWithTheTokenInOneEpoch) {
  EXPECT_LT(*Token(9, 1, 4095).value64(), *Token(9, 2, 0).value64());
  EXPECT_LT(*Token(9, 2, 0).value64(), *Token(9, 2, 1).value64());
}

TEST(TokenValue64, RefusesWhatDoesNotFit) {
  EXPECT_EQ(Token(9, 1, 4096).value64().code(), Errc::unsupported);
  EXPECT_EQ(Token(9, std::uint64_t{1} << 52, 0).value64().code(), Errc::unsupported);
  EXPECT_EQ(Token(9, max64, 0xFFFF).value64().code(), Errc::unsupported);
}

}  // namespace
}  // namespace pawl
