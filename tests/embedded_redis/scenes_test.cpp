// Scenes on the scripts, on virtual time: what takes too many coincidences for a simulated world.

#include "store/redis/script.hpp"
#include "tests/embedded_redis/census.hpp"
#include "tests/embedded_redis/server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace pawl::test::embedded {
namespace {

using namespace std::chrono_literals;
using store::redis::queue_scripts;
using store::redis::Script;

class RedisScene : public testing::Test {
 protected:
  RedisScene() {
    server_->execute({"HSET", meta_, "layout", "1", "epoch", "7", "counter", "0", "store", "0123456789abcdef"});
  }

  Answer run(const Script& script, const Arguments& arguments) {
    Arguments words{"EVAL", script.text, "1", meta_, prefix_, "7"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return server_->execute(words);
  }
  void open(const std::string& session, Duration lease) {
    run(queue_scripts().open_session, {session, std::to_string(lease / 1ms), "mail", "host", "1", "label", "secret"});
  }
  /// Seven of them: more than one script sweeps.
  void open_many_that_end_first(Duration lease) {
    for (const char* session : {"e1", "e2", "e3", "e4", "e5", "e6", "e7"}) open(session, lease);
  }
  std::string claim(const std::string& id, const std::string& session, Duration lock_delay = {}) {
    const std::string delay = std::to_string(lock_delay / 1ms);
    return run(queue_scripts().claim, {id, session, "mutex:job", "job", "x", "0", "0", "30000", delay, "1", "", ""})
        .items.at(0)
        .text;
  }
  void fail(const std::string& id, const std::string& session) {
    run(queue_scripts().withdraw, {id, session, "mutex:job", "1", "0"});
  }
  /// When the lock is given to the waiter, if it asks again each 100 us.
  base::Time granted(const std::string& id, const std::string& session) {
    while (claim(id, session) != "granted") world_.run_for(100us);
    return world_.now();
  }
  Answer release(const std::string& id, const std::string& session) {
    return run(queue_scripts().withdraw, {id, session, "mutex:job", "0", "0"});
  }
  std::string place(const std::string& id, const std::string& session) {
    return run(queue_scripts().look, {id, session, "mutex:job"}).items.at(0).text;
  }

  base::SimWorld world_{1};
  Scripts scripts_;
  const std::shared_ptr<Server> server_ =
      std::make_shared<Server>(world_, world_.add_process(), scripts_, [] { return Duration::zero(); });
  const std::string prefix_ = "{pawl}:";
  const std::string meta_ = "{pawl}:meta";
};

// Fails when renew.lua asks whether the session's record is there instead of whether it lives.
TEST_F(RedisScene, ASessionThatHasEndedIsNotRenewedThoughNothingHasSweptIt) {
  open_many_that_end_first(1s);
  open("late", 2s);
  world_.run_for(2s);
  EXPECT_EQ(run(queue_scripts().renew, {"late", "0"}), Answer::list({}));
  world_.run_for(1s);
  EXPECT_EQ(claim("c1", "late"), "lost");
}

// Fails when withdraw_quick.lua does not compare the waiter's end with the time.
TEST_F(RedisScene, AReleaseDoesNotGrantToTheDeadHeadOfTheQueue) {
  open("holder", 60s);
  open("next", 60s);
  open_many_that_end_first(1s);
  open("dead", 2s);
  EXPECT_EQ(claim("c1", "holder"), "granted");
  EXPECT_EQ(claim("c2", "dead"), "waiting");
  EXPECT_EQ(claim("c3", "next"), "waiting");
  world_.run_for(2s);
  EXPECT_EQ(release("c1", "holder"), Answer::of(1));
  EXPECT_EQ(place("c3", "next"), "held");
  EXPECT_EQ(Census(server_->keyspace(), prefix_, "queue").complaint(), std::nullopt);
}

// Fails when claim_quick.lua does not look for the tombstone.
TEST_F(RedisScene, AClaimThatArrivesBehindItsWithdrawalIsRefused) {
  open("alice", 60s);
  run(queue_scripts().withdraw, {"c1", "alice", "mutex:job", "0", "1"});
  EXPECT_EQ(claim("c1", "alice"), "gone");
  EXPECT_EQ(claim("c2", "alice"), "granted");
}

// Both fail when a lock-delay is counted from the millisecond that has begun.
TEST_F(RedisScene, ALockDelayOfAHolderThatSaysThatItFailedIsNotOverEarly) {
  open("alice", 60s);
  open("bob", 60s);
  EXPECT_EQ(claim("c1", "alice", 50ms), "granted");
  world_.run_for(900us);
  const base::Time failed = world_.now();
  fail("c1", "alice");
  EXPECT_GE(granted("c2", "bob") - failed, 50ms);
  EXPECT_LE(world_.now() - failed, 51ms);
}

TEST_F(RedisScene, ALockDelayOfASessionThatIsClosedIsNotOverEarly) {
  open("alice", 60s);
  open("bob", 60s);
  EXPECT_EQ(claim("c1", "alice", 50ms), "granted");
  world_.run_for(900us);
  const base::Time failed = world_.now();
  EXPECT_EQ(run(queue_scripts().close_session, {"alice"}), Answer::of(1));
  EXPECT_GE(granted("c2", "bob") - failed, 50ms);
  EXPECT_LE(world_.now() - failed, 51ms);
}

}  // namespace
}  // namespace pawl::test::embedded
