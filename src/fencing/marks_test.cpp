#include "fencing/marks.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace pawl::fencing {
namespace {

using namespace std::literals;

Sequencer writer(Kind kind, Token token) { return {.kind = kind, .token = token, .name = "a"}; }
Sequencer reader(Token token) { return {.kind = Kind::rw, .mode = Mode::shared, .token = token, .name = "a"}; }
Sequencer permit(std::uint32_t slot, Token token) {
  return {.kind = Kind::permits, .slot = slot, .token = token, .name = "a"};
}

constexpr Token t1{1, 1}, t2{1, 2}, t3{1, 3};

/// What came before, what comes now, and whether it is admitted and changes a mark.
struct Cell {
  std::string_view scene;
  std::vector<Sequencer> before;
  Sequencer now;
  Errc refused;  ///< Errc{}: admitted
  bool changes;
};

void expect_cells(Kind kind, const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    Marks marks(kind, "a");
    for (const auto& earlier : cell.before) ASSERT_TRUE(marks.admit(earlier)) << cell.scene;
    EXPECT_EQ(marks.check(cell.now).code(), cell.refused) << cell.scene;
    const Marks untouched = marks;
    const auto admitted = marks.admit(cell.now);
    EXPECT_EQ(admitted.code(), cell.refused) << cell.scene;
    EXPECT_EQ(admitted.value_or(false), cell.changes) << cell.scene;
    EXPECT_EQ(marks != untouched, cell.changes) << cell.scene;
  }
}

TEST(MarksTable, Exclusive) {
  for (const Kind kind : {Kind::mutex, Kind::election}) {
    expect_cells(kind, {{"nobody before", {}, writer(kind, t1), {}, true},
                        {"t > X", {writer(kind, t1)}, writer(kind, t2), {}, true},
                        {"t = X", {writer(kind, t2)}, writer(kind, t2), {}, false},
                        {"t < X", {writer(kind, t2)}, writer(kind, t1), Errc::overtaken, false}});
  }
}

TEST(MarksTable, ReadersAndWriters) {
  const auto write = [](Token token) { return writer(Kind::rw, token); };
  expect_cells(Kind::rw,
               {{"writer, nobody before", {}, write(t1), {}, true},
                {"writer, t > X, t > S", {write(t1), reader(t2)}, write(t3), {}, true},
                {"writer, t > X, t = S", {write(t1), reader(t2)}, write(t2), Errc::overtaken, false},
                {"writer, t > X, t < S", {write(t1), reader(t3)}, write(t2), Errc::overtaken, false},
                {"writer, t = X, t > S", {reader(t1), write(t2)}, write(t2), {}, false},
                {"writer, t = X, t = S: downgraded", {write(t2), reader(t2)}, write(t2), Errc::overtaken, false},
                {"writer, t = X, t < S", {write(t2), reader(t3)}, write(t2), Errc::overtaken, false},
                {"writer, t < X, t > S", {write(t3)}, write(t2), Errc::overtaken, false},
                {"writer, t < X, t = S", {reader(t1), write(t3)}, write(t1), Errc::overtaken, false},
                {"writer, t < X, t < S", {write(t2), reader(t3)}, write(t1), Errc::overtaken, false},
                {"reader, nobody before", {}, reader(t1), {}, true},
                {"reader, t > X, t > S", {write(t1), reader(t2)}, reader(t3), {}, true},
                {"reader, t > X, t = S", {write(t1), reader(t2)}, reader(t2), {}, false},
                {"reader, t > X, t < S", {write(t1), reader(t3)}, reader(t2), {}, false},
                {"reader, t = X, t > S: downgrade", {write(t2)}, reader(t2), {}, true},
                {"reader, t = X, t = S", {write(t2), reader(t2)}, reader(t2), {}, false},
                {"reader, t = X, t < S", {write(t2), reader(t3)}, reader(t2), {}, false},
                {"reader, t < X, t > S", {reader(t1), write(t3)}, reader(t2), Errc::overtaken, false},
                {"reader, t < X, t = S", {reader(t1), write(t3)}, reader(t1), Errc::overtaken, false},
                {"reader, t < X, t < S", {reader(t2), write(t3)}, reader(t1), Errc::overtaken, false}});
}

