// Nodes come and go between two requests, sessions end, connections come back, servers restart. Whatever happens: one holder
// at a time, no node left behind, larger tokens, honest errors, and work goes on.

#include "tests/zookeeper/stage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {
namespace {

using namespace stage;
using store::zookeeper::making;
using store::zookeeper::removing;
using store::zookeeper::setting;
using testing::AnyOf;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::future<Result<Hold>> wait_to_write(Client& client) {
  return std::async(std::launch::async, [&] { return client.shared_mutex("job").acquire({.wait = hang}); });
}

/// Somebody with a place in the queue, and how to come again.
struct Came {
  std::string node, ticket;
  std::vector<Part> coming;
};

/// The words behind the id are those of another node.
Came come_as(Stage& stage, const std::string& like, const std::string& id) {
  std::string record = stage.eye.get(like).data;
  record.replace(record.find(" id=") + 4, id.size(), id);
  const std::string ticket = stage.top + "/tickets/" + id;
  const std::vector<Part> coming{making(stage.folder() + "/lock-", record, ZOO_EPHEMERAL | ZOO_SEQUENCE),
                                 making(ticket, "", ZOO_EPHEMERAL), setting(ticket, "")};
  EXPECT_EQ(stage.eye.change(coming), ZOK);
  return {stage.folder() + "/" + stage.line().back(), ticket, coming};
}

std::string ticket_of(Stage& stage, const std::string& node) {
  const std::string record = stage.eye.get(node).data;
  return stage.top + "/tickets/" + record.substr(record.find(" id=") + 4, 32);
}

// ---- those before us come and go

TEST(ZooKeeperRaces, ThePredecessorLeavesBetweenTheLookAndTheWatch) {
  Stage stage;
  stage.eye.make_folder(stage.folder());
  const std::string before = stage.eye.create(stage.folder() + "/lock-", ZOO_EPHEMERAL | ZOO_SEQUENCE);
  bool left = false;
  stage.before("", before, [&](std::string_view) { left = stage.eye.remove(before) == ZOK; });
  Client alice = stage.alice();
  Result<Hold> hold = alice.mutex("job").acquire({.wait = hang});
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_TRUE(left);
  EXPECT_THAT(stage.line(), ElementsAre("lock-0000000001"));
  EXPECT_TRUE(hold->release());
}

TEST(ZooKeeperRaces, ThoseBeforeUsLeaveOneByOneEachJustBeforeItIsWatched) {
  Stage stage;
  stage.eye.make_folder(stage.folder());
  std::atomic<int> left = 0;
  for (int i = 0; i < 4; ++i) {
    const std::string before = stage.eye.create(stage.folder() + "/lock-", ZOO_EPHEMERAL | ZOO_SEQUENCE);
    stage.before("", before, [&, before](std::string_view) { left += stage.eye.remove(before) == ZOK ? 1 : 0; });
  }
  Client alice = stage.alice();
  Result<Hold> hold = alice.mutex("job").acquire({.wait = hang});
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_EQ(left, 4);
  EXPECT_THAT(stage.line(), ElementsAre("lock-0000000004"));
}

TEST(ZooKeeperRaces, AWriterLeavesBetweenTheListAndTheWatchOfAReader) {
  Stage stage;
  stage.eye.make_folder(stage.folder("job", "rw"));
  const std::string before = stage.eye.create(stage.folder("job", "rw") + "/__WRIT__", ZOO_EPHEMERAL | ZOO_SEQUENCE);
  bool left = false;
  stage.before("", before, [&](std::string_view) { left = stage.eye.remove(before) == ZOK; });
  Client alice = stage.alice();
  Result<Hold> hold = alice.shared_mutex("job").acquire_shared({.wait = hang});
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_TRUE(left);
}

TEST(ZooKeeperRaces, TheHolderOfAnEphemeralNodeLeavesBeforeItIsWatched) {
  Stage stage("ephemeral");
  Client bob = stage.bob(), alice = stage.alice();
  Hold bobs = bob.mutex("job").acquire().value();
  bool left = false;
  stage.before("getData", stage.folder(), [&](std::string_view) { left = bobs.release().has_value(); });
  Result<Hold> hold = alice.mutex("job").acquire({.wait = hang});
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_TRUE(left);
}

// Scenario: bob lets go just before her nth request reaches the server, whatever it is about; or when she has asked all.
TEST(ZooKeeperRaces, AHolderThatLetsGoBeforeAnyRequestOfAWaiterIsFollowedByIt) {
  for (const std::string scheme : {"sequential", "ephemeral"}) {
    for (int nth = 1; nth <= 7; ++nth) {
      std::atomic<int> asked = 0;
      std::atomic<bool> let_go = false;
      Stage stage(scheme);
      Client alice = stage.alice(), bob = stage.bob();
      const Hold anchor = alice.mutex("anchor").acquire().value();
      Hold bobs = bob.mutex("job").acquire().value();
      const auto let_go_once = [&] {
        if (!let_go.exchange(true)) {
          EXPECT_TRUE(bobs.release());
        }
      };
      const auto count = [&](std::string_view) {
        if (++asked == nth) let_go_once();
      };
      stage.before("change", "/job", count);
      const auto count_reads = [&](std::string_view) {
        if (asked > 0 && ++asked == nth) let_go_once();
      };
      stage.before("getData", "", count_reads, 100);
      auto waits = wait_for(alice.mutex("job"));
      if (waits.wait_for(a_moment) != std::future_status::ready) let_go_once();
      Result<Hold> hold = waits.get();
      ASSERT_TRUE(hold) << scheme << ", " << nth << ": " << hold.error().to_string();
      EXPECT_GT(hold->token(), bobs.token());
      EXPECT_TRUE(hold->release());
    }
  }
}

// Scenario: carol has read who holds the lock, and not yet his ticket.
TEST(ZooKeeperRaces, ARevocationDuringAHandOverLeavesTheNextHolderAlone) {
  for (const bool now : {false, true}) {
    Stage stage("ephemeral");
    Client carol = stage.alice(), bob = stage.bob(), dave = stage.bob();
    Hold held = bob.mutex("job").acquire().value();
    const std::string his = bob.inspect("job").value().holders.at(0).claim;
    std::optional<Hold> next;
    stage.before("getData", "/waiting/", [&](std::string_view) {
      EXPECT_TRUE(held.release());
      next = dave.mutex("job").acquire({.wait = hang}).value();
    });
    [[maybe_unused]] const Result<void> late = carol.revoke("job", {.now = now, .claim = his});
    ASSERT_TRUE(next);
    EXPECT_EQ(carol.mutex("job").try_acquire().code(), Errc::busy);
    EXPECT_FALSE(next->release_requested().stop_requested());
    EXPECT_TRUE(next->release());
  }
}

TEST(ZooKeeperRaces, WhoComesAfterAWaiterGaveUpWaitsForTheHolder) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob(), carol = stage.bob();
  Hold held = alice.mutex("job").acquire().value();
  EXPECT_TRUE(refused(bob.mutex("job").acquire({.wait = a_moment})));
  ASSERT_TRUE(stage.line_is(1));
  EXPECT_TRUE(refused(carol.mutex("job").acquire({.wait = a_moment})));
  EXPECT_TRUE(held.valid());
  auto waits = wait_for(carol.mutex("job"));
  ASSERT_TRUE(stage.line_is(2));
  EXPECT_TRUE(held.release());
  const Result<Hold> next = waits.get();
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_GT(next->token(), held.token());
}

