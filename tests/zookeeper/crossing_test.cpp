// Requests about one claim that cross each other on their way.

#include "tests/zookeeper/stage.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace pawl {
namespace {

using namespace stage;
using store::zookeeper::removing;
using testing::IsEmpty;
using testing::SizeIs;

std::string holder_of(Client& client, Kind kind = Kind::mutex) {
  return client.inspect("job", kind).value().holders.at(0).claim;
}

// ---- a release, and a downgrade that is still under way

TEST(ZooKeeperCrossing, WhoStopsReadingAsSoonAsItHasStoppedWritingLeavesNothingBehind) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  const Hold anchor = alice.mutex("anchor").acquire().value();  // her session does not end
  SharedMutex lock = alice.shared_mutex("job");
  lock.lock();
  lock.lock_shared();
  std::atomic<bool> under_way = false;
  stage.before("change", "__READ__", [&](std::string_view) { under_way = true; });
  stage.proxy.delay_replies(100ms);
  lock.unlock();
  ASSERT_TRUE(eventually([&] { return under_way.load(); }));
  lock.unlock_shared();
  ASSERT_TRUE(eventually([&] { return !stage.eye.there(stage.folder("job", "rw") + "/__WRIT__0000000000"); }));
  stage.proxy.delay_replies(0ms);
  EXPECT_TRUE(bob.shared_mutex("job").acquire({.wait = 10s})) << "a reader was left behind";
}

// Scenario: the downgrade is done, but its answer comes later than anybody waits for it.
TEST(ZooKeeperCrossing, ADowngradeThatIsAnsweredLateIsARevocableHold) {
  for (const bool now : {false, true}) {
    Stage stage;
    Client alice = stage.alice("&lease=60s&timeout=1s"), bob = stage.bob();
    Hold held = alice.shared_mutex("job").acquire().value();
    stage.proxy.delay_replies(4s);
    EXPECT_EQ(held.downgrade().code(), Errc::outcome_unknown);
    stage.proxy.delay_replies(0ms);
    ASSERT_TRUE(eventually([&] { return held.downgrade().has_value(); }));
    EXPECT_TRUE(bob.revoke("job", {.now = now}, Kind::rw));
    const std::stop_token told = now ? held.lost() : held.release_requested();
    EXPECT_TRUE(eventually([&] { return told.stop_requested(); }));
  }
}

// ---- a revocation, and what its claim does meanwhile

TEST(ZooKeeperCrossing, AWriterThatBecomesAReaderIsRevokedAllTheSame) {
  for (const bool now : {false, true}) {
    Stage stage;
    Client alice = stage.alice(), bob = stage.bob();
    Hold held = bob.shared_mutex("job").acquire().value();
    const std::string his = holder_of(bob, Kind::rw);
    std::atomic<bool> reads = false;
    stage.before("change", "__WRIT__0000000000", [&](std::string_view) { reads = held.downgrade().has_value(); });
    EXPECT_TRUE(alice.revoke("job", {.now = now, .claim = his}, Kind::rw));
    EXPECT_TRUE(reads);
    const std::stop_token told = now ? held.lost() : held.release_requested();
    EXPECT_TRUE(eventually([&] { return told.stop_requested(); }));
  }
}

TEST(ZooKeeperCrossing, AWaiterThatIsGrantedTheLockIsRevokedAllTheSame) {
  for (const std::string scheme : {"ephemeral", "sequential"}) {
    SCOPED_TRACE(scheme);
    Stage stage(scheme);
    Client alice = stage.alice(), bob = stage.bob(), carol = stage.bob();
    Hold held = bob.mutex("job").acquire().value();
    auto waits = wait_for(carol.mutex("job"));
    ASSERT_TRUE(eventually([&] { return alice.inspect("job").value().waiters.size() == 1; }));
    const std::string hers = alice.inspect("job").value().waiters.at(0).claim;
    std::optional<Result<Hold>> granted;
    stage.before("change", hers, [&](std::string_view) {
      EXPECT_TRUE(held.release());
      granted = waits.get();
    });
    EXPECT_TRUE(alice.revoke("job", {.now = true, .claim = hers}));
    ASSERT_TRUE(granted && *granted);
    EXPECT_TRUE(eventually([&] { return (*granted)->lost().stop_requested(); }));
    EXPECT_TRUE(alice.mutex("job").acquire({.wait = hang}));
  }
}

