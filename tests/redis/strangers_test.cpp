// What other clients, and strangers who may publish, cannot do to a client: make it poll, grant it a lock, end its hold.

#include "store/redis/letter.hpp"
#include "tests/redis/commands.hpp"
#include "tests/redis/opening.hpp"
#include "tests/redis/script_user.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::Commands;
using test::eventually;
using test::RedisServer;
using test::ScriptUser;

/// Waits for a lock in a thread of its own, until it is let go of.
class Wait {
 public:
  Wait(Client& client, const std::string& lock) : mutex_(client.mutex(lock, {.local_passes = 0})) {}
  ~Wait() {
    stop_.request_stop();
    if (result_.valid()) result_.wait();
  }
  void begin() {
    result_ = std::async(std::launch::async, [this] { return mutex_.acquire({}, stop_.get_token()); });
  }
  bool granted() const { return result_.wait_for(0s) == std::future_status::ready; }
  Hold get() { return result_.get().value(); }

 private:
  Mutex mutex_;
  std::stop_source stop_;
  std::future<Result<Hold>> result_;
};

bool waiters(Client& client, const std::string& lock, std::size_t count) {
  return eventually([&] { return client.inspect(lock).value().waiters.size() == count; });
}

// They looked again whenever any session could have ended.
TEST(RedisStranger, WithAShortLeaseDoesNotMakeOthersPoll) {
  RedisServer server;
  Client holder(server.url("?lease=1h")), client(server.url("?lease=1h"));
  const Hold hold = holder.mutex("job").acquire().value();
  ScriptUser stranger(server);
  stranger.open(1, "3000");
  stranger.claim(1, 1, "mutex:other");
  std::vector<std::unique_ptr<Wait>> waits;
  for (int i = 0; i < 30; ++i) {
    waits.push_back(std::make_unique<Wait>(client, "job"));
    waits.back()->begin();
  }
  ASSERT_TRUE(waiters(client, "job", 30));
  const Commands commands(server);
  std::this_thread::sleep_for(4s);  // what does not happen cannot be waited for
  EXPECT_EQ(commands.counts()["zrank"], 0) << "no waiter has asked for its place";
}

