#include <pawl/pawl.hpp>

#include "base/real_runtime.hpp"
#include "store/memory/memory_store.hpp"
#include "tests/support/threads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using testing::ElementsAre;
using testing::HasSubstr;

/// Listens to a client, and keeps what it heard. The last events may come after the client and the diary have gone.
class Diary {
 public:
  ClientOptions options() {
    ClientOptions options;
    options.observer = [pages = pages_](const Event& event) {
      const std::lock_guard lock(pages->mutex);
      pages->events.push_back(event);
    };
    return options;
  }
  std::vector<Event> events() const {
    const std::lock_guard lock(pages_->mutex);
    return pages_->events;
  }
  std::vector<EventType> types() const {
    std::vector<EventType> types;
    for (const Event& event : events()) types.push_back(event.type);
    return types;
  }
  bool heard(std::size_t count) const {
    return eventually([&] { return events().size() >= count; });
  }

 private:
  struct Pages {
    std::mutex mutex = {};
    std::vector<Event> events = {};
  };
  std::shared_ptr<Pages> pages_ = std::make_shared<Pages>();
};

store::memory::Census census(std::string_view name) {
  return store::memory::shared_state(name, base::RealRuntime::process_wide())->census();
}

Errc thrown_by(const std::function<void()>& act) {
  try {
    act();
  } catch (const Exception& exception) {
    return exception.errc();
  }
  return Errc{};
}

/// Waits until a hold tells its loss.
void wait_for_loss(const Hold& hold) {
  std::binary_semaphore lost{0};
  const std::stop_callback tell(hold.lost(), [&] { lost.release(); });
  lost.acquire();
}

// opening

TEST(ClientTest, AnUnnamedMemoryStoreIsPrivate) {
  Client alice("memory:"), bob("memory:");
  const Hold hold = alice.mutex("job").acquire().value();
  EXPECT_TRUE(bob.mutex("job").try_acquire());
  EXPECT_NE(alice.store_id(), bob.store_id());
}

