// Redlock on five real servers of which some are dead, hang, or have lost their data.

#include "tests/redlock/nodes.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::RedisServers;

using redlock_test::nodes;
constexpr std::size_t masks = 1U << nodes;

bool in_mask(std::size_t mask, std::size_t node) { return ((mask >> node) & 1) != 0; }

std::size_t size_of(std::size_t mask) {
  std::size_t size = 0;
  for (std::size_t node = 0; node < nodes; ++node) size += in_mask(mask, node) ? 1 : 0;
  return size;
}

class RedlockNodes : public testing::Test {
 protected:
  std::string url(const std::string& prefix, const std::string& lease = "30s") {
    return servers_.url("?timeout=500ms&node_timeout=200ms&lease=" + lease + "&prefix=" + prefix);
  }
  std::size_t keys_of(const std::string& key) { return redlock_test::nodes_with(servers_, key); }

  RedisServers servers_{nodes};
};

TEST_F(RedlockNodes, EveryMaskOfHangingNodesIsGrantedExactlyWithAMajority) {
  for (std::size_t mask = 0; mask < masks; ++mask) {
    SCOPED_TRACE("hanging: " + std::to_string(mask));
    const std::string prefix = "h" + std::to_string(mask) + ":";
    Client client(url(prefix));
    client.mutex("warm up").acquire().value().release().value();
    for (std::size_t i = 0; i < nodes; ++i) {
      if (in_mask(mask, i)) servers_[i].stop();
    }
    Result<Hold> hold = client.mutex("job").try_acquire();
    const bool majority = 2 * (nodes - size_of(mask)) > nodes;
    EXPECT_EQ(hold.has_value(), majority) << (hold ? "" : hold.error().message);
    EXPECT_EQ(hold.code(), majority ? Errc{} : Errc::store_unavailable);
    EXPECT_TRUE(!hold || hold->release());
    for (std::size_t i = 0; i < nodes; ++i) servers_[i].go_on();
    EXPECT_TRUE(eventually([&] { return keys_of(prefix + "majority:mutex:job") == 0; }));
  }
}

TEST_F(RedlockNodes, EveryMaskOfDeadNodesIsGrantedExactlyWithAMajority) {
  for (std::size_t mask = 0; mask < masks; ++mask) {
    SCOPED_TRACE("dead: " + std::to_string(mask));
    const std::string prefix = "d" + std::to_string(mask) + ":";
    Client client(url(prefix));
    client.mutex("warm up").acquire().value().release().value();
    for (std::size_t i = 0; i < nodes; ++i) {
      if (in_mask(mask, i)) servers_[i].kill();
    }
    Result<Hold> hold = client.mutex("job").try_acquire();
    const bool majority = 2 * (nodes - size_of(mask)) > nodes;
    EXPECT_EQ(hold.has_value(), majority) << (hold ? "" : hold.error().message);
    EXPECT_EQ(hold.code(), majority ? Errc{} : Errc::store_unavailable);
    EXPECT_TRUE(!hold || hold->release());
    for (std::size_t i = 0; i < nodes; ++i) {
      if (in_mask(mask, i)) servers_[i].start();
    }
    EXPECT_TRUE(eventually([&] { return keys_of(prefix + "majority:mutex:job") == 0; }));
  }
}

TEST_F(RedlockNodes, AHolderKeepsItsLockWhileAMinorityDiesAndComesBack) {
  Client client(url("m:", "1s"));
  Hold hold = client.mutex("job").acquire().value();
  const std::string key = "m:majority:mutex:job";
  ASSERT_TRUE(eventually([&] { return keys_of(key) == nodes; }));
  servers_[0].kill();
  servers_[3].kill();
  servers_[0].start();
  servers_[3].start();
  // They have lost their data: they rejoin after the longest lease, and are topped up by a renewal.
  EXPECT_TRUE(eventually([&] { return keys_of(key) == nodes || hold.lost().stop_requested(); }));
  EXPECT_TRUE(hold.valid());
  EXPECT_EQ(keys_of(key), nodes);
  EXPECT_TRUE(hold.release());
  EXPECT_EQ(keys_of(key), 0U);
}

TEST_F(RedlockNodes, TokensGoOnBehindAWipedMinority) {
  Token last;
  for (std::size_t round = 0; round < 6; ++round) {
    Client client(url("t:", "200ms"));
    Hold hold = client.mutex("job").acquire({.wait = 60s}).value();
    EXPECT_GT(hold.token(), last);
    last = hold.token();
    EXPECT_TRUE(hold.release());
    servers_[round % nodes].kill();
    servers_[round % nodes].start();
    // The next one is wiped when this one is a member again.
    Client helper(url("t:", "200ms"));
    EXPECT_TRUE(eventually([&] {
      [[maybe_unused]] const auto seen = helper.mutex("other").try_acquire();
      test::naive::Redis redis(servers_[round % nodes].port());
      return redis.call({"HGET", "t:meta", "epoch"}).has_value();
    }));
  }
}

}  // namespace
}  // namespace pawl
