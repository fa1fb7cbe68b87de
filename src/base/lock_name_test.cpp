#include "base/lock_name.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace pawl::base {
namespace {

using namespace std::literals;

/// Names chosen to collide if anything can: separators, escapes, dots, cases, lengths, every byte.
std::vector<std::string> hostile_names() {
  std::vector<std::string> names = {
      ".",   "..",    "...", ".a",   "a.",      "a..b",  "%",        "%25",       "%2525", "%2E",  "%2e",  "a%2Fb",
      "a/b", "a%2fb", "~",   "~a",   "-",       "_",     "a:b",      "a%3Ab",     "{a}",   "a b",  "a+b",  "A",
      "a",   "\n",    "\0"s, "a\0"s, "\0a"s,    "a\0b"s, "\xC3\xA9", "e\xCC\x81", "\xE9",  "\xFF", "*",    "?",
      "[a]", "a,b",   "//",  "/",    "../../x", "CON",   "a\\b",     "\"",        "'",     "`",    "$(x)", "\r\n"};
  for (int byte = 0; byte < 256; ++byte) {
    names.emplace_back(1, static_cast<char>(byte));
    names.push_back("x" + std::string(1, static_cast<char>(byte)));
    names.push_back(std::string(1, static_cast<char>(byte)) + "x");
  }
  for (std::size_t length : {78, 79, 80, 81, 200, 255, 256, 4095, 4096}) {
    names.emplace_back(length, 'a');
    names.emplace_back(length, '/');
    names.push_back(std::string(length - 1, 'a') + "b");
  }
  return names;
}

std::vector<std::string> random_names(std::size_t count) {
  std::mt19937_64 random(20240607);
  constexpr std::string_view alphabet = "ab.%2Fe~-/\0"sv;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    std::string name(1 + random() % 12, ' ');
    for (char& c : name) c = random() % 4 == 0 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
    names.push_back(name);
  }
  return names;
}

