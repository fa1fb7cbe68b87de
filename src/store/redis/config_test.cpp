// What a URL of Redis says, as far as it can be seen from outside: in refusals, and in what the server is told first.

#include "store/redis/redis_store.hpp"
#include "tests/support/redis_frames.hpp"
#include "tests/support/socket.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/url_scene.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::store::redis {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Takes one connection, says OK to everything, and hears what it is told.
class Ear {
 public:
  explicit Ear(test::Socket listener = test::listen_on_tcp()) : listener_(std::move(listener)) {}
  std::string place() const { return "127.0.0.1:" + std::to_string(listener_.port()); }

  /// Every command until the one that begins like this; a script is "EVAL" and all behind its text.
  std::vector<std::string> hear_until(const std::string& last) {
    const test::Socket peer = listener_.accept();
    std::vector<std::string> heard;
    std::string bytes;
    while (heard.empty() || !heard.back().starts_with(last)) {
      const std::string more = peer.read();
      if (more.empty()) break;
      bytes += more;
      for (auto words = test::redis_words(bytes); !words.empty(); words = test::redis_words(bytes)) {
        Words whole;
        for (const std::string& word : words) whole.push_back(word);
        bytes.erase(0, encode(whole).size());
        if (words[0] == "EVAL") words.erase(words.begin() + 1);
        std::string text;
        for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
        heard.push_back(text);
        const std::string info = "$28\r\n# S\r\nrun_id:1\r\nmaxmemory:0\r\n\r\n";
        peer.say(words[0] == "INFO" ? info : "+OK\r\n");
      }
    }
    return heard;
  }
  /// As they come.
  std::string hear_bytes() { return listener_.accept().read(); }

 private:
  const test::Socket listener_;
};

class RedisConfigTest : public test::UrlTest {
 protected:
  std::vector<std::string> first_words(Ear& ear, const std::string& url, const std::string& last) {
    const auto connecting = connect(url);
    return ear.hear_until(last);
  }
  /// Of a listener of its own: a store that an earlier one has hung up on comes back to it.
  std::vector<std::string> first_words(const std::string& before, const std::string& behind,
                                       const std::string& last = "INFO") {
    Ear ear;
    return first_words(ear, before + ear.place() + behind, last);
  }
};

// Where the server is

TEST_F(RedisConfigTest, EveryFormIsUnderstood) {
  for (const std::string& url : std::vector<std::string>{
           "redis://", "redis://db7", "redis://db7:6380/3", "redis://[::1]:6380", "redis://alice:s3cret@db7/0",
           "redis://:s3cret@db7", "rediss://db7", "redis+unix:///run/redis.sock", "redis+unix:///run/redis.sock?db=3",
           "redis+sentinel://h1,h2:26380,h3/locks", "redis+sentinel://alice:s3cret@h1/locks?db=3"}) {
    const auto store = open(url);
    EXPECT_TRUE(store) << store.error().to_string();
  }
}

// A name too long for a host is told back with its port, and nobody is asked for it.
TEST_F(RedisConfigTest, PortsHaveTheirDefaults) {
  const std::string host(64, 'x');
  EXPECT_THAT(failures({"redis://" + host, "redis://" + host + ":6380", "rediss://" + host,
                        "redis+sentinel://" + host + "/locks", "redis+sentinel://" + host + ":1/locks"}),
              ElementsAre(StartsWith(host + ":6379 "), StartsWith(host + ":6380 "), StartsWith(host + ":6379 "),
                          StartsWith(host + ":26379 "), StartsWith(host + ":1 ")));
}

TEST_F(RedisConfigTest, AnIpv6AddressIsOne) {
  EXPECT_THAT(failures({"redis://[::1]:1"}),
              ElementsAre(StartsWith("::1:1: no connection: ")));  // nobody listens there
}

TEST_F(RedisConfigTest, WithoutAnythingMoreTheServerIsOnlyLookedAt) {
  EXPECT_THAT(first_words("redis://", ""), ElementsAre("INFO"));
}

