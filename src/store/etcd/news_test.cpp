#include "store/etcd/news.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl::store::etcd {
namespace {

constexpr ClaimId one{0, 1};
constexpr ClaimId other{0, 2};

TEST(EtcdNewsTest, ALetterComesBackAsItWas) {
  for (const bool taken_away : {false, true}) {
    Letter was;
    was.claim = {3, 4};
    was.taken_away = taken_away;
    const auto is = Letter::parse(was.to_text());
    ASSERT_TRUE(is);
    EXPECT_EQ(is->claim, was.claim);
    EXPECT_EQ(is->taken_away, taken_away);
  }
}

TEST(EtcdNewsTest, AnythingElseIsNoLetter) {
  for (const std::string text : {"", "pawl1", "pawl1 claim=1 what=gone", "claim=x", "pawl2 what=gone"}) {
    EXPECT_FALSE(Letter::parse(text)) << text;
  }
}

TEST(EtcdNewsTest, AClaimIsNamedUntilItHasAsked) {
  News news;
  EXPECT_EQ(news.renewal().changed, std::vector<ClaimId>());
  news.told(one);
  news.told(other);
  EXPECT_EQ(news.renewal().changed, (std::vector<ClaimId>{one, other}));
  EXPECT_EQ(news.renewal().changed, (std::vector<ClaimId>{one, other})) << "the last answer may have been lost";
  news.asked(one);
  EXPECT_EQ(news.renewal().changed, std::vector<ClaimId>{other});
}

TEST(EtcdNewsTest, ChangesMoveWithEachNotice) {
  News news;
  const auto before = news.renewal().changes;
  news.told(one);
  const auto after = news.renewal().changes;
  EXPECT_NE(after, before);
  news.asked(one);
  news.told(one);
  EXPECT_NE(news.renewal().changes, after);
}

TEST(EtcdNewsTest, TooManyAreNotNamed) {
  News news;
  for (std::uint64_t i = 1; i <= most_named; ++i) news.told({0, i});
  EXPECT_EQ(news.renewal().changed->size(), most_named);
  news.told({1, 0});
  EXPECT_FALSE(news.renewal().changed);
}

}  // namespace
}  // namespace pawl::store::etcd