// Scenario: she has just come, or has waited for a while.
TEST(ZooKeeperRaces, WhoStandsBehindAWaiterThatGivesUpWaitsForTheHolder) {
  for (const auto patience : {0ms, a_moment}) {
    Stage stage;
    Client alice = stage.alice(), bob = stage.bob(), carol = stage.bob();
    Hold held = alice.mutex("job").acquire().value();
    std::stop_source stop;
    auto bobs = wait_for(bob.mutex("job"), stop.get_token());
    ASSERT_TRUE(stage.line_is(2));
    auto carols = wait_for(carol.mutex("job"));
    ASSERT_TRUE(stage.line_is(3));
    EXPECT_NE(carols.wait_for(patience), std::future_status::ready);
    stop.request_stop();
    EXPECT_EQ(bobs.get().code(), Errc::cancelled);
    EXPECT_NE(carols.wait_for(a_moment), std::future_status::ready);
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(carols.get());
  }
}

TEST(ZooKeeperRaces, WhoStandsBehindAWaiterThatDiesWaitsForTheHolder) {
  for (const auto patience : {0ms, a_moment}) {
    Stage stage;
    Client alice = stage.bob(), bob = stage.alice(), carol = stage.bob();
    Hold held = alice.mutex("job").acquire().value();
    auto bobs = wait_for(bob.mutex("job"));
    ASSERT_TRUE(stage.line_is(2));
    const std::string place = stage.folder() + "/" + stage.line().back();
    auto carols = wait_for(carol.mutex("job"));
    ASSERT_TRUE(stage.line_is(3));
    EXPECT_NE(carols.wait_for(patience), std::future_status::ready);
    stage.end_session_of(place);
    EXPECT_NE(carols.wait_for(a_moment), std::future_status::ready);
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(carols.get()->release());
    EXPECT_TRUE(bobs.get());
  }
}

// Scenario: the one before her had held the lock before, with another node, and had written that into the folder.
TEST(ZooKeeperRaces, AFolderThatSaysWhoHasLetGoDoesNotSpeakForThoseWhoCameLater) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob(), carol = stage.bob();
  Hold first = alice.mutex("job").acquire().value();
  auto second = wait_for(bob.mutex("job"));
  ASSERT_TRUE(stage.line_is(2));
  EXPECT_TRUE(first.release());
  EXPECT_TRUE(second.get()->release());
  ASSERT_TRUE(stage.line_is(0));
  Hold held = alice.mutex("job").acquire().value();
  EXPECT_TRUE(refused(bob.mutex("job").acquire({.wait = a_moment})));
  EXPECT_TRUE(refused(carol.mutex("job").acquire({.wait = a_moment})));
  EXPECT_TRUE(held.valid());
}

// ---- a writer becomes a reader, with a node of another name and the same number

TEST(ZooKeeperRaces, AWriterWhoWaitsIsNotGrantedWhenTheHolderBecomesAReader) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob(), carol = stage.bob();
  Hold held = bob.shared_mutex("job").acquire().value();
  auto waits = wait_to_write(alice);
  ASSERT_TRUE(stage.line_is(2, "job", "rw"));
  ASSERT_TRUE(eventually([&] { return stage.watched(stage.folder("job", "rw") + "/__WRIT__0000000000"); }));
  EXPECT_TRUE(held.downgrade());
  EXPECT_NE(waits.wait_for(a_moment), std::future_status::ready);
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(held.release());
  Result<Hold> next = waits.get();
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_GT(next->token(), held.token());
  EXPECT_EQ(carol.shared_mutex("job").try_acquire_shared().code(), Errc::busy);
}

TEST(ZooKeeperRaces, AWriterWhoComesAfterTheHolderBecameAReaderWaits) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  Hold held = bob.shared_mutex("job").acquire().value();
  EXPECT_TRUE(held.downgrade());
  EXPECT_EQ(alice.shared_mutex("job").try_acquire().code(), Errc::busy);
  auto waits = wait_to_write(alice);
  ASSERT_TRUE(stage.line_is(2, "job", "rw"));
  EXPECT_NE(waits.wait_for(a_moment), std::future_status::ready);
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(waits.get());
}

