// Permits on ZooKeeper: one node for each, however many are taken at once, and what older clients have left is read.

#include "store/record.hpp"
#include "tests/zookeeper/stage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <regex>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace stage;
using store::Record;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint32_t most = Semaphore::most_permits;

std::vector<std::uint32_t> slots_of(const Hold& hold) {
  std::vector<std::uint32_t> slots;
  for (std::size_t i = 0; i < hold.permits(); ++i) slots.push_back(hold.sequencer(i).slot.value());
  return slots;
}

/// "... at most 1234 ..."
std::uint32_t limit_in(const std::string& message) {
  std::smatch found;
  if (!std::regex_search(message, found, std::regex("at most ([0-9]+)"))) throw std::runtime_error(message);
  return static_cast<std::uint32_t>(std::stoul(found[1]));
}

/// How long everything is that is written with a claim.
struct Words {
  std::string name;
  std::string label = {};
  Duration lock_delay = {};
};

void PrintTo(const Words& words, std::ostream* out) {
  *out << words.name.size() << " bytes, label " << words.label.size() << ", lock-delay " << words.lock_delay.count();
}

class ZooKeeperPermitsAtOnce : public testing::TestWithParam<Words> {};

INSTANTIATE_TEST_SUITE_P(Claims, ZooKeeperPermitsAtOnce,
                         testing::Values(Words{"job"}, Words{"job", std::string(256, '/'), 60s},
                                         Words{std::string(4'000, '/')}));

TEST_P(ZooKeeperPermitsAtOnce, MoreThanFitIntoOneTransactionAreRefusedBeforeTheyQueueAndTheMostThatFitAreGranted) {
  const Words& words = GetParam();
  Stage stage;
  const std::string more = "&lease=60s&timeout=60s";
  Client alice = stage.bob(more), bob = stage.bob(more);
  AcquireOptions options{.wait = hang, .label = words.label};
  if (words.lock_delay > 0s) options.lock_delay = words.lock_delay;
  const Result<Hold> refused = alice.semaphore(words.name, most).acquire(most, options);
  ASSERT_EQ(refused.code(), Errc::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("10000 permits"));
  EXPECT_THAT(stage.eye.claims(stage.top), IsEmpty());
  const std::uint32_t limit = limit_in(refused.error().message);
  EXPECT_GT(limit, 500U);
  EXPECT_EQ(alice.semaphore(words.name, most).acquire(limit + 1, options).code(), Errc::invalid_argument);
  Result<Hold> hold = alice.semaphore(words.name, most).acquire(limit, options);
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_THAT(slots_of(*hold), SizeIs(limit));
  EXPECT_TRUE(bob.semaphore(words.name, most).acquire(1, {.wait = hang}));
  EXPECT_TRUE(hold->release());
  EXPECT_THAT(stage.eye.claims(stage.top), IsEmpty());
}

// The servers write all of them into one transaction when the session ends, and stop where it is too large.
TEST(ZooKeeperPermits, OfOneSessionAreRefusedBeforeTheirPathsAreTooMuchForItsEnd) {
  Stage stage;
  const std::string more = "&lease=60s&timeout=60s", name(4'000, '/');
  Client alice = stage.bob(more), bob = stage.bob(more);
  Semaphore permits = alice.semaphore(name, most);
  const std::uint32_t limit = limit_in(permits.acquire(most, {.wait = hang}).error().message);
  std::vector<Hold> holds;
  Result<Hold> hold = permits.acquire(limit, {.wait = hang});
  while (hold && holds.size() < 10) {
    holds.push_back(std::move(*hold));
    hold = permits.acquire(limit, {.wait = hang});
  }
  ASSERT_EQ(hold.code(), Errc::overloaded);
  EXPECT_THAT(hold.error().message, HasSubstr("limit of 1800000"));
  EXPECT_THAT(holds, SizeIs(2));
  EXPECT_THAT(stage.eye.claims(stage.top), SizeIs(2 * limit)) << "it left nothing in the queue";
  EXPECT_TRUE(alice.mutex("job").acquire({.wait = hang})) << "there is room for a little";
  EXPECT_TRUE(bob.semaphore(name, most).acquire(limit, {.wait = hang})) << "another session";
  EXPECT_TRUE(holds.back().release());
  EXPECT_TRUE(permits.acquire(limit, {.wait = hang}));
}

TEST(ZooKeeperPermits, EachHasANodeThatNamesItsSlotAndTheFirstSaysWhose) {
  Stage stage;
  Client alice = stage.alice();
  const Hold hold = alice.semaphore("job", 5).acquire(3, {.wait = hang, .label = "reindex"}).value();
  const std::string leases = stage.folder("job", "permits") + "/leases";
  std::vector<std::uint32_t> slots;
  std::vector<std::string> labels;
  for (const std::string& name : stage.eye.children(leases)) {
    const std::optional<Record> record = Record::parse(stage.eye.get(leases + "/" + name).data);
    ASSERT_TRUE(record) << name;
    EXPECT_EQ(record->permits, (store::Claim::Permits{.wanted = 3, .of = 5})) << name;
    for (const std::uint32_t slot : record->slots) slots.push_back(slot);
    labels.push_back(record->owner.label);
  }
  EXPECT_THAT(slots, ElementsAre(0, 1, 2));
  EXPECT_THAT(labels, ElementsAre("reindex", "", ""));
  const LockView view = alice.inspect("job", Kind::permits).value();
  ASSERT_THAT(view.holders, SizeIs(1));
  EXPECT_THAT(view.holders.front().slots, ElementsAre(0, 1, 2));
  EXPECT_EQ(view.holders.front().owner.label, "reindex");
}

TEST(ZooKeeperPermits, ARequestToLetGoLeavesEachNodeItsOwnSlot) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  const Hold hold = alice.semaphore("job", 5).acquire(3, {.wait = hang}).value();
  const LockView view = bob.inspect("job", Kind::permits).value();
  ASSERT_THAT(view.holders, SizeIs(1));
  EXPECT_TRUE(bob.revoke("job", {.claim = view.holders.front().claim}, Kind::permits));
  const std::string leases = stage.folder("job", "permits") + "/leases";
  const std::string first = leases + "/" + stage.eye.children(leases).at(0);
  const std::optional<Record> record = Record::parse(stage.eye.get(first).data);
  ASSERT_TRUE(record);
  EXPECT_TRUE(record->release_requested);
  EXPECT_THAT(record->slots, ElementsAre(0));
  EXPECT_THAT(bob.inspect("job", Kind::permits).value().holders.front().slots, ElementsAre(0, 1, 2));
}

TEST(ZooKeeperPermits, ThatAreAllTakenAreNotReadByWhoWaits) {
  Stage stage;
  Client alice = stage.alice("&lease=6s&timeout=60s"), bob = stage.bob("&lease=6s&timeout=60s");
  constexpr std::uint32_t all = 300;
  Hold many = bob.semaphore("job", all).acquire(all - 1, {.wait = hang}).value();
  Hold one = bob.semaphore("job", all).acquire(1, {.wait = hang}).value();
  const std::size_t before = stage.proxy.seen("getData"), lists = stage.proxy.seen("getChildren2");
  auto waits = std::async(std::launch::async, [&] { return alice.semaphore("job", all).acquire(all, {.wait = hang}); });
  // How many permits there are, the leases as the first in line, and the lock-delays.
  ASSERT_TRUE(eventually([&] { return stage.proxy.seen("getChildren2") >= lists + 3; }));
  EXPECT_TRUE(one.release()) << "news, and still too few";
  EXPECT_TRUE(many.release());
  EXPECT_TRUE(waits.get());
  EXPECT_LE(stage.proxy.seen("getData") - before, 100U);
}

// Scenario: a client of the first release holds two permits of four. Each of its nodes names both slots.
TEST(ZooKeeperPermits, OfAnOlderClientAreSeenAndKeptOutOf) {
  Stage stage;
  Client alice = stage.alice();
  const std::string folder = stage.folder("job", "permits");
  stage.eye.make_folder(folder);
  stage.eye.create(folder + "/leases", ZOO_CONTAINER);
  const std::string text =
      "pawl1 epoch=1 host=db7 id=00000000000000010000000000000002 lease=6000 of=4 pid=7 slots=0.2 wanted=2";
  for (int i = 0; i < 2; ++i) stage.eye.create(folder + "/leases/lease-", ZOO_EPHEMERAL | ZOO_SEQUENCE, text);
  const LockView view = alice.inspect("job", Kind::permits).value();
  ASSERT_THAT(view.holders, SizeIs(1));
  EXPECT_THAT(view.holders.front().slots, ElementsAre(0, 2));
  EXPECT_EQ(view.holders.front().owner.host, "db7");
  EXPECT_EQ(alice.semaphore("job", 4).try_acquire(3).code(), Errc::busy);
  const Hold hold = alice.semaphore("job", 4).acquire(2, {.wait = hang}).value();
  EXPECT_THAT(slots_of(hold), ElementsAre(1, 3));
}

TEST(ZooKeeperPermits, AreAllFoundAgainWhenTheAnswerIsLost) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  const Hold one = bob.semaphore("job", 5).acquire(1, {.wait = hang}).value();
  stage.arrange(Fault::swallow_reply, "multi", "lease-");
  const Hold hold = alice.semaphore("job", 5).acquire(4, {.wait = hang}).value();
  EXPECT_EQ(stage.proxy.happened(), 1);
  EXPECT_THAT(slots_of(hold), ElementsAre(1, 2, 3, 4));
}

// Scenario: so many readers have failed that the nodes of their lock-delays cannot all be deleted in one transaction.
TEST(ZooKeeperPermits, AWriterGetsPastAnyNumberOfFailedReaders) {
  Stage stage;
  Client alice = stage.alice("&lease=6s&timeout=60s");
  const std::string name(1'500, 'x');
  { const Hold first = alice.shared_mutex(name).acquire({.wait = hang, .lock_delay = 1s}).value(); }
  const std::string delays = stage.top + "/delays/" + stage.eye.children(stage.top + "/delays").at(0);
  constexpr int failed = 1'200;
  for (int i = 0; i < failed; i += 100) {
    std::vector<Part> parts;
    for (int j = i; j < i + 100; ++j) {
      Record record;
      record.id = {7, static_cast<std::uint64_t>(j)};
      record.mode = Mode::shared;
      record.lock_delay = 1ms;
      parts.push_back(store::zookeeper::making(delays + "/" + to_string(record.id), record.to_text(), ZOO_PERSISTENT));
    }
    ASSERT_EQ(stage.eye.change(parts), ZOK);
  }
  const std::string folder = stage.folder("", "rw") + stage.eye.children(stage.top + "/sequential/rw").at(0);
  ASSERT_EQ(stage.eye.change({store::zookeeper::setting(folder, "pawl1 delayed=yes")}), ZOK);
  const Result<Hold> hold = alice.shared_mutex(name).acquire({.wait = hang});
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_THAT(stage.eye.children(delays), IsEmpty());
}

// Scenario: the server stops answering at the first node of many.
TEST(ZooKeeperPermits, AreReadSomeAtATime) {
  Stage stage;
  Client alice = stage.alice("&lease=6s&timeout=20s"), bob = stage.bob("&lease=60s&timeout=60s");
  const Hold anchor = alice.mutex("anchor").acquire({.wait = hang}).value();
  const Hold hold = bob.semaphore("job", 1'000).acquire(1'000, {.wait = hang}).value();
  const std::size_t before = stage.proxy.seen("getData");
  stage.arrange(Fault::go_silent, "getData", "/leases/");
  EXPECT_EQ(alice.inspect("job", Kind::permits).code(), Errc::store_unavailable);
  EXPECT_EQ(stage.proxy.happened(), 1);
  EXPECT_LE(stage.proxy.seen("getData") - before, 300U);
}

}  // namespace
}  // namespace pawl
