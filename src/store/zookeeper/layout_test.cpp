#include "store/zookeeper/layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace pawl::store::zookeeper {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr ClaimId id{0x1122334455667788, 0x99AABBCCDDEEFF00};
const std::string hex = "112233445566778899aabbccddeeff00";

TEST(Stem, IsCuratorsWithoutItsId) {
  EXPECT_EQ(stem(Dialect::curator, Kind::mutex, Mode::exclusive, id), "lock-");
  EXPECT_EQ(stem(Dialect::curator, Kind::election, Mode::exclusive, id), "lock-");
  EXPECT_EQ(stem(Dialect::curator, Kind::permits, Mode::exclusive, id), "lock-");
  EXPECT_EQ(stem(Dialect::curator, Kind::rw, Mode::exclusive, id), "__WRIT__");
  EXPECT_EQ(stem(Dialect::curator, Kind::rw, Mode::shared, id), "__READ__");
}

TEST(Stem, IsKazoosWithTheClaimsId) {
  EXPECT_EQ(stem(Dialect::kazoo, Kind::mutex, Mode::exclusive, id), hex + "__lock__");
  EXPECT_EQ(stem(Dialect::kazoo, Kind::rw, Mode::exclusive, id), hex + "__lock__");
  EXPECT_EQ(stem(Dialect::kazoo, Kind::rw, Mode::shared, id), hex + "__rlock__");
}

TEST(Numbered, HasTenDigitsAsTheServersWriteThem) {
  EXPECT_EQ(numbered("lock-", 7), "lock-0000000007");
  EXPECT_EQ(numbered("lock-", last_sequence), "lock-2147483647");
}

TEST(PlaceOf, ReadsOursAndCurators) {
  const auto ours = place_of(Dialect::curator, Kind::mutex, "lock-0000000012");
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->sequence, 12);
  const auto curators =
      place_of(Dialect::curator, Kind::mutex, "_c_7c4b2f6e-6c0f-4a5b-9d1f-3d1c5b1d0a55-lock-0000000013");
  ASSERT_TRUE(curators);
  EXPECT_EQ(curators->sequence, 13);
  const auto reader = place_of(Dialect::curator, Kind::rw, "_c_7c4b2f6e-__READ__0000000014");
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->mode, Mode::shared);
  const auto writer = place_of(Dialect::curator, Kind::rw, "__WRIT__0000000015");
  ASSERT_TRUE(writer);
  EXPECT_EQ(writer->mode, Mode::exclusive);
}

TEST(PlaceOf, ReadsKazoos) {
  const auto lock = place_of(Dialect::kazoo, Kind::mutex, hex + "__lock__0000000003");
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->sequence, 3);
  EXPECT_FALSE(place_of(Dialect::kazoo, Kind::mutex, hex + "__rlock__0000000003"))
      << "not in the queue of a plain lock";
  const auto reader = place_of(Dialect::kazoo, Kind::rw, hex + "__rlock__0000000004");
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->mode, Mode::shared);
}

TEST(PlaceOf, KnowsANumberThatHasWrapped) {
  const auto place = place_of(Dialect::curator, Kind::mutex, "lock--2147483648");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->sequence, -2147483648LL);
}

TEST(PlaceOf, LeavesForeignChildrenAlone) {
  for (const std::string name : {"", "lock-", "lock-12", "lock-00000000ab", "config", "0000000012", "leases", "locks",
                                 "lock-0000000012x", "read-0000000012"}) {
    EXPECT_FALSE(place_of(Dialect::curator, Kind::mutex, name)) << name;
  }
  EXPECT_FALSE(place_of(Dialect::curator, Kind::rw, "lock-0000000012"));
  EXPECT_FALSE(place_of(Dialect::kazoo, Kind::mutex, "lock-0000000012"));
}

TEST(PlacesOf, SortsByNumberWhateverStandsBeforeIt) {
  const auto places = places_of(Dialect::curator, Kind::mutex,
                                {"lock-0000000003", "_c_f-lock-0000000001", "junk", "_c_a-lock-0000000002"});
  EXPECT_THAT(places, ElementsAre(Field(&Place::sequence, 1), Field(&Place::sequence, 2), Field(&Place::sequence, 3)));
}

