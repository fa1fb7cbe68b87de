// Where locks are on a ZooKeeper server: chroots, and names that are paths.

#include "tests/support/zookeeper_server.hpp"
#include "tests/zookeeper/stranger.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace pawl {

inline void PrintTo(Errc code, std::ostream* out) { *out << (code == Errc{} ? "no error" : to_string(code)); }

namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using test::Stranger;
using test::ZooKeeperServer;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::ThrowsMessage;

constexpr Duration hang = 60s;

/// A folder of its own for each test.
std::string folder() {
  static int folders = 0;
  return "/names-" + std::to_string(++folders);
}

// Chroots

TEST(ZooKeeperChroot, IsMadeWhereItIsMissing) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string at = folder();
  Client client(server.url(at + "/never/was/here"));
  const Hold hold = client.mutex("job").acquire({.wait = hang}).value();
  Stranger stranger(server);
  EXPECT_THAT(stranger.children(at + "/never/was/here"), ElementsAre(at + "/never/was/here/pawl"));
  EXPECT_THAT(stranger.children(at + "/never/was/here/pawl/sequential/mutex/job"),
              ElementsAre(MatchesRegex(".*/lock-[0-9]{10}")));
}

TEST(ZooKeeperChroot, IsTheSameWithASlashBehindIt) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string at = folder();
  Client alice(server.url(at)), bob(server.url(at + "/"));
  const Hold hold = alice.mutex("job").acquire().value();
  EXPECT_EQ(bob.mutex("job").try_acquire().code(), Errc::busy);
}

TEST(ZooKeeperChroot, KeepsLocksOfTheSameNameApart) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string at = folder();
  Client alice(server.url(at + "/a")), bob(server.url(at + "/b"));
  const Hold hold = alice.mutex("job").acquire().value();
  EXPECT_TRUE(bob.mutex("job").try_acquire());
  EXPECT_NE(alice.store_id(), bob.store_id());
}

TEST(ZooKeeperChroot, IsMadeAgainWhenSomebodyHasDeletedIt) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string at = folder();
  Client client(server.url(at));
  Stranger stranger(server);
  stranger.remove(at + "/pawl/epoch");
  stranger.remove(at + "/pawl");
  stranger.remove(at);
  EXPECT_TRUE(client.mutex("job").acquire({.wait = hang}));
}

// Names

/// With names=raw: the bytes behind "/jobs/", and what they are.
struct Bytes {
  std::string bytes;
  std::string what;
};

/// What does not even get to the servers.
std::vector<Bytes> nonsense() {
  return {{"a//b", "an empty part"},    {"a/./b", "a dot"},    {"a/../b", "two dots"},
          {"a/", "a slash at the end"}, {"\n", "a line feed"}, {"a\0b"s, "a zero byte"}};
}

/// What the servers refuse.
std::vector<Bytes> impossible() {
  return {{"a\x1F", "U+001F"},
          {"\x7F", "U+007F"},
          {"\xC2\x80", "U+0080"},
          {"\xC2\x9F", "U+009F"},
          {"\xED\xA0\x80", "U+D800, a surrogate"},
          {"\xED\xBF\xBF", "U+DFFF, a surrogate"},
          {"\xEE\x80\x80", "U+E000, for private use"},
          {"\xEF\xA3\xBF", "U+F8FF, for private use"},
          {"\xEF\xBF\xB0", "U+FFF0"},
          {"\xEF\xBF\xBF", "U+FFFF"},
          {"\xF0\x9F\x94\x92", "U+1F512, a lock"},
          {"\xC3", "half a character"},
          {"\xC0\xAF", "a / in two bytes"},
          {"\xFF", "no UTF-8"}};
}

std::vector<Bytes> possible() {
  return {{"plain", "letters"},
          {"a b", "a space"},
          {".a..b.", "dots among others"},
          {"%41", "a percent sign"},
          {"~", "U+007E"},
          {"\xC2\xA0", "U+00A0"},
          {"\xC3\x9F", "U+00DF"},
          {"\xE6\x97\xA5\xE6\x9C\xAC", "two that take three bytes each"},
          {"\xED\x9F\xBF", "U+D7FF"},
          {"\xEF\xA4\x80", "U+F900"},
          {"\xEF\xBF\xAF", "U+FFEF"}};
}

// Without this, the tests below could be stricter or looser than the servers are.
TEST(ZooKeeperNames, WhatIsPossibleIsTheServersToSay) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  Stranger stranger(server);
  const std::string at = folder(), bad = std::to_string(ZBADARGUMENTS);
  stranger.create(at, 0);
  for (const auto& [bytes, what] : possible()) EXPECT_NO_THROW(stranger.create(at + "/" + bytes, 0)) << what;
  for (const auto& [bytes, what] : impossible()) {
    EXPECT_THAT([&] { stranger.create(at + "/" + bytes, 0); }, ThrowsMessage<std::runtime_error>(EndsWith(bad)))
        << what;
  }
}