TEST(ZooKeeperRaces, TheHolderBecomesAReaderBetweenTheListAndTheWatchOfAWriter) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  Hold held = bob.shared_mutex("job").acquire().value();
  std::atomic<bool> downgraded = false;
  stage.before("", "__WRIT__0000000000", [&](std::string_view) { downgraded = held.downgrade().has_value(); });
  auto waits = wait_to_write(alice);
  ASSERT_TRUE(eventually([&] { return downgraded.load(); }));
  EXPECT_NE(waits.wait_for(a_moment), std::future_status::ready);
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(waits.get());
}

// Scenario: that the old node was changed, and that it is gone, she hears when the new one is there.
TEST(ZooKeeperRaces, AHolderWhoseNodeIsChangedWhileItBecomesAReaderHasNotLostIt) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  const std::string node = stage.folder("job", "rw") + "/__WRIT__0000000000";
  Hold held = alice.shared_mutex("job").acquire().value();
  ASSERT_TRUE(eventually([&] { return stage.watched(node); }));
  stage.proxy.delay_replies(200ms);
  EXPECT_EQ(stage.eye.touch(node), ZOK);
  EXPECT_TRUE(held.downgrade());
  stage.proxy.delay_replies(0ms);
  const std::string reader = stage.folder("job", "rw") + "/__READ__0000000000";
  EXPECT_TRUE(eventually([&] { return stage.watched(reader); }));
  EXPECT_TRUE(bob.shared_mutex("job").acquire_shared({.wait = hang})->release());
  EXPECT_FALSE(held.lost().stop_requested());
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(stage.eye.remove(reader), ZOK);
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); })) << "of the new one she hears";
}

// Scenario: her node is deleted by hand before the downgrade arrives, and the word of that comes while she is busy with it.
TEST(ZooKeeperRaces, AHolderWhoseNodeIsTakenAwayBeforeItBecomesAReaderIsTold) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  const std::string node = stage.folder("job", "rw") + "/__WRIT__0000000000";
  Hold held = alice.shared_mutex("job").acquire().value();
  ASSERT_TRUE(eventually([&] { return stage.watched(node); }));
  stage.before("change", "__READ__", [&](std::string_view) { EXPECT_EQ(stage.eye.remove(node), ZOK); });
  EXPECT_FALSE(held.downgrade());
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
  EXPECT_TRUE(bob.shared_mutex("job").acquire({.wait = hang}));
}

// Scenario: somebody deletes her node by hand, and not her ticket. Bob has the same path by then.
TEST(ZooKeeperRaces, AHolderWhoseEphemeralNodeWasDeletedByHandLeavesTheNextOneAlone) {
  for (const bool away : {false, true}) {
    Stage stage("ephemeral");
    Client alice = stage.alice(), bob = stage.bob(), carol = stage.bob();
    Hold held = alice.mutex("job").acquire().value();
    ASSERT_TRUE(eventually([&] { return stage.watched(stage.folder()); }));
    auto waits = wait_for(bob.mutex("job"));
    ASSERT_TRUE(eventually([&] { return carol.inspect("job").value().waiters.size() == 1; }));
    if (away) stage.proxy.hold();
    if (away) stage.proxy.cut();
    EXPECT_EQ(stage.eye.remove(stage.folder()), ZOK);
    const Result<Hold> next = waits.get();
    ASSERT_TRUE(next) << next.error().to_string();
    auto released = std::async(std::launch::async, [&] { return held.release(); });
    if (away) stage.proxy.go_on();
    EXPECT_FALSE(released.get());
    EXPECT_TRUE(eventually([&] { return carol.inspect("job").value().waiters.empty(); })) << "her ticket is gone";
    EXPECT_EQ(carol.mutex("job").try_acquire().code(), Errc::busy) << away;
    EXPECT_TRUE(next->valid());
  }
}

// Scenario: carol has stood before alice, who was away when carol left and came again: her ticket has the same name.
TEST(ZooKeeperRaces, ATicketThatIsMadeAnewDoesNotSpeakForTheHolder) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  Hold held = bob.mutex("job").acquire().value();
  const Came carol = come_as(stage, stage.folder() + "/" + stage.line().at(0), std::string(32, 'c'));
  auto waits = wait_for(alice.mutex("job"));
  ASSERT_TRUE(eventually([&] { return stage.watched(carol.ticket); }));
  stage.proxy.hold();  // first, or she is back before
  stage.proxy.cut();
  ASSERT_EQ(stage.eye.change({removing(carol.node), removing(carol.ticket)}), ZOK);
  ASSERT_EQ(stage.eye.change(carol.coming), ZOK);
  std::atomic<bool> is_back = false;
  stage.before("connect", "", [&](std::string_view) { is_back = true; });
  stage.proxy.go_on();
  ASSERT_TRUE(eventually([&] { return is_back.load(); }));
  EXPECT_EQ(alice.inspect("job").value().waiters.size(), 2U) << "now she has heard of it";
  EXPECT_EQ(waits.wait_for(a_moment), std::future_status::timeout) << "granted beside bob";
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(waits.get());
}

// Scenario: who was before alice leaves and comes again, behind her and with the same ticket, just before she watches it.
TEST(ZooKeeperRaces, WhoComesAgainBehindUsWithTheSameTicketIsNotWaitedFor) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  Hold held = bob.mutex("job").acquire().value();
  const std::string first = stage.folder() + "/" + stage.line().at(0);
  const Came carol = come_as(stage, first, std::string(32, 'c'));
  std::atomic<bool> came_again = false;
  stage.before("getData", carol.ticket, [&](std::string_view) {
    const bool left = stage.eye.change({removing(carol.node), removing(carol.ticket)}) == ZOK;
    came_again = left && stage.eye.change(carol.coming) == ZOK;
  });
  auto waits = wait_for(alice.mutex("job"));
  ASSERT_TRUE(stage.line_is(3));
  const auto waits_for_bob = [&] { return came_again && stage.watched(ticket_of(stage, first)); };
  EXPECT_TRUE(eventually(waits_for_bob, 4s)) << "she waits for carol, until she looks again: after 5 s";
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(waits.get());
}

