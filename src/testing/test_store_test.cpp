#include <pawl/testing.hpp>

#include <pawl/observer.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;

TEST(TestStore, TimeStandsStillUntilItIsMoved) {
  TestStore store;
  Client client = store.client();
  const Hold hold = client.mutex("job").acquire({.lease = 3s}).value();
  const Duration before = hold.remaining();
  std::this_thread::sleep_for(20ms);  // of the machine's time, which does not count
  EXPECT_EQ(hold.remaining(), before);
  store.advance(500ms);
  EXPECT_EQ(hold.remaining(), before - 500ms);
}

TEST(TestStore, AClientThatLivesRenewsHoweverFarTimeMoves) {
  TestStore store;
  Client client = store.client();
  const Hold hold = client.mutex("job").acquire({.lease = 3s}).value();
  store.advance(1h);
  EXPECT_TRUE(hold.valid());
  EXPECT_FALSE(hold.lost().stop_requested());
}

TEST(TestStore, MaxHoldEndsAtItsTime) {
  TestStore store;
  Client client = store.client();
  const Hold hold = client.mutex("job").acquire({.max_hold = 1min}).value();
  store.advance(1min - 1ms);
  EXPECT_TRUE(hold.valid());
  store.advance(1ms);
  EXPECT_TRUE(hold.lost().stop_requested());
}

TEST(TestStore, AnExpiredSessionIsNoticedAtTheNextRenewal) {
  TestStore store;
  Client alice = store.client(), bob = store.client();
  const Hold hold = alice.mutex("job").acquire({.lease = 30s}).value();
  bool told = false;
  const std::stop_callback stop(hold.lost(), [&] { told = true; });
  store.expire(alice);
  EXPECT_TRUE(bob.mutex("job").try_acquire()) << "the store does not know alice any more";
  EXPECT_FALSE(told);
  store.advance(10s);
  EXPECT_TRUE(told) << "callbacks have returned when advance() does";
  EXPECT_EQ(hold.state(), HoldState::lost);
}

TEST(TestStore, ALockThatIsTakenAwayIsLostWhenTheCallReturns) {
  TestStore store;
  Client client = store.client();
  const Hold hold = client.mutex("job").acquire().value();
  const Hold other = client.mutex("other").acquire().value();
  store.lose("job");
  EXPECT_TRUE(hold.lost().stop_requested());
  EXPECT_TRUE(other.valid());
  store.lose("job");  // nobody holds it: nothing happens
}

TEST(TestStore, AllReadersLoseTheirs) {
  TestStore store;
  Client alice = store.client(), bob = store.client();
  const Hold one = alice.shared_mutex("job").acquire_shared().value();
  const Hold other = bob.shared_mutex("job").acquire_shared().value();
  store.lose("job", Kind::rw);
  EXPECT_TRUE(one.lost().stop_requested());
  EXPECT_TRUE(other.lost().stop_requested());
}

TEST(TestStore, TheHolderIsAskedToLetGo) {
  TestStore store;
  Client client = store.client();
  const Hold hold = client.mutex("job").acquire().value();
  store.ask_to_release("job");
  EXPECT_TRUE(hold.release_requested().stop_requested());
  EXPECT_TRUE(hold.valid());
}

TEST(TestStore, AGrantComesLate) {
  TestStore store;
  Client client = store.client();
  store.delay_grants("job", 1min);
  EXPECT_EQ(client.mutex("job").try_acquire().code(), Errc::busy);
  auto waits = std::async(std::launch::async, [&] { return client.mutex("job").acquire(); });
  while (client.inspect("job").value().waiters.empty()) std::this_thread::yield();
  store.advance(59s);
  EXPECT_TRUE(client.inspect("job").value().holders.empty());
  store.advance(1s);
  EXPECT_TRUE(waits.get());
}

