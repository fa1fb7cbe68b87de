// What clients leave behind when they die: the next client passes it, at once, and no script does more than a little of it.

#include "tests/redis/commands.hpp"
#include "tests/redis/script_user.hpp"
#include "tests/support/real_world.hpp"
#include "tests/support/redis_server.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::Commands;
using test::RedisServer;
using test::ScriptUser;

class RedisDead : public testing::Test {
 protected:
  static std::string key(const std::string& kind, int number) {
    return "{pawl}:" + kind + ":" + ScriptUser::id(number);
  }

  RedisServer server_;
  Client client_{server_.url()};  // makes the epoch
  ScriptUser dead_{server_};
};

TEST_F(RedisDead, AQueueOfTenThousandIsPassedAtOnce) {
  for (int i = 1; i <= 10'000; ++i) {
    dead_.open(i);
    dead_.claim(i, i, "mutex:job");
  }
  dead_.let_all_end();
  EXPECT_TRUE(client_.mutex("job").acquire({.wait = 60s}));
}

TEST_F(RedisDead, ALockOfOneAmongManyIsNotBusy) {
  for (int i = 1; i <= 100; ++i) {
    dead_.open(i);
    dead_.claim(i, i, "mutex:job" + std::to_string(i));
  }
  dead_.let_all_end();
  EXPECT_TRUE(client_.mutex("job100").try_acquire());
}

// try_acquire() was busy: only the first holder was looked at.
TEST_F(RedisDead, ReadersDoNotKeepAWriterOut) {
  for (int i = 1; i <= 1'000; ++i) {
    dead_.open(i);
    dead_.claim(i, i, "rw:job", {.mode = "s"});
  }
  dead_.let_all_end();
  EXPECT_TRUE(client_.shared_mutex("job").try_acquire());
}

// try_acquire() was busy: the sweep had not come to this lock's delay yet.
TEST_F(RedisDead, ALockDelayThatIsOverKeepsNobodyOut) {
  for (int i = 1; i <= 60; ++i) {
    dead_.open(i);
    dead_.claim(i, i, "mutex:job" + std::to_string(i), {.lock_delay = "3600000"});
    dead_.close(i);
  }
  EXPECT_EQ(client_.mutex("job9").try_acquire().code(), Errc::busy) << "the delay";
  dead_.let_all_end();
  EXPECT_TRUE(client_.mutex("job9").try_acquire());
}

// The lock was shut for ever: the session was forgotten first, and then the script broke off.
TEST_F(RedisDead, ASweepThatBreaksOffIsFinishedByTheNextClient) {
  server_.cli({"ACL", "SETUSER", "weak", "on", ">pw", "~*", "&*", "+@all", "-sunion", "-srandmember"});
  dead_.open(1);
  dead_.claim(1, 1, "mutex:job");
  dead_.let_all_end();
  Client weak("redis://weak:pw@127.0.0.1:" + std::to_string(server_.port()) + "/0?timeout=1s");
  EXPECT_EQ(weak.mutex("job").try_acquire().code(), Errc::permission_denied);
  EXPECT_TRUE(client_.mutex("job").try_acquire());
}

TEST_F(RedisDead, AHolderWhoseSessionNobodyKnowsKeepsNobodyOut) {
  dead_.open(1);
  dead_.claim(1, 1, "mutex:job");
  server_.cli({"ZREM", "{pawl}:ends", "s" + ScriptUser::id(1)});
  const LockView view = client_.inspect("job").value();
  for (const ClaimView& holder : view.holders) EXPECT_GE(holder.lease_left, 0s);
  EXPECT_TRUE(client_.mutex("job").try_acquire());
}

TEST_F(RedisDead, AHolderWhoseRecordIsGoneKeepsNobodyOut) {
  dead_.open(1);
  dead_.claim(1, 1, "mutex:job");
  server_.cli({"DEL", key("c", 1)});
  EXPECT_TRUE(client_.mutex("job").try_acquire());
}

// C1: the short way of a claim must look for the tombstone, too.
TEST_F(RedisDead, AClaimThatArrivesAfterItWasWithdrawnIsNotGranted) {
  dead_.open(1);
  dead_.withdraw_unsettled(1, 7, "mutex:job");
  dead_.claim(1, 7, "mutex:job");
  EXPECT_FALSE(dead_.redis().number({"EXISTS", "{pawl}:l:mutex:job"}));
  dead_.claim(1, 8, "mutex:job");
  EXPECT_TRUE(dead_.redis().number({"EXISTS", "{pawl}:l:mutex:job"})) << "another claim of the session is";
}

// L3: the short way of a claim takes a session for a living one as long as it has a record.
TEST_F(RedisDead, AClaimOfASessionThatWasClosedIsNotGranted) {
  dead_.open(2);
  dead_.open(1);
  dead_.close(1);
  EXPECT_FALSE(dead_.redis().number({"EXISTS", key("s", 1)}));
  dead_.claim(1, 7, "mutex:job");
  EXPECT_FALSE(dead_.redis().number({"EXISTS", "{pawl}:l:mutex:job"}));
}

// C6: begin.lua compares the epoch, in front of every script.
TEST_F(RedisDead, AScriptOfAnotherEpochChangesNothing) {
  dead_.open(1);
  dead_.claim(1, 1, "mutex:job");
  dead_.redis().number({"HINCRBY", "{pawl}:meta", "epoch", "1"});
  dead_.open(2);
  dead_.claim(1, 2, "mutex:other");
  dead_.withdraw(1, 1, "mutex:job");
  dead_.close(1);
  for (const std::string& made : {key("s", 2), std::string("{pawl}:l:mutex:other")}) {
    EXPECT_FALSE(dead_.redis().number({"EXISTS", made})) << made;
  }
  for (const std::string& kept : {key("s", 1), key("c", 1), std::string("{pawl}:l:mutex:job")}) {
    EXPECT_TRUE(dead_.redis().number({"EXISTS", kept})) << kept;
  }
}

