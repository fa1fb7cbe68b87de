// What a redlock:// URL may name, on real servers.

#include "tests/redlock/nodes.hpp"
#include "tests/support/redis_tls_server.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(RedlockUrl, AnErrorNamesEachNodeOnceAndSaysWhyItDoesNotAnswer) {
  const test::Port first, second, third;
  std::string url = "redlock://127.0.0.1:" + std::to_string(first.number());
  for (const test::Port* port : {&second, &third}) url += ",127.0.0.1:" + std::to_string(port->number());
  const Result<Client> client = Client::open(url + "?timeout=3s");
  ASSERT_EQ(client.code(), Errc::store_unavailable);
  const std::string node = "127.0.0.1:" + std::to_string(second.number()) + ": ";
  EXPECT_THAT(client.error().message, testing::HasSubstr("; " + node + "no connection"));
  EXPECT_THAT(client.error().message, testing::Not(testing::HasSubstr(node + node)));
}

TEST(RedlockUrl, TheUserAndThePasswordAreThoseOfAllNodes) {
  RedisServers servers(3, {"--requirepass", "sesame"});
  std::string url = servers.url("?timeout=20s");
  url.insert(std::string("redlock://").size(), "default:sesame@");
  Client client(url);
  EXPECT_TRUE(client.mutex("job").acquire({.wait = 60s}));
  const Result<Client> without = Client::open(servers.url("?timeout=20s"));
  ASSERT_EQ(without.code(), Errc::permission_denied);
  EXPECT_THAT(without.error().message, testing::Not(testing::HasSubstr("sesame")));
}

TEST(RedlockUrl, UnixSocketsWork) {
  RedisServers servers(3, {"--unixsocket", "redis.sock"});
  std::string url = "redlock+unix://";
  for (std::size_t i = 0; i < servers.size(); ++i) url += (i == 0 ? "" : ",") + servers[i].folder() + "/redis.sock";
  Client client(url + "?timeout=20s"), other(servers.url("?timeout=20s"));
  const Hold hold = client.mutex("job").acquire({.wait = 60s}).value();
  EXPECT_EQ(other.mutex("job").try_acquire().code(), Errc::busy) << "the same nodes by other names";
}

TEST(RedlockUrl, TlsVerifiesTheNodes) {
  const test::RedisTlsServer first("IP:127.0.0.1"), elsewhere("IP:127.0.0.1");
  const test::Port second_port, third_port;
  const test::RedisServer second(first.options_at(second_port)), third(first.options_at(third_port));
  std::string url = "redlock+tls://" + first.address();
  for (const test::Port* port : {&second_port, &third_port}) url += ",127.0.0.1:" + std::to_string(port->number());
  Client client(url + "?timeout=20s&ca=" + first.ca());
  EXPECT_TRUE(client.mutex("job").acquire({.wait = 60s}));
  EXPECT_EQ(Client::open(url + "?timeout=20s&ca=" + elsewhere.ca()).code(), Errc::permission_denied);
}

}  // namespace
}  // namespace pawl
