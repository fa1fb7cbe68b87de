// Promise: a Mutex is Lockable and TimedLockable for the standard's own tools, and reentrant per thread.

#include "tests/contract/contract.hpp"
#include "tests/contract/diary.hpp"

#include <pawl/mutex.hpp>
#include <pawl/shared_mutex.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace pawl::contract {

PAWL_BLOCKING_CONTRACT(LockableFace);

namespace {

Mutex face(const Actor& actor, std::string_view name) { return lock::Access::make<Mutex>(actor.mutex(name)); }

/// What another thread says.
template <class Question>
auto ask_another_thread(Question question) {
  decltype(question()) answer{};
  std::thread([&] { answer = question(); }).join();
  return answer;
}

bool another_thread_gets(Mutex mutex) {
  return ask_another_thread([&] {
    const bool got = mutex.try_lock();
    if (got) mutex.unlock();
    return got;
  });
}

template <class Call>
Errc errc_of(Call call) {
  try {
    call();
  } catch (const Exception& error) {
    return error.errc();
  }
  return no_error;
}

}  // namespace

TEST_P(LockableFace, LockExcludesOtherThreadsAndOtherClients) {
  const Actor alice = world().client(), bob = world().client();
  Mutex mutex = face(alice, "job"), bobs = face(bob, "job");
  mutex.lock();
  EXPECT_FALSE(another_thread_gets(mutex));
  EXPECT_FALSE(bobs.try_lock());
  mutex.unlock();
  EXPECT_TRUE(another_thread_gets(mutex));
}

TEST_P(LockableFace, ThreadsCountTogether) {
  const Actor alice = world().client(), bob = world().client();
  int count = 0;
  const auto work = [&](const Actor& actor) {
    Mutex mutex = face(actor, "counter");
    for (int i = 0; i < 200; ++i) {
      const std::scoped_lock guard(mutex);
      ++count;
    }
  };
  std::thread one(work, alice), two(work, alice), three(work, bob);
  one.join();
  two.join();
  three.join();
  EXPECT_EQ(count, 600);
}

TEST_P(LockableFace, AThreadMayEnterAgainAndTheStoreIsAskedOnce) {
  const Actor alice = world().client();
  Mutex mutex = face(alice, "job");
  mutex.lock();
  mutex.lock();
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_TRUE(mutex.try_lock_for(1ms));
  EXPECT_EQ(alice.metrics().store_claims, 1U);
  for (int i = 0; i < 3; ++i) {
    mutex.unlock();
    EXPECT_FALSE(another_thread_gets(mutex));
  }
  mutex.unlock();
  EXPECT_TRUE(another_thread_gets(mutex));
}

TEST_P(LockableFace, TwoHandlesAreOneLockForReentrancyToo) {
  const Actor alice = world().client();
  Mutex first = face(alice, "job"), second = face(alice, "job");
  const std::scoped_lock outer(first);
  const std::scoped_lock inner(second);
  EXPECT_FALSE(another_thread_gets(first));
}

TEST_P(LockableFace, TryLockForGivesUpInTime) {
  const Actor alice = world().client(), bob = world().client();
  Mutex mutex = face(alice, "job"), bobs = face(bob, "job");
  const std::scoped_lock guard(mutex);
  const Time began = world().now();
  EXPECT_FALSE(bobs.try_lock_for(a_moment()));
  EXPECT_GE(world().now() - began, a_moment());
  EXPECT_FALSE(bobs.try_lock_for(-1s));
  EXPECT_FALSE(bobs.try_lock_until(std::chrono::steady_clock::now() - 1s));
  EXPECT_FALSE(bobs.try_lock_until(std::chrono::system_clock::now() + 1ms));
  EXPECT_FALSE(bobs.try_lock_for(std::chrono::duration<double>(0.001)));
}

// Another thread may drive the I/O, and stop just then.
TEST_P(LockableFace, TryLockAfterUnlockSucceedsWhateverOtherThreadsDo) {
  const Actor alice = world().client();
  Mutex job = face(alice, "job");
  std::jthread other([busy = face(alice, "busy")](const std::stop_token& stop) mutable {
    while (!stop.stop_requested()) {
      busy.lock();
      busy.unlock();
    }
  });
  for (int round = 0; round < 500; ++round) {
    job.lock();
    job.unlock();
    ASSERT_TRUE(job.try_lock()) << round;
    job.unlock();
  }
}

TEST_P(LockableFace, UniqueLockCanDeferAndGiveBack) {
  const Actor alice = world().client();
  Mutex mutex = face(alice, "job");
  std::unique_lock guard(mutex, std::defer_lock);
  EXPECT_TRUE(another_thread_gets(mutex));
  EXPECT_TRUE(guard.try_lock_for(60s));
  EXPECT_FALSE(another_thread_gets(mutex));
  guard.unlock();
  EXPECT_TRUE(another_thread_gets(mutex));
}

