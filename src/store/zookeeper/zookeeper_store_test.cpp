// What a URL of ZooKeeper says, as far as it can be seen from outside: in refusals, and in what a server is told first.

#include "store/zookeeper/zookeeper_store.hpp"
#include "tests/support/skip.hpp"

#include "tests/support/socket.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/url_scene.hpp"
#include "tests/support/zookeeper_frames.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace pawl::store::zookeeper {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string big_endian(std::uint64_t value, int size) {
  std::string bytes;
  for (int i = size - 1; i >= 0; --i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

/// A server that takes one connection, opens the session, hears what it is asked, and refuses the first request.
class Ear {
 public:
  explicit Ear(test::Socket listener = test::listen_on_tcp()) : listener_(std::move(listener)) {}
  std::string place(const std::string& host = "127.0.0.1") const {
    return host + ":" + std::to_string(listener_.port());
  }

  /// "auth digest alice:s3cret", "getData /pawl/epoch": up to the first that wants an answer.
  std::vector<std::string> hear() {
    const test::Socket peer = listener_.accept();
    const test::Framing framing = test::zookeeper_framing();
    std::vector<std::string> heard;
    std::string bytes;
    for (std::string more = peer.read(); !more.empty(); more = peer.read()) {
      bytes += more;
      for (std::size_t whole = framing.request(bytes); whole > 0; whole = framing.request(bytes)) {
        answer(peer, std::string_view(bytes).substr(0, whole), framing, heard);
        bytes.erase(0, whole);
      }
    }
    return heard;
  }

 private:
  static void answer(const test::Socket& peer, std::string_view request, const test::Framing& framing,
                     std::vector<std::string>& heard) {
    const std::string name = framing.name(request);
    if (name == "ping" || name == "heartbeat") return;
    if (name == "connect") {
      // Version, how long the session lives unheard, its number, its password, and that we may write.
      return send(peer, big_endian(0, 4) + big_endian(10'000, 4) + big_endian(77, 8) + big_endian(16, 4) +
                            std::string(16, 'p') + std::string(1, '\0'));
    }
    if (name == "auth") {
      // Behind the header: a number, and two texts, "digest" the first.
      heard.push_back("auth " + text(request.substr(16)) + " " + text(request.substr(16 + 4 + 6)));
    } else if (name != "closeSession") {
      heard.push_back(name + " " + test::zookeeper_path(request));
    }
    // The number of the request, that of a transaction, and whether it worked.
    const int code = name == "auth" || name == "closeSession" ? ZOK : ZNOAUTH;
    send(peer, std::string(request.substr(4, 4)) + big_endian(0, 8) + big_endian(static_cast<std::uint32_t>(code), 4));
  }
  static void send(const test::Socket& peer, const std::string& message) {
    peer.say(big_endian(message.size(), 4) + message);
  }
  /// Its length stands before it.
  static std::string text(std::string_view bytes) {
    std::size_t size = 0;
    for (const char byte : bytes.substr(0, 4)) size = size << 8 | static_cast<unsigned char>(byte);
    return std::string(bytes.substr(4, size));
  }

  const test::Socket listener_;
};

class ZooKeeperUrl : public test::UrlTest {
 protected:
  std::vector<std::string> first_words(Ear& ear, const std::string& url) {
    auto connecting = connect(url);
    std::vector<std::string> words = ear.hear();
    const Result<void> connected = test::take(connecting);
    EXPECT_EQ(connected.code(), Errc::permission_denied) << url;
    return words;
  }
  /// `rest` stands behind the host.
  std::vector<std::string> first_words(const std::string& rest, const std::string& who = "") {
    Ear ear;
    return first_words(ear, "zookeeper://" + who + ear.place() + rest);
  }
};

// Where the servers are

TEST_F(ZooKeeperUrl, EveryFormIsUnderstood) {
  for (const std::string& url : std::vector<std::string>{
           "zookeeper://", "zookeeper://zk1", "zookeeper://zk1:2182", "zookeeper://zk1,zk2:2182,zk3/apps/billing",
           "zookeeper://[::1]:2182", "zookeeper://[::1],[fe80::1]:2182/", "zookeeper://alice:s3cret@zk1/",
           "zookeeper://alice@zk1", "zookeeper://:s3cret@zk1", "ZooKeeper://zk1"}) {
    const auto store = open(url);
    EXPECT_TRUE(store) << store.error().to_string();
  }
}

// A name too long for a host is told back with its port, and nobody is asked for it.
TEST_F(ZooKeeperUrl, ThePortHasADefault) {
  const std::string host(64, 'x');
  EXPECT_THAT(failures({"zookeeper://" + host, "zookeeper://" + host + ":2182", "zookeeper://" + host + "/chroot"}),
              ElementsAre(StartsWith(host + ":2181 "), StartsWith(host + ":2182 "), StartsWith(host + ":2181 ")));
}

TEST_F(ZooKeeperUrl, WhoeverDoesNotAnswerIsNamed) {
  EXPECT_THAT(failures({"zookeeper://127.0.0.1:1", "zookeeper://127.0.0.1:1,127.0.0.1:2"}),
              ElementsAre(HasSubstr("127.0.0.1:1"), HasSubstr("127.0.0.1:1,127.0.0.1:2")));
}

TEST_F(ZooKeeperUrl, AnIpv6AddressIsOne) {
  std::unique_ptr<Ear> ear;
  try {
    ear = std::make_unique<Ear>(test::listen_on_tcp_v6());
  } catch (const std::system_error&) {
    PAWL_SKIP_WITHOUT("no IPv6 here");
  }
  EXPECT_THAT(first_words(*ear, "zookeeper://" + ear->place("[::1]")), ElementsAre("getData /pawl/epoch"));
}

TEST_F(ZooKeeperUrl, OfSeveralServersOneIsEnough) {
  Ear ear;
  const std::string url = "zookeeper://127.0.0.1:1," + std::string(64, 'x') + "," + ear.place() + ",127.0.0.1:2/apps";
  EXPECT_THAT(first_words(ear, url), ElementsAre("getData /apps/pawl/epoch"));
}

// Where the locks are

TEST_F(ZooKeeperUrl, TheChrootIsThePathAndThePrefixStandsBehindIt) {
  EXPECT_THAT(first_words(""), ElementsAre("getData /pawl/epoch"));
  EXPECT_THAT(first_words("/"), ElementsAre("getData /pawl/epoch"));
  EXPECT_THAT(first_words("/apps"), ElementsAre("getData /apps/pawl/epoch"));
  EXPECT_THAT(first_words("/apps/"), ElementsAre("getData /apps/pawl/epoch"));
  EXPECT_THAT(first_words("/apps/billing/"), ElementsAre("getData /apps/billing/pawl/epoch"));
  EXPECT_THAT(first_words("/a%20b"), ElementsAre("getData /a b/pawl/epoch"));
  EXPECT_THAT(first_words("?prefix=/locks"), ElementsAre("getData /locks/epoch"));
  EXPECT_THAT(first_words("/apps?prefix=/our/locks"), ElementsAre("getData /apps/our/locks/epoch"));
}

// Who we are

TEST_F(ZooKeeperUrl, AUserIsNamedFirst) {
  EXPECT_THAT(first_words("/", "alice:s3cret@"), ElementsAre("auth digest alice:s3cret", "getData /pawl/epoch"));
  EXPECT_THAT(first_words("/", "alice:s%3A%40%2F%25@"), ElementsAre("auth digest alice:s:@/%", "getData /pawl/epoch"));
  EXPECT_THAT(first_words("/", "alice@"), ElementsAre("auth digest alice:", "getData /pawl/epoch"));
  EXPECT_THAT(first_words("/", ":s3cret@"), ElementsAre("auth digest :s3cret", "getData /pawl/epoch"));
}

TEST_F(ZooKeeperUrl, APasswordMayStandInAFile) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "password") << "s3cret\n";
  const std::string option = "?password_file=" + folder / "password";
  EXPECT_THAT(first_words(option, "alice@"), ElementsAre("auth digest alice:s3cret", "getData /pawl/epoch"));
  EXPECT_THAT(first_words(option, "alice:guess@"), ElementsAre("auth digest alice:s3cret", "getData /pawl/epoch"));
  EXPECT_THAT(first_words(option), ElementsAre("auth digest :s3cret", "getData /pawl/epoch"));
}