TEST(ClientTest, ANamedMemoryStoreIsSharedInTheProcess) {
  Client alice("memory:shared"), bob("memory:shared"), carol("memory:other");
  const Hold hold = alice.mutex("job").acquire().value();
  EXPECT_EQ(bob.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_TRUE(carol.mutex("job").try_acquire());
  EXPECT_EQ(alice.store_id(), bob.store_id());
}

TEST(ClientTest, ABadUrlIsRefusedWithASentence) {
  for (const char* url : {"", "nonsense", "nosuchstore:", "memory://host", "memory:?lease=soon", "memory:?colour=red",
                          "memory:?scheme=none", "memory:?timeout=0", "memory:?lease=1ns", "memory:?lock_delay=2m"}) {
    const Result<Client> client = Client::open(url);
    EXPECT_EQ(client.code(), Errc::invalid_argument) << url;
    if (!client) {
      EXPECT_FALSE(client.error().message.empty()) << url;
    }
    EXPECT_EQ(thrown_by([&] { Client{url}; }), Errc::invalid_argument) << url;
  }
}

TEST(ClientTest, BadOptionsAreRefusedWithASentence) {
  EXPECT_THAT(Client::open("memory:", {.scheme = "none"}).error().message, HasSubstr("this store has: queue"));
  EXPECT_EQ(Client::open("memory:", {.lease = 0s}).code(), Errc::invalid_argument);
  EXPECT_EQ(Client::open("memory:", {.max_hold = 0s}).code(), Errc::invalid_argument);
  EXPECT_EQ(Client::open("memory:", {.timeout = -1s}).code(), Errc::invalid_argument);
  EXPECT_EQ(Client::open("memory:", {.lock_delay = 61s}).code(), Errc::invalid_argument);
}

TEST(ClientTest, OptionsStandOverTheUrlAndTheLockOverTheClient) {
  const auto lease = [](Hold hold) { return hold.remaining(); };
  Client by_url("memory:?lease=10s");
  EXPECT_LE(lease(by_url.mutex("a").acquire().value()), 10s);
  Client by_options("memory:?lease=10s", {.lease = 20s});
  EXPECT_GT(lease(by_options.mutex("a").acquire().value()), 10s);
  EXPECT_GT(lease(by_options.mutex("b", {.lease = 60s}).acquire().value()), 20s);
  EXPECT_LE(lease(by_options.mutex("c", {.lease = 60s}).acquire({.lease = 5s}).value()), 5s);
}

TEST(ClientTest, ALazyClientOpensToo) {
  Result<Client> client = Client::open("memory:", {.connect = Connect::lazy});
  ASSERT_TRUE(client);
  EXPECT_TRUE(client->mutex("job").acquire());
}

// locks

TEST(ClientTest, ABadNameThrows) {
  Client client("memory:");
  EXPECT_EQ(thrown_by([&] { client.mutex(""); }), Errc::invalid_argument);
  EXPECT_EQ(thrown_by([&] { client.mutex(std::string(4097, 'x')); }), Errc::invalid_argument);
  EXPECT_EQ(client.mutex(std::string(4096, 'x')).name().size(), 4096u);
  const std::string bytes("a\0/\xff:{}", 7);
  EXPECT_EQ(client.mutex(bytes).name(), bytes);
}

TEST(ClientTest, AnUnknownSchemeAndBadOptionsOfALockThrow) {
  Client client("memory:");
  EXPECT_EQ(thrown_by([&] { client.mutex("a", {.scheme = "none"}); }), Errc::invalid_argument);
  EXPECT_EQ(thrown_by([&] { client.mutex("a", {.lease = 1ns}); }), Errc::invalid_argument);
  EXPECT_TRUE(client.mutex("a", {.scheme = "queue"}).acquire());
}

TEST(ClientTest, HandlesOfOneLockMustAgree) {
  Client client("memory:");
  {
    Mutex first = client.mutex("a", {.local_passes = 3});
    EXPECT_EQ(thrown_by([&] { client.mutex("a"); }), Errc::invalid_argument);
    EXPECT_EQ(thrown_by([&] { client.mutex("a", {.local_passes = 3, .local_pass_time = 1s}); }),
              Errc::invalid_argument);
    EXPECT_EQ(thrown_by([&] { client.mutex("a", {.local_passes = 3}); }), Errc{});
    EXPECT_EQ(thrown_by([&] { client.mutex("b"); }), Errc{});
  }
  EXPECT_EQ(thrown_by([&] { client.mutex("a"); }), Errc{}) << "forgotten with the last handle";
}

// Whoever disagrees may find that he has the last handle in his hand.
TEST(ClientTest, AHandleMayGoWhileAnotherDisagrees) {
  Client client("memory:");
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) (void)thrown_by([&] { client.mutex("a", {.local_passes = 1}); });
  });
  for (int i = 0; i < 20'000; ++i) (void)thrown_by([&] { client.mutex("a", {.local_passes = 2}); });
  stop = true;
  other.join();
  EXPECT_EQ(thrown_by([&] { client.mutex("a", {.local_passes = 3}); }), Errc{})
      << "all handles are gone, and forgotten";
}

TEST(ClientTest, CopiesAndHandlesOfOneNameAreTheSameLock) {
  Client client("memory:"), copy = client;
  Mutex mutex = client.mutex("job"), same = mutex, another = copy.mutex("job");
  Hold hold = mutex.acquire().value();
  EXPECT_EQ(same.try_acquire().code(), Errc::busy);
  EXPECT_EQ(another.try_acquire().code(), Errc::busy);
  EXPECT_EQ(client.metrics().store_claims, 1u) << "the client knows by itself";
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(another.try_acquire());
}

TEST(ClientTest, AHoldOutlivesItsHandles) {
  std::optional<Client> client(std::in_place, "memory:outlive");
  Hold hold = client->mutex("job").acquire().value();
  client.reset();
  EXPECT_TRUE(hold.valid());
  EXPECT_EQ(census("outlive").claims, 1u);
  EXPECT_TRUE(hold.release());
}

TEST(ClientTest, TheStopTokenEndsABlockedAcquire) {
  Client client("memory:");
  Mutex mutex = client.mutex("job");
  const Hold hold = mutex.acquire().value();
  std::stop_source stop;
  auto waits = std::async(std::launch::async, [&] { return mutex.acquire({}, stop.get_token()).code(); });
  stop.request_stop();
  EXPECT_EQ(waits.get(), Errc::cancelled);
}

TEST(ClientTest, AWaitEnds) {
  Client client("memory:");
  Mutex mutex = client.mutex("job");
  const Hold hold = mutex.acquire().value();
  EXPECT_EQ(mutex.acquire({.wait = 5ms}).code(), Errc::timed_out);
  EXPECT_EQ(mutex.acquire({.wait = 0ms}).code(), Errc::busy);
  EXPECT_EQ(mutex.acquire({.wait = -1ms}).code(), Errc::invalid_argument);
}

