// What a redlock:// URL may name, on real servers.

#include "tests/redlock/nodes.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::RedisServers;

// Two of three votes would be one server's.
TEST(RedlockUrl, TwoNamesOfOneServerAreRefused) {
  RedisServers servers(2);
  const std::string first = std::to_string(servers[0].port()), second = std::to_string(servers[1].port());
  const std::string url = "redlock://127.0.0.1:" + first + ",localhost:" + first + ",127.0.0.1:" + second;
  const Result<Client> client = Client::open(url + "?timeout=20s&node_timeout=10s");
  ASSERT_EQ(client.code(), Errc::invalid_argument);
  EXPECT_THAT(client.error().message, testing::HasSubstr("are one server: each node has one vote"));
}

}  // namespace
}  // namespace pawl
