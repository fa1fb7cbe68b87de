// Redlock's scripts, each alone on a real server.

#include "store/redlock/scripts.hpp"
#include "tests/support/naive_redis.hpp"
#include "tests/support/redis_server.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pawl {
namespace {

using store::redlock::scripts;
using Words = std::vector<std::string>;

/// A node that was made a member of epoch 7 in its life "one".
class RedlockScripts : public testing::Test {
 protected:
  RedlockScripts() {
    hello("one", "n1");
    join("one", "n1", "7");
  }

  std::string run(const store::redis::Script& script, const Words& arguments) {
    const std::string text = "local function run()\n" + script.text + "\nend\nreturn cjson.encode(run())";
    Words words{"EVAL", text, "1", prefix_ + "meta", prefix_};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return redis_.call(words).value_or("nil");
  }
  std::string as_voter(const store::redis::Script& script, Words arguments, const std::string& epoch = "7",
                       const std::string& life = "one") {
    arguments.insert(arguments.begin(), {epoch, life});
    return run(script, arguments);
  }
  std::string hello(const std::string& life, const std::string& nonce) { return run(scripts().hello, {life, nonce}); }
  std::string join(const std::string& life, const std::string& nonce, const std::string& epoch,
                   const Words& counters = {}, const std::string& rejoins = "0", const std::string& longest = "0") {
    Words words{life, nonce, epoch, "00000000000000aa", rejoins, longest};
    words.insert(words.end(), counters.begin(), counters.end());
    return run(scripts().join, words);
  }

  struct Wish {
    std::string claim = "a";
    std::string floor = "0";
    int number = 1;
    std::string lease = "60000";
    std::string delay = "0";
    std::string waits = "0";
    std::string token = "";
  };
  static Words words_of(const Wish& wish) {
    return {wish.claim, "key",      "lock",     "3",       wish.floor, std::to_string(wish.number),
            wish.lease, wish.delay, wish.waits, "session", "host",     "12",
            "label",    "name",     wish.token};
  }
  std::string acquire(const Wish& wish) { return as_voter(scripts().acquire, words_of(wish)); }
  std::string raise(const std::string& claim, const std::string& target) {
    return as_voter(scripts().raise, {claim, "key", "3", target});
  }
  struct Leaving {
    std::string claim = "a";
    std::string up_to_try = "9";
    std::string delay = "0";
    std::string waits = "0";
    std::string tombstone = "0";
  };
  std::string take_back(const Leaving& how) {
    return run(scripts().release, {how.claim, "key", "lock", how.delay, how.up_to_try, how.tombstone, how.waits});
  }
  std::string release(const std::string& claim) { return take_back({.claim = claim}); }
  std::string renew(const std::string& claim, const std::string& token = "") {
    return as_voter(scripts().renew, {claim, "key", "lock", "90000", token});
  }
  std::string owner() { return redis_.call({"GET", "key"}).value_or("nobody"); }
  std::int64_t left(const std::string& key) { return redis_.number({"PTTL", key}); }

