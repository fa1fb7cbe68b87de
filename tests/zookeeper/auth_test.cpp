// Users and passwords on a ZooKeeper server: digest, and nodes that belong to their creator alone.

#include "tests/support/proxy.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/threads.hpp"
#include "tests/support/zookeeper_frames.hpp"
#include "tests/support/zookeeper_server.hpp"
#include "tests/zookeeper/stranger.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <ostream>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace pawl {

inline void PrintTo(Errc code, std::ostream* out) { *out << (code == Errc{} ? "no error" : to_string(code)); }

namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::Proxy;
using test::Stranger;
using test::ZooKeeperServer;
using testing::_;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Key;
using testing::MatchesRegex;
using testing::Not;
using testing::Pair;

constexpr Duration hang = 60s;

/// What the servers make of a password: "digest alice:... 31", where 31 is the right to everything.
const std::string of_alice = "digest alice:uLxpHc/uhT86OXPoSjJTp1M8CJY= 31";

/// A folder of its own for each test.
std::string folder() {
  static int folders = 0;
  return "/auth-" + std::to_string(++folders);
}

std::string url(const ZooKeeperServer& server, const std::string& who, const std::string& rest) {
  return "zookeeper://" + who + (who.empty() ? "" : "@") + server.address() + rest;
}

/// The access lists of that node and of all below it, by path, as that user sees them.
std::map<std::string, std::string> walk(Stranger&& user, const std::string& path) {
  std::map<std::string, std::string> found;
  std::vector<std::string> left{path};
  while (!left.empty()) {
    const std::string next = std::move(left.back());
    left.pop_back();
    std::string& all = found[next];
    for (const std::string& one : user.access(next)) all += (all.empty() ? "" : ", ") + one;
    for (std::string& child : user.children(next)) left.push_back(std::move(child));
  }
  return found;
}

/// Somebody who waits for a lock until the scene ends.
class Waiter {
 public:
  Waiter(Client client, const std::string& name, LockOptions options = {})
      : wait_(std::async(std::launch::async, [this, client = std::move(client), name, options]() mutable {
          (void)client.mutex(name, options).acquire({}, stop_.get_token());
        })) {}
  ~Waiter() {
    stop_.request_stop();
    wait_.wait();
  }

 private:
  std::stop_source stop_;
  std::future<void> wait_;
};

// What is made belongs to its creator

TEST(ZooKeeperAuth, EveryNodeBelongsToItsUserAlone) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string at = folder();
  Client alice(url(server, "alice:s3cret", at + "?lock_delay=1s")), again(url(server, "alice:s3cret", at));
  std::vector<Hold> holds;
  holds.push_back(alice.mutex("job").acquire().value());
  holds.push_back(alice.shared_mutex("book").acquire_shared().value());
  holds.push_back(alice.semaphore("pool", 3).acquire(2).value());
  holds.push_back(alice.election("api").campaign("10.0.0.7").value());
  holds.push_back(again.mutex("old", {.scheme = "ephemeral"}).acquire().value());
  const Waiter behind(again, "job"), beside(Client(url(server, "alice:s3cret", at)), "old", {.scheme = "ephemeral"});
  ASSERT_TRUE(eventually([&] { return alice.inspect("job").value().waiters.size() == 1; }));
  Client looks(url(server, "alice:s3cret", at + "?scheme=ephemeral"));
  ASSERT_TRUE(eventually([&] { return looks.inspect("old").value().waiters.size() == 1; }));

  const auto nodes = walk(Stranger(server, "alice:s3cret"), at);
  EXPECT_THAT(nodes, Each(Pair(_, of_alice)));
  for (const std::string made :
       {"epoch", "sequential/mutex/job/lock-[0-9]+", "sequential/rw/book/__READ__[0-9]+",
        "sequential/permits/pool/locks", "sequential/permits/pool/leases/.+", "sequential/election/api/lock-[0-9]+",
        "delays/[^/]+/[0-9a-f]+", "ephemeral/mutex/old", "waiting/[^/]+/.+"}) {
    EXPECT_THAT(nodes, Contains(Key(MatchesRegex(at + "/pawl/" + made))));
  }
}

TEST(ZooKeeperAuth, SoDoesTheFolderThatIsSharedWithOtherLibraries) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  for (const std::string dialect : {"curator", "kazoo"}) {
    const std::string at = folder();
    Client alice(url(server, "alice:s3cret", at + "?names=raw&dialect=" + dialect));
    const Hold hold = alice.mutex("/jobs/backup").acquire().value();
    const auto nodes = walk(Stranger(server, "alice:s3cret"), at);
    EXPECT_THAT(nodes, Each(Pair(_, of_alice)));
    EXPECT_THAT(nodes, Contains(Key(MatchesRegex(at + "/jobs/backup/.*lock.*"))));
  }
}

