#include "fencing/epoch.hpp"

#include <pawl/token.hpp>

#include <gtest/gtest.h>

#include <string>

namespace pawl::fencing {
namespace {

using namespace std::literals;

constexpr std::uint64_t now = 1'700'000'000'000;

EpochRecord example() { return {.epoch = now, .identity = "run 1/a", .store_id = 0xABC}; }

TEST(EpochRecordTest, WritesTheDocumentedText) {
  EXPECT_EQ(example().to_text(), "pawl-epoch 1 epoch=1700000000000 store=0000000000000abc identity=run%201%2Fa");
}

TEST(EpochRecordTest, ComesBackFromItsText) {
  for (const auto& identity : {""s, "a"s, "."s, " "s, "\n"s, "\0"s, "identity="s, std::string(5000, '/')}) {
    for (const std::uint64_t epoch : {std::uint64_t{0}, std::uint64_t{1}, now, Token::max_epoch}) {
      const EpochRecord record{.epoch = epoch, .identity = identity, .store_id = ~0ULL};
      const auto back = EpochRecord::parse(record.to_text());
      ASSERT_TRUE(back) << back.error().to_string();
      EXPECT_EQ(*back, record);
    }
  }
}

TEST(EpochRecordTest, ANewerLayoutIsUnsupportedWhateverFollows) {
  for (const auto text : {"pawl-epoch 2"sv, "pawl-epoch 2 something=else"sv, "pawl-epoch 10 epoch=1"sv}) {
    const auto refused = EpochRecord::parse(text);
    EXPECT_EQ(refused.code(), Errc::unsupported) << text;
    EXPECT_NE(refused.error().message.find("newer pawl"), std::string::npos);
  }
}

TEST(EpochRecordTest, ParseTakesTheCanonicalTextOnly) {
  const std::string good = example().to_text();
  for (const auto& text : {
           ""s,
           "pawl-epoch"s,
           "pawl-epoch "s,
           good + "\n",
           good + " ",
           " " + good,
           "pawl-epoch 0 epoch=1 store=0000000000000abc identity=a"s,
           "pawl-epoch 01 epoch=1 store=0000000000000abc identity=a"s,
           "pawl-epoch 1  epoch=1 store=0000000000000abc identity=a"s,
           "pawl-epoch 1 epoch=01 store=0000000000000abc identity=a"s,
           "pawl-epoch 1 epoch=-1 store=0000000000000abc identity=a"s,
           "pawl-epoch 1 epoch=281474976710656 store=0000000000000abc identity=a"s,
           "pawl-epoch 1 epoch=1 store=abc identity=a"s,
           "pawl-epoch 1 epoch=1 store=0000000000000ABC identity=a"s,
           "pawl-epoch 1 store=0000000000000abc epoch=1 identity=a"s,
           "pawl-epoch 1 epoch=1 store=0000000000000abc"s,
           "pawl-epoch 1 epoch=1 store=0000000000000abc identity=a/b"s,
           "pawl-epoch 1 epoch=1 store=0000000000000abc identity=a b"s,
           "pawl-epoch 1 epoch=1 store=0000000000000abc identity=a\0"s,
       }) {
    EXPECT_EQ(EpochRecord::parse(text).code(), Errc::invalid_argument) << text;
  }
  for (std::size_t size = 0; size < good.find("identity=") + 9; ++size) {
    EXPECT_FALSE(EpochRecord::parse(good.substr(0, size))) << size;
  }
}

TEST(NextEpoch, IsTheClockOrOneMore) {
  EXPECT_EQ(next_epoch(0, now).value(), now);
  EXPECT_EQ(next_epoch(now - 1, now).value(), now);
  EXPECT_EQ(next_epoch(now, now).value(), now + 1);
  EXPECT_EQ(next_epoch(now + 5, now).value(), now + 6) << "the wall clock went back";
  EXPECT_EQ(next_epoch(0, 0).value(), 1U) << "no wall clock at all";
}

TEST(NextEpoch, EndsAtTheLargest) {
  EXPECT_EQ(next_epoch(Token::max_epoch - 1, now).value(), Token::max_epoch);
  EXPECT_EQ(next_epoch(Token::max_epoch, now).code(), Errc::unsupported);
  EXPECT_EQ(next_epoch(~0ULL, now).code(), Errc::unsupported);
  EXPECT_EQ(next_epoch(0, Token::max_epoch).value(), Token::max_epoch);
  EXPECT_EQ(next_epoch(0, Token::max_epoch + 1).code(), Errc::unsupported);
}

TEST(Decide, NoRecordStartsAnEpochInAFreshStore) {
  const auto decision = decide(std::nullopt, "run1", now, 7).value();
  EXPECT_EQ(decision.record, (EpochRecord{.epoch = now, .identity = "run1", .store_id = 7}));
  EXPECT_TRUE(decision.must_write);
}

TEST(Decide, AnotherIdentityStartsAnEpochInTheSameStore) {
  const auto decision =
      decide(EpochRecord{.epoch = now + 3, .identity = "run1", .store_id = 7}, "run2", now, 8).value();
  EXPECT_EQ(decision.record, (EpochRecord{.epoch = now + 4, .identity = "run2", .store_id = 7}));
  EXPECT_TRUE(decision.must_write);
}

TEST(Decide, TheSameIdentityChangesNothing) {
  const auto decision = decide(example(), example().identity, now + 99, 8).value();
  EXPECT_EQ(decision.record, example());
  EXPECT_FALSE(decision.must_write);
}

TEST(Decide, AStoreWithoutIdentityKeepsItsEpoch) {
  const auto first = decide(std::nullopt, "", now, 7).value();
  EXPECT_TRUE(first.must_write);
  EXPECT_FALSE(decide(first.record, "", now + 1, 8).value().must_write);
}

TEST(Decide, AnUnknownStoreIdIsFilledIn) {
  const auto decision = decide(EpochRecord{.epoch = now, .identity = "run1"}, "run1", now + 9, 8).value();
  EXPECT_EQ(decision.record, (EpochRecord{.epoch = now, .identity = "run1", .store_id = 8}));
  EXPECT_TRUE(decision.must_write);
}

TEST(Decide, PassesOnThatNoEpochIsLeft) {
  const EpochRecord last{.epoch = Token::max_epoch, .identity = "run1", .store_id = 7};
  EXPECT_EQ(decide(last, "run2", now, 8).code(), Errc::unsupported);
  EXPECT_TRUE(decide(last, "run1", now, 8)) << "nothing to raise";
}

}  // namespace
}  // namespace pawl::fencing
