// Servers that have forgotten us, because somebody has deleted nodes: it is noticed at once, however long the lease is.

#include "tests/zookeeper/stage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace stage;

/// Renewed every 20 minutes: whoever hears of it is told by a watch.
const std::string an_hour = "&lease=1h&timeout=60s";

class ZooKeeperForgotten : public testing::TestWithParam<std::string> {
 protected:
  bool ephemeral() const { return GetParam() == "ephemeral"; }
  /// One of each kind that the scheme has.
  static std::vector<Hold> hold_all(Client& client, bool mutex_only) {
    std::vector<Hold> holds;
    holds.push_back(client.mutex("job").acquire({.wait = hang}).value());
    if (mutex_only) return holds;
    holds.push_back(client.shared_mutex("job").acquire({.wait = hang}).value());
    holds.push_back(client.shared_mutex("read").acquire_shared({.wait = hang}).value());
    holds.push_back(client.semaphore("job", 3).acquire(2, {.wait = hang}).value());
    holds.push_back(client.election("job").campaign("alice", {.wait = hang}).value());
    return holds;
  }
  /// That each of them watches its node.
  bool all_watched(std::size_t holds) {
    return eventually([&] {
      const std::string paths = stage_.server.four_letter("wchp");
      std::size_t count = 0;
      for (const std::string& claim : stage_.eye.claims(stage_.top)) count += paths.find(claim) != std::string::npos;
      return count >= holds;
    });
  }
  static bool lost(const Hold& hold) {
    return eventually([&] { return hold.lost().stop_requested(); });
  }

  Stage stage_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Schemes, ZooKeeperForgotten, testing::Values("sequential", "ephemeral"),
                         [](const auto& scheme) { return scheme.param; });

TEST_P(ZooKeeperForgotten, AfterEverythingIsDeletedEveryHoldIsLostAtOnceAndTokensGrow) {
  Client alice = stage_.bob(an_hour), bob = stage_.bob(an_hour);
  const std::vector<Hold> holds = hold_all(alice, ephemeral());
  const std::uint64_t before = alice.store_id();
  ASSERT_TRUE(all_watched(holds.size()));
  stage_.eye.remove_all(stage_.top);
  for (const Hold& hold : holds) {
    EXPECT_TRUE(lost(hold)) << to_string(hold.sequencer().kind);
    EXPECT_FALSE(hold.valid());
  }
  const std::vector<Hold> next = hold_all(alice, ephemeral());
  for (std::size_t i = 0; i < next.size(); ++i) EXPECT_GT(next[i].token(), holds[i].token());
  EXPECT_EQ(next[0].sequencer().store_id, before) << "a client still knows which store it was";
  EXPECT_EQ(stage_.bob(an_hour).store_id(), before) << "and has written it down";
  EXPECT_EQ(bob.mutex("job").try_acquire().code(), Errc::busy);
}

TEST_P(ZooKeeperForgotten, AnEpochThatIsDeletedIsFollowedByALargerOneAndHoldsStand) {
  Client alice = stage_.bob(an_hour);
  const Hold held = alice.mutex("held").acquire({.wait = hang}).value();
  ASSERT_EQ(stage_.eye.remove(stage_.top + "/epoch"), ZOK);
  const Hold next = alice.mutex("job").acquire({.wait = hang}).value();
  EXPECT_GT(next.token().epoch(), held.token().epoch());
  EXPECT_EQ(next.sequencer().store_id, held.sequencer().store_id);
  EXPECT_EQ(stage_.bob(an_hour).store_id(), held.sequencer().store_id);
  EXPECT_TRUE(held.valid());
}

// Scenario: alice is connected and has nothing to ask. A client that knows nothing comes first after the deletion.
TEST_P(ZooKeeperForgotten, AnIdThatANewClientHasWrittenIsThatOfEverybody) {
  Client alice = stage_.bob(an_hour), carol = stage_.bob(an_hour);
  const Hold old = alice.mutex("old").acquire({.wait = hang}).value();
  stage_.eye.remove_all(stage_.top);
  Client bob = stage_.bob(an_hour);
  ASSERT_NE(bob.store_id(), old.sequencer().store_id);
  Hold bobs = bob.mutex("job").acquire({.wait = hang}).value();
  EXPECT_TRUE(carol.check(bobs.sequencer())) << "by a client that has not asked for anything since";
  Fence fence(Kind::mutex, "job");
  ASSERT_TRUE(fence.mark(bobs.sequencer()));
  ASSERT_TRUE(bobs.release());
  const Hold alices = alice.mutex("job").acquire({.wait = hang}).value();
  EXPECT_EQ(alices.sequencer().store_id, bob.store_id());
  EXPECT_EQ(fence.mark(alices.sequencer()).code(), Errc{});
  EXPECT_TRUE(bob.check(alices.sequencer()));
  EXPECT_EQ(alice.store_id(), bob.store_id());
  EXPECT_NE(old.sequencer().store_id, bob.store_id()) << "a hold keeps the id of its grant";
}

TEST_P(ZooKeeperForgotten, ANewEpochByHandKeepsTheIdThatTheServersHave) {
  Client alice = stage_.bob(an_hour);
  ASSERT_TRUE(alice.mutex("job").acquire({.wait = hang}));
  stage_.eye.remove_all(stage_.top);
  const Client bob = stage_.bob(an_hour);
  ASSERT_NE(bob.store_id(), alice.store_id());
  EXPECT_TRUE(alice.raise_epoch());
  EXPECT_EQ(stage_.bob(an_hour).store_id(), bob.store_id());
}

TEST_P(ZooKeeperForgotten, ANewEpochByHandMakesAnEpochThatWasDeleted) {
  Client alice = stage_.bob(an_hour);
  const Hold held = alice.mutex("held").acquire({.wait = hang}).value();
  ASSERT_EQ(stage_.eye.remove(stage_.top + "/epoch"), ZOK);
  const Result<std::uint64_t> raised = alice.raise_epoch();
  ASSERT_TRUE(raised) << raised.error().to_string();
  EXPECT_GT(*raised, held.token().epoch());
  EXPECT_EQ(stage_.bob(an_hour).store_id(), held.sequencer().store_id);
}

}  // namespace
}  // namespace pawl
