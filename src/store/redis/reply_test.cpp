#include "store/redis/reply.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::store::redis {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using Type = Reply::Type;

/// `[1 "a" nil -ERR []]`
std::string describe(const Reply& reply) {
  switch (reply.type) {
    case Type::nil: return "nil";
    case Type::integer: return std::to_string(reply.integer);
    case Type::text: return '"' + reply.text + '"';
    case Type::error: return '-' + reply.text;
    case Type::array: break;
  }
  std::string text;
  for (const Reply& item : reply.items) text += (text.empty() ? "" : " ") + describe(item);
  return '[' + text + ']';
}

/// The next reply; "..." when more bytes are needed, "not Redis" for what is none.
std::string next(ReplyReader& reader) {
  const Result<std::optional<Reply>> reply = reader.next();
  if (!reply) {
    EXPECT_EQ(reply.code(), Errc::store_unavailable);
    EXPECT_EQ(reply.error().message, "the server does not speak Redis' protocol");
    return "not Redis";
  }
  return *reply ? describe(**reply) : "...";
}

std::string read(std::string_view bytes) {
  ReplyReader reader;
  reader.feed(bytes);
  return next(reader);
}

std::string repeat(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// Words

TEST(RedisWordsTest, EveryWordStandsBehindItsSize) {
  EXPECT_EQ(encode({"GET", "job"}), "*2\r\n$3\r\nGET\r\n$3\r\njob\r\n");
}

TEST(RedisWordsTest, AnEmptyWordIsAWord) {
  EXPECT_EQ(encode({"SET", "", "x"}), "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$1\r\nx\r\n");
}

TEST(RedisWordsTest, NoWordsAreAnEmptyCommand) { EXPECT_EQ(encode(Words()), "*0\r\n"); }

TEST(RedisWordsTest, BytesGoAsTheyAre) { EXPECT_EQ(encode({"a\0\r\n$1\xff"sv}), "*1\r\n$7\r\na\0\r\n$1\xff\r\n"s); }

TEST(RedisWordsTest, TheServersReaderGetsThemBack) {
  Words words;
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string word(static_cast<std::size_t>(i), static_cast<char>(i));
    words.push_back(word);
    expected += (i == 0 ? "\"" : " \"") + word + '"';
  }
  EXPECT_EQ(read(encode(words)), "[" + expected + "]") << "a command looks like an array";
}

TEST(RedisWordsTest, OthersStandBehindOurs) {
  Words words{"EVALSHA", "abc"};
  words.append({"x", ""});
  words.append(Words());
  words.push_back("last");
  EXPECT_EQ(encode(words), encode({"EVALSHA", "abc", "x", "", "last"}));
}

TEST(RedisWordsTest, TheyAreWrittenBehindWhatIsThere) {
  std::string bytes = encode({"PING"});
  Words({"GET", "job"}).write_to(bytes);
  EXPECT_EQ(bytes, encode({"PING"}) + encode({"GET", "job"}));
}

// Reply

TEST(RedisReplyTest, OnlyATextIsAWord) {
  EXPECT_TRUE((Reply{.type = Type::text, .text = "OK"}.is("OK")));
  EXPECT_FALSE((Reply{.type = Type::text, .text = "OKAY"}.is("OK")));
  EXPECT_FALSE((Reply{.type = Type::error, .text = "OK"}.is("OK")));
  EXPECT_FALSE(Reply().is(""));
}

TEST(RedisReplyTest, ANumberIsAnIntegerOrItsDigits) {
  const auto text = [](std::string digits) { return Reply{.type = Type::text, .text = std::move(digits)}.number(); };
  EXPECT_EQ((Reply{.type = Type::integer, .integer = -7}.number()), -7);
  EXPECT_EQ(text("42"), 42);
  EXPECT_EQ(text("-1"), -1);
  EXPECT_EQ(text(""), 0);
  EXPECT_EQ(text("x"), 0);
  EXPECT_EQ(text("99999999999999999999"), 0) << "more than there are numbers";
  EXPECT_EQ(Reply().number(), 0);
  EXPECT_EQ((Reply{.type = Type::error, .text = "5"}.number()), 0);
  EXPECT_EQ((Reply{.type = Type::array, .items = {Reply{.type = Type::integer, .integer = 5}}}.number()), 0);
}

// ReplyReader