// Scenario: bob resigns when alice has a place behind him, but before she has seen who is there.
TEST(ZooKeeperRaces, WhoStoodBehindALeaderFollowsItAtOnce) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob(), carol = stage.bob();
  const Hold anchor = alice.mutex("anchor").acquire().value();
  Hold bobs = bob.election("job").campaign("bob").value();
  Observation seen = carol.election("job").observe();
  const auto next = [&] {
    const std::optional<Leader> change = seen.next(hang).value();
    return change ? change->value : "nobody";
  };
  EXPECT_EQ(next(), "bob");
  stage.before("getData", stage.folder("job", "election") + "/lock-0000000000",
               [&](std::string_view) { EXPECT_TRUE(bobs.release()); });
  const Result<Hold> alices = alice.election("job").campaign("alice", {.wait = hang});
  ASSERT_TRUE(alices) << alices.error().to_string();
  EXPECT_EQ(next(), "alice") << "nobody was never";
}

// ---- watches

// Scenario: it leaves before her first request that names it, or before the second.
TEST(ZooKeeperRaces, WhereThePredecessorHasLeftNoWatchStays) {
  for (const int nth : {1, 2}) {
    int asked = 0;
    Stage stage;
    stage.eye.make_folder(stage.folder());
    const std::string before = stage.eye.create(stage.folder() + "/lock-", ZOO_EPHEMERAL | ZOO_SEQUENCE);
    const auto leave = [&](std::string_view) {
      if (++asked == nth) stage.eye.remove(before);
    };
    stage.before("", before, leave, nth);
    Client alice = stage.alice();
    Result<Hold> hold = alice.mutex("job").acquire({.wait = hang});
    ASSERT_TRUE(hold) << hold.error().to_string();
    EXPECT_TRUE(eventually([&] { return stage.watched(stage.folder() + "/lock-0000000001"); })) << "her own";
    EXPECT_FALSE(stage.watched(before)) << nth;
  }
}

TEST(ZooKeeperRaces, ManyHandOversLeaveNoWatches) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  const auto work = [](Client& client) {
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(client.mutex("job").acquire({.wait = hang})->release());
  };
  auto bobs = std::async(std::launch::async, [&] { work(bob); });
  work(alice);
  bobs.get();
  EXPECT_TRUE(stage.watched(stage.top)) << "the epoch is";
  EXPECT_TRUE(eventually([&] { return !stage.watched(stage.folder()); })) << stage.server.four_letter("wchp");
}

// Scenario: she is told of a change, and the request that reads it and watches on is lost.
TEST(ZooKeeperRaces, AHolderThatCouldNotWatchItsNodeWatchesItLater) {
  Stage stage;
  Client alice = stage.alice("&lease=2s");
  Hold hold = alice.mutex("job").acquire().value();
  const std::string node = stage.folder() + "/" + stage.line().at(0);
  ASSERT_TRUE(eventually([&] { return stage.watched(node); }));
  stage.arrange(Fault::lose_request, "getData", node);
  EXPECT_EQ(stage.eye.touch(node), ZOK);
  EXPECT_TRUE(eventually([&] { return stage.proxy.happened() == 1; }));
  EXPECT_TRUE(eventually([&] { return stage.watched(node); }));
  EXPECT_EQ(stage.eye.remove(node), ZOK);
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
}

// Scenario: the request that watches her own node is lost; then somebody takes her place away.
TEST(ZooKeeperRaces, AWaiterThatCouldNotWatchItsNodeIsNotGrantedWithoutIt) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  Hold bobs = bob.mutex("job").acquire().value();
  const std::string node = stage.folder() + "/lock-0000000001";
  stage.arrange(Fault::lose_request, "getData", node);
  auto waits = wait_for(alice.mutex("job"));
  ASSERT_TRUE(eventually([&] { return stage.proxy.happened() == 1; }));
  EXPECT_TRUE(eventually([&] { return stage.watched(node); }));
  EXPECT_EQ(stage.eye.remove(node), ZOK);
  EXPECT_EQ(waits.get().code(), Errc::lost);
  EXPECT_TRUE(bobs.valid());
}

// ---- permits

TEST(ZooKeeperRaces, APermitThatIsTakenAwayIsLost) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  Hold hold = alice.semaphore("job", 3).acquire(2).value();
  EXPECT_TRUE(bob.revoke("job", {.now = true}, Kind::permits));
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_FALSE(hold.valid());
  EXPECT_THAT(stage.claims("job"), IsEmpty());
  Result<Hold> next = bob.semaphore("job", 3).acquire(3, {.wait = hang});
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_GT(next->token(), hold.token());
  EXPECT_EQ(hold.release().code(), Errc::lost);
  EXPECT_TRUE(next->valid());
}

TEST(ZooKeeperRaces, WhereOneOfSeveralPermitsIsTakenAwayTheOthersAreGivenBack) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  for (std::size_t missing = 0; missing < 3; ++missing) {
    Hold hold = alice.semaphore("job", 3).acquire(3, {.wait = hang}).value();
    const std::string leases = stage.folder("job", "permits") + "/leases";
    const std::vector<std::string> names = stage.eye.children(leases);
    ASSERT_THAT(names, SizeIs(3));
    EXPECT_EQ(stage.eye.remove(leases + "/" + names.at(missing)), ZOK);
    EXPECT_THAT(hold.release().code(), AnyOf(Errc{}, Errc::lost));
    EXPECT_TRUE(eventually([&] { return stage.claims("job").empty(); })) << missing;
    Result<Hold> next = bob.semaphore("job", 3).acquire(3, {.wait = hang});
    ASSERT_TRUE(next) << next.error().to_string();
    EXPECT_TRUE(next->release());
  }
}

