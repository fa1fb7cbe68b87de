#include "base/duration.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl::base {
namespace {

using namespace std::literals;

TEST(ParseDuration, TakesANumberAndAUnit) {
  EXPECT_EQ(parse_duration("17ns").value(), 17ns);
  EXPECT_EQ(parse_duration("250us").value(), 250us);
  EXPECT_EQ(parse_duration("1500ms").value(), 1500ms);
  EXPECT_EQ(parse_duration("2s").value(), 2s);
  EXPECT_EQ(parse_duration("5m").value(), 5min);
  EXPECT_EQ(parse_duration("1h").value(), 1h);
  EXPECT_EQ(parse_duration("2d").value(), 48h);
  EXPECT_EQ(parse_duration("0s").value(), 0s);
  EXPECT_EQ(parse_duration("007s").value(), 7s);
}

TEST(ParseDuration, TakesSeveralUnitsTheLargestFirst) {
  EXPECT_EQ(parse_duration("1h30m").value(), 90min);
  EXPECT_EQ(parse_duration("1m1s").value(), 61s);
  EXPECT_EQ(parse_duration("2d1h1m1s500ms").value(), 49h + 61s + 500ms);
  EXPECT_EQ(parse_duration("1m1.5s").value(), 61500ms);
  EXPECT_EQ(parse_duration("106751d24h").code(), Errc::invalid_argument) << "longer than 292 years";
}

TEST(ParseDuration, TakesExactFractions) {
  EXPECT_EQ(parse_duration("1.5s").value(), 1500ms);
  EXPECT_EQ(parse_duration("0.1s").value(), 100ms);
  EXPECT_EQ(parse_duration("0.000000001s").value(), 1ns);
  EXPECT_EQ(parse_duration("1.50000000000000000000000s").value(), 1500ms);
  EXPECT_EQ(parse_duration("1.000ns").value(), 1ns);
  EXPECT_EQ(parse_duration("0.3h").value(), 18min);
  EXPECT_EQ(parse_duration("0.00001d").value(), 864ms);
}

TEST(ParseDuration, TakesTheLongestDuration) {
  EXPECT_EQ(parse_duration("9223372036854775807ns").value(), Duration::max());
  EXPECT_EQ(parse_duration("9223372036.854775807s").value(), Duration::max());
  for (const auto* text : {"9223372036854775808ns", "9223372036.854775808s", "9223372037s", "300000d",
                           "99999999999999999999999999999s", "2562048h"}) {
    EXPECT_EQ(parse_duration(text).code(), Errc::invalid_argument) << text;
  }
}

TEST(ParseDuration, RefusesEverythingElse) {
  for (const auto text : {""sv,
                          "s"sv,
                          "5"sv,
                          "0"sv,
                          "1.5"sv,
                          "-1s"sv,
                          "+1s"sv,
                          " 1s"sv,
                          "1s "sv,
                          "1 s"sv,
                          "1S"sv,
                          "1sec"sv,
                          ".5s"sv,
                          "1.s"sv,
                          "1..5s"sv,
                          "1.5.5s"sv,
                          "1,5s"sv,
                          "1e3s"sv,
                          "0x1s"sv,
                          "30s1m"sv,
                          "1m1m"sv,
                          "1m30"sv,
                          "1.5m30s"sv,
                          "1m 30s"sv,
                          "1mm"sv,
                          "inf"sv,
                          "1s\0"sv,
                          "0.5ns"sv,
                          "0.0000000001s"sv,
                          "0.1234567890123456789s"sv}) {
    EXPECT_EQ(parse_duration(text).code(), Errc::invalid_argument) << text;
  }
}

TEST(ParseDuration, SaysWhatWouldBeRight) {
  EXPECT_EQ(parse_duration("30").error().message,
            "\"30\" is not a duration: it has no unit; write a number and a unit (ns, us, ms, s, m, h, d), like "
            "1500ms, 1.5s or "
            "1h30m");
  EXPECT_EQ(parse_duration("-3s").error().message, "\"-3s\" is not a duration: it must not be negative");
}

TEST(FormatDuration, ReadsLikePeopleWrite) {
  EXPECT_EQ(format_duration(0s), "0s");
  EXPECT_EQ(format_duration(17ns), "17ns");
  EXPECT_EQ(format_duration(250us), "250us");
  EXPECT_EQ(format_duration(150ms), "150ms");
  EXPECT_EQ(format_duration(1500us), "1.5ms");
  EXPECT_EQ(format_duration(2s), "2s");
  EXPECT_EQ(format_duration(1500ms), "1.5s");
  EXPECT_EQ(format_duration(5min), "5m");
  EXPECT_EQ(format_duration(5min + 3s + 20ms), "5m 3s");
  EXPECT_EQ(format_duration(3h + 5min), "3h 5m");
  EXPECT_EQ(format_duration(49h), "2d 1h");
}

TEST(FormatDuration, CutsAndNeverRoundsUp) {
  EXPECT_EQ(format_duration(59'999'999'999ns), "59.999s");
  EXPECT_EQ(format_duration(999'999ns), "999.999us");
  EXPECT_EQ(format_duration(1h - 1ns), "59m 59s");
}

TEST(FormatDuration, KnowsTheEndsOfTheRange) {
  EXPECT_EQ(format_duration(-1500ms), "-1.5s");
  EXPECT_EQ(format_duration(Duration::max()), "106751d 23h");
  EXPECT_EQ(format_duration(Duration::min()), "-106751d 23h");
}

TEST(FormatDuration, OneUnitComesBack) {
  for (const Duration d :
       {Duration(0s), Duration(17ns), Duration(1500us), Duration(2s), Duration(7min), Duration(48h)}) {
    EXPECT_EQ(parse_duration(format_duration(d)).value(), d);
  }
}

}  // namespace
}  // namespace pawl::base