TEST_F(RedisDead, TenThousandLocksOfOneAreSweptBitByBitAndFreeAtOnce) {
  dead_.open(1);
  for (int i = 1; i <= 10'000; ++i) dead_.claim(1, i, "mutex:job" + std::to_string(i));
  dead_.let_all_end();
  const Commands commands(server_);
  EXPECT_TRUE(client_.mutex("job5000").try_acquire());
  EXPECT_LE(commands.per_script(), 2'000);
  EXPECT_TRUE(client_.mutex("job10000").try_acquire()) << "whether or not the sweep has come to it";
  for (int i = 0; i < 10'000 && server_.cli({"EXISTS", key("s", 1)}) == "1\n"; ++i) {
    EXPECT_TRUE(client_.mutex("other").acquire());
  }
  EXPECT_LE(commands.per_script(), 2'000);
  EXPECT_EQ(server_.cli({"EXISTS", key("o", 1), key("s", 1)}), "0\n") << "all is swept";
  EXPECT_EQ(server_.cli({"KEYS", "{pawl}:l:*"}), "\n");
}

TEST_F(RedisDead, ASessionWithThreeThousandLocksIsClosedBitByBit) {
  scene::RealWorld world({server_.url(), "queue", 1s, 10s});
  const scene::Actor alice = world.client();
  std::vector<Hold> holds;
  for (int i = 0; i < 3'000; ++i) holds.push_back(must_acquire(alice, "job" + std::to_string(i)));
  const Commands commands(server_);
  world.expire(alice);
  EXPECT_LE(commands.per_script(), 2'000);
  EXPECT_EQ(server_.cli({"KEYS", "{pawl}:[oclh]:*"}), "\n");
}

// A claim counted for one, whatever the number of its permits: fifty with ten thousand each stopped the server for a second.
TEST_F(RedisDead, ManyPermitsAreSweptBitByBit) {
  dead_.open(1);
  for (int i = 1; i <= 50; ++i) dead_.claim(1, i, "semaphore:job" + std::to_string(i), {.permits = "1000"});
  dead_.let_all_end();
  const Commands commands(server_);
  EXPECT_TRUE(client_.mutex("other").try_acquire());
  EXPECT_LE(commands.counts()["setbit"], 2'000 * commands.scripts());
  for (int i = 0; i < 1'000 && server_.cli({"KEYS", "{pawl}:l:*"}) != "\n"; ++i) {
    EXPECT_TRUE(client_.mutex("other").acquire());
  }
  EXPECT_EQ(server_.cli({"KEYS", "{pawl}:[lbho]:*"}), "\n") << "all is swept";
}

// The same for permits that a lock-delay has kept.
TEST_F(RedisDead, PermitsOfLockDelaysAreFreedBitByBit) {
  dead_.open(1);
  for (int i = 1; i <= 40; ++i) {
    dead_.claim(1, i, "semaphore:job", {.lock_delay = "3600000", .permits = "250", .of = "10000"});
  }
  for (int i = 0; i < 40; ++i) dead_.close(1);  // that is done bit by bit, too
  ASSERT_EQ(server_.cli({"ZCARD", "{pawl}:g:semaphore:job"}), "40\n");
  dead_.let_all_end();
  const Commands commands(server_);
  EXPECT_TRUE(client_.mutex("other").try_acquire());
  EXPECT_LE(commands.counts()["setbit"], 2'000 * commands.scripts());
  EXPECT_TRUE(client_.semaphore("job", 10'000).try_acquire(10'000)) << "whether or not the sweep has come to them";
}

// All of them in one script, before.
TEST_F(RedisDead, AThousandReadersComeInBitByBit) {
  dead_.open(1);
  dead_.claim(1, 1, "rw:job");
  for (int i = 2; i <= 1'001; ++i) dead_.claim(1, i, "rw:job", {.mode = "s"});
  const Commands commands(server_);
  dead_.withdraw(1, 1, "rw:job");
  EXPECT_LE(commands.per_script(), 2'000);
  for (int i = 0; i < 1'000 && server_.cli({"EXISTS", "{pawl}:q:rw:job"}) == "1\n"; ++i) {
    EXPECT_TRUE(client_.mutex("other").acquire());
  }
  EXPECT_EQ(server_.cli({"ZCARD", "{pawl}:h:rw:job"}), "1000\n");
}

// Not dead, but many: a person who looks at them does not stop the server either.
TEST_F(RedisDead, TwoThousandWaitersAreShownBitByBit) {
  dead_.open(1);
  for (int i = 1; i <= 2'001; ++i) dead_.claim(1, i, "mutex:job");
  const Commands commands(server_);
  const LockView view = client_.inspect("job").value();
  EXPECT_EQ(view.holders.size(), 1U);
  ASSERT_EQ(view.waiters.size(), 2'000U);
  for (int i = 0; i < 2'000; ++i) ASSERT_EQ(view.waiters[i].claim, ScriptUser::id(i + 2)) << "in their order";
  const std::vector<LockView> list = client_.list().value();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].waiters.size(), 2'000U);
  EXPECT_LE(commands.per_script(), 2'500);
}

}  // namespace
}  // namespace pawl