TEST(ClientTest, AThreadIsHandedTheLock) {
  Client client("memory:");
  Mutex mutex = client.mutex("job");
  int unguarded = 0;
  Token last;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        Hold hold = mutex.acquire().value();
        ++unguarded;
        EXPECT_GT(hold.token(), last);
        last = hold.token();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unguarded, 400);
}

// the Lockable face

TEST(ClientTest, LockIsReentrantPerThread) {
  Client client("memory:");
  Mutex mutex = client.mutex("job");
  EXPECT_EQ(mutex.this_thread_hold(), nullptr);
  mutex.lock();
  const Token token = mutex.this_thread_hold()->token();
  {
    const std::scoped_lock again(mutex);
    EXPECT_EQ(mutex.this_thread_hold()->token(), token);
  }
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
  EXPECT_FALSE(std::async(std::launch::async, [&] { return mutex.try_lock(); }).get());
  EXPECT_FALSE(std::async(std::launch::async, [&] { return mutex.try_lock_for(1ms); }).get());
  mutex.unlock();
  EXPECT_EQ(mutex.this_thread_hold(), nullptr);
  EXPECT_EQ(client.metrics().granted, 1u);
  EXPECT_TRUE(mutex.try_acquire());
}

TEST(ClientTest, AcquireInsideLockWouldDeadlock) {
  Client client("memory:");
  Mutex mutex = client.mutex("job");
  const std::scoped_lock guard(mutex);
  EXPECT_EQ(mutex.acquire().code(), Errc::would_deadlock);
  EXPECT_EQ(mutex.try_acquire().code(), Errc::would_deadlock);
}

