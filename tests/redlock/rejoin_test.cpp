// Nodes that lose their data, or their membership, while clients stay connected: they come back by what clients do anyway.

#include "tests/redlock/nodes.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using redlock_test::key_of;
using redlock_test::nodes;
using redlock_test::nodes_with;
using test::eventually;
using test::RedisServers;

class RedlockRejoin : public testing::Test {
 protected:
  std::string url(const std::string& more = {}) const {
    return servers_.url("?timeout=2s&node_timeout=400ms&delay=20ms&prefix=r:" + more);
  }
  static void warm_up(Client& client) { client.mutex("warm up").acquire({.wait = 60s}).value().release().value(); }
  bool is_member(std::size_t node) {
    return test::naive::Redis(servers_[node].port()).call({"HGET", "r:meta", "epoch"}).has_value();
  }
  void restart_empty(std::size_t node) {
    servers_[node].kill();
    servers_[node].start();
  }

  RedisServers servers_{nodes};
};

// No connection breaks, so only an answer tells that the node has forgotten everything.
TEST_F(RedlockRejoin, ANodeThatIsFlushedIsAMemberAgainThoughTheClientsStayConnected) {
  Client alice(url("&lease=3s")), bob(url("&lease=3s"));
  warm_up(alice);
  warm_up(bob);
  Hold hold = alice.mutex("job").acquire({.wait = 60s}).value();
  test::naive::Redis(servers_[2].port()).call({"FLUSHALL"});
  EXPECT_FALSE(bob.mutex("job").acquire({.wait = 300ms}));
  EXPECT_TRUE(eventually([&] { return is_member(2) || !hold.valid(); }));
  EXPECT_TRUE(eventually([&] { return nodes_with(servers_, key_of("r:", "job")) == nodes || !hold.valid(); }))
      << "and it has the lock again";
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(hold.release());
}

// Votes and renewals go to all nodes, and an outsider refuses them: that must not make its greeting void.
TEST_F(RedlockRejoin, AnOutsiderRejoinsWhileClientsVoteAndRenewAllTheTime) {
  Client alice(url("&lease=3s")), bob(url("&lease=3s"));
  warm_up(alice);
  warm_up(bob);
  Hold hold = alice.mutex("job").acquire({.wait = 60s}).value();
  restart_empty(1);
  EXPECT_TRUE(eventually([&] {
    EXPECT_FALSE(bob.mutex("job").acquire({.wait = 20ms}));
    Result<Hold> other = alice.mutex("other").acquire({.wait = 20ms});
    EXPECT_TRUE(!other || other->release());
    return is_member(1) || !hold.valid();
  }));
  EXPECT_TRUE(is_member(1));
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(hold.release());
}

// Else one after the other would go, and the last two would be no majority.
TEST_F(RedlockRejoin, EveryNodeMayBeFlushedInTurn) {
  Client alice(url("&lease=1s"));
  warm_up(alice);
  Token last;
  for (std::size_t node = 0; node < nodes; ++node) {
    test::naive::Redis(servers_[node].port()).call({"FLUSHALL"});
    EXPECT_TRUE(eventually([&] {
      Result<Hold> hold = alice.mutex("job").acquire({.wait = 60s});
      if (!hold) return true;
      EXPECT_GT(hold->token(), last);
      last = hold->token();
      return is_member(node);
    }));
    EXPECT_TRUE(is_member(node)) << node;
  }
}

// It has forgotten locks that stand: where the others are a majority, a new epoch is no shorter way back.
TEST_F(RedlockRejoin, ANewEpochLeavesANodeThatHasForgottenItsLocksToRejoin) {
  Client alice(url("&lease=10m"));
  warm_up(alice);
  Hold hold = alice.mutex("job").acquire({.wait = 60s}).value();
  restart_empty(2);
  Client operator_(url(), {.connect = Connect::lazy});
  const Result<std::uint64_t> epoch = operator_.raise_epoch();
  ASSERT_TRUE(epoch) << epoch.error().message;
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto of = test::naive::Redis(servers_[node].port()).call({"HGET", "r:meta", "epoch"});
    EXPECT_EQ(of.value_or("none"), node == 2 ? "none" : std::to_string(*epoch)) << node;
  }
  EXPECT_EQ(operator_.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_TRUE(hold.valid());
}

}  // namespace
}  // namespace pawl
