#include "store/redis/info.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace pawl::store::redis {
namespace {

using testing::HasSubstr;

/// A master that can take locks, and what else it says.
std::string info(const std::string& more = {}) {
  return "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:8a7f\r\n# Memory\r\nmaxmemory:0\r\n"
         "maxmemory_policy:noeviction\r\n# Persistence\r\nloading:0\r\n# Replication\r\nrole:master\r\n"
         "master_replid:1b2c\r\n" +
         more;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(RedisInfoTest, ALifeIsAProcessAndItsTimeAsAMaster) {
  const Life life = life_of(info()).value();
  EXPECT_EQ(life, life_of(info()).value());
  EXPECT_NE(life, life_of(replaced(info(), "8a7f", "8a80")).value());
  EXPECT_NE(life, life_of(replaced(info(), "1b2c", "1b2d")).value());
}

TEST(RedisInfoTest, OneThatCannotTakeLocksSaysWhy) {
  const Result<Life> replica = life_of(replaced(info(), "role:master", "role:slave"));
  EXPECT_EQ(replica.code(), Errc::store_unavailable);
  EXPECT_THAT(replica.error().message, HasSubstr("replica"));
  const Result<Life> loading = life_of(replaced(info(), "loading:0", "loading:1"));
  EXPECT_EQ(loading.code(), Errc::store_unavailable);
  EXPECT_THAT(loading.error().message, HasSubstr("loading"));
  EXPECT_EQ(life_of("# Server\r\nrole:master\r\n").code(), Errc::unsupported) << "it does not tell who it is";
}

TEST(RedisInfoTest, AClusterIsKnownByItsOwnSectionWhateverTheServerIsCalled) {
  const std::string redis = replaced(info("# Cluster\r\ncluster_enabled:1\r\n"), "standalone", "cluster");
  const std::string valkey = replaced(redis, "redis_mode", "server_mode");  // Valkey 8
  for (const std::string& cluster : {redis, valkey}) {
    EXPECT_EQ(life_of(cluster).code(), Errc::unsupported);
    EXPECT_THAT(life_of(cluster).error().message, HasSubstr("cluster"));
  }
  EXPECT_TRUE(life_of(info("# Cluster\r\ncluster_enabled:0\r\n")));
}

TEST(RedisInfoTest, AReplicaThatIsInTouchWithItsMasterNamesIt) {
  const std::string replica = replaced(
      info(), "role:master", "role:slave\r\nmaster_host:10.0.0.2\r\nmaster_port:6380\r\nmaster_link_status:up");
  const std::optional<Upstream> upstream = upstream_of(replica);
  ASSERT_TRUE(upstream);
  EXPECT_EQ(upstream->host, "10.0.0.2");
  EXPECT_EQ(upstream->port, 6380);
  EXPECT_FALSE(upstream_of(replaced(replica, "status:up", "status:down"))) << "it may be one of another data set";
  EXPECT_FALSE(upstream_of(replaced(replica, "6380", "65536")));
  EXPECT_FALSE(upstream_of(replaced(replica, "6380", "0"))) << "found by fuzzing: nothing listens there";
  EXPECT_FALSE(upstream_of(replaced(replica, "role:slave", "role:master")));
  EXPECT_FALSE(upstream_of(info()));
}

TEST(RedisInfoTest, OnlyAServerThatMayRunFullAndEvictsIsDangerous) {
  EXPECT_EQ(dangerous_policy(info()), "");
  const std::string full = replaced(info(), "maxmemory:0", "maxmemory:1000000");
  EXPECT_EQ(dangerous_policy(full), "");
  EXPECT_EQ(dangerous_policy(replaced(full, "noeviction", "allkeys-lru")), "allkeys-lru");
  EXPECT_EQ(dangerous_policy(replaced(info(), "noeviction", "allkeys-lru")), "") << "it never runs full";
}

}  // namespace
}  // namespace pawl::store::redis