TEST(MarksTable, Permits) {
  expect_cells(Kind::permits, {{"nobody before", {}, permit(0, t1), {}, true},
                               {"t > mark", {permit(0, t1)}, permit(0, t2), {}, true},
                               {"t = mark", {permit(0, t2)}, permit(0, t2), {}, false},
                               {"t < mark", {permit(0, t2)}, permit(0, t1), Errc::overtaken, false},
                               {"another slot's mark", {permit(0, t3)}, permit(1, t1), {}, true}});
}

TEST(MarksTest, EachPartOfTheTokenCounts) {
  Marks marks(Kind::mutex, "a");
  ASSERT_TRUE(marks.admit(writer(Kind::mutex, Token(2, 5, 7))));
  EXPECT_EQ(marks.check(writer(Kind::mutex, Token(2, 5, 6))).code(), Errc::overtaken);
  EXPECT_EQ(marks.check(writer(Kind::mutex, Token(2, 4, 9))).code(), Errc::overtaken);
  EXPECT_EQ(marks.check(writer(Kind::mutex, Token(1, 9, 9))).code(), Errc::overtaken);
  EXPECT_TRUE(marks.check(writer(Kind::mutex, Token(3, 0, 0)))) << "a new epoch begins with a small counter";
}

TEST(MarksTest, RefusesAnotherLock) {
  Marks marks(Kind::mutex, "a");
  Sequencer other = writer(Kind::mutex, t1);
  other.name = "b";
  EXPECT_EQ(marks.admit(other).code(), Errc::invalid_argument);
  EXPECT_EQ(marks.admit(writer(Kind::election, t1)).code(), Errc::invalid_argument);
}

constexpr std::uint64_t home = 7, elsewhere = 8;
constexpr FenceOptions follow{.follow_new_store = true};

Sequencer from(std::uint64_t store, Token token) {
  Sequencer sequencer = writer(Kind::mutex, token);
  sequencer.store_id = store;
  return sequencer;
}

TEST(MarksStore, TheFirstOnePinsIt) {
  Marks marks(Kind::mutex, "a");
  EXPECT_TRUE(marks.check(from(elsewhere, t3))) << "a check pins nothing";
  ASSERT_TRUE(marks.admit(from(home, t1)));
  EXPECT_EQ(marks.check(from(elsewhere, t1)).code(), Errc::other_store);
  EXPECT_EQ(marks.admit(from(elsewhere, Token(99, 1))).code(), Errc::other_store) << "also with a later epoch";
  EXPECT_EQ(marks.admit(from(home, t2)).value_or(false), true);
}

TEST(MarksStore, TheStoreNumberedZeroIsOneToo) {
  Marks marks(Kind::mutex, "a");
  ASSERT_TRUE(marks.admit(from(0, t1)));
  EXPECT_EQ(marks.check(from(home, t2)).code(), Errc::other_store);
}

TEST(MarksStore, TheRefusalNamesBothStores) {
  Marks marks(Kind::mutex, "a");
  ASSERT_TRUE(marks.admit(from(home, t1)));
  EXPECT_EQ(marks.check(from(elsewhere, t1)).error().message,
            "the fence of mutex \"a\" is pinned to store 0000000000000007, and this token comes from store "
            "0000000000000008: check the store's URL, or move the fence with adopt()");
}

