#include "store/net/address.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl::store::net {
namespace {

TEST(AddressTest, IsShownByNameAndPortOrByItsPath) {
  EXPECT_EQ((Address{.host = "db7", .port = 6379}.to_string()), "db7:6379");
  EXPECT_EQ((Address{.path = "/run/redis.sock"}.to_string()), "/run/redis.sock");
}

// A sentinel names the master, and a URL may have any byte in a path.
TEST(AddressTest, CannotSpoilALogLine) {
  EXPECT_EQ((Address{.host = "db7\n\x1b[2J", .port = 1}.to_string()), "db7\\n\\x1b[2J:1");
  EXPECT_EQ((Address{.path = "/run/a\nb"}.to_string()), "/run/a\\nb");
}

}  // namespace
}  // namespace pawl::store::net