TEST_F(ZooKeeperUrl, TlsIsNotSupportedAndTheReasonIsSaid) {
  for (const std::string url : {"zookeeper+tls://alice:s3cret@zk1", "zookeeper+tls://zk1,zk2/apps"}) {
    const auto store = open(url);
    ASSERT_EQ(store.code(), Errc::unsupported) << url;
    EXPECT_THAT(store.error().message,
                AllOf(HasSubstr("client has no TLS"), Not(HasSubstr("s3cret")), Not(HasSubstr("alice"))));
  }
}

// Options

TEST_F(ZooKeeperUrl, EveryOptionIsKnown) {
  for (const std::string& option : std::vector<std::string>{
           "scheme=sequential", "scheme=ephemeral", "lease=30s", "lock_delay=1s", "max_hold=1h", "timeout=2s",
           "owner=anonymous", "prefix=/x", "prefix=/x/y", "names=raw", "dialect=curator", "dialect=kazoo",
           "password_file=/run/password", "names=raw&dialect=kazoo&prefix=/x&timeout=1s"}) {
    const auto store = open("zookeeper://zk1/apps?" + option);
    EXPECT_TRUE(store) << store.error().to_string();
  }
}

TEST_F(ZooKeeperUrl, TheTimeoutIsThatOfConnecting) {
  const auto before = std::chrono::steady_clock::now();
  const Result<void> connected = connect("zookeeper://127.0.0.1:1?timeout=50ms").get();
  EXPECT_EQ(connected.code(), Errc::store_unavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - before, 4s) << "5 s is the default";
}