TEST(ClientTest, ReenteringALostHoldThrows) {
  Client client("memory:");
  Mutex mutex = client.mutex("job");
  mutex.lock();
  ASSERT_TRUE(client.revoke("job", {.now = true}));
  ASSERT_TRUE(eventually([&] { return !mutex.this_thread_hold()->valid(); }));
  EXPECT_EQ(thrown_by([&] { mutex.lock(); }), Errc::lost);
  EXPECT_EQ(thrown_by([&] { (void)mutex.try_lock(); }), Errc::lost);
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(ClientTest, UnlockByAStrangerIsToldToTheObserver) {
  Diary diary;
  Client client("memory:", diary.options());
  client.mutex("job").unlock();
  ASSERT_TRUE(diary.heard(1));
  EXPECT_EQ(diary.events().front().type, EventType::unfinished);
  EXPECT_EQ(diary.events().front().name, "job");
}

TEST(ClientTest, AThreadThatEndsInsideReleasesAndTheObserverHears) {
  Diary diary;
  Client client("memory:", diary.options());
  Mutex mutex = client.mutex("job");
  std::thread([&] {
    mutex.lock();
    mutex.lock();
  }).join();
  EXPECT_TRUE(mutex.acquire({.wait = 60s}));
  ASSERT_TRUE(eventually([&] {
    const auto types = diary.types();
    return std::count(types.begin(), types.end(), EventType::abandoned) == 1;
  }));
}

// holds

TEST(ClientTest, AHoldIsReleasedOnce) {
  Client client("memory:");
  Hold hold = client.mutex("job").acquire().value();
  EXPECT_EQ(hold.state(), HoldState::held);
  EXPECT_EQ(client.inspect("job").value().holders.at(0).token, hold.token());
  EXPECT_TRUE(client.check(hold.sequencer()));
  EXPECT_TRUE(hold.release());
  EXPECT_EQ(hold.release().code(), Errc::not_owner);
  EXPECT_EQ(hold.state(), HoldState::released);
  EXPECT_EQ(client.check(hold.sequencer()).code(), Errc::overtaken);
  EXPECT_FALSE(hold.lost().stop_requested());
}

TEST(ClientTest, AnEmptyHoldIsReleased) {
  Hold empty;
  EXPECT_EQ(empty.state(), HoldState::released);
  EXPECT_EQ(empty.remaining(), 0s);
  EXPECT_EQ(empty.token(), Token());
  EXPECT_EQ(empty.release().code(), Errc::not_owner);
  EXPECT_FALSE(empty.lost().stop_possible());
}

TEST(ClientTest, AHoldMovesAndReleasesWhatItCovers) {
  Client client("memory:");
  Hold one = client.mutex("a").acquire().value();
  Hold two = client.mutex("b").acquire().value();
  one = std::move(two);
  EXPECT_TRUE(client.mutex("a").acquire({.wait = 60s}));
  EXPECT_EQ(client.mutex("b").try_acquire().code(), Errc::busy);
  EXPECT_EQ(two.state(), HoldState::released);
  one = Hold();
  EXPECT_TRUE(client.mutex("b").acquire({.wait = 60s}));
}

TEST(ClientTest, MaxHoldEndsAHoldAndReleaseSaysSo) {
  Client client("memory:");
  Hold hold = client.mutex("job").acquire({.max_hold = 5ms}).value();
  wait_for_loss(hold);
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_EQ(hold.remaining(), 0s);
  const Result<void> released = hold.release();
  EXPECT_EQ(released.code(), Errc::lost);
  EXPECT_EQ(released.error().message, "the hold was lost before it was released: it was held for longer than max_hold");
  EXPECT_TRUE(client.mutex("job").acquire({.wait = 60s}));
}

TEST(ClientTest, RevokeAsksTheHolder) {
  Client client("memory:");
  Hold hold = client.mutex("job").acquire().value();
  std::binary_semaphore asked{0};
  const std::stop_callback tell(hold.release_requested(), [&] { asked.release(); });
  EXPECT_TRUE(client.revoke("job"));
  asked.acquire();
  EXPECT_TRUE(hold.valid());
  EXPECT_EQ(client.revoke("nobody").code(), Errc::not_owner);
  EXPECT_EQ(client.revoke("job", {.claim = "no id"}).code(), Errc::invalid_argument);
}

// Whoever hears of the loss throws hold and lock away at once, while pawl itself has not finished with them.
TEST(ClientTest, ALostHoldMayBeThrownAwayAsSoonAsItsLossIsTold) {
  Client client("memory:thrown", {.lease = 1h});
  for (int i = 0; i < 200; ++i) {
    Hold hold = client.mutex("job " + std::to_string(i % 7)).acquire({.max_hold = 200us}).value();
    wait_for_loss(hold);
  }
  EXPECT_TRUE(eventually([&] { return census("thrown").claims == 0; }));
}

// The notifier was the last to let go of a hold, which cancelled its alarm there and waited for itself.
TEST(ClientTest, TheNotifierSurvivesBeingTheLastToLetGoOfAHold) {
  Client client("memory:");
  for (int i = 0; i < 50; ++i) {
    Hold hold = client.mutex("job").acquire({.max_hold = 200us}).value();
    wait_for_loss(hold);
    hold = Hold();
    std::promise<void> alive;
    base::RealRuntime::process_wide().notify([&] { alive.set_value(); });
    ASSERT_EQ(alive.get_future().wait_for(60s), std::future_status::ready);
  }
}

TEST(ClientTest, ALockDelayHoldsAlsoWhenTheLostHoldIsThrownAwayAtOnce) {
  Client client("memory:");
  {
    Hold hold = client.mutex("job").acquire({.lock_delay = 60s, .max_hold = 300ms}).value();
    wait_for_loss(hold);
  }
  EXPECT_TRUE(eventually([&] { return client.inspect("job").value().holders.empty(); }));
  EXPECT_GT(client.inspect("job").value().shut_for, 0s);
}

// metrics and observer

// Scenario: a thread that never waits is always faster than the background, which has the renewals to do.
TEST(ClientTest, ALeaseIsRenewedWhileAThreadLocksAndUnlocksWithoutAPause) {
  Client client("memory:");
  const Hold hold = client.mutex("held").acquire({.lease = 3s}).value();
  Mutex busy = client.mutex("busy");
  const auto hang = std::chrono::steady_clock::now() + 60s;
  while (client.metrics().renewals < 2 && std::chrono::steady_clock::now() < hang) {
    Hold brief = busy.acquire().value();
    ASSERT_TRUE(brief.release());
  }
  EXPECT_TRUE(hold.valid());
  EXPECT_GE(client.metrics().renewals, 2u);
}

TEST(ClientTest, MetricsCountWhatHappened) {
  Client client("memory:");
  Mutex mutex = client.mutex("job");
  Hold hold = mutex.acquire().value();
  (void)mutex.try_acquire();
  (void)mutex.acquire({.wait = 1ms});
  std::stop_source stop;
  stop.request_stop();
  (void)mutex.acquire({}, stop.get_token());
  (void)mutex.acquire({.wait = -1s});
  EXPECT_TRUE(hold.release());
  const Hold taken = mutex.acquire().value();
  ASSERT_TRUE(client.revoke("job", {.now = true}));
  wait_for_loss(taken);
  const Metrics seen = client.metrics();
  EXPECT_EQ(seen.granted, 2u);
  EXPECT_EQ(seen.busy, 1u);
  EXPECT_EQ(seen.timed_out, 1u);
  EXPECT_EQ(seen.cancelled, 1u);
  EXPECT_EQ(seen.released, 1u);
  EXPECT_EQ(seen.lost, 1u);
  EXPECT_EQ(seen.sessions_opened, 1u);
  EXPECT_EQ(seen.store_claims, 2u);
  EXPECT_EQ(seen.wait.count, 2u);
  EXPECT_EQ(seen.hold.count, 2u);
}

TEST(ClientTest, TheObserverHearsEventsInTheOrderInWhichTheyHappened) {
  Diary diary;
  Client client("memory:", diary.options());
  Mutex mutex = client.mutex("job");
  Hold hold = mutex.acquire().value();
  const Token token = hold.token();
  EXPECT_TRUE(hold.release());
  hold = mutex.acquire().value();
  ASSERT_TRUE(client.revoke("job", {.now = true}));
  wait_for_loss(hold);
  ASSERT_TRUE(diary.heard(4));
  EXPECT_THAT(diary.types(), ElementsAre(EventType::granted, EventType::released, EventType::granted, EventType::lost));
  EXPECT_EQ(diary.events().at(1).token, token);
  EXPECT_GT(diary.events().at(3).token, token);
  for (const Event& event : diary.events()) EXPECT_EQ(event.name, "job");
}

TEST(ClientTest, TheObserverHearsOfWaiting) {
  Diary diary;
  Client alice("memory:waiting"), bob("memory:waiting", diary.options());
  Hold hold = alice.mutex("job").acquire().value();
  auto waits = std::async(std::launch::async, [&] { return bob.mutex("job").acquire().has_value(); });
  ASSERT_TRUE(diary.heard(1));
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(waits.get());
  ASSERT_TRUE(diary.heard(3));
  EXPECT_THAT(diary.types(), ElementsAre(EventType::waiting, EventType::granted, EventType::released));
}

TEST(ClientTest, BlockingInsideACallbackWouldDeadlock) {
  struct Seen {
    Client client{"memory:"};
    std::promise<std::pair<Errc, Errc>> codes = {};
    bool once = false;
  };
  const auto seen = std::make_shared<Seen>();
  ClientOptions options;
  options.observer = [seen](const Event&) {
    if (std::exchange(seen->once, true)) return;
    const Errc thrown = thrown_by([&] { seen->client.mutex("b").lock(); });
    seen->codes.set_value({seen->client.mutex("a").acquire().code(), thrown});
  };
  Client client("memory:", options);
  EXPECT_TRUE(client.mutex("job").acquire());
  EXPECT_EQ(seen->codes.get_future().get(), std::pair(Errc::would_deadlock, Errc::would_deadlock));
}

TEST(ClientTest, AHoldMayBeReleasedInsideACallback) {
  Client client("memory:");
  Hold hold = client.mutex("job").acquire().value();
  std::promise<Errc> code;
  const std::stop_callback let_go(hold.release_requested(), [&] { code.set_value(hold.release().code()); });
  EXPECT_TRUE(client.revoke("job"));
  EXPECT_EQ(code.get_future().get(), Errc{});
  EXPECT_TRUE(client.mutex("job").acquire({.wait = 60s}));
}

// the end

TEST(ClientTest, TheLastHandleLeavesNothingBehind) {
  for (int i = 0; i < 20; ++i) {
    {
      Client client("memory:goodbye");
      Mutex mutex = client.mutex("job");
      { Hold hold = mutex.acquire().value(); }  // released without waiting
      mutex.lock();
      mutex.unlock();
    }
    EXPECT_EQ(census("goodbye"), store::memory::Census{});
  }
}

TEST(ClientTest, TheLastHandleMayBeAHold) {
  std::optional<Hold> hold;
  {
    Client client("memory:last");
    hold = client.mutex("job").acquire().value();
  }
  EXPECT_EQ(census("last").claims, 1u);
  hold.reset();
  EXPECT_EQ(census("last"), store::memory::Census{});
}

TEST(ClientTest, TheLastHandleMayGoInsideACallback) {
  Client other("memory:callback");
  auto client = std::make_shared<std::optional<Client>>(std::in_place, "memory:callback");
  Hold hold = (*client)->mutex("job").acquire().value();
  base::RealRuntime::process_wide().notify([client, held = std::make_shared<Hold>(std::move(hold))]() mutable {
    held.reset();
    client->reset();
  });
  EXPECT_TRUE(other.mutex("job").acquire({.wait = 60s}));
  EXPECT_TRUE(eventually([&] { return census("callback").sessions <= 1; }));
}

TEST(ClientTest, CloseEndsWhatIsHeldAndWhatWaits) {
  Client client("memory:closing");
  Mutex mutex = client.mutex("job");
  Hold hold = mutex.acquire().value();
  auto waits = std::async(std::launch::async, [&] { return mutex.acquire().code(); });
  ASSERT_TRUE(eventually([&] { return client.metrics().granted == 1; }));
  EXPECT_TRUE(client.close());
  EXPECT_EQ(waits.get(), Errc::closed);
  EXPECT_EQ(hold.remaining(), 0s);
  wait_for_loss(hold);
  EXPECT_EQ(hold.release().code(), Errc::lost);
  EXPECT_EQ(mutex.acquire().code(), Errc::closed);
  EXPECT_EQ(thrown_by([&] { mutex.lock(); }), Errc::closed);
  EXPECT_EQ(thrown_by([&] { client.mutex("other"); }), Errc::closed);
  EXPECT_EQ(client.inspect("job").code(), Errc::closed);
  EXPECT_EQ(census("closing"), store::memory::Census{});
  EXPECT_TRUE(client.close()) << "again is fine";
}

TEST(ClientTest, TheObserverIsNotCalledAfterASuccessfulClose) {
  Diary diary, witness;
  Client client("memory:", diary.options()), other("memory:", witness.options());
  Mutex job = client.mutex("job");
  std::binary_semaphore closed{0}, inside{0};
  std::thread holder([&] {
    job.lock();
    inside.release();
    closed.acquire();
  });  // its end would be told: it held the lock
  inside.acquire();
  ASSERT_TRUE(client.close());
  const std::size_t before = diary.events().size();
  closed.release();
  holder.join();
  job.unlock();  // a stranger's
  ASSERT_TRUE(other.mutex("any").acquire());
  ASSERT_TRUE(witness.heard(1)) << "what was told before it has been told by now";
  EXPECT_EQ(diary.events().size(), before);
}

TEST(ClientTest, ATimeoutOfCenturiesIsOne) {
  Client client("memory:", {.timeout = Duration::max()});
  EXPECT_TRUE(client.mutex("job").try_acquire());
  EXPECT_TRUE(client.list());
  EXPECT_TRUE(client.close());
}

TEST(ClientTest, TheEndsOfTimeArePointsInTimeToo) {
  Client alice("memory:"), bob("memory:");
  Mutex job = alice.mutex("job");
  SharedMutex page = alice.shared_mutex("page");
  using Hours = std::chrono::time_point<std::chrono::system_clock, std::chrono::hours>;
  std::thread([&] {
    job.lock();
    page.lock();
    std::thread([&] {
      EXPECT_FALSE(job.try_lock_until(std::chrono::steady_clock::time_point::min()));
      EXPECT_FALSE(job.try_lock_until(std::chrono::system_clock::time_point::min()));
      EXPECT_FALSE(job.try_lock_until(Hours::min()));
      EXPECT_FALSE(page.try_lock_until(Hours::min()));
      EXPECT_FALSE(page.try_lock_shared_until(std::chrono::steady_clock::time_point::min()));
    }).join();
    job.unlock();
    page.unlock();
  }).join();
  EXPECT_TRUE(job.try_lock_until(Hours::max()));
  job.unlock();
}

TEST(ClientTest, ManyMayCloseAtOnce) {
  for (int i = 0; i < 20; ++i) {
    Client client("memory:");
    Hold hold = client.mutex("job").acquire().value();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back([client]() mutable { EXPECT_TRUE(client.close()); });
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(ClientTest, ClientsMayComeAndGoInManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 30; ++i) {
        Client client("memory:crowd");
        Mutex mutex = client.mutex("job");
        const std::scoped_lock guard(mutex);
        Hold other = client.mutex("other").acquire().value();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(census("crowd"), store::memory::Census{});
}

}  // namespace
}  // namespace pawl