TEST_F(RedisConfigTest, ADatabaseIsSelected) {
  EXPECT_THAT(first_words("redis://", "/3"), ElementsAre("SELECT 3", "INFO"));
  EXPECT_THAT(first_words("redis://", "/"), ElementsAre("INFO"));
  EXPECT_THAT(first_words("redis://", "/0"), ElementsAre("INFO"));
}

TEST_F(RedisConfigTest, AUnixSocketHasItsDatabaseInAnOption) {
  const test::TemporaryFolder folder;
  Ear three(test::listen_on_path(folder / "3.sock")), none(test::listen_on_path(folder / "redis.sock"));
  const std::string url = "redis+unix://" + folder.path() + "/";
  EXPECT_THAT(first_words(three, url + "3.sock?db=3", "INFO"), ElementsAre("SELECT 3", "INFO"));
  EXPECT_THAT(first_words(none, url + "redis.sock", "INFO"), ElementsAre("INFO"));
}

TEST_F(RedisConfigTest, SentinelsAreAskedForTheMaster) {
  EXPECT_THAT(first_words("redis+sentinel://", "/locks", "SENTINEL"),
              ElementsAre("SENTINEL MASTER locks", "SENTINEL get-master-addr-by-name locks"));
}

// Who we are

TEST_F(RedisConfigTest, APasswordIsSaidFirst) {
  EXPECT_THAT(first_words("redis://:s3%40cret@", "/3"), ElementsAre("AUTH s3@cret", "SELECT 3", "INFO"));
  EXPECT_THAT(first_words("redis://alice:s3cret@", ""), ElementsAre("AUTH alice s3cret", "INFO"));
}

TEST_F(RedisConfigTest, APasswordMayStandInAFile) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "password") << "s3cret\n";
  const std::string option = "?password_file=" + folder / "password";
  EXPECT_THAT(first_words("redis://", option), ElementsAre("AUTH s3cret", "INFO"));
  EXPECT_THAT(first_words("redis://alice@", option), ElementsAre("AUTH alice s3cret", "INFO"));
}

TEST_F(RedisConfigTest, TlsIsSpokenWhereTheUrlSaysSo) {
  Ear ear;
  const auto connecting = connect("rediss://" + ear.place());
  EXPECT_THAT(ear.hear_bytes(), StartsWith("\x16\x03"));
}

// Options

TEST_F(RedisConfigTest, ThePrefixIsThatOfEveryKey) {
  EXPECT_THAT(first_words("redis://", "", "EVAL 1").back(), StartsWith("EVAL 1 {pawl}:meta "));
  EXPECT_THAT(first_words("redis://", "?prefix=x:", "EVAL 1").back(), StartsWith("EVAL 1 x:meta "));
}

TEST_F(RedisConfigTest, EveryOptionIsKnown) {
  for (const std::string& option :
       std::vector<std::string>{"scheme=simple", "lease=30s", "timeout=2s", "prefix=x:", "names=raw", "wait_replicas=1",
                                "password_file=/run/password"}) {
    const auto store = open("redis://db7?" + option);
    EXPECT_TRUE(store) << store.error().to_string();
  }
}

// Refusals