// Scenario: what a waiter was told is overtaken by its own new label.
TEST(ZooKeeperCrossing, AHolderThatIsRelabelledIsRevokedAllTheSame) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  Hold held = bob.mutex("job").acquire().value();
  const std::string his = holder_of(bob);
  const std::string node = stage.folder() + "/" + stage.line().at(0);
  stage.before("change", node, [&](std::string_view) { EXPECT_EQ(stage.eye.touch(node), ZOK); });
  EXPECT_TRUE(alice.revoke("job", {.claim = his}));
  EXPECT_TRUE(eventually([&] { return held.release_requested().stop_requested(); }));
}

// ---- a release, and what others do meanwhile

// Scenario: a new folder counts from 0 again, so the next holder's node has the name of the last one.
TEST(ZooKeeperCrossing, AReleaseThatComesAfterItsFolderWasRemovedLeavesTheNextHolderAlone) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  Hold held = alice.mutex("job").acquire().value();
  const std::string node = stage.folder() + "/" + stage.line().at(0);
  const std::string ticket = stage.top + "/tickets/" + holder_of(bob);
  std::optional<Hold> next;
  stage.before("change", node, [&](std::string_view) {
    EXPECT_EQ(stage.eye.change({removing(node), removing(ticket), removing(stage.folder())}), ZOK);
    next = bob.mutex("job").acquire({.wait = hang}).value();
  });
  EXPECT_FALSE(held.release());
  ASSERT_TRUE(next);
  ASSERT_TRUE(stage.eye.there(node)) << "the next holder's";
  EXPECT_TRUE(refused(alice.mutex("job").acquire({.wait = a_moment})));
  EXPECT_TRUE(next->release());
  EXPECT_THAT(stage.line(), IsEmpty());
}

TEST(ZooKeeperCrossing, AReleaseWhoseTicketWasTakenAwayTakesItsNodeAlong) {
  for (const std::string scheme : {"sequential", "ephemeral"}) {
    SCOPED_TRACE(scheme);
    Stage stage(scheme);
    Client alice = stage.alice(), bob = stage.bob();
    Hold held = alice.mutex("job").acquire().value();
    std::string tickets = stage.top + "/tickets";
    if (scheme == "ephemeral") tickets = stage.top + "/waiting/" + stage.eye.children(stage.top + "/waiting").at(0);
    ASSERT_EQ(stage.eye.remove(tickets + "/" + holder_of(bob)), ZOK);
    EXPECT_TRUE(held.release());
    EXPECT_THAT(bob.inspect("job").value().holders, IsEmpty());
  }
}

TEST(ZooKeeperCrossing, AfterANewEpochNobodySeesASmallerTokenThanBefore) {
  for (const std::string scheme : {"sequential", "ephemeral"}) {
    Stage stage(scheme);
    Client alice = stage.alice(), bob = stage.bob();
    Hold before = alice.mutex("job").acquire().value();
    EXPECT_TRUE(before.release());
    ASSERT_TRUE(bob.raise_epoch());
    std::this_thread::sleep_for(a_moment);  // she has heard of it, most likely, and has not asked for the new one
    Hold held = alice.mutex("job").acquire({.wait = hang}).value();
    EXPECT_GT(bob.inspect("job").value().holders.at(0).token, before.token());
    EXPECT_TRUE(held.release());
  }
}

}  // namespace
}  // namespace pawl
