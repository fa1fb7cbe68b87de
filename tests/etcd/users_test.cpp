// Locks where etcd has users: tokens that end, users who are added meanwhile, and a user who may do just what is needed.

#include "tests/etcd/users.hpp"
#include "tests/etcd/stage.hpp"

#include <algorithm>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

namespace pawl {
namespace {

using namespace stage;
using std::chrono::steady_clock;

/// Counts the calls that fail with that text.
class Failures {
 public:
  explicit Failures(std::string text) : text_(std::move(text)) {}
  void hear(const EtcdMessage& reply) {
    if (reply.failure.find(text_) != std::string::npos) ++count_;
  }
  int count() const { return count_; }

 private:
  const std::string text_;
  std::atomic<int> count_ = 0;
};

// Tokens that end every 2 s, and users who are added meanwhile: the one makes tokens too old, the other too old for the server.
TEST(EtcdUsers, LocksOutliveTokensThatEndAndUsersWhoAreAdded) {
  const test::JwtKey key;
  test::ServerWithUsers users(key.flags("2s"));
  Failures old("revision of auth store is old");
  Proxy proxy(users.server().port(), test::etcd_framing({}, [&](const EtcdMessage& reply) { old.hear(reply); }));
  const std::string url =
      "etcd://alice:pw@127.0.0.1:" + std::to_string(proxy.port()) + "?lease=30s&timeout=10s&prefix=alice/";
  Client alice(url), bob(url);
  Hold hold = alice.mutex("job").acquire({.wait = hang}).value();
  Hold delayed = alice.mutex("delayed").acquire({.wait = hang, .lock_delay = 5s}).value();  // on a second lease
  Hold other = alice.mutex("other", {.lease = 20s}).acquire({.wait = hang}).value();        // in a second session
  auto bobs = wait_for(bob, "job");
  ASSERT_TRUE(waiters_are(alice, "job", 1));
  const std::uint64_t renewals = alice.metrics().renewals;
  int added = 0;
  for (const auto end = steady_clock::now() + 10s; steady_clock::now() < end || old.count() == 0;) {
    users.server().must_ctl({"user", "add", "user" + std::to_string(++added) + ":pw"});
    ASSERT_TRUE(alice.mutex("meanwhile").acquire({.wait = hang}));
    ASSERT_EQ(bob.mutex("delayed").try_acquire().code(), Errc::busy);
    ASSERT_LT(added, 1000) << "no token was refused: the test has shown nothing";
  }
  EXPECT_TRUE(eventually([&] { return alice.metrics().renewals >= renewals + 2; }));
  EXPECT_GE(old.count(), 1);
  EXPECT_GE(proxy.seen("Authenticate"), 4U) << "both have logged in again";
  for (const Hold* one : {&hold, &delayed, &other}) {
    EXPECT_EQ(one->state(), HoldState::held);
    EXPECT_TRUE(one->valid());
  }
  EXPECT_EQ(alice.metrics().sessions_opened, 2U);
  EXPECT_EQ(bobs.wait_for(0s), std::future_status::timeout);
  EXPECT_TRUE(hold.release());
  const Result<Hold> next = bobs.get();
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_GT(next->token(), hold.token());
  EXPECT_TRUE(delayed.release());
}

/// The commands that docs/stores/etcd.md gives for a user who may do just what is needed.
std::vector<std::vector<std::string>> documented_commands() {
  std::ifstream page(PAWL_SOURCE "/docs/stores/etcd.md");
  std::vector<std::vector<std::string>> commands;
  for (std::string line; std::getline(page, line);) {
    std::istringstream words(line);
    std::string program;
    if (!(words >> program) || program != "etcdctl") continue;
    commands.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  }
  return commands;
}

/// etcd with that user, and root.
struct DocumentedUser {
  DocumentedUser() : server({.ctl = {"--user", "root:secret"}}) {
    server.must_ctl({"user", "add", "root:secret"});
    server.must_ctl({"user", "grant-role", "root", "root"});
    for (std::vector<std::string> words : documented_commands()) {
      const bool adds_user = words.size() == 3 && words[0] == "user" && words[1] == "add";
      if (adds_user) words[2] += ":pw";  // it would ask for it
      server.must_ctl(words);
    }
    server.must_ctl({"auth", "enable"});
  }
  Client client() const {
    ClientOptions options;
    options.credentials = []() -> Result<Credentials> { return Credentials{.user = "pawl", .password = "pw"}; };
    return Client::open(server.url("?lease=30s&timeout=10s"), options).value();
  }

  EtcdServer server;
};

TEST(EtcdUsers, TheDocumentedRoleIsEnoughAndItsPasswordMayBeAsked) {
  ASSERT_GE(documented_commands().size(), 4U);
  const DocumentedUser user;
  EXPECT_EQ(Client::open(user.server.url("?timeout=5s")).code(), Errc::permission_denied) << "it needs a password";
  Client alice = user.client(), bob = user.client();
  Hold hold = alice.mutex("job").acquire({.wait = hang}).value();
  auto bobs = wait_for(bob, "job");
  ASSERT_TRUE(waiters_are(alice, "job", 1));
  EXPECT_EQ(bob.revoke("job", {.now = true}).code(), Errc{});
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  ASSERT_TRUE(bobs.get());
  Hold office = alice.election("chair").campaign("alice", {.wait = hang}).value();
  const Result<std::optional<Leader>> seen = bob.election("chair").observe().next(hang);
  ASSERT_TRUE(seen && seen->has_value());
  EXPECT_EQ((*seen)->value, "alice");
  Hold delayed = alice.mutex("delayed").acquire({.wait = hang, .lock_delay = 1s}).value();
  EXPECT_TRUE(alice.close(hang)) << "not released: the delay counts";
  EXPECT_TRUE(bob.mutex("delayed").acquire({.wait = hang}));
  EXPECT_TRUE(bob.semaphore("pool", 2).acquire({.wait = hang}));
  EXPECT_TRUE(bob.list("").has_value());
}

}  // namespace
}  // namespace pawl
