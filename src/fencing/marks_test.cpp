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

void expect(Kind kind, const std::vector<Cell>& cells) {
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
    expect(kind, {{"nobody before", {}, writer(kind, t1), {}, true},
                  {"t > X", {writer(kind, t1)}, writer(kind, t2), {}, true},
                  {"t = X", {writer(kind, t2)}, writer(kind, t2), {}, false},
                  {"t < X", {writer(kind, t2)}, writer(kind, t1), Errc::overtaken, false}});
  }
}

TEST(MarksTable, ReadersAndWriters) {
  const auto write = [](Token token) { return writer(Kind::rw, token); };
  expect(Kind::rw, {{"writer, nobody before", {}, write(t1), {}, true},
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
  expect(Kind::permits, {{"nobody before", {}, permit(0, t1), {}, true},
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

TEST(MarksTest, DoesNotCompareTheStore) {
  Marks marks(Kind::mutex, "a");
  Sequencer moved = writer(Kind::mutex, t1);
  moved.store_id = 99;
  EXPECT_TRUE(marks.admit(moved));
  EXPECT_TRUE(marks.admit(writer(Kind::mutex, t2)));
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
    EXPECT_TRUE(marks.admit({.kind = Kind::permits, .slot = slot, .token = t2, .name = "a b"}));
  }
  return marks;
}

TEST(MarksText, WritesTheDocumentedLines) {
  const std::string zero(32, '0');
  EXPECT_EQ(busy_marks().to_text(), "pawl-fence 1\nkind permits\nname a%20b\nexclusive " + zero + "\nshared " + zero +
                                        "\nslot 0 " + t2.to_string() + "\nslot 7 " + t2.to_string() +
                                        "\nslot 4294967295 " + t2.to_string() + "\nend\n");
}

TEST(MarksText, ComesBack) {
  Marks rw(Kind::rw, "\n\0name"sv);
  ASSERT_TRUE(rw.admit({.kind = Kind::rw, .token = t1, .name = "\n\0name"s}));
  ASSERT_TRUE(rw.admit({.kind = Kind::rw, .mode = Mode::shared, .token = t3, .name = "\n\0name"s}));
  for (const Marks& marks : {rw, busy_marks(), Marks(Kind::mutex, std::string(4096, '/'))}) {
    const auto back = Marks::parse(marks.to_text());
    ASSERT_TRUE(back) << back.error().to_string();
    EXPECT_EQ(*back, marks);
  }
}

TEST(MarksText, ANewerLayoutIsUnsupported) {
  EXPECT_EQ(Marks::parse("pawl-fence 2\nwhatever").code(), Errc::unsupported);
  EXPECT_EQ(Marks::parse("pawl-fence 2").code(), Errc::unsupported);
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