class ZooKeeperRawNames : public testing::TestWithParam<std::string> {
 protected:
  std::string url(const std::string& more = {}) const {
    return server_.url(at_ + "?names=raw&scheme=" + GetParam() + more);
  }
  const ZooKeeperServer& server_ = ZooKeeperServer::shared();
  const std::string at_ = folder();
};

TEST_P(ZooKeeperRawNames, ThatAreImpossibleAreRefusedAtOnce) {
  Client client(url());
  std::vector<Bytes> names = impossible();
  for (Bytes& more : nonsense()) names.push_back(std::move(more));
  for (const auto& [bytes, what] : names) {
    const std::string name = "/jobs/" + bytes;
    const Result<Hold> waited = client.mutex(name).acquire({.wait = hang});
    ASSERT_EQ(waited.code(), Errc::invalid_argument) << what;
    EXPECT_THAT(waited.error().message, HasSubstr("cannot be a path in ZooKeeper")) << what;
    EXPECT_EQ(client.mutex(name).try_acquire().code(), Errc::invalid_argument) << what;
    EXPECT_EQ(client.inspect(name).code(), Errc::invalid_argument) << what;
    EXPECT_EQ(client.revoke(name).code(), Errc::invalid_argument) << what;
  }
  for (const std::string name : {"/", "//", "/.", "/..", "//jobs"}) {
    EXPECT_EQ(client.mutex(name).acquire({.wait = hang}).code(), Errc::invalid_argument) << name;
  }
  EXPECT_TRUE(client.mutex("/jobs/fine").acquire({.wait = hang})) << "and nothing is in the way";
}

TEST_P(ZooKeeperRawNames, ThatArePossibleAreThePathsThatTheyName) {
  Client client(url());
  Stranger stranger(server_);
  for (const auto& [bytes, what] : possible()) {
    const std::string name = "/jobs/" + bytes;
    const Result<Hold> hold = client.mutex(name).acquire({.wait = hang});
    ASSERT_TRUE(hold) << what << ": " << hold.error().to_string();
    EXPECT_TRUE(stranger.watch(at_ + name)) << what;
    EXPECT_EQ(client.inspect(name).value().holders.size(), 1) << what;
  }
}

// "jobs" behind the chroot "/names-7" would be "/names-7jobs": a node that is not below it.
TEST_P(ZooKeeperRawNames, BeginWithASlashAlsoBehindAChroot) {
  Client client(url());
  for (const std::string name : {"jobs", "jobs/backup", "-1"}) {
    EXPECT_EQ(client.mutex(name).acquire({.wait = hang}).code(), Errc::invalid_argument) << name;
    EXPECT_EQ(client.inspect(name).code(), Errc::invalid_argument) << name;
    EXPECT_EQ(client.revoke(name).code(), Errc::invalid_argument) << name;
  }
}

// The longest path that there may be, and one byte more.
TEST_P(ZooKeeperRawNames, AreAsLongAsAPathMayBe) {
  Client client(url());
  const std::string longest = "/" + std::string(3000 - at_.size() - 1, 'x');
  EXPECT_TRUE(client.mutex(longest).acquire({.wait = hang}));
  EXPECT_EQ(client.mutex(longest + "x").acquire({.wait = hang}).code(), Errc::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(All, ZooKeeperRawNames, testing::Values("sequential", "ephemeral"),
                         [](const auto& info) { return info.param; });

TEST(ZooKeeperNames, OfEveryKindMustBePossible) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  Client client(server.url(folder() + "?names=raw"));
  const std::string name = "/jobs//backup";
  EXPECT_EQ(client.shared_mutex(name).acquire({.wait = hang}).code(), Errc::invalid_argument);
  EXPECT_EQ(client.shared_mutex(name).acquire_shared({.wait = hang}).code(), Errc::invalid_argument);
  EXPECT_EQ(client.semaphore(name, 3).acquire(2, {.wait = hang}).code(), Errc::invalid_argument);
  EXPECT_EQ(client.election(name).campaign("me", {.wait = hang}).code(), Errc::invalid_argument);
  EXPECT_EQ(client.election(name).leader().code(), Errc::invalid_argument);
}

TEST(ZooKeeperNames, ThatAreNotPathsMayHaveAnyByte) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  for (const std::string scheme : {"sequential", "ephemeral"}) {
    Client client(server.url(folder() + "?scheme=" + scheme));
    std::vector<Hold> holds;
    std::vector<Bytes> names = impossible();
    for (Bytes& more : nonsense()) names.push_back(std::move(more));
    for (const auto& [bytes, what] : names) {
      Result<Hold> hold = client.mutex(bytes).acquire({.wait = hang});
      ASSERT_TRUE(hold) << what << ": " << hold.error().to_string();
      holds.push_back(std::move(*hold));
    }
    EXPECT_EQ(client.list().value().size(), holds.size());
  }
}

}  // namespace
}  // namespace pawl