// Scenario: somebody has taken one of the leases away, which nobody looks at until the release.
TEST(ZooKeeperRaces, AReleaseOfPermitsTakesTheirDelayAlong) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  Hold hold = alice.semaphore("job", 3).acquire(3, {.wait = hang, .lock_delay = 60s}).value();
  const std::string leases = stage.folder("job", "permits") + "/leases";
  EXPECT_EQ(stage.eye.remove(leases + "/" + stage.eye.children(leases).at(1)), ZOK);
  EXPECT_TRUE(hold.release());
  EXPECT_THAT(stage.claims("job"), IsEmpty());
  EXPECT_TRUE(bob.semaphore("job", 3).acquire(3, {.wait = 30s}));
}

// ---- lock-delay

// Scenario: bob has looked at the lock, and has waited for it in vain, while its holder lived.
TEST(ZooKeeperRaces, ADelayBeginsWhenItsHolderFailsNotWhenSomebodyLooks) {
  constexpr auto delay = 1s;
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  Hold hold = alice.mutex("job").acquire({.wait = hang, .lock_delay = delay}).value();
  EXPECT_TRUE(bob.inspect("job"));
  EXPECT_TRUE(bob.list());
  EXPECT_TRUE(refused(bob.mutex("job").acquire({.wait = delay})));
  stage.end_session_of(stage.folder() + "/" + stage.line().at(0));
  const auto before = std::chrono::steady_clock::now();
  Result<Hold> next = bob.mutex("job").acquire({.wait = hang});
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_GE(std::chrono::steady_clock::now() - before, delay);
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
}

// Scenario: the holder lets go, the next one is granted and fails, and alice, who is left, has begun to look.
TEST(ZooKeeperRaces, ADelayThatBeginsWhileSomebodyLooksIsKept) {
  Stage stage;
  const std::string more = "&lease=6s&dialect=kazoo";  // where whoever comes looks at the whole queue
  Client alice = stage.alice(more), bob = stage.bob(more), carol = stage.bob(more);
  const Hold anchor = alice.mutex("anchor").acquire().value();
  Hold held = carol.mutex("job").acquire().value();
  Mutex job = bob.mutex("job");
  auto fails =
      std::async(std::launch::async, [&] { return job.acquire({.wait = hang, .lock_delay = 60s, .label = "bob"}); });
  ASSERT_TRUE(stage.line_is(2));
  std::optional<Result<Hold>> failed;
  std::atomic<bool> happened = false;
  stage.before("getChildren2", stage.folder(), [&](std::string_view) {
    EXPECT_TRUE(held.release());
    failed = fails.get();
    for (const std::string& node : stage.line()) {
      const std::string path = stage.folder() + "/" + node;
      const bool his = stage.eye.get(path).data.find("label=bob") != std::string::npos;
      EXPECT_TRUE(!his || stage.eye.remove(path) == ZOK);
    }
    happened = true;
  });
  EXPECT_TRUE(refused(alice.mutex("job").acquire({.wait = a_moment})));
  ASSERT_TRUE(eventually([&] { return happened.load(); }));
  ASSERT_TRUE(failed && *failed);
  EXPECT_TRUE(eventually([&] { return (*failed)->lost().stop_requested(); }));
}

// ---- sessions end, connections come and go

class Sessions : public testing::TestWithParam<std::string> {
 protected:
  std::string node_of_alice() {
    for (const std::string& path : stage_.claims("job")) {
      if (stage_.eye.get(path).data.find("label=alice") != std::string::npos) return path;
    }
    return {};
  }
  std::future<Result<Hold>> alice_waits() {
    return std::async(std::launch::async,
                      [this] { return alice_.mutex("job").acquire({.wait = hang, .label = "alice"}); });
  }
  Hold alice_holds() { return alice_.mutex("job").acquire({.wait = hang, .label = "alice"}).value(); }

  Stage stage_{GetParam()};
  Client alice_ = stage_.alice(), bob_ = stage_.bob();
};

INSTANTIATE_TEST_SUITE_P(ZooKeeper, Sessions, testing::Values("sequential", "ephemeral"),
                         [](const testing::TestParamInfo<std::string>& info) { return info.param; });

TEST_P(Sessions, AWaiterWhoseSessionEndsQueuesAgainInANewOne) {
  Hold bobs = bob_.mutex("job").acquire().value();
  auto waits = alice_waits();
  ASSERT_TRUE(eventually([&] { return !node_of_alice().empty(); }));
  const std::int64_t first = stage_.eye.owner(node_of_alice());
  stage_.end_session(first);
  const auto queues_again = [&] {
    const std::string node = node_of_alice();
    const std::int64_t owner = node.empty() ? 0 : stage_.eye.owner(node);
    return owner != 0 && owner != first;
  };
  EXPECT_TRUE(eventually(queues_again));
  EXPECT_TRUE(bobs.valid());
  EXPECT_NE(waits.wait_for(a_moment), std::future_status::ready);
  EXPECT_TRUE(bobs.release());
  Result<Hold> hold = waits.get();
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_GT(hold->token(), bobs.token());
  EXPECT_EQ(alice_.metrics().sessions_opened, 2U);
}

