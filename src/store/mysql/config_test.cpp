#include "store/mysql/server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace pawl::store::mysql {

namespace {

Result<Config> read(const std::string& text) {
  const base::Url url = base::Url::parse(text).value();
  base::UrlOptions options(url);
  return read_config(url, options);
}

std::string refusal(const std::string& text) {
  const Result<Config> config = read(text);
  EXPECT_EQ(config.code(), Errc::invalid_argument) << text;
  return config ? "" : config.error().message;
}

TEST(MysqlConfig, HasAHostAPortAndADatabase) {
  const Config config = read("mysql://app:secret@db7:3307/locks").value();
  EXPECT_EQ(config.address().host, "db7");
  EXPECT_EQ(config.address().port, 3307);
  EXPECT_EQ(config.database, "locks");
  EXPECT_EQ(config.credentials->expose().user, "app");
  EXPECT_EQ(config.prefix, "pawl");
  EXPECT_FALSE(config.polls);
  EXPECT_FALSE(config.tls);
}

TEST(MysqlConfig, ThePortIs3306UnlessItIsGiven) { EXPECT_EQ(read("mariadb://db7/locks").value().address().port, 3306); }

TEST(MysqlConfig, ASocketHasItsDatabaseInAnOption) {
  const Config config = read("mysql+unix:///run/mysqld/mysqld.sock?db=locks&user=app").value();
  EXPECT_EQ(config.credentials->expose().user, "app");
  EXPECT_EQ(config.address().path, "/run/mysqld/mysqld.sock");
  EXPECT_EQ(config.database, "locks");
  EXPECT_NE(refusal("mysql+unix:///run/mysqld/mysqld.sock").find("?db="), std::string::npos);
}

TEST(MysqlConfig, RefusesAUrlWithoutADatabase) {
  EXPECT_NE(refusal("mysql://db7").find("the database is missing"), std::string::npos);
  EXPECT_NE(refusal("mysql://db7/").find("the database is missing"), std::string::npos);
}

TEST(MysqlConfig, RefusesTwoServers) {
  EXPECT_NE(refusal("mysql://h1,h2/locks").find("one server"), std::string::npos);
}

TEST(MysqlConfig, IsWokenByKillOrPolls) {
  EXPECT_FALSE(read("mysql://h/locks?wake=kill").value().polls);
  EXPECT_TRUE(read("mysql://h/locks?wake=poll").value().polls);
  EXPECT_NE(refusal("mysql://h/locks?wake=never").find("wake"), std::string::npos);
}

TEST(MysqlConfig, LooksForMailEveryFiveSecondsUnlessTold) {
  EXPECT_EQ(read("mysql://h/locks").value().recheck, std::chrono::seconds(5));
  EXPECT_EQ(read("mysql://h/locks?recheck=60s").value().recheck, std::chrono::seconds(60));
  for (const char* wrong : {"0s", "999ms", "11m", "often"}) {
    EXPECT_NE(refusal(std::string("mysql://h/locks?recheck=") + wrong).find("recheck"), std::string::npos) << wrong;
  }
}

TEST(MysqlConfig, APrefixEndsBeforeTheSlashOfALocksId) {
  EXPECT_EQ(read("mysql://h/locks?prefix=a-B_1.c").value().prefix, "a-B_1.c");
  const std::string long_one(49, 'x');
  for (const std::string& wrong : {std::string("a/b"), std::string("a:b"), std::string("a%20b"), long_one}) {
    EXPECT_NE(refusal("mysql://h/locks?prefix=" + wrong).find("prefix"), std::string::npos) << wrong;
  }
}

TEST(MysqlConfig, ConnectionsForHoldsHaveALimit) {
  EXPECT_EQ(read("mysql://h/locks").value().most_held, 64U);
  EXPECT_EQ(read("mysql://h/locks?connections=200").value().most_held, 200U);
  for (const char* wrong : {"0", "-1", "10001", "many"}) {
    EXPECT_NE(refusal(std::string("mysql://h/locks?connections=") + wrong).find("connections"), std::string::npos);
  }
}

TEST(MysqlConfig, IsExposedWhereItLeavesTheMachineWithoutTls) {
  for (const char* url : {"mysql://db7/locks", "mysql://10.0.0.7/locks", "mysql://[2001:db8::7]/locks"}) {
    EXPECT_TRUE(read(url).value().is_exposed()) << url;
  }
  for (const char* url : {"mysql://localhost/locks", "mysql://127.0.0.2/locks", "mysql://[::1]/locks",
                          "mysql+unix:///s?db=d", "mysql://db7/locks?ca=/etc/ca.pem"}) {
    EXPECT_FALSE(read(url).value().is_exposed()) << url;
  }
}

TEST(MysqlConfig, FilesAskForTls) {
  EXPECT_EQ(read("mysql://h/locks?ca=/etc/ca.pem").value().tls->ca, "/etc/ca.pem");
  EXPECT_NE(refusal("mysql+unix:///s?db=d&ca=/etc/ca.pem").find("mysql://"), std::string::npos);
}

}  // namespace

}  // namespace pawl::store::mysql
