#include "store/record.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace pawl::store {
namespace {

using namespace std::chrono_literals;

Record a_record() {
  Record record;
  record.id = {1, 2};
  record.owner = {.host = "db7", .pid = 4711, .label = "nightly backup = 100% \n done"};
  record.stage = Record::Stage::failed;
  record.mode = Mode::shared;
  record.since = 1'700'000'000'001;
  record.permits = {.wanted = 2, .of = 5};
  record.slots = {0, 4};
  record.value = std::string("\0\xFF -", 4);
  record.lease = 45s;
  record.lock_delay = 1500ms;
  record.epoch = 1'700'000'000'000;
  record.token = Token(7, 8);
  record.name = "a very long name";
  record.release_requested = true;
  return record;
}

TEST(RecordTest, ComesBackAsItWas) {
  const Record was = a_record();
  const std::optional<Record> is = Record::parse(was.to_text());
  ASSERT_TRUE(is);
  EXPECT_EQ(is->id, was.id);
  EXPECT_EQ(is->owner.host, was.owner.host);
  EXPECT_EQ(is->owner.pid, was.owner.pid);
  EXPECT_EQ(is->owner.label, was.owner.label);
  EXPECT_EQ(is->stage, was.stage);
  EXPECT_EQ(is->since, was.since);
  EXPECT_EQ(is->mode, was.mode);
  EXPECT_EQ(is->permits, was.permits);
  EXPECT_EQ(is->slots, was.slots);
  EXPECT_EQ(is->value, was.value);
  EXPECT_EQ(is->lease, was.lease);
  EXPECT_EQ(is->lock_delay, was.lock_delay);
  EXPECT_EQ(is->epoch, was.epoch);
  EXPECT_EQ(is->token, was.token);
  EXPECT_EQ(is->name, was.name);
  EXPECT_TRUE(is->release_requested);
  EXPECT_FALSE(is->owner.foreign);
}

TEST(RecordTest, IsOneLineThatPeopleCanRead) {
  Record record;
  record.id = {1, 2};
  record.owner = {.host = "db7", .pid = 4711, .label = "nightly"};
  record.lease = 45s;
  record.epoch = 9;
  EXPECT_EQ(record.to_text(),
            "pawl1 epoch=9 host=db7 id=00000000000000010000000000000002 label=nightly lease=45000 pid=4711");
}

TEST(RecordTest, DataOfOthersIsNone) {
  for (const std::string data : {"", "127.0.0.1", "__REVOKE__", "pawl1", "pawl1 host=x", "pawl2 id=1", "pawl1 id=xyz",
                                 "pawl1 id", "{\"id\":1}"}) {
    EXPECT_FALSE(Record::parse(data)) << data;
  }
}

TEST(NotesTest, ComeBackAsTheyWere) {
  Notes was;
  was.delayed = true;
  for (std::uint64_t i = 1; i <= 2; ++i) {
    Notes::Reign reign;
    reign.leader = {.value = i == 1 ? "" : "10.0.0.7:80", .token = Token(3, i), .owner = {.host = "db7", .pid = 1}};
    reign.since = 1000 + i;
    reign.after_nobody = i == 2;
    was.reigns.push_back(reign);
  }
  const Notes is = Notes::parse(was.to_text());
  EXPECT_TRUE(is.delayed);
  ASSERT_EQ(is.reigns.size(), 2u);
  EXPECT_EQ(is.reigns[0].leader.value, "");
  EXPECT_FALSE(is.reigns[0].after_nobody);
  EXPECT_EQ(is.reigns[1].leader.value, "10.0.0.7:80");
  EXPECT_EQ(is.reigns[1].leader.token, Token(3, 2));
  EXPECT_EQ(is.reigns[1].leader.owner.host, "db7");
  EXPECT_EQ(is.reigns[1].since, 1002u);
  EXPECT_TRUE(is.reigns[1].after_nobody);
}

TEST(NotesTest, OfAFolderOfOthersSayNothing) {
  for (const std::string data : {"", "127.0.0.1", "pawl2 delayed=1"}) {
    const Notes notes = Notes::parse(data);
    EXPECT_FALSE(notes.delayed) << data;
    EXPECT_EQ(notes.foreign, !data.empty()) << data;
    EXPECT_TRUE(notes.reigns.empty()) << data;
  }
}

}  // namespace
}  // namespace pawl::store