TEST_P(Sessions, AHolderWhoseSessionEndsHasLostTheLock) {
  Hold lost = alice_holds();
  auto bobs = wait_for(bob_.mutex("job"));
  stage_.end_session_of(node_of_alice());
  Result<Hold> next = bobs.get();
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_GT(next->token(), lost.token());
  EXPECT_TRUE(eventually([&] { return lost.lost().stop_requested(); }));
  EXPECT_FALSE(lost.valid());
  EXPECT_EQ(lost.release().code(), Errc::lost);
  EXPECT_TRUE(next->valid()) << "his is not hers to release";
  EXPECT_EQ(alice_.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_TRUE(next->release());
  Result<Hold> again = alice_.mutex("job").acquire({.wait = hang});
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_GT(again->token(), next->token());
}

TEST_P(Sessions, ASessionThatEndsBeforeTheReleaseArrivesTakesTheLockAlong) {
  Hold hold = alice_holds();
  const std::string node = node_of_alice();
  const std::int64_t session = stage_.eye.owner(node);
  bool ended = false;
  stage_.before("change", node, [&](std::string_view) {
    stage_.end_session(session);
    ended = true;
  });
  // The connection ends with the session, in most cases before an answer comes: then nobody can tell.
  EXPECT_THAT(hold.release().code(), AnyOf(Errc{}, Errc::lost, Errc::outcome_unknown));
  EXPECT_TRUE(ended);
  EXPECT_TRUE(bob_.mutex("job").acquire({.wait = hang}));
  EXPECT_TRUE(alice_.mutex("job").acquire({.wait = hang}));
  EXPECT_TRUE(eventually([&] { return stage_.claims("job").empty(); }));
}

// Scenario: the session ends while nobody knows whether her node was made.
TEST_P(Sessions, ASessionThatEndsBeforeTheClaimArrivesIsFollowedByAnother) {
  const Hold anchor = alice_.mutex("anchor").acquire().value();
  const std::int64_t session = stage_.eye.owner(stage_.claims("anchor").at(0));
  bool ended = false;
  stage_.before("change", "job", [&](std::string_view) {
    stage_.end_session(session);
    ended = true;
  });
  Result<Hold> hold = alice_.mutex("job").acquire({.wait = hang});
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_TRUE(ended);
  EXPECT_TRUE(eventually([&] { return anchor.lost().stop_requested(); }));
  EXPECT_TRUE(hold->valid());
  EXPECT_EQ(bob_.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_TRUE(hold->release());
  EXPECT_TRUE(eventually([&] { return stage_.claims("job").empty(); }));
}

TEST_P(Sessions, AConnectionThatComesBackKeepsTheHold) {
  Hold hold = alice_holds();
  const std::string node = node_of_alice();
  const std::int64_t session = stage_.eye.owner(node);
  for (std::size_t cut = 1; cut <= 5; ++cut) {
    const std::size_t links = stage_.proxy.accepted();
    stage_.proxy.cut();
    ASSERT_TRUE(eventually([&] { return stage_.proxy.accepted() > links && stage_.proxy.connections() > 0; }));
  }
  const std::uint64_t renewals = alice_.metrics().renewals;
  EXPECT_TRUE(eventually([&] { return alice_.metrics().renewals > renewals; }));
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_EQ(stage_.eye.owner(node), session);
  EXPECT_EQ(bob_.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_EQ(alice_.metrics().sessions_opened, 1U);
  EXPECT_TRUE(hold.release());
}

// Scenario: bob lets go while she is away: she hears of it when she is back.
TEST_P(Sessions, AConnectionThatComesBackHearsWhatHasHappenedMeanwhile) {
  Hold bobs = bob_.mutex("job").acquire().value();
  auto waits = alice_waits();
  ASSERT_TRUE(eventually([&] { return !node_of_alice().empty(); }));
  stage_.proxy.hold();
  stage_.proxy.cut();
  EXPECT_TRUE(bobs.release());
  stage_.proxy.go_on();
  Result<Hold> hold = waits.get();
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_EQ(alice_.metrics().sessions_opened, 1U);
}

TEST(ZooKeeperRaces, AConnectionThatComesBackKeepsThePlace) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob(), carol = stage.bob();
  Hold bobs = bob.mutex("job").acquire().value();
  auto alices = wait_for(alice.mutex("job"));
  ASSERT_TRUE(stage.line_is(2));
  stage.proxy.hold();
  stage.proxy.cut();
  auto carols = wait_for(carol.mutex("job"));
  ASSERT_TRUE(stage.line_is(3));
  const std::vector<std::string> line = stage.line();
  EXPECT_TRUE(bobs.release());
  EXPECT_NE(carols.wait_for(a_moment), std::future_status::ready) << "alice was there before her";
  stage.proxy.go_on();
  Result<Hold> hold = alices.get();
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_THAT(stage.line(), ElementsAre(line.at(1), line.at(2)));
  EXPECT_EQ(alice.metrics().sessions_opened, 1U);
  EXPECT_TRUE(hold->release());
  EXPECT_TRUE(carols.get());
}

// ---- the folder

TEST(ZooKeeperRaces, WhoWaitsInAFolderThatIsDeletedIsNeverGrantedWithTheOldNode) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  Hold bobs = bob.mutex("job").acquire().value();
  auto waits = wait_for(alice.mutex("job"));
  ASSERT_TRUE(stage.line_is(2));
  stage.eye.remove(stage.folder() + "/" + stage.line().back());
  stage.eye.remove_all(stage.folder());
  EXPECT_TRUE(eventually([&] { return bobs.lost().stop_requested(); }));
  EXPECT_EQ(waits.get().code(), Errc::lost);
  EXPECT_TRUE(bob.mutex("job").acquire({.wait = hang})) << "the next one makes another folder";
  EXPECT_TRUE(alice.mutex("job").acquire({.wait = hang}));
}

TEST(ZooKeeperRaces, AHoldWhoseFolderIsDeletedIsLost) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  Hold hold = alice.mutex("job").acquire().value();
  ASSERT_TRUE(stage.line_is(1));
  ASSERT_TRUE(eventually([&] {
    return stage.server.four_letter("wchp").find(stage.folder() + "/lock-") != std::string::npos;
  })) << "she watches her node";
  stage.eye.remove_all(stage.folder());
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_FALSE(hold.valid());
  Result<Hold> next = bob.mutex("job").acquire({.wait = hang});
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_GT(next->token(), hold.token());
  EXPECT_EQ(hold.release().code(), Errc::lost);
  EXPECT_TRUE(next->valid());
}

