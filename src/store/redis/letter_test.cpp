#include "store/redis/letter.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace pawl::store::redis {
namespace {

constexpr const char* claim = "000000000000000100000000000000af";
constexpr const char* secret = "0123456789abcdef0123456789abcdef";

std::optional<Letter> read_letter(const std::string& text, bool believes = true) {
  return Letter::read(text, secret, believes);
}
std::string letter(const std::string& what) { return sealed(std::string(claim) + " " + what, secret); }

TEST(RedisLetterTest, SaysWhatHasHappenedToAClaim) {
  const std::optional<Letter> granted = read_letter(letter("granted 7 12 1"));
  ASSERT_TRUE(granted);
  EXPECT_EQ(base::to_string(granted->claim), claim);
  EXPECT_EQ(granted->notice.what, Notice::What::granted);
  EXPECT_EQ(granted->notice.grant.token, Token(7, 12));
  EXPECT_TRUE(granted->notice.grant.contended);
  EXPECT_EQ(read_letter(letter("contended"))->notice.what, Notice::What::contended);
  EXPECT_EQ(read_letter(letter("asked"))->notice.what, Notice::What::release_requested);
  EXPECT_EQ(read_letter(letter("gone"))->notice.what, Notice::What::gone);
  EXPECT_EQ(read_letter(letter("again"))->notice.what, Notice::What::look_again);
}

TEST(RedisLetterTest, OfAGrantIsAHintWhereReplicasMustConfirmIt) {
  EXPECT_EQ(read_letter(letter("granted 7 12 1"), false)->notice.what, Notice::What::look_again);
}

TEST(RedisLetterTest, IsNotReadWithoutTheSealOfItsOwnText) {
  const std::string real = letter("granted 7 12 1");
  const std::string text = real.substr(41);
  EXPECT_FALSE(read_letter(""));
  EXPECT_FALSE(read_letter(text)) << "as it was before there were seals";
  EXPECT_FALSE(read_letter(std::string(40, '0') + " " + text));
  EXPECT_FALSE(read_letter(real.substr(0, 40)));
  EXPECT_FALSE(read_letter(real.substr(0, 41)));
  EXPECT_FALSE(read_letter(real + "0"));
  EXPECT_FALSE(read_letter(real.substr(0, 41) + "1" + real.substr(42))) << "for another claim";
  EXPECT_FALSE(read_letter(sealed(text, "another secret")));
  EXPECT_TRUE(read_letter(real));
}

TEST(RedisLetterTest, IsNotReadWithoutAClaimAndANews) {
  EXPECT_FALSE(read_letter(sealed("", secret)));
  EXPECT_FALSE(read_letter(sealed(claim, secret)));
  EXPECT_FALSE(read_letter(sealed("nobody granted 7 12 1", secret)));
}

}  // namespace
}  // namespace pawl::store::redis