TEST(Blocks, AReaderWaitsForWritersAndAWriterForAll) {
  const Place reader{"r", 1, Mode::shared}, writer{"w", 2, Mode::exclusive}, late{"r", 3, Mode::shared};
  EXPECT_TRUE(blocks(reader, writer));
  EXPECT_TRUE(blocks(writer, late));
  EXPECT_FALSE(blocks(reader, late));
  EXPECT_FALSE(blocks(late, writer)) << "it came later";
  EXPECT_FALSE(blocks(writer, writer));
}

TEST(CheckPath, RefusesWhatTheServersWouldRefuse) {
  EXPECT_TRUE(check_path("/jobs/backup"));
  EXPECT_TRUE(check_path("/a..b/.c"));
  for (const std::string path : {"", "jobs", "/", "//jobs", "/jobs/", "/jobs//a", "/jobs/./a", "/jobs/..", "/a\nb"}) {
    const Result<void> refused = check_path(path);
    EXPECT_EQ(refused.code(), Errc::invalid_argument) << path;
  }
  EXPECT_THAT(check_path("/a\x1B[31m").error().message, ::testing::Not(HasSubstr("\x1B")));
  EXPECT_FALSE(check_path("/" + std::string(4000, 'x')));
}

// Servers count in UTF-16, and refuse what stands for itself badly there.
TEST(CheckPath, RefusesCharactersThatNoNodeMayHave) {
  for (const std::string_view fine :
       {"~", "\xC2\xA0",
        "stra\xC3\x9F"
        "e",
        "\xDF\xBF", "\xE0\xA0\x80", "\xE6\x97\xA5\xE6\x9C\xAC", "\xED\x9F\xBF", "\xEF\xA4\x80", "\xEF\xBF\xAF"}) {
    EXPECT_TRUE(check_path("/jobs/" + std::string(fine) + "/a")) << fine;
  }
  struct Bad {
    std::string_view bytes, what;
  };
  using namespace std::string_view_literals;
  for (const auto& [bytes, what] : {Bad{"\0"sv, "U+0000"},
                                    {"\x1F", "U+001F"},
                                    {"\x7F", "U+007F"},
                                    {"\xC2\x80", "U+0080"},
                                    {"\xC2\x9F", "U+009F"},
                                    {"\xED\xA0\x80", "U+D800, a surrogate"},
                                    {"\xED\xBF\xBF", "U+DFFF, a surrogate"},
                                    {"\xEE\x80\x80", "U+E000, for private use"},
                                    {"\xEF\xA3\xBF", "U+F8FF, for private use"},
                                    {"\xEF\xBF\xB0", "U+FFF0"},
                                    {"\xEF\xBF\xBD", "U+FFFD"},
                                    {"\xEF\xBF\xBF", "U+FFFF"},
                                    {"\xF0\x9F\x94\x92", "U+1F512, two surrogates"},
                                    {"\x80", "a byte that only continues"},
                                    {"\xC3", "half a character"},
                                    {"\xC3x", "half a character, and another"},
                                    {"\xE2\x82", "two thirds of one"},
                                    {"\xE2x\xAC", "one with a hole"},
                                    {"\xC0\xAF", "/ in two bytes"},
                                    {"\xC1\xBF", "U+007F in two bytes"},
                                    {"\xE0\x9F\xBF", "U+07FF in three bytes"},
                                    {"\xFF", "no UTF-8 at all"}}) {
    EXPECT_EQ(check_path("/jobs/" + std::string(bytes)).code(), Errc::invalid_argument) << what;
    EXPECT_EQ(check_path("/jobs/a" + std::string(bytes) + "b/c").code(), Errc::invalid_argument) << what;
  }
}

TEST(Paths, AreTakenApart) {
  EXPECT_EQ(parent_of("/a/b/c"), "/a/b");
  EXPECT_EQ(parent_of("/a"), "");
  EXPECT_EQ(name_of("/a/b/c"), "c");
}

}  // namespace
}  // namespace pawl::store::zookeeper
