#include "base/url.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

namespace pawl::base {
namespace {

using namespace std::literals;
using Hosts = std::vector<Url::Host>;
using Options = std::vector<Url::Option>;

Url must_parse(std::string_view text) {
  auto url = Url::parse(text);
  EXPECT_TRUE(url) << url.error().to_string();
  return url ? *url : Url{};
}

std::string refusal(std::string_view text) {
  const auto url = Url::parse(text);
  EXPECT_EQ(url.code(), Errc::invalid_argument) << text;
  return url ? "" : url.error().message;
}

TEST(UrlTest, ReadsEveryFormOfStoreUrl) {
  const Url bare = must_parse("memory:");
  EXPECT_EQ(bare.scheme, "memory");
  EXPECT_EQ(bare.path, "");
  EXPECT_FALSE(bare.has_authority);

  EXPECT_EQ(must_parse("memory:jobs").path, "jobs");
  EXPECT_EQ(must_parse("memory:jobs?lease=2s").options, (Options{{"lease", "2s"}}));

  const Url file = must_parse("file:///var/lib/my%20pawl@home");
  EXPECT_EQ(file.path, "/var/lib/my pawl@home");
  EXPECT_TRUE(file.has_authority);
  EXPECT_TRUE(file.hosts.empty());

  const Url redis = must_parse("redis://user:pw@h1:1,h2:2/path?scheme=queue&lease=30s");
  EXPECT_EQ(redis.scheme, "redis");
  EXPECT_EQ(redis.hosts, (Hosts{{"h1", 1}, {"h2", 2}}));
  EXPECT_EQ(redis.path, "/path");
  EXPECT_EQ(redis.options, (Options{{"scheme", "queue"}, {"lease", "30s"}}));
  EXPECT_EQ(redis.credentials->expose().user, "user");
  EXPECT_EQ(redis.credentials->expose().password, "pw");
}

TEST(UrlTest, TheSchemeIsLowerCase) { EXPECT_EQ(must_parse("ReDiS://h").scheme, "redis"); }

TEST(UrlTest, HostsMayHaveNoPortOrBrackets) {
  EXPECT_EQ(must_parse("etcd://a,[::1],[fe80::1%25eth0]:99,%2Frun%2Fr.sock,127.0.0.1:65535").hosts,
            (Hosts{{"a", {}}, {"::1", {}}, {"fe80::1%eth0", 99}, {"/run/r.sock", {}}, {"127.0.0.1", 65535}}));
}

TEST(UrlTest, DecodesEverywhere) {
  const Url url = must_parse("redis://%75ser:p%40%3a%2F%25@h/a%2fb%3F?k%65y=%26%3D%C3%A9+");
  EXPECT_EQ(url.credentials->expose().user, "user");
  EXPECT_EQ(url.credentials->expose().password, "p@:/%");
  EXPECT_EQ(url.path, "/a/b?");
  EXPECT_EQ(url.options, (Options{{"key", "&=\xC3\xA9+"}}));
}

TEST(UrlTest, AnAbsentPasswordIsNotAnEmptyOne) {
  EXPECT_EQ(must_parse("redis://user@h").credentials->expose().password, std::nullopt);
  EXPECT_EQ(must_parse("redis://user:@h").credentials->expose().password, "");
  EXPECT_EQ(must_parse("redis://:pw@h").credentials->expose().user, "");
  EXPECT_EQ(must_parse("redis://u:a:b@h").credentials->expose().password, "a:b");
  EXPECT_EQ(must_parse("redis://u:a@b@h").credentials->expose().password, "a@b");
  EXPECT_FALSE(must_parse("redis://h").credentials);
}

TEST(UrlTest, AnEmptyQueryIsNone) { EXPECT_TRUE(must_parse("memory:a?").options.empty()); }

TEST(UrlTest, RefusesWhatItCannotRead) {
  for (const auto text : {""sv,
                          "/var/lib"sv,
                          "redis"sv,
                          "://h"sv,
                          ":x"sv,
                          "1a:b"sv,
                          "a b:c"sv,
                          "redis://h:"sv,
                          "redis://h:0"sv,
                          "redis://h:65536"sv,
                          "redis://h:1x"sv,
                          "redis://h:-1"sv,
                          "redis://h: 1"sv,
                          "redis://h:+1"sv,
                          "redis://a,,b"sv,
                          "redis://,a"sv,
                          "redis://a,"sv,
                          "redis://:1"sv,
                          "redis://u:p@"sv,
                          "redis://u@/0"sv,
                          "redis://::1"sv,
                          "redis://[::1"sv,
                          "redis://[::1]x"sv,
                          "redis://[a]"sv,
                          "redis://[]"sv,
                          "redis://a b"sv,
                          "redis://a]b"sv,
                          "redis://h/a%"sv,
                          "redis://h/a%2"sv,
                          "redis://h/%zz"sv,
                          "redis://h/%00"sv,
                          "redis://h/a\nb"sv,
                          "redis://h/a\0"sv,
                          "redis://h/#x"sv,
                          "memory:a@b"sv,
                          "redis://h/a@b"sv,
                          "redis://h?a=b@c"sv,
                          "memory:?a"sv,
                          "memory:?=1"sv,
                          "memory:?a=1&"sv,
                          "memory:?&a=1"sv,
                          "memory:?a=1&&b=2"sv,
                          "memory:?a=%"sv,
                          "memory:?%=a"sv}) {
    EXPECT_EQ(Url::parse(text).code(), Errc::invalid_argument) << text;
  }
}

TEST(UrlTest, ErrorsNameTheInputAndTheReason) {
  EXPECT_EQ(refusal("memory:a?x=1&x=2"), R"("memory:a?x=1&x=2" is not a store URL: option "x" is given twice)");
  EXPECT_EQ(refusal("memory:?%61=1&a=2"), R"("memory:?%61=***" is not a store URL: option "a" is given twice)");
  EXPECT_EQ(refusal("redis://h:99999/0"),
            R"("redis://h:99999/0" is not a store URL: a port is a number from 1 to 65535)");
  EXPECT_EQ(refusal("memory:?tls"), R"("memory:?tls" is not a store URL: option "tls" has no value; write tls=...)");
}

TEST(UrlSecrets, AreShownAsStars) {
  EXPECT_EQ(must_parse("redis://user:s3cret@h1:1,[::1]:2/0?lease=30s").redacted(),
            "redis://***@h1:1,[::1]:2/0?lease=30s");
}

// Every wrong URL here has "s3cret" where somebody might have meant a password.
TEST(UrlSecrets, NeverAppearInAnError) {
  for (const std::string_view text : {"redis://u:s3cret@h:bad/0",
                                      "redis://u:s3cret@",
                                      "redis://u:s3cret@/0",
                                      "redis://u:s3cret@h?x=1&x=2",
                                      "redis://u:s3cret%@h",
                                      "redis://u:s3cret%zz@h",
                                      "redis://u:%00s3cret@h",
                                      "redis://u:s3cret@a,,b",
                                      "redis://u:s3cret/x@h/0",
                                      "redis://u:/s3cret@h",
                                      "redis://u:1/s3cret@h",
                                      "redis://u:1?s3cret@h",
                                      "redis://u:s3cret?@h",
                                      "redis://u:#s3cret@h",
                                      "redis://u:s3cret#@h",
                                      "redis://u:1#s3cret",
                                      "redis://u:s3@cret/s3cret@h",
                                      "u:s3cret@h",
                                      "s3cret@h",
                                      ":s3cret@h",
                                      "s3cret:x@h",
                                      "//u:s3cret@h",
                                      "redis:u:s3cret@h",
                                      "redis:/u:s3cret@h",
                                      "1redis://u:s3cret@h",
                                      "re dis://u:s3cret@h",
                                      "u:s3cret://x@h",
                                      "redis://u:s3cret",
                                      "redis://:s3cret/0",
                                      "redis://u:s3cret\n@h",
                                      "redis://h?password=s3cret",
                                      "redis://h?a=1&PassWord=s3cret&b=2",
                                      "redis://h?password=a&s3cret",
                                      "redis://h?p%61ssword=s3cret",
                                      "redis://h?db_pwd=s3cret",
                                      "redis://h?client_secret=s3cret",
                                      "redis://h/a@b?password=s3cret",
                                      "redis://u:p@h?x=a@b&password=s3cret",
                                      "redis://u:s3cret@[::1",
                                      "redis://u:12,x:s3cret"}) {
    const std::string message = refusal(text);
    EXPECT_EQ(message.find("s3cret"), std::string::npos) << message;
    EXPECT_NE(message.find("***"), std::string::npos) << message;
  }
}

TEST(UrlSecrets, APasswordFileIsNoSecret) {
  EXPECT_EQ(must_parse("redis://h?password_file=/etc/pw").redacted(), "redis://h?password_file=/etc/pw");
}

TEST(UrlSecrets, CredentialsCannotBePrinted) {
  static_assert(!std::is_convertible_v<Credentials, std::string>);
  static_assert(!std::is_convertible_v<Credentials, std::string_view>);
  static_assert(![]<class C>(C*) {
    return requires(std::ostream& out, const C& c) { out << c; };
  }(static_cast<Credentials*>(nullptr)));
  static_assert(
      ![]<class C>(C*) { return requires(const C& c) { to_string(c); }; }(static_cast<Credentials*>(nullptr)));
}

TEST(UrlSecrets, CopiesAndMovesKeepTheWords) {
  const Credentials first({"user", "s3cret"});
  Credentials copy = first;
  Credentials moved = std::move(copy);
  Credentials assigned({"x", std::nullopt});
  assigned = moved;
  EXPECT_EQ(first.expose().password, "s3cret");
  EXPECT_EQ(moved.expose().user, "user");
  EXPECT_EQ(assigned.expose().password, "s3cret");
  moved = std::move(assigned);
  EXPECT_EQ(moved.expose().password, "s3cret");
  EXPECT_EQ(assigned.expose().password, std::nullopt);  // NOLINT(bugprone-use-after-move): wiped, by promise
}

TEST(UrlSecrets, AreWipedWhenTheyEnd) {
  alignas(Credentials) unsigned char room[sizeof(Credentials)];
  auto* credentials = new (room) Credentials({"user", "s3cret"});  // short enough to lie inside the object
  const auto shows = [&] {
    return std::string_view(reinterpret_cast<char*>(room), sizeof room).find("s3cret") != std::string_view::npos;
  };
  EXPECT_TRUE(shows());
  const Credentials moved = std::move(*credentials);
  EXPECT_FALSE(shows()) << "after a move";
  credentials->~Credentials();
  credentials = new (room) Credentials(moved);
  EXPECT_TRUE(shows());
  credentials->~Credentials();
  EXPECT_FALSE(shows()) << "after the end";
}

// Found by fuzzing: it was taken for a host's name, and printed as an IPv6 address.
TEST(UrlTest, AHostWithAnEscapedColonIsRefused) {
  EXPECT_NE(refusal("redis://x%3Ay").find("has a colon in it"), std::string::npos);
  EXPECT_NE(refusal("redis://a%3Ab:1").find("has a colon in it"), std::string::npos);
  EXPECT_EQ(must_parse("redis://[a::b]:1").hosts[0].name, "a::b");
}

TEST(UrlTest, WithoutCredentialsTheRedactedTextIsTheSameUrl) {
  for (const auto text :
       {"memory:"sv, "memory:a%40b%2F%3F%23%26"sv, "file:///a@b/c%20d"sv, "file:/x"sv,
        "etcd://a:1,[::1]:2,%2Fx/p?k=v%26&l=%3D+"sv, "redis://h?a=%C3%A9%0A"sv, "redis://[fe80::1%25e]/"sv,
        "redis:///"sv, "memory:%2F%2Fx"sv, "memory:%2F/"sv, "file:////x"sv}) {
    const Url url = must_parse(text);
    const Url again = must_parse(url.redacted());
    EXPECT_EQ(again.scheme, url.scheme);
    EXPECT_EQ(again.has_authority, url.has_authority);
    EXPECT_EQ(again.hosts, url.hosts);
    EXPECT_EQ(again.path, url.path);
    EXPECT_EQ(again.options, url.options);
  }
}

TEST(UrlOptionsTest, TakesTypedValues) {
  const Url url = must_parse("memory:a?scheme=queue&lease=1.5s");
  UrlOptions options(url);
  EXPECT_EQ(options.text("scheme"), "queue");
  EXPECT_EQ(options.text("prefix"), std::nullopt);
  EXPECT_EQ(options.duration("lease").value(), 1500ms);
  EXPECT_EQ(options.duration("timeout").value(), std::nullopt);
  EXPECT_TRUE(options.finish());
}

TEST(UrlOptionsTest, AWrongDurationNamesOptionAndUrl) {
  const Url url = must_parse("redis://u:s3cret@h?lease=30");
  const auto wrong = UrlOptions(url).duration("lease");
  EXPECT_EQ(wrong.code(), Errc::invalid_argument);
  EXPECT_TRUE(wrong.error().message.starts_with(R"(option "lease" in redis://***@h?lease=30: "30" is not a duration:)"))
      << wrong.error().message;
}

TEST(UrlOptionsTest, ANumberIsWholeAndNotBelowZero) {
  const Url url = must_parse("redis://u:s3cret@h?a=7&b=-1&c=x&d=&e=7x&f=99999999999999999999&g=0");
  UrlOptions options(url);
  EXPECT_EQ(options.number("a").value(), 7);
  EXPECT_EQ(options.number("g").value(), 0);
  EXPECT_EQ(options.number("none").value(), std::nullopt);
  for (const std::string key : {"b", "c", "d", "e", "f"}) {
    const auto wrong = options.number(key);
    ASSERT_EQ(wrong.code(), Errc::invalid_argument) << key;
    EXPECT_EQ(wrong.error().message, url.redacted() + ": " + key + " is a number");
  }
  EXPECT_TRUE(options.finish());
}

TEST(UrlOptionsTest, UnknownOptionsAreReportedWithTheKnownOnes) {
  const Url url = must_parse("memory:a?foo=1&lease=2s");
  UrlOptions options(url);
  (void)options.text("scheme");
  (void)options.duration("lease");
  EXPECT_EQ(options.finish().error().message,
            R"(unknown option "foo" in memory:a?foo=1&lease=2s; known: lease, scheme)");
  EXPECT_EQ(UrlOptions(url).finish().error().message,
            R"(unknown option "foo" in memory:a?foo=1&lease=2s; there are none)");
}

}  // namespace
}  // namespace pawl::base