// Everybody looks at the one before it. When that one leaves, whom it looked at has to be looked at.
TEST(RedisStranger, ThatLeavesTheQueueDoesNotHideTheEndOfTheHolder) {
  RedisServer server;
  Client client(server.url("?lease=1h"));
  EXPECT_TRUE(client.mutex("first").acquire());
  ScriptUser others(server);
  others.open(1);
  others.claim(1, 1, "mutex:job");
  others.open(2);
  others.claim(2, 2, "mutex:job");
  Wait wait(client, "job");
  wait.begin();
  ASSERT_TRUE(waiters(client, "job", 2));
  server.cli({"ZADD", "{pawl}:ends", std::to_string(std::stoll(server.cli({"TIME"})) * 1000 + 3'000),
              "s" + ScriptUser::id(1)});
  const Commands commands(server);
  others.withdraw(2, 2, "mutex:job");
  EXPECT_TRUE(eventually([&] { return commands.counts()["zrank"] >= 2; }))
      << "it was told, and has asked for its place";
  EXPECT_TRUE(eventually([&] { return wait.granted(); })) << "not only after a third of an hour";
}

// Every renewal made the client look at all that it held.
TEST(RedisStranger, WhoWaitsForOneLockDoesNotMakeItsHolderLookAtAll) {
  RedisServer server;
  Client client(server.url("?lease=9s&timeout=30s"));
  const std::vector<Hold> holds = hold_many(client, 400);
  ScriptUser stranger(server);
  stranger.open(1);
  const Commands commands(server);
  for (int i = 0; i < 3; ++i) stranger.claim(1, i + 1, "mutex:job" + std::to_string(i));
  EXPECT_TRUE(eventually([&] { return commands.counts()["sscan"] >= 2; })) << "two renewals";
  EXPECT_LE(commands.scripts(), 40);
  for (const Hold& hold : holds) EXPECT_TRUE(hold.valid());
}

/// With which the letters to the session of that claim are sealed.
std::string secret_of(const RedisServer& server, const std::string& claim) {
  const auto field = [&](const std::string& key, const std::string& name) {
    const std::string line = server.cli({"HGET", "{pawl}:" + key, name});
    return line.substr(0, line.size() - 1);
  };
  return field("s:" + field("c:" + claim, "s"), "secret");
}

/// Alice holds a lock for which bob waits.
class Contended {
 public:
  explicit Contended(const RedisServer& server) : alice(server.url("?lease=1h")), bob(server.url("?lease=1h")) {
    wait_.begin();
    if (!waiters(alice, "job", 1)) throw std::runtime_error("bob does not wait");
    claim = alice.inspect("job").value().waiters[0].claim;
  }
  /// Alice lets go. Bob is granted what the server says, whatever was published.
  void expect_the_true_grant() {
    EXPECT_TRUE(hold.release());
    const Hold bobs = wait_.get();
    const std::vector<ClaimView> holders = alice.inspect("job").value().holders;
    ASSERT_EQ(holders.size(), 1U);
    EXPECT_EQ(bobs.token(), holders[0].token);
  }

  Client alice, bob;
  Hold hold = alice.mutex("job").acquire().value();
  std::string claim;  ///< bob's

 private:
  Wait wait_{bob, "job"};
};

/// May publish, and nothing else.
class Forger {
 public:
  explicit Forger(const RedisServer& server) : server_(server) {
    server.cli({"ACL", "SETUSER", "forger", "on", ">pw", "resetkeys", "&*", "-@all", "+publish"});
  }
  /// To all clients.
  void publish(const std::string& letter) const {
    std::istringstream channels(server_.cli({"PUBSUB", "CHANNELS", "{pawl}:mail:*"}));
    for (std::string channel; std::getline(channels, channel);) {
      server_.cli({"--user", "forger", "--pass", "pw", "--no-auth-warning", "PUBLISH", channel, letter});
    }
  }
  /// As it was believed once, and with a seal that was seen on another letter.
  void forge(const std::string& text) const {
    publish(text);
    publish(store::redis::sealed(text, ""));
    publish(store::redis::sealed(text, "a guess"));
  }

 private:
  const RedisServer& server_;
};

// Letters come one after the other: when the real one is there, the forged ones have been.
TEST(RedisStranger, WhoPublishesGrantsNothing) {
  RedisServer server;
  Contended scene(server);
  const Forger forger(server);
  forger.forge(scene.claim + " granted 18446744073709551615 18446744073709551615 0");
  forger.forge(scene.claim + " granted " + std::to_string(scene.hold.token().epoch()) + " 18446744073709551615 0");
  scene.expect_the_true_grant();
}

TEST(RedisStranger, WhoPublishesEndsNoHold) {
  RedisServer server;
  Client alice(server.url("?lease=1h"));
  const Hold hold = alice.mutex("job").acquire().value();
  const Forger forger(server);
  forger.forge(alice.inspect("job").value().holders[0].claim + " gone");
  EXPECT_TRUE(alice.revoke("job"));
  EXPECT_TRUE(eventually([&] { return hold.release_requested().stop_requested(); })) << "the real letter";
  EXPECT_TRUE(hold.valid());
  EXPECT_FALSE(hold.lost().stop_requested());
}

// The letter of a grant, seen on its way, and sent again: to the claim that it was for, and to the client's next one.
TEST(RedisStranger, WhoRepeatsALetterGrantsNothing) {
  RedisServer server;
  Client alice(server.url("?lease=1h")), bob(server.url("?lease=1h"));
  const Forger forger(server);
  Hold hold = alice.mutex("job").acquire().value();
  std::string letter;
  for (int turn = 0; turn < 2; ++turn) {
    Wait wait(bob, "job");
    wait.begin();
    ASSERT_TRUE(waiters(alice, "job", 1));
    const std::string claim = alice.inspect("job").value().waiters[0].claim;
    if (turn == 1) {
      forger.publish(letter);
      forger.publish(letter.substr(0, 41) + claim + letter.substr(41 + claim.size()));
    }
    EXPECT_TRUE(hold.release());
    Hold bobs = wait.get();
    EXPECT_EQ(bobs.token(), alice.inspect("job").value().holders[0].token);
    const std::string text = claim + " granted " + std::to_string(bobs.token().epoch()) + " " +
                             std::to_string(bobs.token().counter()) + " 0";
    letter = store::redis::sealed(text, secret_of(server, claim));
    EXPECT_TRUE(bobs.release());
    hold = alice.mutex("job").acquire({.wait = 60s}).value();
  }
}

// A waiter was granted the lock, was not told, and the server lost the grant. Whoever had seen the letter has it still.
TEST(RedisStranger, WhoRepeatsALetterOfAnEarlierEpochGrantsNothing) {
  RedisServer server;
  Contended scene(server);
  const std::uint64_t before = scene.hold.token().epoch();
  const std::string text = scene.claim + " granted " + std::to_string(before) + " 999 0";
  EXPECT_GT(scene.alice.raise_epoch().value(), before);
  ASSERT_TRUE(scene.bob.epoch());  // it knows the new one
  const Forger forger(server);
  forger.publish(store::redis::sealed(text, secret_of(server, scene.claim)));
  scene.expect_the_true_grant();
}

}  // namespace
}  // namespace pawl