TEST(MarksStore, FollowsALaterEpochOnly) {
  Marks marks(Kind::mutex, "a");
  ASSERT_TRUE(marks.admit(from(home, Token(5, 9)), follow));
  EXPECT_EQ(marks.check(from(elsewhere, Token(4, 99)), follow).code(), Errc::overtaken);
  EXPECT_EQ(marks.check(from(elsewhere, Token(5, 99)), follow).code(), Errc::overtaken) << "chance, not order";
  EXPECT_EQ(marks.check(from(elsewhere, Token(6, 1))).code(), Errc::other_store) << "not without the option";
  EXPECT_EQ(marks.admit(from(elsewhere, Token(6, 1)), follow).value_or(false), true);
  EXPECT_EQ(marks.check(from(home, Token(5, 9)), follow).code(), Errc::overtaken);
  EXPECT_EQ(marks.check(from(home, Token(5, 9))).code(), Errc::other_store);
  EXPECT_TRUE(marks.check(from(elsewhere, Token(6, 2))));
}

TEST(MarksStore, FollowsAboveEveryMark) {
  Marks rw(Kind::rw, "a");
  ASSERT_TRUE(rw.admit(writer(Kind::rw, Token(5, 1)), follow));
  ASSERT_TRUE(rw.admit(reader(Token(7, 1)), follow));
  Sequencer other = reader(Token(6, 1));
  other.store_id = elsewhere;
  EXPECT_EQ(rw.check(other, follow).code(), Errc::overtaken);
  Marks permits(Kind::permits, "a");
  ASSERT_TRUE(permits.admit(permit(3, Token(7, 1)), follow));
  Sequencer free_slot = permit(0, Token(6, 1));
  free_slot.store_id = elsewhere;
  EXPECT_EQ(permits.check(free_slot, follow).code(), Errc::overtaken);
}

TEST(MarksStore, AdoptsOnPurposeAndForgetsTheMarks) {
  Marks marks(Kind::mutex, "a");
  ASSERT_TRUE(marks.admit(from(home, Token(5, 9))));
  EXPECT_TRUE(marks.adopt(elsewhere));
  EXPECT_EQ(marks.check(from(home, Token(5, 9))).code(), Errc::other_store);
  EXPECT_EQ(marks.check(from(home, Token(5, 9)), follow).code(), Errc::other_store) << "no mark to be later than";
  EXPECT_TRUE(marks.check(from(elsewhere, Token(1, 1))));
}

TEST(MarksStore, AdoptingItsOwnStoreForgetsNothing) {
  Marks marks(Kind::mutex, "a");
  ASSERT_TRUE(marks.admit(from(home, t2)));
  EXPECT_FALSE(marks.adopt(home));
  EXPECT_EQ(marks.check(from(home, t1)).code(), Errc::overtaken);
}

TEST(MarksTest, RefusesWhatNoGrantCanHave) {
  Marks mutex(Kind::mutex, "a");
  EXPECT_EQ(mutex.admit(writer(Kind::mutex, Token{})).code(), Errc::invalid_argument);
  Sequencer with_slot = writer(Kind::mutex, t1);
  with_slot.slot = 0;
  EXPECT_EQ(mutex.admit(with_slot).code(), Errc::invalid_argument);
  Sequencer shared = writer(Kind::mutex, t1);
  shared.mode = Mode::shared;
  EXPECT_EQ(mutex.admit(shared).code(), Errc::invalid_argument);

  Marks permits(Kind::permits, "a");
  EXPECT_EQ(permits.admit(writer(Kind::permits, t1)).code(), Errc::invalid_argument);
}

TEST(MarksTest, SaysWhoOvertookWhom) {
  Marks marks(Kind::mutex, "a");
  ASSERT_TRUE(marks.admit(writer(Kind::mutex, t2)));
  const auto message = marks.check(writer(Kind::mutex, t1)).error().message;
  EXPECT_EQ(message, "token " + t1.to_string() + " of mutex \"a\" is overtaken: a later holder with " + t2.to_string() +
                         " has been here");
}