std::vector<std::string> many_names() {
  auto names = hostile_names();
  for (auto& name : random_names(20'000)) names.push_back(std::move(name));
  return names;
}

TEST(LockNameTest, TakesAnyBytesUpTo4096) {
  for (const auto& name : hostile_names()) EXPECT_EQ(LockName::make(name)->bytes(), name);
  EXPECT_EQ(LockName::make("").code(), Errc::invalid_argument);
  EXPECT_EQ(LockName::make(std::string(4097, 'a')).code(), Errc::invalid_argument);
}

TEST(LockNameTest, QuotesForPeople) {
  EXPECT_EQ(LockName::make("a \"b\"\n")->quoted(), R"("a \"b\"\n")");
  EXPECT_LE(LockName::make(std::string(4096, 'a'))->quoted().size(), 122U);
}

TEST(EncodeName, IsReadable) {
  EXPECT_EQ(encode_name("Billing-2_a.b"), "Billing-2_a.b");
  EXPECT_EQ(encode_name("billing/ledger"), "billing%2Fledger");
  EXPECT_EQ(encode_name("."), "%2E");
  EXPECT_EQ(encode_name(".."), "%2E.");
  EXPECT_EQ(encode_name("\xFF\0~"s), "%FF%00%7E");
  EXPECT_EQ(encode_name(""), "");
}

TEST(EncodeName, UsesOnlyBytesThatSeparateNothing) {
  for (const auto& name : many_names()) {
    const auto text = encode_name(name);
    ASSERT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.%"), text.npos);
    ASSERT_NE(text.front(), '.');
    ASSERT_NE(text.front(), '~');
  }
}

TEST(EncodeName, NoTwoNamesMeet) {
  std::map<std::string, std::string> seen;
  for (const auto& name : many_names()) {
    const auto [at, fresh] = seen.emplace(encode_name(name), name);
    ASSERT_TRUE(fresh || at->second == name) << at->first;
  }
}

TEST(DecodeName, GivesTheBytesBack) {
  for (const auto& name : many_names()) {
    const auto back = decode_name(encode_name(name));
    ASSERT_TRUE(back) << back.error().to_string();
    ASSERT_EQ(*back, name);
  }
}

TEST(DecodeName, RefusesTextThatEncodeNeverMakes) {
  for (const std::string_view text :
       {"a%2fb"sv, "%61"sv, "%2Da"sv, "a/b"sv, "a b"sv, ".a"sv, "."sv, "a%2E"sv, "~a"sv, "%"sv, "%2"sv, "a%"sv, "%G0"sv,
        "%0G"sv, "%-1"sv, "\xC3\xA9"sv, "a\0"sv, "a:b"sv}) {
    EXPECT_EQ(decode_name(text).code(), Errc::invalid_argument) << text;
  }
}

TEST(DecodeName, AnythingItTakesEncodesToTheSameText) {
  for (const auto& text : many_names()) {
    const auto bytes = decode_name(text);
    ASSERT_TRUE(!bytes || encode_name(*bytes) == text) << text;
  }
}

TEST(FitName, LeavesShortNamesAlone) {
  EXPECT_EQ(fit_name("a/b", 80), "a%2Fb");
  EXPECT_EQ(fit_name(std::string(80, 'a'), 80), std::string(80, 'a'));
}

TEST(FitName, HashesLongNamesBehindATilde) {
  const auto text = fit_name(std::string(81, 'a'), 80);
  EXPECT_EQ(text, "~8c48280d57fb88f161adf34d9f597d93ca32b7edfcd23b2afe64c3789b3f7855-" + std::string(14, 'a')) << text;
}

TEST(FitName, NeverCutsAnEscapeInTwo) {
  for (std::size_t max : {80, 81, 82}) {
    const auto text = fit_name(std::string(100, '/'), max);
    EXPECT_LE(text.size(), max);
    EXPECT_EQ((text.size() - 66) % 3, 0U) << text;
  }
}

TEST(FitName, FitsAndNoTwoNamesMeet) {
  for (const std::size_t max : {80, 128, 255}) {
    std::map<std::string, std::string> seen;
    for (const auto& name : many_names()) {
      const auto text = fit_name(name, max);
      ASSERT_LE(text.size(), max);
      const auto [at, fresh] = seen.emplace(text, name);
      ASSERT_TRUE(fresh || at->second == name) << at->first;
    }
  }
}

TEST(Printable, KeepsOneLineAndOneMeaning) {
  EXPECT_EQ(printable("plain text"), "plain text");
  EXPECT_EQ(printable("a\nb\t\"c\"\\\x1b\x7f\0"s), R"(a\nb\t\"c\"\\\x1b\x7f\x00)");
}

TEST(Printable, KeepsWellFormedUtf8Only) {
  EXPECT_EQ(printable("stra\xC3\x9F"
                      "e \xE2\x82\xAC \xF0\x9F\x94\x92"),
            "stra\xC3\x9F"
            "e \xE2\x82\xAC \xF0\x9F\x94\x92");
  EXPECT_EQ(printable("\xFF\xC3"), R"(\xff\xc3)");
  EXPECT_EQ(printable("\xC0\xAF"), R"(\xc0\xaf)") << "overlong";
  EXPECT_EQ(printable("\xED\xA0\x80"), R"(\xed\xa0\x80)") << "surrogate";
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), R"(\xf4\x90\x80\x80)") << "above U+10FFFF";
}

TEST(Printable, EscapesWhatTurnsOrEndsALine) {
  EXPECT_EQ(printable("\xE2\x80\xAE"), R"(\xe2\x80\xae)") << "right-to-left override";
  EXPECT_EQ(printable("\xC2\x85"), R"(\xc2\x85)") << "next line";
  EXPECT_EQ(printable("\xE2\x80\xA8"), R"(\xe2\x80\xa8)") << "line separator";
}

TEST(Printable, CutsWithDots) {
  EXPECT_EQ(printable("0123456789", 10), "0123456789");
  EXPECT_EQ(printable("0123456789x", 10), "0123456...");
  EXPECT_EQ(printable("012345\x01\x02\x03", 10), "012345...") << "an escape is not cut in two";
  for (const auto& name : hostile_names()) {
    for (std::size_t max : {0, 1, 3, 4, 20}) EXPECT_LE(printable(name, max).size(), max);
  }
}

}  // namespace
}  // namespace pawl::base