TEST(TestStore, AGrantComesLateToOneWhoWaitsAlready) {
  TestStore store;
  Client alice = store.client(), bob = store.client();
  Hold hold = alice.mutex("job").acquire().value();
  auto waits = std::async(std::launch::async, [&] { return bob.mutex("job").acquire(); });
  while (alice.inspect("job").value().waiters.empty()) std::this_thread::yield();
  store.delay_grants("job", 5s);
  EXPECT_TRUE(hold.release());
  store.advance(4s);
  EXPECT_TRUE(alice.inspect("job").value().holders.empty());
  store.advance(1s);
  EXPECT_FALSE(alice.inspect("job").value().holders.empty());
  EXPECT_TRUE(waits.get());
}

TEST(TestStore, AnObservationEndsWithItsClient) {
  std::future<Errc> ended;
  {
    TestStore store;
    Client client = store.client();
    ended = std::async(std::launch::async, [observation = client.election("job").observe()]() mutable {
      [[maybe_unused]] auto nobody = observation.next();
      return observation.next().code();
    });
    store.advance(1s);
    EXPECT_TRUE(client.close());
  }
  EXPECT_EQ(ended.get(), Errc::closed);
}

TEST(TestStore, TimeDoesNotMoveInsideACallback) {
  TestStore store;
  Client client = store.client();
  const Hold hold = client.mutex("job").acquire().value();
  std::optional<Errc> refused;
  const std::stop_callback stop(hold.lost(), [&] {
    try {
      store.advance(1s);
    } catch (const Exception& error) {
      refused = error.errc();
    }
  });
  store.lose("job");
  EXPECT_EQ(refused, Errc::would_deadlock);
}

TEST(TestStore, AGrantOfPermitsComesLate) {
  TestStore store;
  Client client = store.client();
  store.delay_grants("job", 1min, Kind::permits);
  Semaphore semaphore = client.semaphore("job", 2);
  EXPECT_EQ(semaphore.try_acquire().code(), Errc::busy);
  store.advance(1min);
  EXPECT_TRUE(semaphore.try_acquire(2));
}

TEST(TestStore, AWaitTimesOutByTheStoresClock) {
  TestStore store;
  Client alice = store.client(), bob = store.client();
  const Hold hold = alice.mutex("job").acquire().value();
  auto waits = std::async(std::launch::async, [&] { return bob.mutex("job").acquire({.wait = 1h}).code(); });
  while (alice.inspect("job").value().waiters.empty()) std::this_thread::yield();
  store.advance(1h);
  EXPECT_EQ(waits.get(), Errc::timed_out);
}

TEST(TestStore, TheObserverHasBeenToldWhenTheCallReturns) {
  TestStore store;
  std::vector<std::string> events;
  Client client = store.client({.observer = [&](const Event& event) { events.emplace_back(to_string(event.type)); }});
  const Hold hold = client.mutex("job").acquire().value();
  store.lose("job");
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back(), "lost");
}

TEST(TestStore, AnotherStoresClientIsRefused) {
  TestStore store, other;
  const Client client = other.client();
  EXPECT_THROW(store.expire(client), Exception);
  EXPECT_THROW(store.lose(""), Exception);
}

TEST(TestStore, StoresAreApartFromEachOther) {
  TestStore store, other;
  Client alice = store.client(), bob = other.client();
  const Hold one = alice.mutex("job").acquire().value(), two = bob.mutex("job").acquire().value();
  store.advance(1h);
  EXPECT_TRUE(one.valid() && two.valid());
}

TEST(TestStore, HandlesThatOutliveItAreClosed) {
  std::optional<Client> client;
  std::optional<Hold> hold;
  {
    TestStore store;
    client.emplace(store.client());
    hold.emplace(client->mutex("job").acquire().value());
  }
  EXPECT_EQ(hold->state(), HoldState::lost);
  EXPECT_EQ(client->inspect("job").code(), Errc::closed);
}

}  // namespace
}  // namespace pawl