Marks busy_marks() {
  Marks marks(Kind::permits, "a b");
  for (const std::uint32_t slot : {7U, 0U, 4294967295U}) {
    EXPECT_TRUE(marks.admit({.store_id = 255, .kind = Kind::permits, .slot = slot, .token = t2, .name = "a b"}));
  }
  return marks;
}

TEST(MarksText, WritesTheDocumentedLines) {
  const std::string zero(32, '0');
  EXPECT_EQ(busy_marks().to_text(), "pawl-fence 2\nkind permits\nname a%20b\nstore 00000000000000ff\nexclusive " +
                                        zero + "\nshared " + zero + "\nslot 0 " + t2.to_string() + "\nslot 7 " +
                                        t2.to_string() + "\nslot 4294967295 " + t2.to_string() + "\nend\n");
}

TEST(MarksText, ComesBack) {
  Marks rw(Kind::rw, "\n\0name"sv);
  ASSERT_TRUE(rw.admit({.kind = Kind::rw, .token = t1, .name = "\n\0name"s}));
  ASSERT_TRUE(rw.admit({.kind = Kind::rw, .mode = Mode::shared, .token = t3, .name = "\n\0name"s}));
  Marks adopted(Kind::mutex, "a");
  adopted.adopt(home);
  for (const Marks& marks : {rw, adopted, busy_marks(), Marks(Kind::mutex, std::string(4096, '/'))}) {
    const auto back = Marks::parse(marks.to_text());
    ASSERT_TRUE(back) << back.error().to_string();
    EXPECT_EQ(*back, marks);
  }
}

TEST(MarksText, ANewerLayoutIsUnsupported) {
  EXPECT_EQ(Marks::parse("pawl-fence 3\nwhatever").code(), Errc::unsupported);
  EXPECT_EQ(Marks::parse("pawl-fence 3").code(), Errc::unsupported);
}

TEST(MarksText, TheLayoutWithoutAStoreIsReadAndPinnedByTheNext) {
  const std::string zero(32, '0');
  const std::string old =
      "pawl-fence 1\nkind mutex\nname a\nexclusive " + t2.to_string() + "\nshared " + zero + "\nend\n";
  auto marks = Marks::parse(old);
  ASSERT_TRUE(marks) << marks.error().to_string();
  EXPECT_EQ(marks->check(from(home, t1)).code(), Errc::overtaken) << "its marks count";
  EXPECT_EQ(marks->admit(from(home, t2)).value_or(false), true) << "the same token: the pin is new";
  EXPECT_EQ(marks->check(from(elsewhere, t3)).code(), Errc::other_store);
  EXPECT_TRUE(marks->to_text().starts_with("pawl-fence 2\nkind mutex\nname a\nstore 0000000000000007\n"));
  for (std::size_t size = 0; size < old.size(); ++size) {
    EXPECT_EQ(Marks::parse(old.substr(0, size)).code(), Errc::invalid_argument) << size;
  }
  EXPECT_FALSE(Marks::parse("pawl-fence 0" + old.substr(12)));
  EXPECT_FALSE(Marks::parse("pawl-fence 2" + old.substr(12)));
}

TEST(MarksText, EveryCutAndEveryChangeOfAByteIsSeen) {
  const Marks marks = busy_marks();
  const std::string text = marks.to_text();
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(Marks::parse(text.substr(0, size)).code(), Errc::invalid_argument) << size;
  }
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] ^= 1;
    const auto parsed = Marks::parse(changed);
    EXPECT_TRUE(!parsed || *parsed != marks) << changed;
  }
}

TEST(MarksText, RefusesGarbage) {
  const std::string good = busy_marks().to_text();
  for (const std::string& text : {""s, "\n"s, "hello"s, "pawl-fence 0\n"s, "pawl-fence x\n"s, good + "\n", good + good,
                                  "\n" + good, std::string(1000, '\0')}) {
    EXPECT_EQ(Marks::parse(text).code(), Errc::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace pawl::fencing