TEST(ZooKeeperAuth, WithoutAUserNodesAreOpenToAll) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string at = folder();
  Client anybody(url(server, "", at));
  const Hold hold = anybody.mutex("job").acquire().value();
  EXPECT_THAT(walk(Stranger(server, "alice:s3cret"), at), Each(Pair(_, "world anyone 31")));
}

TEST(ZooKeeperAuth, APasswordMayHaveAnyCharacter) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string at = folder();
  Client alice(url(server, "alice:p%2Fa%40s%3As%25w%3Fo%26r%3Dd%20%23%2B%22x", at));
  EXPECT_TRUE(alice.mutex("job").acquire());
  EXPECT_THAT(walk(Stranger(server, R"(alice:p/a@s:s%w?o&r=d #+"x)"), at),
              Each(Pair(_, "digest alice:ZAp+fzXT2KqtIYRlAQ+l/s65e9Q= 31")));
}

TEST(ZooKeeperAuth, AUserAndAPasswordMayBeEmpty) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  for (const auto& [who, digest, access] :
       {std::array{":s3cret", ":s3cret", "digest :JVsXT/9FxKtU1ipCR8oU1NPQIqU= 31"},
        std::array{"alice", "alice:", "digest alice:VvKt9/iw7kxS1milYay2cPWBnRo= 31"}}) {
    const std::string at = folder();
    Client client(url(server, who, at));
    EXPECT_TRUE(client.mutex("job").acquire());
    EXPECT_THAT(walk(Stranger(server, digest), at), Each(Pair(_, access)));
  }
}

TEST(ZooKeeperAuth, AUserHasNoColon) {
  const Result<Client> refused = Client::open(url(ZooKeeperServer::shared(), "a%3Ab:s3cret", folder()));
  ASSERT_EQ(refused.code(), Errc::invalid_argument) << "it would be a, with the password b:s3cret";
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("colon"), Not(HasSubstr("s3cret"))));
}

// Others

/// Who is refused, on which scheme.
struct Refused {
  std::string scheme;
  std::string who;
  std::string name;
};
void PrintTo(const Refused& refused, std::ostream* out) { *out << refused.scheme << ", " << refused.name; }

class ZooKeeperStrangers : public testing::TestWithParam<Refused> {
 protected:
  std::string as(const std::string& who, const std::string& more = {}) const {
    return url(server_, who, at_ + "?scheme=" + GetParam().scheme + more);
  }
  /// permission_denied, in words that tell nothing.
  template <class Value>
  static void expect_refused(const Result<Value>& result, const std::string& what) {
    ASSERT_EQ(result.code(), Errc::permission_denied) << what;
    EXPECT_THAT(result.error().message, AnyOf(HasSubstr("access list"), HasSubstr("does not allow"))) << what;
    EXPECT_THAT(result.error().to_string(), AllOf(Not(HasSubstr("s3cret")), Not(HasSubstr("guess")))) << what;
  }

  const ZooKeeperServer& server_ = ZooKeeperServer::shared();
  const std::string at_ = folder();
};

TEST_P(ZooKeeperStrangers, CannotEvenOpenAStoreOfAnotherUser) {
  { Client alice(as("alice:s3cret")); }
  expect_refused(Client::open(as(GetParam().who)), "open");
  ClientOptions lazy;
  lazy.connect = Connect::lazy;
  Client client(as(GetParam().who), lazy);
  expect_refused(client.mutex("job").try_acquire(), "first use");
  expect_refused(client.mutex("job").acquire({.wait = hang}), "later use");
}

// The epoch is everybody's, and so is the folder above the locks.
TEST_P(ZooKeeperStrangers, CannotUseALockOfAnotherUser) {
  { Client anybody(as("")); }
  Client alice(as("alice:s3cret"));
  std::optional<Hold> hold = alice.mutex("job").acquire().value();
  const Sequencer sequencer = hold->sequencer();
  Client client(as(GetParam().who));
  for (const std::string when : {"while it is held", "and when it is free"}) {
    if (when != "while it is held") hold.reset();
    expect_refused(client.mutex("job").try_acquire(), "try " + when);
    expect_refused(client.mutex("job").acquire({.wait = hang}), "acquire " + when);
    expect_refused(client.inspect("job"), "inspect " + when);
    expect_refused(client.list(), "list " + when);
    expect_refused(client.check(sequencer), "check " + when);
    expect_refused(client.revoke("job"), "revoke " + when);
    expect_refused(client.revoke("job", {.now = true}), "revoke now " + when);
    EXPECT_TRUE(!hold || hold->valid());
  }
  EXPECT_TRUE(alice.mutex("job").acquire({.wait = hang})) << "nothing is in the way";
}