TEST_F(ZooKeeperUrl, TheTimeoutOfTheClientIsThatOfConnecting) {
  const auto store = open("zookeeper://127.0.0.1:1").value();
  Surroundings surroundings;
  surroundings.timeout = 50ms;
  store->attach(std::move(surroundings));
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(connect(store).get().code(), Errc::store_unavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - before, 4s) << "5 s is the default";
}

TEST_F(ZooKeeperUrl, SequentialIsTheDefault) {
  const auto store = open("zookeeper://zk1").value();
  EXPECT_EQ(store->scheme("")->capabilities().scheme, "sequential");
  EXPECT_EQ(store->scheme("sequential"), store->scheme(""));
  EXPECT_EQ(store->scheme("ephemeral")->capabilities().scheme, "ephemeral");
  EXPECT_EQ(store->scheme("queue"), nullptr);
  EXPECT_EQ(store->schemes().front()->scheme, "sequential");
}

// Refusals

TEST_F(ZooKeeperUrl, WhatIsWrongIsSaidAndWhatIsSecretIsNot) {
  struct Wrong {
    std::string url, sentence;
  };
  const std::string secret = "zookeeper://alice:s3cret@zk1";
  for (const auto& [url, sentence] : std::vector<Wrong>{
           {"zookeeper:zk1", "write zookeeper://h1,h2,h3/chroot"},
           {"zookeeper:", "write zookeeper://h1,h2,h3/chroot"},
           {secret + "//apps", "cannot be a path in ZooKeeper: a part of it is empty"},
           {secret + "/apps//", "a part of it is empty"},
           {secret + "/apps//billing", "a part of it is empty"},
           {secret + "/./apps", "a part of it is . or .."},
           {secret + "/apps/..", "a part of it is . or .."},
           {secret + "/%F0%9F%94%92", "others that no node may have"},
           {secret + "/%FF", "others that no node may have"},
           {secret + "/" + std::string(3000, 'x'), "it is too long"},
           {secret + "?prefix=pawl", "the prefix is a path: prefix=/pawl"},
           {secret + "?prefix=", "the prefix is a path: prefix=/pawl"},
           {secret + "?prefix=/", "it is the root"},
           {secret + "/apps?prefix=/", "a part of it is empty"},
           {secret + "?prefix=/pawl/", "a part of it is empty"},
           {secret + "?prefix=/a//b", "a part of it is empty"},
           {secret + "?prefix=/..", "a part of it is . or .."},
           {secret + "?prefix=/%C2%85", "control characters"},
           {secret + "?names=all", R"(names must be "raw")"},
           {secret + "?names=RAW", R"(names must be "raw")"},
           {secret + "?dialect=go", "dialect is curator or kazoo"},
           {secret + "?dialect=", "dialect is curator or kazoo"},
       }) {
    const std::string message = refusal(url);
    EXPECT_THAT(message, AllOf(HasSubstr(sentence), Not(HasSubstr("s3cret")), Not(HasSubstr("alice")))) << url;
  }
}

TEST_F(ZooKeeperUrl, ATimeoutIsADuration) {
  for (const std::string timeout : {"soon", "5", "-1s", ""}) {
    const std::string message = refusal("zookeeper://alice:s3cret@zk1?timeout=" + timeout);
    EXPECT_THAT(message, AllOf(HasSubstr("\"timeout\""), Not(HasSubstr("s3cret")))) << timeout;
  }
}

TEST_F(ZooKeeperUrl, AnOptionOfAnotherStoreIsRefused) {
  for (const std::string option : {"mode=0770", "db=3", "wait_replicas=1", "ca=/etc/ca.crt", "chroot=/apps"}) {
    const std::string message = refusal("zookeeper://alice:s3cret@zk1?" + option);
    EXPECT_THAT(message, AllOf(HasSubstr("\"" + option.substr(0, option.find('=')) + "\""), HasSubstr("dialect"),
                               Not(HasSubstr("s3cret"))))
        << option;
  }
}

TEST_F(ZooKeeperUrl, APasswordInAnOptionIsRefused) {
  const auto url = base::Url::parse("zookeeper://zk1?password=s3cret");
  ASSERT_EQ(url.code(), Errc::invalid_argument);
  EXPECT_THAT(url.error().message, Not(HasSubstr("s3cret")));
}

}  // namespace
}  // namespace pawl::store::zookeeper
