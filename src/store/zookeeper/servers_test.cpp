#include "store/zookeeper/servers.hpp"

#include "base/real_runtime.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace pawl::store::zookeeper {
namespace {

using namespace std::chrono_literals;
using base::Deadline;

/// Too long for a name: nobody is asked for it.
const std::string nobody(64, 'x');

class ZooKeeperServersTest : public testing::Test {
 protected:
  Result<void> look_up(Servers& servers) { return runtime_.block_on(servers.look_up(runtime_, Deadline::never())); }

  base::RealRuntime runtime_;
};

TEST_F(ZooKeeperServersTest, AreKnownByTheirAddressesInTheirOrder) {
  Servers servers(
      {{.host = "127.0.0.2", .port = 2182}, {.host = "::1", .port = 2181}, {.host = "127.0.0.1", .port = 1}});
  EXPECT_EQ(servers.addresses(), "");
  ASSERT_TRUE(look_up(servers));
  EXPECT_EQ(servers.addresses(), "127.0.0.2:2182,::1:2181,127.0.0.1:1");
}

TEST_F(ZooKeeperServersTest, OneIsEnough) {
  Servers servers({{.host = nobody, .port = 1}, {.host = "127.0.0.1", .port = 2}, {.host = nobody, .port = 3}});
  ASSERT_TRUE(look_up(servers));
  EXPECT_EQ(servers.addresses(), "127.0.0.1:2");
}

TEST_F(ZooKeeperServersTest, NoneIsAnErrorThatNamesOne) {
  Servers servers({{.host = nobody, .port = 1}});
  const Result<void> found = look_up(servers);
  ASSERT_EQ(found.code(), Errc::store_unavailable);
  EXPECT_TRUE(found.error().message.starts_with(nobody + ":1 ")) << found.error().message;
}

TEST_F(ZooKeeperServersTest, WhatWasKnownOfOneStaysWhenItCannotBeLookedUp) {
  Servers servers({{.host = "localhost", .port = 1}, {.host = "127.0.0.2", .port = 2}});
  ASSERT_TRUE(look_up(servers));
  const std::string known = servers.addresses();
  const Deadline over = Deadline::in(runtime_.now(), -1h);
  EXPECT_TRUE(runtime_.block_on(servers.look_up(runtime_, over))) << "numbers need no time";
  EXPECT_EQ(servers.addresses(), known);
  EXPECT_TRUE(known.ends_with(":1,127.0.0.2:2")) << known;
}

}  // namespace
}  // namespace pawl::store::zookeeper