// What was refused was never there: nobody tries to remove it for ever.
TEST_P(ZooKeeperStrangers, LeaveNothingToUndo) {
  { Client anybody(as("")); }
  Client alice(as("alice:s3cret"));
  const Hold hold = alice.mutex("job").acquire().value();
  Client client(as(GetParam().who));
  expect_refused(client.mutex("job").try_acquire(), "try");
  expect_refused(client.mutex("job").acquire({.wait = hang}), "acquire");
  const Result<void> closed = client.close(10s);
  EXPECT_TRUE(closed) << closed.error().to_string();
}

// With a folder of one's own for all else.
TEST_P(ZooKeeperStrangers, CannotTakeOverAPathOfAnotherUser) {
  { Client anybody(as("", "&prefix=/everybody")); }
  Client alice(as("alice:s3cret", "&names=raw&prefix=/hers"));
  Hold hold = alice.mutex("/jobs/backup").acquire().value();
  Client client(as(GetParam().who, "&names=raw&prefix=/theirs"));
  expect_refused(client.mutex("/jobs/backup").try_acquire(), "try");
  expect_refused(client.mutex("/jobs/backup").acquire({.wait = hang}), "acquire");
  expect_refused(client.mutex("/jobs/another").acquire({.wait = hang}), "another in the same folder");
  expect_refused(client.inspect("/jobs/backup"), "inspect");
  expect_refused(client.revoke("/jobs/backup", {.now = true}), "revoke now");
  EXPECT_TRUE(client.mutex("/others/backup").acquire({.wait = hang}));
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(hold.release());
}

INSTANTIATE_TEST_SUITE_P(All, ZooKeeperStrangers,
                         testing::Values(Refused{"sequential", "", "nobody"},
                                         Refused{"sequential", "alice:guess", "wrong_password"},
                                         Refused{"sequential", "bob:s3cret", "another_user"},
                                         Refused{"ephemeral", "", "nobody"},
                                         Refused{"ephemeral", "alice:guess", "wrong_password"},
                                         Refused{"ephemeral", "bob:s3cret", "another_user"}),
                         [](const auto& info) { return info.param.scheme + "_" + info.param.name; });

// Where the words come from

TEST(ZooKeeperLogin, AFileIsReadForEverySession) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string at = folder();
  { Client alice(url(server, "alice:s3cret", at)); }
  const test::TemporaryFolder files;
  const std::string file = files / "password";
  const auto write = [&](const std::string& password) { std::ofstream(file) << password << "\nsecond line\n"; };
  const std::string with_file = url(server, "alice", at + "?password_file=" + file);

  write("guess");
  const Result<Client> refused = Client::open(with_file);
  ASSERT_EQ(refused.code(), Errc::permission_denied);
  EXPECT_THAT(refused.error().to_string(), Not(HasSubstr("guess")));
  write("s3cret");
  Client client(with_file);
  const Hold first = client.mutex("first").acquire().value();
  write("guess");
  const Result<Hold> other = client.mutex("other").acquire({.wait = hang, .lease = 20s});
  ASSERT_EQ(other.code(), Errc::permission_denied) << "another lease is another session";
  EXPECT_THAT(other.error().to_string(), Not(HasSubstr("guess")));
  EXPECT_TRUE(client.mutex("second").acquire({.wait = hang})) << "the first one goes on";
  write("s3cret");
  EXPECT_TRUE(client.mutex("other").acquire({.wait = hang, .lease = 20s}));
  EXPECT_TRUE(first.valid());
  EXPECT_THAT(walk(Stranger(server, "alice:s3cret"), at), Each(Pair(_, of_alice)));
}

TEST(ZooKeeperLogin, AFileThatCannotBeReadIsNamed) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const Result<Client> refused = Client::open(url(server, "alice", folder() + "?password_file=/does/not/exist"));
  ASSERT_EQ(refused.code(), Errc::permission_denied);
  EXPECT_THAT(refused.error().message, HasSubstr("/does/not/exist"));
}