TEST(RedisReaderTest, EveryTypeIsRead) {
  EXPECT_EQ(read("+OK\r\n"), "\"OK\"");
  EXPECT_EQ(read("+\r\n"), "\"\"");
  EXPECT_EQ(read("-ERR no\r\n"), "-ERR no");
  EXPECT_EQ(read(":0\r\n"), "0");
  EXPECT_EQ(read(":-12\r\n"), "-12");
  EXPECT_EQ(read(":9223372036854775807\r\n"), std::to_string(std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(read("$3\r\njob\r\n"), "\"job\"");
  EXPECT_EQ(read("$0\r\n\r\n"), "\"\"");
  EXPECT_EQ(read("$-1\r\n"), "nil");
  EXPECT_EQ(read("*0\r\n"), "[]");
  EXPECT_EQ(read("*-1\r\n"), "nil");
  EXPECT_EQ(read("*3\r\n:1\r\n$1\r\na\r\n+b\r\n"), "[1 \"a\" \"b\"]");
}

TEST(RedisReaderTest, ATextMayHaveAnyBytes) { EXPECT_EQ(read("$6\r\na\0\r\nb\xff\r\n"s), "\"a\0\r\nb\xff\""s); }

TEST(RedisReaderTest, ArraysStandInArrays) {
  EXPECT_EQ(read("*3\r\n*2\r\n:1\r\n*0\r\n$-1\r\n*1\r\n*1\r\n+x\r\n"), "[[1 []] nil [[\"x\"]]]");
}

TEST(RedisReaderTest, AnErrorInAnArrayIsOneOfItsItems) { EXPECT_EQ(read("*2\r\n-ERR no\r\n:1\r\n"), "[-ERR no 1]"); }

TEST(RedisReaderTest, ACutAnywhereOnlyDelays) {
  const std::string bytes = "*5\r\n$7\r\ngranted\r\n:-12\r\n*2\r\n$-1\r\n-ERR no\r\n*0\r\n+OK\r\n";
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    ReplyReader reader;
    reader.feed(std::string_view(bytes).substr(0, cut));
    EXPECT_EQ(next(reader), "...") << "cut at " << cut;
    reader.feed(std::string_view(bytes).substr(cut));
    EXPECT_EQ(next(reader), "[\"granted\" -12 [nil -ERR no] [] \"OK\"]") << "cut at " << cut;
    EXPECT_EQ(next(reader), "...");
  }
}

TEST(RedisReaderTest, BytesMayComeOneByOne) {
  ReplyReader reader;
  std::string seen;
  for (const char c : "*2\r\n$2\r\nab\r\n:7\r\n+OK\r\n"s) {
    reader.feed({&c, 1});
    if (const std::string reply = next(reader); reply != "...") seen += reply;
  }
  EXPECT_EQ(seen, "[\"ab\" 7]\"OK\"");
}

TEST(RedisReaderTest, RepliesThatComeTogetherAreReadOneByOne) {
  ReplyReader reader;
  reader.feed("+one\r\n*1\r\n:2\r\n$5\r\nth");
  EXPECT_EQ(next(reader), "\"one\"");
  EXPECT_EQ(next(reader), "[2]");
  EXPECT_EQ(next(reader), "...");
  reader.feed("ree\r\n");
  EXPECT_EQ(next(reader), "\"three\"");
  EXPECT_EQ(next(reader), "...");
}

TEST(RedisReaderTest, ManyRepliesComeThroughOneReader) {
  ReplyReader reader;
  for (int i = 0; i < 1000; ++i) {
    reader.feed(repeat(":" + std::to_string(i) + "\r\n", 20));
    for (int j = 0; j < 20; ++j) ASSERT_EQ(next(reader), std::to_string(i));
  }
  EXPECT_EQ(next(reader), "...");
}

TEST(RedisReaderTest, AReplyThatNeverEndsGoesWithItsReader) {
  EXPECT_EQ(read("*3\r\n*2\r\n$4\r\njobs\r\n:1\r\n$10\r\nhalf"), "...");  // ASan would tell
}

TEST(RedisReaderTest, WhatIsNotRedisIsSaidToBeNot) {
  for (const std::string_view bytes :
       {"HTTP/1.1 400 Bad Request\r\n", "hello\r\n", "\r\n", ":12x\r\n", ":\r\n", "$x\r\n", "$-2\r\n", "*x\r\n",
        "*-2\r\n", "*2\r\n:1\r\nx\r\n", "*1\r\n$-7\r\n"}) {
    EXPECT_EQ(read(bytes), "not Redis") << bytes;
  }
  EXPECT_EQ(read("\0"s), "not Redis");
  EXPECT_EQ(read("\x16\x03\x01\x02"), "not Redis") << "TLS";
}

TEST(RedisReaderTest, AfterThatNothingIsBelieved) {
  ReplyReader reader;
  reader.feed("+fine\r\nhello\r\n+fine\r\n");
  EXPECT_EQ(next(reader), "\"fine\"");
  EXPECT_EQ(next(reader), "not Redis");
  EXPECT_EQ(next(reader), "not Redis");
  reader.feed("+fine\r\n");
  EXPECT_EQ(next(reader), "not Redis");
  reader = ReplyReader();
  reader.feed("+fine\r\n");
  EXPECT_EQ(next(reader), "\"fine\"");
}

TEST(RedisReaderTest, ASizeThatNothingCanHaveIsNotRedis) {
  EXPECT_EQ(read("$9223372036854775808\r\n"), "not Redis");
  EXPECT_EQ(read("$99999999999999999999999\r\n"), "not Redis");
  EXPECT_EQ(read("*9223372036854775807\r\n"), "not Redis");
  EXPECT_EQ(read("*99999999999999999999999\r\n"), "not Redis");
}

#ifndef __SANITIZE_ADDRESS__  // it counts nothing here
std::size_t memory_in_use() {
  const struct mallinfo2 now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

// Found by fuzzing: twelve bytes of a server cost 75 MB, six nested arrays six times as much.
TEST(RedisReaderTest, ALongArrayTakesNoMemoryBeforeItsItemsCome) {
  const std::size_t before = memory_in_use();
  ReplyReader reader;
  reader.feed(repeat("*1048576\r\n", 6) + ":1\r\n");
  EXPECT_EQ(next(reader), "...");
  EXPECT_LT(memory_in_use(), before + (std::size_t{1} << 20));
}

// Found by fuzzing: each left its root behind.
TEST(RedisReaderTest, AnArrayThatIsRefusedLeavesNothingBehind) {
  const std::size_t before = memory_in_use();
  for (int i = 0; i < 50'000; ++i) EXPECT_EQ(read("*1048577\r\n"), "not Redis");
  EXPECT_LT(memory_in_use(), before + (std::size_t{1} << 20));
}
#endif

TEST(RedisReaderTest, ALongTextIsOnlyWaitedFor) { EXPECT_EQ(read("$536870912\r\nx"), "..."); }

TEST(RedisReaderTest, AsDeepAsScriptsAnswerIsFine) {
  EXPECT_EQ(read(repeat("*1\r\n", 7) + ":1\r\n"), repeat("[", 7) + "1" + repeat("]", 7));
}

TEST(RedisReaderTest, TooDeepIsRefusedOrRead) {
  const std::string reply = read(repeat("*1\r\n", 1000) + ":1\r\n");  // as hiredis' version has it
  EXPECT_TRUE(reply == "not Redis" || reply == repeat("[", 1000) + "1" + repeat("]", 1000)) << reply;
}

// error_of

struct Known {
  std::string_view text;
  Errc code;
  std::string_view sentence;
};

void PrintTo(const Known& known, std::ostream* out) { *out << known.text; }

class RedisErrorTest : public testing::TestWithParam<Known> {};

TEST_P(RedisErrorTest, HasAMeaning) {
  const Error error = error_of(std::string(GetParam().text));
  EXPECT_EQ(error.code, GetParam().code) << error.to_string();
  EXPECT_EQ(error.message, std::string(GetParam().sentence) + " (" + std::string(GetParam().text) + ")");
}

INSTANTIATE_TEST_SUITE_P(
    Each, RedisErrorTest,
    testing::Values(
        Known{"LOADING Redis is loading the dataset in memory", Errc::store_unavailable,
              "the server is still loading its data"},
        Known{"READONLY You can not write against a read only replica.", Errc::store_unavailable, replica_sentence},
        Known{"MASTERDOWN Link with MASTER is down", Errc::store_unavailable,
              "the server is a replica without its master"},
        Known{"MISCONF Redis is configured to save RDB snapshots", Errc::store_unavailable,
              "the server cannot save its data, and takes no writes"},
        Known{"NOREPLICAS Not enough good replicas to write.", Errc::store_unavailable, "too few replicas are there"},
        Known{"BUSY Redis is busy running a script.", Errc::store_unavailable,
              "the server is busy with somebody's script"},
        Known{"OOM command not allowed", Errc::overloaded, "the server is out of memory"},
        Known{"NOAUTH Authentication required.", Errc::permission_denied, "the server wants a password"},
        Known{"WRONGPASS invalid username-password pair", Errc::permission_denied, "user or password are wrong"},
        Known{"NOPERM this user has no permissions", Errc::permission_denied, "the user may not do this"},
        Known{"ERR The user executing the script can't run this command", Errc::permission_denied,
              "the user may not do this"},
        Known{"DENIED Redis is running in protected mode", Errc::permission_denied,
              "the server refuses connections from here"},
        Known{"MOVED 3999 127.0.0.1:6381", Errc::unsupported, "the server is part of a cluster"},
        Known{"ASK 3999 127.0.0.1:6381", Errc::unsupported, "the server is part of a cluster"},
        Known{"CROSSSLOT Keys in request don't hash to the same slot", Errc::unsupported,
              "the server is part of a cluster, and the prefix has no hash tag"},
        Known{"CLUSTERDOWN The cluster is down", Errc::unsupported, "the server is part of a cluster, which is down"}),
    [](const auto& info) {
      std::string name(info.param.text.substr(0, info.param.text.find(' ')));
      return name == "ERR" ? "InScript" : name;
    });

TEST(RedisErrorsTest, AScriptThatBreaksOffMayHaveWritten) {
  for (const std::string& text : std::vector<std::string>{
           "ERR Error running script (call to f_12ab): @user_script:7: attempt to index a nil value",  // Redis 6
           "ERR user_script:7: attempt to index a nil value script: 12ab, on @user_script:7.",         // Redis 7
           "WRONGTYPE Operation against a key holding the wrong kind of value script: 12ab, on @user_script:7.",
       }) {
    EXPECT_EQ(error_of(text).code, Errc::outcome_unknown) << text;
    EXPECT_EQ(error_of(text).message, "a script broke off: " + text);
  }
}

TEST(RedisErrorsTest, WhatNoScriptMayWriteWasNotWritten) {
  // The server looks at these before the first write of a script.
  EXPECT_EQ(error_of("OOM command not allowed script: 12ab, on @user_script:7.").code, Errc::overloaded);
  EXPECT_EQ(error_of("READONLY You can't write script: 12ab, on @user_script:7.").code, Errc::store_unavailable);
}

TEST(RedisErrorsTest, APasswordThatNobodyAskedForIsAWrongOne) {
  for (const std::string& text :
       std::vector<std::string>{"ERR AUTH <password> called without any password configured for the default user.",
                                "ERR Client sent AUTH, but no password is set"}) {
    EXPECT_EQ(error_of(text).code, Errc::permission_denied);
    EXPECT_EQ(error_of(text).message, "the server wants no password");
  }
}

TEST(RedisErrorsTest, AnUnknownOneIsTheServersWord) {
  const Error error = error_of("ERR something else");
  EXPECT_EQ(error.code, Errc::store_unavailable);
  EXPECT_EQ(error.message, "the server refuses: ERR something else");
  EXPECT_EQ(error_of("").code, Errc::store_unavailable);
  EXPECT_EQ(error_of("ERR MOVED is not the first word").code, Errc::store_unavailable);
}

TEST(RedisErrorsTest, NoneCanSpoilALogLine) {
  const std::string nasty = "\x1b[31m\r\n\t\0\x7f\xff"s;
  for (const std::string& text :
       std::vector<std::string>{"OOM " + nasty, "ERR @user_script:1: " + nasty, "ERR " + nasty}) {
    const std::string message = error_of(text).message;
    EXPECT_TRUE(std::none_of(message.begin(), message.end(), [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }))
        << message;
    EXPECT_THAT(message, Not(HasSubstr("\xff")));
    EXPECT_THAT(message, HasSubstr("[31m")) << "the rest is readable";
  }
}

TEST(RedisErrorsTest, NoneIsLongerThanAPage) {
  const std::string flood(100'000, 'x');
  for (const std::string& text :
       std::vector<std::string>{"OOM " + flood, "ERR @user_script:1: " + flood, "ERR " + flood}) {
    EXPECT_LT(error_of(text).message.size(), 400u);
  }
}

// A server on which AUTH was renamed says back what it does not understand.
TEST(RedisErrorsTest, APasswordThatTheServerRepeatsIsNotInIt) {
  for (const std::string& text :
       std::vector<std::string>{"ERR unknown command `AUTH`, with args beginning with: `alice`, `s3cret`, ",
                                "ERR unknown command 'AUTH', with args beginning with: 's3cret' ",
                                "ERR unknown command 'auth', with args beginning with: 's3cret' "}) {
    EXPECT_THAT(error_of(text).message, Not(HasSubstr("s3cret")));
    EXPECT_THAT(error_of(text).message, HasSubstr("unknown command"));
  }
}

}  // namespace
}  // namespace pawl::store::redis
