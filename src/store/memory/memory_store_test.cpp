#include "store/memory/memory_store.hpp"

#include "tests/support/actor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <semaphore>
#include <vector>

namespace pawl::store::memory {
namespace {

using namespace test;

class MemoryStoreTest : public StoreScene {};

TEST_F(MemoryStoreTest, ASessionIsClampedToTheDeclaredLeases) {
  Actor alice = actor("alice");
  SessionRequest brief{.lease = 1ns}, eternal{.lease = 1000h};
  EXPECT_EQ(alice.run(alice.store->open_session(brief, {})).value().lease, 10ms);
  EXPECT_EQ(alice.run(alice.store->open_session(eternal, {})).value().lease, 24h);
}

TEST_F(MemoryStoreTest, ASessionLivesWhileItIsRenewed) {
  Actor alice = actor("alice", 3s), bob = actor("bob", 60s);
  const Claim held = alice.wish("job");
  alice.claim(held).value();
  for (int i = 0; i < 5; ++i) {
    pass(2s);
    EXPECT_TRUE(alice.renew());
  }
  EXPECT_EQ(bob.look(held).place, Standing::Place::held);
}

TEST_F(MemoryStoreTest, AnExpiredSessionFreesItsLockForTheNext) {
  Actor alice = actor("alice", 3s), bob = actor("bob", 60s);
  const Claim held = alice.wish("job"), next = bob.wish("job");
  const Token token = granted(alice.claim(held))->token;
  bob.claim(next).value();
  pass(3s - 1ns);
  EXPECT_EQ(bob.look(next).place, Standing::Place::waiting);
  pass(1ns);
  EXPECT_EQ(bob.look(next).place, Standing::Place::held);
  EXPECT_GT(bob.look(next).token, token);
  EXPECT_EQ(bob.told.back().what, Notice::What::granted);
  EXPECT_EQ(bob.look(held).place, Standing::Place::gone);
}

TEST_F(MemoryStoreTest, ANewEpochMakesLargerTokensAndLeavesWhatIsHeld) {
  Actor alice = actor("alice", 60s), bob = actor("bob", 60s);
  const Claim held = alice.wish("job"), other = bob.wish("other");
  const Token before = granted(alice.claim(held))->token;
  EXPECT_EQ(alice.run(alice.store->epoch({})).value(), before.epoch());
  const std::uint64_t raised = bob.run(bob.store->raise_epoch({})).value();
  EXPECT_GT(raised, before.epoch());
  EXPECT_EQ(alice.run(alice.store->epoch({})).value(), raised);
  const Token after = granted(bob.claim(other))->token;
  EXPECT_EQ(after.epoch(), raised);
  EXPECT_GT(after, before);
  EXPECT_EQ(alice.look(held).place, Standing::Place::held);
  EXPECT_EQ(alice.look(held).token, before);
}

TEST_F(MemoryStoreTest, ARenewalNeverCreates) {
  Actor alice = actor("alice", 3s);
  pass(3s);
  EXPECT_EQ(alice.renew().code(), Errc::lost);
  EXPECT_EQ(alice.renew().code(), Errc::lost);
  EXPECT_EQ(census().sessions, 0u);
}

TEST_F(MemoryStoreTest, AClosedSessionIsUnknownAndClosingItAgainIsFine) {
  Actor alice = actor("alice");
  alice.close();
  alice.close();
  EXPECT_EQ(alice.renew().code(), Errc::lost);
}

TEST_F(MemoryStoreTest, TheWaitersOfAnEndedSessionLeaveAtOnce) {
  Actor alice = actor("alice", 60s), bob = actor("bob", 3s), carol = actor("carol", 60s);
  const Claim held = alice.wish("job"), next = carol.wish("job");
  Claim dead = bob.wish("job");
  dead.lock_delay = 60s;  // of no account: it never held
  alice.claim(held).value();
  bob.claim(dead).value();
  carol.claim(next).value();
  pass(3s);
  EXPECT_EQ(census().claims, 2u);
  alice.withdraw(held);
  EXPECT_EQ(carol.look(next).place, Standing::Place::held);
}

TEST_F(MemoryStoreTest, NoGrantGoesToASessionThatIsOverToo) {
  Actor alice = actor("alice", 3s), bob = actor("bob", 4s), carol = actor("carol", 60s);
  const Claim held = alice.wish("job"), dead = bob.wish("job"), next = carol.wish("job");
  alice.claim(held).value();
  bob.claim(dead).value();
  carol.claim(next).value();
  pass(10s);  // nobody asked anything meanwhile
  EXPECT_EQ(carol.look(next).token.counter(), 2u);
  EXPECT_TRUE(bob.told.empty());
}

TEST(MemoryState, SeveralThreadsShareIt) {
  SimWorld world(1);
  const auto state = shared_state("threads", world.add_process());
  std::atomic<bool> inside{false};
  Token last;  // guarded by the lock itself

  const auto work = [&](std::uint64_t seed) {
    SimWorld own(seed);
    SimProcess& process = own.add_process();
    Actor actor(own, process, std::make_shared<MemoryStore>(state, process), "thread", 24h);
    for (int i = 0; i < 500; ++i) {
      const Claim claim = actor.wish("job");
      // Shared: a notice that another thread is just delivering may come after unwatch().
      const auto told = std::make_shared<std::counting_semaphore<>>(0);
      actor.scheme().watch(claim.id, [told](const Notice&) { told->release(); });
      std::optional<Granted> grant = granted(actor.claim(claim));
      if (!grant) {
        EXPECT_TRUE(told->try_acquire_for(60s)) << "the store tells the next one";
        grant = granted(actor.claim(claim));
      }
      ASSERT_TRUE(grant);
      EXPECT_FALSE(inside.exchange(true));
      EXPECT_GT(grant->token, last);
      last = grant->token;
      inside = false;
      EXPECT_EQ(actor.withdraw(claim), Withdrawn::done);
      actor.scheme().unwatch(claim.id);
    }
    actor.close();
  };
  std::vector<std::future<void>> threads;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) threads.push_back(std::async(std::launch::async, work, seed));
  for (auto& thread : threads) thread.get();
  EXPECT_EQ(state->census(), Census{});
}

TEST(MemoryState, NamesAreSharedWithinTheProcessAndForgottenAfterTheLastUser) {
  SimWorld world(1);
  SimProcess& process = world.add_process();
  auto one = shared_state("here", process), same = shared_state("here", process),
       other = shared_state("there", process);
  EXPECT_EQ(one, same);
  EXPECT_NE(one, other);
  const std::uint64_t id = one->id();
  one.reset();
  same.reset();
  EXPECT_NE(shared_state("here", process)->id(), id);
}

TEST(MemoryState, ASecondLifeInTheSameMillisecondIsALaterEpoch) {
  SimWorld world(1);
  const auto first_token = [&] {
    SimProcess& process = world.add_process();
    Actor alice(world, process, std::make_shared<MemoryStore>(shared_state("here", process), process), "alice", 30s);
    return granted(alice.claim(alice.wish("job")))->token;
  };
  const Token before = first_token();
  EXPECT_GT(first_token(), before);
}

}  // namespace
}  // namespace pawl::store::memory