TEST(ZooKeeperLogin, ACallbackIsAskedForEverySession) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const std::string at = folder();
  std::atomic<int> asked = 0;
  ClientOptions options;
  options.credentials = [&]() -> Result<Credentials> {
    ++asked;
    return Credentials{"alice", "s3cret"};
  };
  Client client(url(server, "bob:guess", at), options);
  EXPECT_EQ(asked, 1) << "to look at the store";
  EXPECT_TRUE(client.mutex("job").acquire());
  EXPECT_TRUE(client.mutex("other").acquire());
  EXPECT_EQ(asked, 2) << "one session for both";
  EXPECT_TRUE(client.mutex("job").acquire({.lease = 20s}));
  EXPECT_EQ(asked, 3) << "and another one";
  EXPECT_THAT(walk(Stranger(server, "alice:s3cret"), at), Each(Pair(_, of_alice)));
}

TEST(ZooKeeperLogin, WhatTheCallbackSaysOfItsFailureIsPassedOn) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  ClientOptions options;
  options.credentials = []() -> Result<Credentials> { return Error{Errc::permission_denied, "the vault is closed"}; };
  const Result<Client> refused = Client::open(url(server, "", folder()), options);
  ASSERT_EQ(refused.code(), Errc::permission_denied);
  EXPECT_THAT(refused.error().message, HasSubstr("vault"));
}

// Servers that ask more of their clients

/// Neither for long, nor in words that tell the password.
void expect_no_entry(const std::string& where, const std::string& what) {
  const Result<Client> refused = Client::open(where);
  ASSERT_EQ(refused.code(), Errc::permission_denied) << what << ": " << refused.error().to_string();
  EXPECT_THAT(refused.error().to_string(), Not(HasSubstr("s3cret"))) << what;
  ClientOptions lazy;
  lazy.connect = Connect::lazy;
  const Result<Hold> hold = Client(where, lazy).mutex("job").acquire({.wait = hang});
  ASSERT_EQ(hold.code(), Errc::permission_denied) << what << ": " << hold.error().to_string();
  EXPECT_THAT(hold.error().to_string(), Not(HasSubstr("s3cret"))) << what;
}

TEST(ZooKeeperLogin, AServerThatServesUsersOnlyRefusesNobody) {
  const ZooKeeperServer server(
      test::ZooKeeperOptions{.config = {"enforce.auth.enabled=true", "enforce.auth.schemes=digest"}});
  Client alice(url(server, "alice:s3cret", "/"));
  EXPECT_TRUE(alice.mutex("job").acquire({.wait = hang}));
  expect_no_entry(url(server, "", "/"), "without a password");
}

TEST(ZooKeeperLogin, AServerThatKnowsNoPasswordsRefusesOne) {
  const ZooKeeperServer server(
      test::ZooKeeperOptions{.jvm = {"-Dzookeeper.DigestAuthenticationProvider.enabled=false"}});
  Client anybody(url(server, "", "/"));
  EXPECT_TRUE(anybody.mutex("job").acquire({.wait = hang}));
  expect_no_entry(url(server, "alice:s3cret", "/"), "with a password");
}

TEST(ZooKeeperLogin, TlsIsRefusedWithItsReason) {
  const ZooKeeperServer& server = ZooKeeperServer::shared();
  const Result<Client> refused = Client::open("zookeeper+tls://alice:s3cret@" + server.address() + folder());
  ASSERT_EQ(refused.code(), Errc::unsupported);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("client has no TLS"), HasSubstr("tunnel")));
  EXPECT_THAT(refused.error().to_string(), AllOf(Not(HasSubstr("s3cret")), Not(HasSubstr("alice"))));
}

// Reconnecting

/// A user behind a wire that can be cut. Whatever is told to anybody is kept.
class ZooKeeperReconnect : public testing::TestWithParam<std::string> {
 protected:
  static test::Framing framing(std::set<std::int64_t>& sessions, std::mutex& mutex) {
    return test::zookeeper_framing([&](const test::ZooKeeperTicket& ticket) {
      const std::lock_guard lock(mutex);
      sessions.insert(ticket.session);
    });
  }
  std::size_t sessions() {
    const std::lock_guard lock(mutex_);
    return sessions_.size();
  }
  /// Breaks the connection, and waits until there is another one.
  void cut() {
    const std::size_t before = proxy_.seen("connect");
    proxy_.cut();
    ASSERT_TRUE(eventually([&] { return proxy_.seen("connect") > before; }));
  }
  ClientOptions options() {
    ClientOptions options;
    options.observer = [this](const Event& event) {
      const std::lock_guard lock(mutex_);
      told_ += event.message + "\n";
      reconnecting_ += event.type == EventType::reconnecting ? 1 : 0;
    };
    return options;
  }
  std::string told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }
  int reconnecting() {
    const std::lock_guard lock(mutex_);
    return reconnecting_;
  }
  std::string where() const { return at_ + "?scheme=" + GetParam(); }

  const ZooKeeperServer& server_ = ZooKeeperServer::shared();
  const std::string at_ = folder();
  std::mutex mutex_;
  std::set<std::int64_t> sessions_;
  std::string told_;
  int reconnecting_ = 0;
  Proxy proxy_{server_.port(), framing(sessions_, mutex_)};
  Client alice_{"zookeeper://alice:s3cret@127.0.0.1:" + std::to_string(proxy_.port()) + where(), options()};
  Client friend_{url(server_, "alice:s3cret", where())};
};