TEST_P(LockableFace, ScopedLockTakesSeveralInAnyOrder) {
  const Actor alice = world().client(), bob = world().client();
  std::atomic<int> rounds = 0;
  const auto work = [&](const Actor& actor, const char* one, const char* two) {
    Mutex first = face(actor, one), second = face(actor, two);
    for (int i = 0; i < 50; ++i) {
      const std::scoped_lock guard(first, second);  // std::lock: no deadlock, whatever the order
      ++rounds;
    }
  };
  std::thread a(work, alice, "x", "y"), b(work, bob, "y", "x");
  a.join();
  b.join();
  EXPECT_EQ(rounds, 100);
}

TEST_P(LockableFace, ConditionVariablesWorkWithIt) {
  const Actor alice = world().client();
  Mutex mutex = face(alice, "job");
  std::condition_variable_any changed;
  bool ready = false;
  std::thread other([&] {
    const std::scoped_lock guard(mutex);
    ready = true;
    changed.notify_one();
  });
  {
    std::unique_lock guard(mutex);
    EXPECT_TRUE(changed.wait_for(guard, 60s, [&] { return ready; }));
  }
  other.join();
}

TEST_P(LockableFace, AcquireInsideLockWouldDeadlock) {
  const Actor alice = world().client();
  Mutex mutex = face(alice, "job");
  const std::scoped_lock guard(mutex);
  EXPECT_EQ(mutex.acquire().code(), Errc::would_deadlock);
  EXPECT_EQ(mutex.try_acquire().code(), Errc::would_deadlock);
  EXPECT_EQ(face(alice, "job").acquire().code(), Errc::would_deadlock);
}

TEST_P(LockableFace, LockBesideOnesOwnHoldWaitsLikeAnybody) {
  const Actor alice = world().client();
  Mutex mutex = face(alice, "job");
  Hold hold = mutex.acquire().value();
  EXPECT_FALSE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock_for(1ms));
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST_P(LockableFace, ThisThreadHoldShowsTokenAndLossSignal) {
  const Actor alice = world().client();
  Mutex mutex = face(alice, "job");
  EXPECT_EQ(mutex.this_thread_hold(), nullptr);
  {
    const std::scoped_lock guard(mutex);
    const Hold* hold = mutex.this_thread_hold();
    ASSERT_NE(hold, nullptr);
    EXPECT_TRUE(hold->valid());
    EXPECT_EQ(hold->token(), world().view("job").holders.at(0).token);
    EXPECT_TRUE(ask_another_thread([&] { return mutex.this_thread_hold() == nullptr; }));
  }
  EXPECT_EQ(mutex.this_thread_hold(), nullptr);
}

TEST_P(LockableFace, ReenteringALostHoldThrowsLost) {
  const Actor alice = world().client({.lease = sturdy_lease()});
  Mutex mutex = face(alice, "job");
  mutex.lock();
  world().expire(alice);
  ASSERT_TRUE(world().eventually([&] { return mutex.this_thread_hold()->lost().stop_requested(); }));
  EXPECT_EQ(errc_of([&] { mutex.lock(); }), Errc::lost);
  EXPECT_EQ(errc_of([&] { mutex.try_lock(); }), Errc::lost);
  EXPECT_TRUE(another_thread_gets(mutex));
  mutex.unlock();
  mutex.lock();
  EXPECT_TRUE(mutex.this_thread_hold()->valid());
  mutex.unlock();
}

TEST_P(LockableFace, AThreadThatEndsWhileItHoldsReleasesAndTheObserverHearsOfIt) {
  const Diary diary;
  const Actor alice = world().client(diary.options(30s));
  const Actor bob = world().client();
  Mutex mutex = face(alice, "job");
  std::thread([&] { mutex.lock(); }).join();
  Mutex bobs = face(bob, "job");
  EXPECT_TRUE(bobs.try_lock_for(60s));
  bobs.unlock();
  EXPECT_TRUE(world().eventually([&] { return diary.has(EventType::abandoned); }));
}

TEST_P(LockableFace, UnlockWithoutLockIsToldToTheObserverAndDoesNothingElse) {
  const Diary diary;
  const Actor alice = world().client(diary.options(30s));
  Mutex mutex = face(alice, "job");
  const Hold hold = mutex.acquire().value();
  mutex.unlock();
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(world().eventually([&] { return diary.has(EventType::unfinished); }));
}

