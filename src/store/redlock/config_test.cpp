#include "store/redlock/config.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace pawl::store::redlock {
namespace {

using namespace std::chrono_literals;

Result<Config> read(const std::string& text) {
  const base::Url url = base::Url::parse(text).value();
  base::UrlOptions options(url);
  return read_config(url, options);
}

std::vector<std::string> places(const Config& config) {
  std::vector<std::string> places;
  for (const net::Address& address : config.addresses) places.push_back(address.to_string());
  return places;
}

std::string refusal(const std::string& text) {
  const Result<Config> config = read(text);
  EXPECT_EQ(config.code(), Errc::invalid_argument) << text;
  return config ? "" : config.error().message;
}

TEST(RedlockConfig, NamesItsNodes) {
  EXPECT_EQ(places(read("redlock://h1,h2:7000,h3").value()),
            (std::vector<std::string>{"h1:6379", "h2:7000", "h3:6379"}));
  EXPECT_EQ(places(read("redlock+unix:///a.sock,/b.sock,/c.sock").value()),
            (std::vector<std::string>{"/a.sock", "/b.sock", "/c.sock"}));
}

TEST(RedlockConfig, SaysHowLongToWait) {
  const Config config = read("redlock://h1,h2,h3?drift=50ms&node_timeout=80ms&tries=7&delay=40ms").value();
  EXPECT_EQ(config.drift, 50ms);
  EXPECT_EQ(config.node_timeout, 80ms);
  EXPECT_EQ(config.tries, 7);
  EXPECT_EQ(config.delay, 40ms);
}

TEST(RedlockConfig, HasUserAndPasswordForAllNodes) {
  const Config config = read("redlock://user:secret@h1,h2,h3").value();
  ASSERT_TRUE(config.credentials);
  EXPECT_EQ(config.credentials->expose().user, "user");
}

TEST(RedlockConfig, GivesEachNodeOneVote) {
  EXPECT_NE(refusal("redlock://h1,h2,h1").find("h1:6379 stands there twice"), std::string::npos);
}

TEST(RedlockConfig, RefusesWhatItCannotMean) {
  EXPECT_NE(refusal("redlock://h1,h2,h3/0"), "");
  EXPECT_NE(refusal("redlock+unix:///a.sock,b.sock"), "");
  EXPECT_NE(refusal("redlock://h1,h2,h3?node_timeout=0s"), "");
  EXPECT_NE(refusal("redlock://h1,h2,h3?tries=-1"), "");
  EXPECT_NE(refusal("redlock://h1,h2,h3?names=raw&prefix=mine"), "");
  EXPECT_NE(refusal("redlock://h1,h2,h3?ca=/a.pem"), "");
}

TEST(RedlockConfig, TakesTlsFilesWithTls) {
  EXPECT_EQ(read("redlock+tls://h1,h2,h3?ca=/a.pem").value().tls->ca, "/a.pem");
}

}  // namespace
}  // namespace pawl::store::redlock