TEST(ZooKeeperRaces, AFolderThatIsDeletedJustBeforeTheClaimIsMadeAgain) {
  Stage stage;
  Client alice = stage.alice();
  EXPECT_TRUE(alice.mutex("job").acquire()->release());
  int deleted = 0;
  const auto remove_it = [&](std::string_view) {
    stage.eye.remove_all(stage.folder());
    ++deleted;
  };
  stage.before("change", "/job/lock-", remove_it, 2);
  EXPECT_TRUE(alice.mutex("job").acquire({.wait = hang}));
  EXPECT_EQ(deleted, 2);
}

TEST(ZooKeeperRaces, AFolderThatTheServerHasRemovedIsMadeAgainAndTokensGrow) {
  ZooKeeperServer server(ZooKeeperOptions{.container_check = 50ms});
  Stage stage("sequential", server);
  Client alice = stage.alice();
  Token newest{};
  for (int i = 0; i < 3; ++i) {
    Result<Hold> hold = alice.mutex("job").acquire({.wait = hang});
    ASSERT_TRUE(hold) << hold.error().to_string();
    EXPECT_GT(hold->token(), newest);
    newest = hold->token();
    EXPECT_THAT(stage.line(), ElementsAre("lock-0000000000"));
    EXPECT_TRUE(hold->release());
    ASSERT_TRUE(eventually([&] { return !stage.eye.there(stage.folder()); })) << "a container does not stay";
  }
}

TEST(ZooKeeperRaces, ChildrenThatAreNoPlacesAreIgnored) {
  Stage stage;
  stage.eye.make_folder(stage.folder());
  for (const char* stranger : {"notes", "lock-", "lock-12", "0000000000", "lock-000000000x", "__WRIT__0000000000"}) {
    stage.eye.create(stage.folder() + "/" + stranger);
  }
  Client alice = stage.alice(), bob = stage.bob();
  Hold hold = alice.mutex("job").acquire({.wait = hang}).value();
  EXPECT_EQ(bob.mutex("job").try_acquire().code(), Errc::busy);
  auto waits = wait_for(bob.mutex("job"));
  ASSERT_TRUE(eventually([&] { return bob.inspect("job").value().waiters.size() == 1; }));
  EXPECT_EQ(bob.inspect("job").value().holders.size(), 1U);
  stage.eye.create(stage.folder() + "/another");
  EXPECT_NE(waits.wait_for(a_moment), std::future_status::ready);
  EXPECT_TRUE(hold.release());
  Result<Hold> next = waits.get();
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_TRUE(next->release());
  EXPECT_THAT(stage.line(), SizeIs(7));
  Result<Hold> again = alice.mutex("job").try_acquire();
  ASSERT_TRUE(again) << "nobody who could be before her";
  EXPECT_TRUE(again->release());
  EXPECT_TRUE(bob.mutex("job").try_acquire()) << "though he had to wait the last time";
}

// ---- no server at all

TEST(ZooKeeperRaces, WithAllServersDownAHoldIsLostAtItsOwnDeadline) {
  ZooKeeperServer server;
  Stage stage("sequential", server);
  const std::string short_of_time = "&lease=1s&timeout=2s";
  Client alice = stage.alice(short_of_time), bob = stage.bob(short_of_time);
  Hold hold = alice.mutex("job").acquire().value();
  auto waits = wait_for(bob.mutex("job"));
  ASSERT_TRUE(stage.line_is(2));
  const auto before = std::chrono::steady_clock::now();
  server.kill();
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_LE(std::chrono::steady_clock::now() - before, 10s);
  EXPECT_EQ(alice.mutex("other").try_acquire().code(), Errc::store_unavailable);
  EXPECT_EQ(waits.get().code(), Errc::store_unavailable)
      << "whose session has ended, and who finds no other one, is told";
  server.start();
  for (Client* client : {&bob, &alice}) {
    Result<Hold> next = client->mutex("job").acquire({.wait = hang});
    ASSERT_TRUE(next) << next.error().to_string();
    EXPECT_GT(next->token(), hold.token());
    EXPECT_TRUE(next->release());
  }
}

// Scenario: the servers are restarted with other settings. They may end the session sooner than alice was promised.
TEST(ZooKeeperRaces, AHoldWhoseSessionIsShortenedIsLostAtOnce) {
  ZooKeeperServer server;
  Stage stage("sequential", server);
  Client alice = stage.alice("&lease=60s");
  Hold hold = alice.mutex("job").acquire().value();
  server.kill();
  server.allow_sessions_of(20s);
  server.start();
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }, 30s));
  Result<Hold> next = alice.mutex("job").acquire({.wait = hang});
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_GT(next->token(), hold.token());
}

TEST(ZooKeeperRaces, AServerThatShowsEverybodyTheDoorIsNotRunInto) {
  Stage stage;
  Client alice = stage.alice("&lease=60s");
  const Hold hold = alice.mutex("job").acquire().value();
  for (int i = 0; i < 1000; ++i) stage.proxy.arrange(Fault::lose_request, "heartbeat");
  stage.proxy.cut();
  const std::size_t already = stage.proxy.accepted();
  const auto before = std::chrono::steady_clock::now();
  ASSERT_TRUE(eventually([&] { return stage.proxy.accepted() >= already + 12; }));
  EXPECT_GE(std::chrono::steady_clock::now() - before, 1s) << "the pauses grow to half a second";
}

TEST(ZooKeeperRaces, AServerThatRestartsWithinTheLeaseChangesNothing) {
  ZooKeeperServer server;
  Stage stage("sequential", server);
  Client alice = stage.alice("&lease=60s"), bob = stage.bob("&lease=60s");
  Hold hold = alice.mutex("job").acquire().value();
  auto waits = wait_for(bob.mutex("job"));
  ASSERT_TRUE(stage.line_is(2));
  const std::vector<std::string> line = stage.line();
  server.kill();
  server.start();
  EXPECT_EQ(stage.line(), line);
  EXPECT_TRUE(hold.valid());
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(waits.get());
  EXPECT_EQ(alice.metrics().sessions_opened, 1U);
  EXPECT_EQ(bob.metrics().sessions_opened, 1U);
}