TEST_F(RedisConfigTest, WhatIsWrongIsSaidAndWhatIsSecretIsNot) {
  struct Wrong {
    std::string url, sentence;
  };
  const std::string secret = "redis://alice:s3cret@";
  for (const auto& [url, sentence] : std::vector<Wrong>{
           {"redis:db7", "write redis://host:port/db"},
           {secret + "h1,h2", "one server; "},
           {secret + "db7/three", "the database behind the host is a number"},
           {secret + "db7/-1", "the database behind the host is a number"},
           {secret + "db7/1/2", "the database behind the host is a number"},
           {secret + "db7/99999999999999999999", "the database behind the host is a number"},
           {secret + "db7?wait_replicas=few", "wait_replicas is a number"},
           {secret + "db7?wait_replicas=-1", "wait_replicas is a number"},
           {secret + "db7?names=all", "names must be \"raw\""},
           {secret + "db7?names=raw&prefix=mine:", "prefix cannot be used with names=raw"},
           {secret + "db7?prefix=mine:&names=raw", "prefix cannot be used with names=raw"},
           {secret + "db7?names=raw&prefix=%7Bpawl%7D:", "prefix cannot be used with names=raw"},
           {secret + "db7?names=raw&prefix=", "prefix cannot be used with names=raw"},
           {secret + "db7?scheme=redisson&names=raw&prefix=mine:", "prefix cannot be used with names=raw"},
           {"rediss://alice:s3cret@db7?names=raw&prefix=mine:", "prefix cannot be used with names=raw"},
           {"redis+unix:///run/redis.sock?names=raw&prefix=mine:", "prefix cannot be used with names=raw"},
           {"redis+sentinel://alice:s3cret@h1/locks?names=raw&prefix=mine:", "prefix cannot be used with names=raw"},
           {secret + "db7?ca=/etc/ca.crt", "ca, cert and key belong to rediss://"},
           {secret + "db7?cert=/etc/me.crt", "ca, cert and key belong to rediss://"},
           {secret + "db7?key=/etc/me.key", "ca, cert and key belong to rediss://"},
           {"redis+unix://db7/run/redis.sock", "write redis+unix:///path/of/the/socket"},
           {"redis+unix://", "write redis+unix:///path/of/the/socket"},
           {"redis+unix:///run/redis.sock?db=three", "db is a number"},
           {"redis+sentinel://alice:s3cret@h1,h2",
            "the master's name is missing; write redis+sentinel://h1,h2,h3/name"},
           {"redis+sentinel://alice:s3cret@h1/", "the master's name is missing; write redis+sentinel://h1,h2,h3/name"},
           {"redis+sentinel://alice:s3cret@h1/locks?db=x", "db is a number"},
       }) {
    const std::string message = refusal(url);
    EXPECT_THAT(message, AllOf(HasSubstr(": " + sentence), Not(HasSubstr("s3cret")), Not(HasSubstr("alice")))) << url;
  }
}

TEST_F(RedisConfigTest, FilesThatCannotBeUsedAreNamed) {
  const std::string secret = "rediss://alice:s3cret@db7?";
  EXPECT_THAT(refusal(secret + "ca=/nowhere/ca.crt"), AllOf(HasSubstr("/nowhere/ca.crt"), Not(HasSubstr("s3cret"))));
  EXPECT_THAT(refusal(secret + "cert=/nowhere/me.crt"), HasSubstr("cert and key belong together"));
  EXPECT_THAT(refusal(secret + "key=/nowhere/me.key"), HasSubstr("cert and key belong together"));
  EXPECT_THAT(refusal(secret + "cert=/nowhere/me.crt&key=/nowhere/me.key"), HasSubstr("/nowhere/me.crt"));
}

TEST_F(RedisConfigTest, ATimeoutIsADuration) {
  const std::string message = refusal("redis://alice:s3cret@db7?timeout=soon");
  EXPECT_THAT(message, AllOf(HasSubstr("\"timeout\""), Not(HasSubstr("s3cret"))));
}

TEST_F(RedisConfigTest, AnOptionOfAnotherStoreIsRefused) {
  EXPECT_THAT(refusal("redis://alice:s3cret@db7?mode=0770"), AllOf(HasSubstr("\"mode\""), Not(HasSubstr("s3cret"))));
  EXPECT_THAT(refusal("redis://db7?db=3"), HasSubstr("\"db\"")) << "it stands behind the host";
}

TEST_F(RedisConfigTest, APasswordInAnOptionIsRefused) {
  const auto url = base::Url::parse("redis://db7?password=s3cret");
  ASSERT_EQ(url.code(), Errc::invalid_argument);
  EXPECT_THAT(url.error().message, Not(HasSubstr("s3cret")));
}

}  // namespace
}  // namespace pawl::store::redis
