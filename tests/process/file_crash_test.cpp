// The file store when processes die or stop, wherever that may hit them.

#include "tests/process/file_child.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace pawl::process {
namespace {

using Clock = std::chrono::steady_clock;

class FileCrash : public testing::Test {
 protected:
  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "store";
  const std::string url_ = "file://" + path_;
};

TEST_F(FileCrash, ProcessesTakeTurns) {
  Child alice(url_), bob(url_);
  const std::string first = token_of(alice.say("acquire job"));
  EXPECT_TRUE(bob.say("try job").starts_with("busy: "));
  bob.say("start job");
  ASSERT_TRUE(queued(alice, "1"));
  EXPECT_EQ(alice.say("release"), "ok");
  EXPECT_GT(token_of(bob.say("finish")), first);
  EXPECT_EQ(bob.say("check"), "ok");
}

// The lease is 30 s: what frees the lock is the death itself.
TEST_F(FileCrash, AKilledHolderFreesItsLockAtOnce) {
  Child alice(url_), bob(url_);
  const std::string first = token_of(alice.say("acquire job"));
  bob.say("start job");
  ASSERT_TRUE(queued(alice, "1"));
  const auto killed = Clock::now();
  alice.kill();
  EXPECT_GT(token_of(bob.say("finish")), first);
  EXPECT_LT(Clock::now() - killed, 5s);
}

// The holder dies while the waiter begins to watch it, between a look at its number and the watch; its number may belong to
// another process by then. Without the second look (Listener::watch) the waiter finds out with a renewal or at the lease's end,
// so rounds in which a slow machine renewed do not count. Mutant D11.
TEST_F(FileCrash, AHolderThatDiesWhileItsWaiterBeginsToWatchItFreesItsLockAtOnce) {
  const std::string watching = folder_ / "watching", there = watching + ".there";
  bool counts = false;
  for (int round = 0; !counts && round < 5; ++round) {
    std::filesystem::remove(there);
    std::ofstream(watching).flush();
    Child alice(url_), bob(Child::Options{.environment = {{"PAWL_TEST_WATCH_WHILE", watching}}});
    ASSERT_EQ(bob.say("open " + url_ + " 30s"), "ok");
    const std::string first = token_of(alice.say("acquire job"));
    bob.say("start job");
    ASSERT_TRUE(test::eventually([&] { return std::filesystem::exists(there); })) << "nobody is watched";
    alice.kill();
    std::filesystem::remove(watching);
    EXPECT_GT(token_of(bob.say("finish")), first);
    counts = bob.say("renewals") == "0";
  }
  EXPECT_TRUE(counts);
}

// Letters are lost where a mailbox is full: eleven of them fit. Whoever finds that looks at everything again. Otherwise it is a
// renewal that tells, so rounds in which a slow machine renewed do not count. Mutant F4.
TEST_F(FileCrash, AStoppedWaiterOfManyLocksHasThemAllAsSoonAsItGoesOn) {
  constexpr int many = 40;
  Child alice(url_);
  bool counts = false;
  for (int round = 0; !counts && round < 5; ++round) {
    Child bob(url_);
    ASSERT_EQ(alice.say("hold-many " + std::to_string(many)), "ok");
    ASSERT_EQ(bob.say("wait-many " + std::to_string(many)), "ok");
    for (int i = 0; i < many; ++i) {
      ASSERT_TRUE(test::eventually([&] { return alice.say("waiters many" + std::to_string(i)) == "1"; }));
    }
    bob.signal(SIGSTOP);
    ASSERT_TRUE(bob.stopped());
    EXPECT_EQ(alice.say("release-many"), "ok");
    bob.signal(SIGCONT);
    EXPECT_EQ(bob.say("finish-many"), "ok");
    counts = bob.say("renewals") == "0";
  }
  EXPECT_TRUE(counts);
}

TEST_F(FileCrash, AKilledHolderIsFoundByWhoeverComesNext) {
  Child alice(url_), bob(url_);
  alice.say("acquire job");
  alice.kill();
  EXPECT_TRUE(bob.say("try job").starts_with("ok "));
}

TEST_F(FileCrash, AKilledHolderIsNotShown) {
  Child alice(url_), bob(url_);
  alice.say("acquire job");
  EXPECT_EQ(bob.say("holders job"), "1");
  alice.kill();
  EXPECT_EQ(bob.say("holders job"), "0");
}

TEST_F(FileCrash, TheLockDelayOfAKilledHolderCountsFromItsDeath) {
  Child alice(url_), bob(url_);
  alice.say("acquire job 700");
  bob.say("start job");
  ASSERT_TRUE(queued(alice, "1"));
  const auto killed = Clock::now();
  alice.kill();
  token_of(bob.say("finish"));
  EXPECT_GE(Clock::now() - killed, 700ms);
  EXPECT_LT(Clock::now() - killed, 5s);
}

TEST_F(FileCrash, AKilledHeadOfTheQueueIsPassedOver) {
  Child alice(url_), bob(url_), carol(url_);
  alice.say("acquire job");
  bob.say("start job");
  ASSERT_TRUE(queued(alice, "1"));
  carol.say("start job");
  ASSERT_TRUE(queued(alice, "2"));
  bob.kill();
  const auto released = Clock::now();
  EXPECT_EQ(alice.say("release"), "ok");
  token_of(carol.say("finish"));
  EXPECT_LT(Clock::now() - released, 5s);
}

// Scenario: bob is granted the lock and dies at once. Carol waited behind him, and knows nothing of alice's release.
TEST_F(FileCrash, AHeadThatDiesJustAfterItsGrantIsNoticedByTheNext) {
  Child alice(url_), bob(url_), carol(url_);
  alice.say("acquire job");
  bob.say("start job");
  ASSERT_TRUE(queued(alice, "1"));
  carol.say("start job");
  ASSERT_TRUE(queued(alice, "2"));
  EXPECT_EQ(alice.say("release"), "ok");
  token_of(bob.say("finish"));
  const auto killed = Clock::now();
  bob.kill();
  token_of(carol.say("finish"));
  EXPECT_LT(Clock::now() - killed, 5s);
}

TEST_F(FileCrash, AProcessKilledInsideATransactionLeavesNothing) {
  Child alice(url_);
  const std::string before = token_of(alice.say("acquire job"));
  for (int i = 0; i < 5; ++i) {
    Child victim;
    victim.send("die-inside " + path_);
    EXPECT_EQ(victim.answer(), "(dead)");
  }
  EXPECT_EQ(alice.say("valid"), "yes");
  EXPECT_EQ(alice.say("release"), "ok");
  EXPECT_GT(token_of(alice.say("acquire job")), before);
}

TEST_F(FileCrash, AProcessStoppedInsideATransactionIsAClearErrorAndNoHang) {
  Child alice(url_), bob(url_), victim;
  victim.send("stop-inside " + path_);
  ASSERT_TRUE(victim.stopped());
  const auto asked = Clock::now();
  const std::string tried = bob.say("try job");
  EXPECT_LT(Clock::now() - asked, 15s);
  EXPECT_TRUE(tried.starts_with("store_unavailable: ")) << tried;
  const std::string answer = alice.say("holders job");
  EXPECT_TRUE(answer.starts_with("store_unavailable: ")) << answer;
  EXPECT_NE(answer.find("writer pid " + std::to_string(victim.pid()) + " is stopped"), std::string::npos) << answer;
  Child late;
  EXPECT_NE(late.say("open " + url_).find("is stopped"), std::string::npos);

  victim.signal(SIGCONT);
  EXPECT_EQ(victim.answer(), "done");
  EXPECT_TRUE(bob.say("try job").starts_with("ok "));
  EXPECT_EQ(late.say("open " + url_), "ok");
}

TEST_F(FileCrash, AProcessStoppedInsideATransactionAndKilledLetsGo) {
  Child bob(url_), victim;
  victim.send("stop-inside " + path_);
  ASSERT_TRUE(victim.stopped());
  victim.kill();
  EXPECT_TRUE(bob.say("try job").starts_with("ok "));
}

TEST_F(FileCrash, AStoppedHolderLosesTheLockWhenItsLeaseEndsAndKnowsIt) {
  Child alice(url_, "1s"), bob(url_);
  const std::string first = token_of(alice.say("acquire job"));
  alice.signal(SIGSTOP);
  ASSERT_TRUE(alice.stopped());
  const auto stopped = Clock::now();
  EXPECT_GT(token_of(bob.say("acquire job")), first);
  EXPECT_LT(Clock::now() - stopped, 8s);
  alice.signal(SIGCONT);
  EXPECT_EQ(alice.say("await-loss"), "ok");
  EXPECT_EQ(alice.say("valid"), "no");
  EXPECT_TRUE(alice.say("release").starts_with("lost: "));
  EXPECT_EQ(bob.say("valid"), "yes");
  EXPECT_EQ(bob.say("check"), "ok");
}

TEST_F(FileCrash, AStoppedHeadOfTheQueueCostsItsLeaseOnly) {
  Child alice(url_), bob(url_, "1s"), carol(url_);
  alice.say("acquire job");
  bob.say("start job");
  ASSERT_TRUE(queued(alice, "1"));
  carol.say("start job");
  ASSERT_TRUE(queued(alice, "2"));
  bob.signal(SIGSTOP);
  ASSERT_TRUE(bob.stopped());
  const auto released = Clock::now();
  EXPECT_EQ(alice.say("release"), "ok");
  token_of(carol.say("finish"));
  EXPECT_LT(Clock::now() - released, 8s);
}

// Tokens are reserved in blocks: a crash skips what was reserved, and never goes back.
TEST_F(FileCrash, TokensGrowAcrossCrashesOfEverybody) {
  std::string last;
  for (int i = 0; i < 4; ++i) {
    Child alice(url_);
    const std::string token = token_of(alice.say("acquire job"));
    EXPECT_GT(token, last);
    last = token;
    alice.kill();
  }
}

TEST_F(FileCrash, MoreProcessesThanLmdbHasReaders) {
  std::vector<std::unique_ptr<Child>> crowd;
  for (int i = 0; i < 140; ++i) {
    crowd.push_back(std::make_unique<Child>(url_));
    ASSERT_TRUE(crowd.back()->say("acquire job" + std::to_string(i)).starts_with("ok "));
  }
  EXPECT_EQ(crowd.front()->say("holders job139"), "1");
}

}  // namespace
}  // namespace pawl::process