// ---- one of several servers is silent, or is not there

/// A client knows two servers, which are two ways to the same one. One at a time has it.
class TwoServers : public testing::Test {
 protected:
  explicit TwoServers(ZooKeeperServer& server = ZooKeeperServer::shared()) : stage_("sequential", server) {}
  std::string addresses() const { return Stage::address(stage_.proxy.port()) + "," + Stage::address(second_.port()); }
  Hold held_by(Client& client) {
    Hold hold = client.mutex("job").acquire().value();
    EXPECT_TRUE(eventually([&] { return stage_.proxy.connections() + second_.connections() == 1; })) << "its session's";
    return hold;
  }
  Proxy& used() { return stage_.proxy.connections() > 0 ? stage_.proxy : second_; }
  Proxy& other() { return stage_.proxy.connections() > 0 ? second_ : stage_.proxy; }
  static void expect_it_lives(Client& client, const Hold& hold) {
    const std::uint64_t renewals = client.metrics().renewals;
    EXPECT_TRUE(eventually([&] { return client.metrics().renewals > renewals || hold.lost().stop_requested(); }));
    EXPECT_TRUE(hold.valid());
    EXPECT_EQ(client.metrics().sessions_opened, 1U);
  }

  Stage stage_;
  Proxy second_{stage_.server.port(), test::zookeeper_framing(stage_.tickets.listener())};
};

/// They agree to no session below 10 s, however short the lease is.
class TwoSlowServers : public TwoServers, public testing::WithParamInterface<std::chrono::milliseconds> {
 protected:
  TwoSlowServers() : TwoServers(slow()) {}

 private:
  static ZooKeeperServer& slow() {
    static ZooKeeperServer server({.tick = 5s, .min_session = 10s});
    return server;
  }
};

INSTANTIATE_TEST_SUITE_P(Leases, TwoSlowServers, testing::Values(600ms, 4s),
                         [](const auto& lease) { return std::to_string(lease.param.count()) + "ms"; });

TEST_P(TwoSlowServers, AServerThatFallsSilentDoesNotCostTheHold) {
  const auto lease = GetParam();
  Client alice(stage_.url(addresses(), "&lease=" + std::to_string(lease.count()) + "ms"));
  Hold hold = held_by(alice);
  // The opening of a session counts longest. After 7 s, it is heartbeats that count.
  const std::uint64_t enough = 7s / (lease / 3);
  ASSERT_TRUE(eventually([&] { return alice.metrics().renewals >= enough || hold.lost().stop_requested(); }, 70s));
  Proxy &silent = used(), &fine = other();
  silent.hold();
  EXPECT_TRUE(eventually([&] { return fine.connections() > 0 || hold.lost().stop_requested(); }));
  expect_it_lives(alice, hold);
  silent.go_on();
  EXPECT_TRUE(hold.release());
}

// Scenario: of three servers two take connections and say nothing. Whoever opens a client has found out which.
TEST_F(TwoServers, TheOneThatHasAnsweredIsTheFirstToBeAskedForASession) {
  Proxy third{stage_.server.port(), test::zookeeper_framing(stage_.tickets.listener())};
  for (int i = 0; i < 200; ++i) {
    stage_.proxy.arrange(Fault::go_silent, "connect");
    third.arrange(Fault::go_silent, "connect");
  }
  const auto tried = [&] { return stage_.proxy.seen("connect") + third.seen("connect"); };
  for (int i = 0; i < 4; ++i) {
    Client client(stage_.url(addresses() + "," + Stage::address(third.port()), "&lease=6s&timeout=60s"));
    const std::size_t before = tried();
    EXPECT_TRUE(client.mutex("job").acquire({.wait = hang}));
    EXPECT_TRUE(client.mutex("job").acquire({.wait = hang, .lease = 7s})) << "another session";
    EXPECT_EQ(tried(), before);
  }
}

// Scenario: the client begins with either of them.
TEST_F(TwoServers, AnAddressWhereNobodyListensIsPassedBy) {
  const test::Port nobody;
  const std::string addresses = Stage::address(nobody.number()) + "," + Stage::address(stage_.server.port());
  for (int i = 0; i < 8; ++i) {
    Client client(stage_.url(addresses, "&lease=6s"));
    Result<Hold> hold = client.mutex("job").acquire({.wait = hang});
    ASSERT_TRUE(hold) << hold.error().to_string();
    EXPECT_TRUE(hold->release());
  }
}

// Scenario: one after the other is restarted, while the other one is there.
TEST_F(TwoServers, ServersThatGoAwayInTurnsDoNotCostTheHold) {
  Client alice(stage_.url(addresses(), "&lease=4s"));
  Hold hold = held_by(alice);
  for (int i = 0; i < 4; ++i) {
    Proxy &away = used(), &fine = other();
    away.shut(true);
    away.cut();
    EXPECT_TRUE(eventually([&] { return fine.connections() > 0 || hold.lost().stop_requested(); }));
    expect_it_lives(alice, hold);
    away.shut(false);
  }
  EXPECT_TRUE(hold.release());
}

TEST_F(TwoServers, AServerThatTakesAConnectionAndSaysNothingDoesNotCostTheHold) {
  Client alice(stage_.url(addresses(), "&lease=4s"));
  Hold hold = held_by(alice);
  Proxy &fine = used(), &silent = other();
  silent.hold();
  const std::size_t links = fine.accepted();
  fine.cut();
  EXPECT_TRUE(eventually([&] { return fine.accepted() > links || hold.lost().stop_requested(); }));
  expect_it_lives(alice, hold);
  silent.go_on();
  EXPECT_TRUE(hold.release());
}

}  // namespace
}  // namespace pawl
