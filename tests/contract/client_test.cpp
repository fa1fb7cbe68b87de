// Promise: the face a program uses: a URL, a client, a lock. On the process's own runtime.

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

namespace pawl {
namespace {

using namespace std::chrono_literals;

/// A store of this test alone.
std::string fresh_url() {
  static std::atomic<int> stores = 0;
  return "memory:client-test-" + std::to_string(++stores);
}

template <class Call>
Errc errc_of(Call call) {
  try {
    call();
  } catch (const Exception& error) {
    return error.errc();
  }
  return {};
}

TEST(ClientFace, ClientsOfOneUrlShareTheirLocks) {
  const std::string url = fresh_url();
  Client alice(url), bob(url);
  const Hold hold = alice.mutex("job").acquire().value();
  EXPECT_EQ(bob.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_EQ(alice.store_id(), bob.store_id());
}

TEST(ClientFace, AStoreWithoutANameIsPrivate) {
  Client alice("memory:"), bob("memory:");
  const Hold hold = alice.mutex("job").acquire().value();
  EXPECT_TRUE(bob.mutex("job").try_acquire());
  EXPECT_NE(alice.store_id(), bob.store_id());
}

TEST(ClientFace, ABadUrlIsRefused) {
  EXPECT_EQ(Client::open("no such store:").code(), Errc::invalid_argument);
  EXPECT_EQ(Client::open("").code(), Errc::invalid_argument);
  EXPECT_EQ(Client::open("memory:?no_such_option=1").code(), Errc::invalid_argument);
  EXPECT_EQ(Client::open("memory:?scheme=nonsense").code(), Errc::invalid_argument);
  EXPECT_EQ(Client::open("memory:?lease=soon").code(), Errc::invalid_argument);
  EXPECT_THROW(Client("nonsense:"), Exception);
}

TEST(ClientFace, TheUrlComesSecondToTheOptions) {
  Client by_url("memory:?lease=100s");
  EXPECT_GT(by_url.mutex("job").acquire().value().remaining(), 90s);
  ClientOptions options;
  options.lease = 10s;
  Client by_options("memory:?lease=100s", options);
  EXPECT_LE(by_options.mutex("job").acquire().value().remaining(), 10s);
}

TEST(ClientFace, MutexRefusesBadNamesAndOptionsByException) {
  Client alice("memory:");
  EXPECT_EQ(errc_of([&] { alice.mutex(""); }), Errc::invalid_argument);
  EXPECT_EQ(errc_of([&] { alice.mutex(std::string(4097, 'x')); }), Errc::invalid_argument);
  EXPECT_EQ(errc_of([&] { alice.mutex("job", {.scheme = "nonsense"}); }), Errc::invalid_argument);
  const Mutex mutex = alice.mutex("job", {.local_passes = 1});
  EXPECT_EQ(errc_of([&] { alice.mutex("job", {.local_passes = 2}); }), Errc::invalid_argument);
}

TEST(ClientFace, TheReadmesFirstLinesWork) {
  Client client(fresh_url());
  Mutex ledger = client.mutex("billing/ledger");
  if (auto hold = ledger.acquire({.wait = 2s})) {
    EXPECT_TRUE(hold->valid());
    EXPECT_TRUE(client.check(hold->sequencer()));
    EXPECT_TRUE(hold->release());
  } else {
    FAIL() << hold.error().to_string();
  }
  const std::scoped_lock guard(ledger);
  EXPECT_EQ(client.inspect("billing/ledger").value().holders.size(), 1U);
  EXPECT_EQ(client.list("billing/").value().size(), 1U);
}

TEST(ClientFace, LocksAndHoldsOutliveTheClientObject) {
  const std::string url = fresh_url();
  Client bob(url);
  std::optional<Mutex> mutex;
  std::optional<Hold> hold;
  {
    Client alice(url);
    mutex = alice.mutex("job");
    hold = mutex->acquire().value();
  }
  EXPECT_TRUE(hold->valid());
  EXPECT_EQ(bob.mutex("job").try_acquire().code(), Errc::busy);
  mutex.reset();
  EXPECT_TRUE(hold->valid());
  hold.reset();
  EXPECT_TRUE(bob.mutex("job").acquire({.wait = 60s}));
}

TEST(ClientFace, TheLastHandleReleasesBeforeItGoes) {
  const std::string url = fresh_url();
  Client bob(url);
  {
    Client alice(url);
    Mutex mutex = alice.mutex("job");
    const Hold hold = mutex.acquire().value();
  }
  EXPECT_TRUE(bob.mutex("job").try_acquire());
}

TEST(ClientFace, CloseEndsHoldsAndWaits) {
  const std::string url = fresh_url();
  Client alice(url), bob(url);
  Mutex alices = alice.mutex("job"), bobs = bob.mutex("job");
  const Hold hold = alices.acquire().value();
  std::thread waiter([&] { EXPECT_EQ(bobs.acquire().code(), Errc::closed); });
  while (alice.inspect("job").value().waiters.empty()) std::this_thread::yield();
  EXPECT_TRUE(bob.close());
  waiter.join();
  EXPECT_TRUE(alice.close());
  EXPECT_EQ(hold.state(), HoldState::lost);
  EXPECT_EQ(alices.acquire().code(), Errc::closed);
  EXPECT_EQ(alice.inspect("job").code(), Errc::closed);
  EXPECT_EQ(errc_of([&] { alice.mutex("job"); }), Errc::closed);
  EXPECT_TRUE(alice.close());
}

TEST(ClientFace, AStopRequestFromAnotherThreadEndsAWait) {
  Client alice(fresh_url());
  Mutex mutex = alice.mutex("job");
  const Hold hold = mutex.acquire().value();
  std::stop_source stop;
  std::thread stopper([&] { stop.request_stop(); });
  EXPECT_EQ(mutex.acquire({}, stop.get_token()).code(), Errc::cancelled);
  stopper.join();
}

TEST(ClientFace, RevokeReachesTheHolder) {
  const std::string url = fresh_url();
  Client alice(url), bob(url);
  const Hold hold = alice.mutex("job").acquire().value();
  EXPECT_TRUE(bob.revoke("job"));
  while (!hold.release_requested().stop_requested()) std::this_thread::yield();
  EXPECT_TRUE(bob.revoke("job", {.now = true}));
  while (!hold.lost().stop_requested()) std::this_thread::yield();
  EXPECT_EQ(alice.metrics().lost, 1U);
}

}  // namespace
}  // namespace pawl
