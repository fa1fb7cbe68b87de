#include <pawl/hold.hpp>
#include <pawl/observer.hpp>
#include <pawl/sequencer.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace pawl {
namespace {

TEST(Names, KindsComeBack) {
  for (const Kind kind : {Kind::mutex, Kind::rw, Kind::permits, Kind::election}) {
    EXPECT_EQ(parse_kind(to_string(kind)).value(), kind);
  }
  for (const std::string_view text : {"", "Mutex", "mutex ", "unknown", "lock"}) {
    EXPECT_EQ(parse_kind(text).code(), Errc::invalid_argument) << text;
  }
}

TEST(Names, ModesComeBack) {
  for (const Mode mode : {Mode::exclusive, Mode::shared}) EXPECT_EQ(parse_mode(to_string(mode)).value(), mode);
  for (const std::string_view text : {"", "Shared", "read", "unknown"}) {
    EXPECT_EQ(parse_mode(text).code(), Errc::invalid_argument) << text;
  }
}

TEST(Names, ErrorsSayWhatWouldBeRight) {
  EXPECT_NE(parse_kind("lock").error().message.find("mutex, rw, permits, election"), std::string::npos);
  EXPECT_NE(parse_mode("read").error().message.find("exclusive, shared"), std::string::npos);
}

TEST(Names, HoldStates) {
  EXPECT_EQ(to_string(HoldState::held), "held");
  EXPECT_EQ(to_string(HoldState::jeopardy), "jeopardy");
  EXPECT_EQ(to_string(HoldState::released), "released");
  EXPECT_EQ(to_string(HoldState::lost), "lost");
  EXPECT_EQ(to_string(static_cast<HoldState>(9)), "unknown");
}

TEST(Names, EveryEventHasAnotherName) {
  std::set<std::string_view> names;
  const int count = static_cast<int>(EventType::other_kind) + 1;
  for (int type = 0; type < count; ++type) names.insert(to_string(static_cast<EventType>(type)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(count));
  EXPECT_FALSE(names.contains("unknown"));
}

}  // namespace
}  // namespace pawl
