#include <pawl/sequencer.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::literals;

Sequencer example() {
  return {
      .store_id = 0x0123456789abcdef, .kind = Kind::rw, .mode = Mode::shared, .token = Token(1, 2, 3), .name = "a/b.c"};
}

constexpr std::string_view example_text = "pawl1.0123456789abcdef.rw.shared.-.00000000000100000000000000020003.a%2Fb.c";

TEST(SequencerTest, WritesTheDocumentedText) { EXPECT_EQ(example().to_string(), example_text); }

TEST(SequencerTest, ComesBackFromItsText) {
  const std::string every_byte = [] {
    std::string bytes;
    for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
    return bytes;
  }();
  const std::vector<std::string> names = {"a",
                                          ".",
                                          "..",
                                          "a.b.c",
                                          "...a...",
                                          "pawl1.x",
                                          "-",
                                          "%",
                                          "%2F",
                                          "\0"s,
                                          "\n",
                                          " ",
                                          "{a}:b",
                                          "~",
                                          "\xFF",
                                          every_byte,
                                          std::string(4096, '/')};
  for (const Kind kind : {Kind::mutex, Kind::rw, Kind::permits, Kind::election}) {
    for (const Mode mode : {Mode::exclusive, Mode::shared}) {
      for (const std::optional<std::uint32_t> slot : {std::optional<std::uint32_t>{}, std::optional<std::uint32_t>{0},
                                                      std::optional{std::numeric_limits<std::uint32_t>::max()}}) {
        for (const auto& name : names) {
          const Sequencer one{~0ULL, kind, mode, slot, Token(Token::max_epoch, ~0ULL, 0xFFFF), name};
          const auto back = Sequencer::parse(one.to_string());
          ASSERT_TRUE(back) << back.error().to_string();
          EXPECT_EQ(*back, one);
        }
      }
    }
  }
}

TEST(SequencerTest, EveryTruncationIsRefused) {
  const std::string text = example().to_string();
  const std::size_t name_begins = text.rfind("a%2F");
  // From here on a cut leaves a shorter name, which is a sequencer of another lock: "a" and "a%2Fb" and so on.
  for (std::size_t size = 0; size <= name_begins; ++size) {
    EXPECT_EQ(Sequencer::parse(text.substr(0, size)).code(), Errc::invalid_argument) << text.substr(0, size);
  }
  EXPECT_FALSE(Sequencer::parse(text.substr(0, name_begins + 2))) << "half an escape";
  EXPECT_FALSE(Sequencer::parse(text.substr(0, name_begins + 3))) << "half an escape";
}

TEST(SequencerTest, AnyChangedByteGivesAnErrorOrAnotherSequencer) {
  const Sequencer original = example();
  const std::string text = original.to_string();
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[at] = static_cast<char>(byte);
      if (changed == text) continue;
      const auto parsed = Sequencer::parse(changed);
      if (!parsed) continue;
      ASSERT_NE(*parsed, original) << changed;
      ASSERT_EQ(parsed->to_string(), changed) << "one sequencer has one text";
    }
  }
}

TEST(SequencerTest, ParseTakesTheCanonicalTextOnly) {
  const std::string token = "00000000000100000000000000020003";
  for (const std::string& text : {
           ""s,
           "pawl1"s,
           " "s + std::string(example_text),
           std::string(example_text) + "\n",
           std::string(example_text) + "%",
           "PAWL1.0123456789abcdef.rw.shared.-." + token + ".a",
           "pawl.0123456789abcdef.rw.shared.-." + token + ".a",
           "pawl1x.0123456789abcdef.rw.shared.-." + token + ".a",
           "pawl01.0123456789abcdef.rw.shared.-." + token + ".a",
           "pawl1.0123456789ABCDEF.rw.shared.-." + token + ".a",
           "pawl1.123456789abcdef.rw.shared.-." + token + ".a",
           "pawl1.00123456789abcdef.rw.shared.-." + token + ".a",
           "pawl1.0123456789abcdef.RW.shared.-." + token + ".a",
           "pawl1.0123456789abcdef.lock.shared.-." + token + ".a",
           "pawl1.0123456789abcdef.rw.read.-." + token + ".a",
           "pawl1.0123456789abcdef.rw.shared.." + token + ".a",
           "pawl1.0123456789abcdef.rw.shared.+1." + token + ".a",
           "pawl1.0123456789abcdef.rw.shared.-1." + token + ".a",
           "pawl1.0123456789abcdef.rw.shared.01." + token + ".a",
           "pawl1.0123456789abcdef.rw.shared.1x." + token + ".a",
           "pawl1.0123456789abcdef.rw.shared.4294967296." + token + ".a",
           "pawl1.0123456789abcdef.rw.shared.-." + token.substr(1) + ".a",
           "pawl1.0123456789abcdef.rw.shared.-." + token + ".",
           "pawl1.0123456789abcdef.rw.shared.-." + token + "..a",
           "pawl1.0123456789abcdef.rw.shared.-." + token + ".a/b",
           "pawl1.0123456789abcdef.rw.shared.-." + token + ".a%2fb",
           "pawl1.0123456789abcdef.rw.shared.-." + token + ".%61",
           "pawl1.0123456789abcdef.rw.shared.-." + token + "." + std::string(4097, 'a'),
       }) {
    EXPECT_EQ(Sequencer::parse(text).code(), Errc::invalid_argument) << text;
  }
}

TEST(SequencerTest, AnotherVersionIsUnsupportedWhateverFollows) {
  for (const std::string_view text : {"pawl2.anything", "pawl2.", "pawl2", "pawl10.0123456789abcdef.rw"}) {
    EXPECT_EQ(Sequencer::parse(text).code(), Errc::unsupported) << text;
  }
}

TEST(SequencerTest, ErrorsAreOneShortLine) {
  const auto refused = Sequencer::parse("pawl1.\n\x1b" + std::string(100'000, 'x'));
  ASSERT_FALSE(refused);
  EXPECT_LT(refused.error().message.size(), 400U);
  EXPECT_EQ(refused.error().message.find_first_of("\n\x1b"), std::string::npos);
}

}  // namespace
}  // namespace pawl