TEST_P(LockableFace, LockThrowsWhatItIsTold) {
  const Actor alice = world().impatient_client();
  Mutex mutex = face(alice, "job");
  alice.faults().refuse(true);
  EXPECT_EQ(errc_of([&] { mutex.lock(); }), Errc::store_unavailable);
  EXPECT_EQ(errc_of([&] { mutex.try_lock(); }), Errc::store_unavailable);
  alice.faults().refuse(false);
  EXPECT_TRUE(close(alice));
  EXPECT_EQ(errc_of([&] { mutex.lock(); }), Errc::closed);
}

TEST_P(LockableFace, BlockingInsideACallbackOfPawlWouldDeadlock) {
  const Actor alice = world().brief_client();
  Mutex mutex = face(alice, "job"), other = face(alice, "other");
  const Hold hold = mutex.acquire().value();
  std::atomic<Errc> inside = no_error;
  const std::stop_callback on_lost(hold.lost(), [&] { inside = other.acquire().code(); });
  world().expire(alice);
  EXPECT_TRUE(world().eventually([&] { return inside != no_error; }));
  EXPECT_EQ(inside, Errc::would_deadlock);
}

class SharedLockableFace : public Contract {
 protected:
  static SharedMutex face(const Actor& actor) { return lock::Access::make<SharedMutex>(actor.lock(Kind::rw, "job")); }
  static bool another_reads(SharedMutex mutex) {
    return ask_another_thread([&] {
      const bool got = mutex.try_lock_shared();
      if (got) mutex.unlock_shared();
      return got;
    });
  }
  static bool another_writes(SharedMutex mutex) {
    return ask_another_thread([&] {
      const bool got = mutex.try_lock();
      if (got) mutex.unlock();
      return got;
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Schemes, SharedLockableFace, ::testing::ValuesIn(blocking_schemes()), line_name);

TEST_P(SharedLockableFace, TheStandardsSharedLockWorks) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().client(), bob = world().client();
  SharedMutex mutex = face(alice), bobs = face(bob);
  {
    const std::shared_lock reader(mutex);
    EXPECT_TRUE(another_reads(mutex));
    EXPECT_TRUE(world().eventually([&] { return another_reads(bobs); }));
    EXPECT_FALSE(another_writes(bobs));
    const std::shared_lock other(bobs, 60s);
    EXPECT_TRUE(other.owns_lock());
  }
  const std::unique_lock writer(mutex);
  EXPECT_FALSE(another_reads(mutex));
  EXPECT_FALSE(bobs.try_lock_shared_for(1ms));
}

TEST_P(SharedLockableFace, AReaderWhoWantsToWriteIsRefused) {
  PAWL_NEEDS(shared_mode);
  SharedMutex mutex = face(world().client());
  const std::shared_lock reader(mutex);
  EXPECT_EQ(errc_of([&] { mutex.lock(); }), Errc::would_deadlock);
  EXPECT_EQ(errc_of([&] { mutex.try_lock(); }), Errc::would_deadlock);
  EXPECT_EQ(mutex.acquire().code(), Errc::would_deadlock);
  EXPECT_EQ(mutex.acquire_shared().code(), Errc::would_deadlock);
}

TEST_P(SharedLockableFace, AThreadMayReadAgainAndAgain) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().client();
  SharedMutex mutex = face(alice);
  mutex.lock_shared();
  mutex.lock_shared();
  mutex.unlock_shared();
  EXPECT_FALSE(another_writes(mutex));
  mutex.unlock_shared();
  EXPECT_TRUE(another_writes(mutex));
}

TEST_P(SharedLockableFace, AWriterWhoReadsAndStopsWritingGoesOnReading) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().client(), bob = world().client();
  SharedMutex mutex = face(alice), bobs = face(bob);
  mutex.lock();
  mutex.lock_shared();
  const Token token = mutex.this_thread_hold()->token();
  EXPECT_FALSE(another_reads(bobs));
  mutex.unlock();
  EXPECT_TRUE(world().eventually([&] { return another_reads(bobs); }))
      << "downgraded, which is sent and not waited for";
  EXPECT_FALSE(another_writes(bobs));
  EXPECT_EQ(mutex.this_thread_hold()->token(), token);
  mutex.unlock_shared();
  EXPECT_TRUE(world().eventually([&] { return another_writes(bobs); }));
}

TEST_P(SharedLockableFace, AThreadThatEndsReleasesWhatItShares) {
  PAWL_NEEDS(shared_mode);
  SharedMutex mutex = face(world().client());
  std::thread([&] { mutex.lock_shared(); }).join();
  EXPECT_TRUE(world().eventually([&] { return another_writes(mutex); }));
}

}  // namespace pawl::contract