TEST_P(ZooKeeperReconnect, SaysThePasswordAgainAndGoesOnInTheSameSession) {
  Hold kept = alice_.mutex("kept").acquire().value();
  const std::size_t sessions = this->sessions();
  for (int round = 0; round < 3; ++round) {
    const std::size_t auths = proxy_.seen("auth");
    cut();
    Result<Hold> next = alice_.mutex("next").acquire({.wait = hang});
    ASSERT_TRUE(next) << next.error().to_string();
    EXPECT_EQ(friend_.mutex("next").try_acquire().code(), Errc::busy);
    EXPECT_TRUE(next->release());
    EXPECT_TRUE(friend_.mutex("next").try_acquire());
    EXPECT_GT(proxy_.seen("auth"), auths);
  }
  EXPECT_EQ(this->sessions(), sessions);
  EXPECT_TRUE(kept.valid());
  EXPECT_EQ(friend_.mutex("kept").try_acquire().code(), Errc::busy);
  EXPECT_TRUE(kept.release());
  EXPECT_TRUE(friend_.mutex("kept").try_acquire());
  EXPECT_GE(reconnecting(), 3);
  EXPECT_THAT(told(), Not(HasSubstr("s3cret")));
  EXPECT_THAT(walk(Stranger(server_, "alice:s3cret"), at_), Each(Pair(_, of_alice)));
}

TEST_P(ZooKeeperReconnect, RenewsAndHearsWhatItHasWatched) {
  Hold kept = alice_.mutex("kept").acquire({.lease = 6s}).value();
  std::optional<Hold> before = friend_.mutex("awaited").acquire().value();
  auto waiting = std::async(std::launch::async, [&] { return alice_.mutex("awaited").acquire({.wait = hang}); });
  ASSERT_TRUE(eventually([&] { return friend_.inspect("awaited").value().waiters.size() == 1; }));
  cut();
  const std::uint64_t beats = proxy_.seen("heartbeat");
  EXPECT_TRUE(eventually([&] { return proxy_.seen("heartbeat") >= beats + 8; })) << "longer than its lease";
  EXPECT_TRUE(kept.valid());
  before.reset();
  const Result<Hold> after = waiting.get();
  ASSERT_TRUE(after) << after.error().to_string();
  EXPECT_TRUE(friend_.revoke("kept"));
  EXPECT_TRUE(eventually([&] { return kept.release_requested().stop_requested(); }));
  EXPECT_THAT(told(), Not(HasSubstr("s3cret")));
}

TEST_P(ZooKeeperReconnect, AnOutageIsToldWithoutThePassword) {
  Hold kept = alice_.mutex("kept").acquire({.lease = 1s}).value();
  proxy_.shut(true);
  proxy_.cut();
  EXPECT_TRUE(eventually([&] { return kept.state() == HoldState::lost; }));
  const Result<Hold> none = alice_.mutex("other").acquire({.wait = 100ms});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().to_string(), Not(HasSubstr("s3cret")));
  const Result<LockView> view = alice_.inspect("kept");
  ASSERT_FALSE(view);
  EXPECT_THAT(view.error().to_string(), Not(HasSubstr("s3cret")));
  EXPECT_THAT(told(), AllOf(Not(HasSubstr("s3cret")), HasSubstr("lost")));
  proxy_.shut(false);
  EXPECT_TRUE(alice_.mutex("kept").acquire({.wait = hang}));
  EXPECT_THAT(walk(Stranger(server_, "alice:s3cret"), at_), Each(Pair(_, of_alice)));
}

INSTANTIATE_TEST_SUITE_P(All, ZooKeeperReconnect, testing::Values("sequential", "ephemeral"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace pawl