  const std::string prefix_ = "p:";
  test::RedisServer server_;
  test::naive::Redis redis_{server_.port()};
};

TEST_F(RedlockScripts, AcquireTakesAFreeLockAndRaisesTheCounter) {
  EXPECT_EQ(acquire({}), R"(["taken","1"])");
  EXPECT_EQ(owner(), "a");
  EXPECT_GT(left("key"), 50'000);
  EXPECT_EQ(acquire({.claim = "a", .number = 2}), R"(["taken","2"])") << "its own, and strictly higher";
}

TEST_F(RedlockScripts, AcquireBeginsAtTheFloorAndNeverBelowTheCounter) {
  EXPECT_EQ(acquire({.floor = "40"}), R"(["taken","41"])");
  release("a");
  EXPECT_EQ(acquire({.claim = "b", .floor = "7"}), R"(["taken","42"])");
}

TEST_F(RedlockScripts, AcquireCountsBeyondWhatLuasNumbersPrint) {
  EXPECT_EQ(acquire({.floor = "4503599627370495"}), R"(["taken","4503599627370496"])");
}

TEST_F(RedlockScripts, AcquireTellsWhoHasIt) {
  acquire({});
  const std::string answer = acquire({.claim = "b", .waits = "1"});
  EXPECT_TRUE(answer.starts_with(R"(["busy","a",)")) << answer;
  EXPECT_TRUE(answer.ends_with(R"("host","12","label"])")) << answer;
  EXPECT_EQ(owner(), "a");
  EXPECT_EQ(redis_.number({"ZCARD", "p:w:lock"}), 1);
  redis_.call({"SET", "key", "somebody else"});
  EXPECT_EQ(acquire({.claim = "b"}), R"(["busy","somebody else","-1"])");
}

TEST_F(RedlockScripts, AcquireOfATryThatWasUndoneTakesNothing) {
  take_back({.up_to_try = "1", .tombstone = "60000"});
  EXPECT_EQ(acquire({.number = 1}), R"(["gone"])");
  EXPECT_EQ(owner(), "nobody");
  EXPECT_EQ(acquire({.number = 2}), R"(["taken","1"])") << "the next try of the same claim";
}

TEST_F(RedlockScripts, AcquireRecordsTheLongestLeaseAndAWaiterLeavesTheLine) {
  acquire({.claim = "b"});
  acquire({.waits = "1"});
  release("b");
  acquire({.lease = "70000", .delay = "5000"});
  EXPECT_EQ(redis_.call({"HGET", "p:meta", "longest"}), "75000");
  EXPECT_EQ(redis_.number({"EXISTS", "p:w:lock"}), 0);
}

TEST_F(RedlockScripts, RaiseRisesStrictlyAndOnlyForTheHolder) {
  acquire({});
  EXPECT_EQ(raise("a", "5"), R"(["risen"])");
  EXPECT_EQ(raise("a", "5"), R"(["not","5"])");
  EXPECT_EQ(raise("a", "4"), R"(["not","5"])");
  EXPECT_EQ(raise("b", "9"), R"(["lost"])");
  EXPECT_EQ(as_voter(scripts().check, {"key", "7", "5"}), "1") << "the token is that of the write-back";
}

TEST_F(RedlockScripts, ReleaseComparesTheClaim) {
  acquire({});
  EXPECT_EQ(release("b"), "0");
  EXPECT_EQ(owner(), "a");
  EXPECT_EQ(release("a"), "1");
  EXPECT_EQ(release("a"), "0");
  EXPECT_EQ(owner(), "nobody");
  EXPECT_EQ(redis_.call({"EXISTS", "p:c:a"}), "0");
}

// Repeated until it is confirmed, an undo may arrive when the next try was counted here.
TEST_F(RedlockScripts, TheUndoOfATrySparesTheNextTryOfTheSameClaim) {
  acquire({.number = 1});
  acquire({.number = 2});
  EXPECT_EQ(take_back({.up_to_try = "1"}), "0");
  EXPECT_EQ(owner(), "a");
  EXPECT_EQ(as_voter(scripts().check, {"key", "7", "2"}), "1") << "its record as well";
  EXPECT_EQ(take_back({.up_to_try = "1", .waits = "1", .tombstone = "60000"}), "0");
  EXPECT_EQ(as_voter(scripts().look, {"a", "key"}), R"(["held","0"])");
  EXPECT_EQ(redis_.call({"GET", "p:x:a"}), "1") << "the tombstone is for the first try alone";
  EXPECT_EQ(renew("a"), R"(["renewed",1])");
  EXPECT_EQ(take_back({.up_to_try = "2"}), "1");
  EXPECT_EQ(owner(), "nobody");
}

TEST_F(RedlockScripts, ATryThatArrivesBehindTheNextOneTakesNothing) {
  acquire({.number = 2});
  EXPECT_EQ(acquire({.number = 1}), R"(["gone"])");
  EXPECT_EQ(take_back({.up_to_try = "1"}), "0");
  EXPECT_EQ(owner(), "a");
}

TEST_F(RedlockScripts, ReleaseOfAnotherLocksClaimTouchesNothing) {
  acquire({});
  EXPECT_EQ(run(scripts().release, {"a", "other key", "other lock", "0", "9", "60000", "0"}), "0");
  EXPECT_EQ(owner(), "a");
  EXPECT_EQ(as_voter(scripts().check, {"key", "7", "1"}), "1");
  EXPECT_EQ(acquire({.number = 2}), R"(["taken","2"])") << "no tombstone";
}

TEST_F(RedlockScripts, ReleaseOfAFailedHolderShutsTheLockForItsDelay) {
  acquire({});
  EXPECT_EQ(take_back({.delay = "30000"}), "1");
  EXPECT_EQ(owner(), "lock-delay of a");
  EXPECT_GT(left("key"), 20'000);
  EXPECT_LE(left("key"), 30'000);
}

TEST_F(RedlockScripts, ReleaseOfAVoteKeepsThePlaceOfOneWhoWaits) {
  acquire({});
  EXPECT_EQ(take_back({.waits = "1"}), "1");
  EXPECT_EQ(owner(), "nobody");
  EXPECT_EQ(as_voter(scripts().look, {"a", "key"}), R"(["waiting"])");
  EXPECT_EQ(release("a"), "1");
  EXPECT_EQ(as_voter(scripts().look, {"a", "key"}), R"(["gone"])");
}

TEST_F(RedlockScripts, ReleaseIsDoneByANodeThatMayNotVote) {
  acquire({});
  redis_.call({"HDEL", "p:meta", "epoch"});
  EXPECT_EQ(release("a"), "1");
}

TEST_F(RedlockScripts, RenewNeverCreates) {
  EXPECT_EQ(renew("a"), R"(["renewed",0])");
  EXPECT_EQ(owner(), "nobody");
  acquire({});
  EXPECT_EQ(renew("a"), R"(["renewed",1])");
  EXPECT_GT(left("key"), 80'000);
  EXPECT_EQ(renew("b"), R"(["renewed",0])");
  EXPECT_EQ(owner(), "a");
}

TEST_F(RedlockScripts, RenewTellsTheTokenToANodeThatHasVotedForAnother) {
  acquire({.floor = "8"});
  EXPECT_EQ(as_voter(scripts().check, {"key", "7", "9"}), "1");
  EXPECT_EQ(renew("a", "6"), R"(["renewed",1])");
  EXPECT_EQ(as_voter(scripts().check, {"key", "7", "6"}), "1");
  EXPECT_EQ(redis_.call({"HGET", "p:counters", "3"}), "9") << "its counter stays";
}

TEST_F(RedlockScripts, RevokeIsToldByTheNextRenewal) {
  acquire({});
  EXPECT_EQ(as_voter(scripts().revoke, {"b", "key"}), "0");
  EXPECT_EQ(as_voter(scripts().revoke, {"a", "key"}), "1");
  EXPECT_EQ(renew("a"), R"(["renewed",2])");
  EXPECT_EQ(as_voter(scripts().look, {"a", "key"}), R"(["held","1"])");
}

TEST_F(RedlockScripts, ATopUpShowsTheTokenThatTheOthersVotedFor) {
  acquire({.floor = "9", .token = "6"});
  EXPECT_EQ(as_voter(scripts().check, {"key", "7", "6"}), "1");
}

TEST_F(RedlockScripts, StrangersAreNoVoters) {
  EXPECT_EQ(as_voter(scripts().acquire, words_of({}), "6"), R"(["stranger"])") << "of another epoch";
  EXPECT_EQ(as_voter(scripts().acquire, words_of({}), "7", "two"), R"(["stranger"])") << "of another life";
  redis_.call({"FLUSHALL"});
  EXPECT_EQ(acquire({}), R"(["stranger"])") << "without its data";
  EXPECT_EQ(raise("a", "1"), R"(["stranger"])");
  EXPECT_EQ(renew("a"), R"(["stranger"])");
  EXPECT_EQ(as_voter(scripts().announce, {"1"}), R"(["stranger"])");
  EXPECT_EQ(as_voter(scripts().vouch, {"n"}), R"(["stranger"])");
  EXPECT_EQ(owner(), "nobody");
}

TEST_F(RedlockScripts, HelloKeepsTheNonceOfALifeAndMakesANewOneForTheNext) {
  EXPECT_EQ(hello("one", "n2"), R"(["n1","7","1","0","00000000000000aa"])");
  EXPECT_EQ(hello("two", "n3"), R"(["n3","7","0","0","00000000000000aa"])");
  redis_.call({"FLUSHALL"});
  EXPECT_EQ(hello("two", "n4"), R"(["n4","0","0","0",""])");
  as_voter(scripts().announce, {"5"});
}

TEST_F(RedlockScripts, HelloRefusesANewerLayout) {
  redis_.call({"HSET", "p:meta", "layout", "2"});
  EXPECT_EQ(hello("one", "n2"), R"(["layout","2"])");
}

TEST_F(RedlockScripts, JoinGoesUpOnlyAndOnlyForTheNonceThatWasSeen) {
  EXPECT_EQ(join("one", "n1", "7"), "0") << "strictly";
  EXPECT_EQ(join("one", "n1", "6"), "0");
  EXPECT_EQ(join("one", "n2", "8"), "0") << "another nonce";
  EXPECT_EQ(join("two", "n1", "8"), "0") << "another life";
  EXPECT_EQ(join("one", "n1", "8"), "1");
}

TEST_F(RedlockScripts, JoinAfterALossTakesCountersThatAreHigher) {
  acquire({.floor = "9"});
  hello("two", "n2");
  EXPECT_EQ(join("two", "n2", "7", {"3", "4", "5", "60"}, "1", "8000"), "1");
  EXPECT_EQ(redis_.call({"HGET", "p:counters", "3"}), "10");
  EXPECT_EQ(redis_.call({"HGET", "p:counters", "5"}), "60");
  EXPECT_EQ(redis_.call({"HGET", "p:meta", "longest"}), "60000") << "the longer one";
  EXPECT_EQ(as_voter(scripts().announce, {"1"}, "7", "two"), R"(["announced"])");
}

TEST_F(RedlockScripts, VouchCountsFromWhenTheNonceWasToldFirst) {
  acquire({});
  EXPECT_TRUE(as_voter(scripts().vouch, {"lost"}).starts_with(R"(["vouched","0","60000","3","1")"));
  redis_.call({"SET", "p:absent:lost", "1"});
  EXPECT_FALSE(as_voter(scripts().vouch, {"lost"}).starts_with(R"(["vouched","0")"));
}

TEST_F(RedlockScripts, InspectTellsHoldersWaitersAndStrangers) {
  acquire({});
  acquire({.claim = "b", .waits = "1"});
  const std::string answer = as_voter(scripts().inspect, {"lock", "key", "other", "elsewhere"});
  EXPECT_NE(answer.find(R"(["session","host","12","label","name",)"), std::string::npos) << answer;
  EXPECT_NE(answer.find(R"("b",["session")"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with(R"(["","-2",{},{}]])")) << answer;
  EXPECT_EQ(as_voter(scripts().relabel, {"a", "another"}), "1");
  EXPECT_NE(as_voter(scripts().inspect, {"lock", "key"}).find("another"), std::string::npos);
}

}  // namespace
}  // namespace pawl
