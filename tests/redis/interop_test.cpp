// Locks shared with clients that others wrote: redis-py's Lock (scheme simple) and Redisson's RLock (scheme redisson).

#include "tests/interop/counter.hpp"
#include "tests/interop/neighbour.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::Counter;
using test::eventually;
using test::Neighbour;
using test::RedisServer;
using testing::AllOf;
using testing::AnyOf;
using testing::Gt;
using testing::Le;
using testing::SizeIs;

struct Library {
  const char* name;
  const char* scheme;
  Neighbour& (*neighbour)();
  const char* not_owner;  ///< what it throws when it lets go of what is not its own
  const char* asks;       ///< a command that it runs when it asks in vain, and nobody else in these tests
  int tries;              ///< how often it asks before it sleeps
};

template <class Kind>
Neighbour& the() {
  RedisServer::shared();  // outlives it
  static Kind neighbour;
  return neighbour;
}

const Library redis_py{"RedisPy", "simple", the<test::RedisPy>, "LockNotOwnedError", "set", 1};
const Library redisson{"Redisson", "redisson", the<test::Redisson>, "IllegalMonitorStateException", "pttl", 2};

void PrintTo(const Library* library, std::ostream* out) { *out << library->name; }

/// We and a client of another library, and one lock between us that is named after the test.
class Interop {
 public:
  explicit Interop(const Library& library) : library_(library), server_(RedisServer::shared()) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    name_ = std::string(test->test_suite_name()) + "." + test->name();
    peer_ = library_.neighbour().peer(server_.port());
  }

  std::string url(const std::string& more = {}) const {
    return server_.url("?names=raw&scheme=" + std::string(library_.scheme) + more);
  }

  /// They, with the lock's name put in: they("acquire", "-1 0").
  std::string they(const std::string& what, const std::string& rest = {}) const { return peer_->ask(line(what, rest)); }
  std::string line(const std::string& what, const std::string& rest = {}) const {
    return what + " " + name_ + " " + rest;
  }

  /// They begin to wait. True when they have asked in vain and sleep, false when that hangs.
  bool they_begin_to_wait() const {
    const int before = calls(library_.asks);
    peer_->tell(line("acquire", "60000 20000"));
    return eventually([&] { return calls(library_.asks) >= before + library_.tries; });
  }

  int calls(const std::string& command) const {
    const std::string stats = server_.cli({"INFO", "commandstats"});
    const std::string before = "cmdstat_" + command + ":calls=";
    const std::size_t found = stats.find(before);
    return found == std::string::npos ? 0 : std::stoi(stats.substr(found + before.size()));
  }

  Duration lease_left() const { return std::chrono::milliseconds(std::stol(server_.cli({"PTTL", name_}))); }

  const Library& library_;
  RedisServer& server_;
  test::Peer* peer_ = nullptr;
  std::string name_;
};

/// Sees it renewed so often; false when it hangs.
bool renewed(int times, const std::function<Duration()>& lease_left) {
  Duration before = lease_left();
  return eventually([&] {
    const Duration now = lease_left();
    if (now > before) --times;
    before = now;
    return times <= 0;
  });
}

std::future<Result<Hold>> acquire_meanwhile(Client& client, const std::string& name) {
  return std::async(std::launch::async, [&client, name] { return client.mutex(name).acquire({.wait = 30s}); });
}

bool stands_in_line(Client& client, const std::string& name) {
  return eventually([&] { return client.inspect(name).value().waiters.size() == 1; });
}

class InteropTest : public testing::TestWithParam<const Library*> {
 protected:
  explicit InteropTest(const Library* library = GetParam()) : with_(*library), ours_(with_.url()) {}

  void SetUp() override {
    if (with_.peer_ != nullptr) return;
    PAWL_SKIP_WITHOUT(with_.library_.neighbour().not_tested(with_.library_.name));
  }

  // It may have an answer left that the next test would take for its own.
  void TearDown() override {
    if (HasFailure()) with_.library_.neighbour().end();
  }

  Mutex mutex() { return ours_.mutex(with_.name_); }

  Interop with_;
  Client ours_;
};

TEST_P(InteropTest, TheyHoldItAndWeAreBusy) {
  ASSERT_EQ(with_.they("acquire", "-1 0"), "ok");
  EXPECT_EQ(mutex().try_acquire().code(), Errc::busy);
  EXPECT_EQ(mutex().acquire({.wait = 300ms}).code(), Errc::timed_out);
  EXPECT_EQ(with_.they("owned"), "ok true");
  EXPECT_EQ(with_.they("release"), "ok");
  EXPECT_TRUE(mutex().try_acquire());
}

TEST_P(InteropTest, WeHoldItAndTheyAreBusy) {
  Hold hold = mutex().acquire().value();
  EXPECT_EQ(with_.they("acquire", "30000 0"), "no");
  EXPECT_EQ(with_.they("acquire", "30000 300"), "no");
  EXPECT_EQ(with_.they("locked"), "ok true");
  EXPECT_TRUE(hold.release());
  EXPECT_EQ(with_.they("locked"), "ok false");
  EXPECT_EQ(with_.they("acquire", "30000 0"), "ok");
  EXPECT_EQ(with_.they("release"), "ok");
}

TEST_P(InteropTest, WeWaitAndHaveItWhenTheyLetGo) {
  ASSERT_EQ(with_.they("acquire", "60000 0"), "ok");
  auto wait = acquire_meanwhile(ours_, with_.name_);
  ASSERT_TRUE(stands_in_line(ours_, with_.name_));
  EXPECT_EQ(with_.they("release"), "ok");
  EXPECT_EQ(wait.get().code(), Errc{});
}

TEST_P(InteropTest, TheyWaitAndHaveItWhenWeLetGo) {
  Hold hold = mutex().acquire().value();
  ASSERT_TRUE(with_.they_begin_to_wait());
  EXPECT_TRUE(hold.release());
  EXPECT_EQ(with_.peer_->answer(), "ok");
  EXPECT_EQ(mutex().try_acquire().code(), Errc::busy);
  EXPECT_EQ(with_.they("release"), "ok");
}

TEST_P(InteropTest, NobodyIsInsideWhileAnotherIs) {
  constexpr int visits = 100;
  const Counter counter;
  Client second(with_.url());
  const auto visit = [&](Client& client) {
    for (int i = 0; i < visits; ++i) {
      Hold hold = client.mutex(with_.name_).acquire({.wait = 30s}).value();
      counter.bump();
      if (!hold.release()) return false;
    }
    return true;
  };
  with_.peer_->tell(with_.line("visit", counter.path() + " " + std::to_string(visits)));
  ASSERT_TRUE(eventually([&] { return counter.read() > 0; })) << "they have begun";
  auto other = std::async(std::launch::async, [&] { return visit(second); });
  EXPECT_TRUE(visit(ours_));
  EXPECT_TRUE(other.get());
  EXPECT_EQ(with_.peer_->answer(), "ok");
  EXPECT_EQ(counter.read(), 3 * visits);
}

TEST_P(InteropTest, TheirLockWithALeaseEndsWithItAndIsOurs) {
  ASSERT_EQ(with_.they("acquire", "500 0"), "ok");
  ASSERT_EQ(mutex().try_acquire().code(), Errc::busy);
  const Hold hold = mutex().acquire({.wait = 30s}).value();
  EXPECT_EQ(with_.they("owned"), "ok false");
  EXPECT_EQ(with_.they("release"), "no " + std::string(with_.library_.not_owner));
  EXPECT_EQ(with_.they("locked"), "ok true") << "by us";
  EXPECT_EQ(with_.they("acquire", "30000 0"), "no");
}

TEST_P(InteropTest, OurKeyHasOurLeaseAndTheLockDelay) {
  Client client(with_.url("&lease=20s"));
  Hold plain = client.mutex(with_.name_).acquire().value();
  EXPECT_THAT(with_.lease_left(), AllOf(Gt(10s), Le(20s)));
  EXPECT_TRUE(plain.release());
  const Hold delayed = client.mutex(with_.name_).acquire({.lock_delay = 30s}).value();
  EXPECT_THAT(with_.lease_left(), AllOf(Gt(30s), Le(50s)));
}

TEST_P(InteropTest, OurKeyIsRenewedBeyondItsFirstLease) {
  Client client(with_.url("&lease=1500ms"));
  const Hold hold = client.mutex(with_.name_).acquire().value();
  EXPECT_TRUE(renewed(3, [&] { return with_.lease_left(); }));
  EXPECT_TRUE(hold.valid());
  EXPECT_EQ(with_.they("acquire", "30000 0"), "no");
}

TEST_P(InteropTest, TheyCannotLetGoOfWhatWeTookOver) {
  ASSERT_EQ(with_.they("acquire", "60000 0"), "ok");
  with_.server_.cli({"DEL", with_.name_});
  Hold hold = mutex().try_acquire().value();
  EXPECT_EQ(with_.they("release"), "no " + std::string(with_.library_.not_owner));
  EXPECT_EQ(with_.they("acquire", "30000 0"), "no");
  EXPECT_TRUE(hold.release()) << "it was still ours";
}

TEST_P(InteropTest, WeCannotLetGoOfWhatTheyTookOver) {
  Hold hold = mutex().acquire().value();
  with_.server_.cli({"DEL", with_.name_});
  ASSERT_EQ(with_.they("acquire", "60000 0"), "ok");
  EXPECT_THAT(hold.release().code(), AnyOf(Errc::lost, Errc::not_owner));
  EXPECT_EQ(with_.they("owned"), "ok true");
  EXPECT_EQ(mutex().try_acquire().code(), Errc::busy);
  EXPECT_EQ(with_.they("release"), "ok");
}

TEST_P(InteropTest, WeLearnThatTheyTookOver) {
  Client client(with_.url("&lease=1500ms"));
  const Hold hold = client.mutex(with_.name_).acquire().value();
  with_.server_.cli({"DEL", with_.name_});
  ASSERT_EQ(with_.they("acquire", "60000 0"), "ok");
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_EQ(with_.they("owned"), "ok true");
  EXPECT_GT(with_.lease_left(), 30s) << "our renewal leaves their lease alone";
  EXPECT_EQ(with_.they("release"), "ok");
}

TEST_P(InteropTest, TheirHoldIsShownAsForeignWithItsLease) {
  ASSERT_EQ(with_.they("acquire", "60000 0"), "ok");
  const LockView view = ours_.inspect(with_.name_).value();
  ASSERT_THAT(view.holders, SizeIs(1));
  EXPECT_TRUE(view.holders[0].owner.foreign);
  EXPECT_THAT(view.holders[0].lease_left, AllOf(Gt(30s), Le(60s)));
  EXPECT_EQ(with_.they("release"), "ok");
  const Hold hold = mutex().acquire().value();
  const LockView now = ours_.inspect(with_.name_).value();
  ASSERT_THAT(now.holders, SizeIs(1));
  EXPECT_FALSE(now.holders[0].owner.foreign);
}

TEST_P(InteropTest, AHolderOfTheirsThatDiesIsOutlived) {
  ASSERT_EQ(with_.they("acquire", "1000 0"), "ok");
  with_.library_.neighbour().end();
  EXPECT_EQ(mutex().try_acquire().code(), Errc::busy);
  EXPECT_TRUE(mutex().acquire({.wait = 30s}));
}

TEST_P(InteropTest, TheyRespectTheLockDelayOfOneOfOursThatFailed) {
  Client client(with_.url());
  const Hold hold = client.mutex(with_.name_).acquire({.lock_delay = 2s}).value();
  ASSERT_TRUE(client.close());
  EXPECT_EQ(with_.they("acquire", "30000 0"), "no");
  EXPECT_GT(ours_.inspect(with_.name_).value().shut_for, 0s);
  EXPECT_EQ(with_.they("acquire", "30000 20000"), "ok");
  EXPECT_EQ(with_.they("release"), "ok");
}

INSTANTIATE_TEST_SUITE_P(Redis, InteropTest, testing::Values(&redis_py, &redisson),
                         [](const auto& info) { return info.param->name; });

class RedisPyTest : public InteropTest {
 protected:
  RedisPyTest() : InteropTest(&redis_py) {}
};

TEST_F(RedisPyTest, ALockThatNeverEndsIsWaitedFor) {
  ASSERT_EQ(with_.they("acquire", "-1 0"), "ok");
  ASSERT_EQ(with_.they("ttl"), "ok -1") << "its default";
  auto wait = acquire_meanwhile(ours_, with_.name_);
  ASSERT_TRUE(stands_in_line(ours_, with_.name_));
  const LockView view = ours_.inspect(with_.name_).value();
  ASSERT_THAT(view.holders, SizeIs(1));
  EXPECT_TRUE(view.holders[0].owner.foreign);
  EXPECT_EQ(wait.wait_for(300ms), std::future_status::timeout);
  EXPECT_EQ(with_.they("release"), "ok");
  EXPECT_EQ(wait.get().code(), Errc{});
}

TEST_F(RedisPyTest, ALeaseThatTheyExtendIsRespected) {
  ASSERT_EQ(with_.they("acquire", "700 0"), "ok");
  ASSERT_EQ(with_.they("extend", "60000"), "ok");
  EXPECT_EQ(mutex().acquire({.wait = 1s}).code(), Errc::timed_out);
  EXPECT_GT(ours_.inspect(with_.name_).value().holders.at(0).lease_left, 30s);
  EXPECT_EQ(with_.they("release"), "ok");
}

TEST_F(RedisPyTest, TheLockGoesBackAndForth) {
  const Counter counter;
  ASSERT_EQ(with_.they("acquire", "60000 0"), "ok");
  for (int i = 0; i < 20; ++i) {
    auto wait = acquire_meanwhile(ours_, with_.name_);
    ASSERT_TRUE(stands_in_line(ours_, with_.name_));
    ASSERT_EQ(with_.peer_->ask("bump " + counter.path()), "ok");
    ASSERT_EQ(with_.they("release"), "ok");
    Hold hold = wait.get().value();
    ASSERT_TRUE(with_.they_begin_to_wait());
    counter.bump();
    ASSERT_TRUE(hold.release());
    ASSERT_EQ(with_.peer_->answer(), "ok");
  }
  EXPECT_EQ(counter.read(), 40);
  EXPECT_EQ(with_.they("release"), "ok");
}

class RedissonTest : public InteropTest {
 protected:
  RedissonTest() : InteropTest(&redisson) {}

  std::string channel() const {
    const bool tagged = with_.name_.find('{') != std::string::npos;
    return "redisson_lock__channel:" + (tagged ? with_.name_ : "{" + with_.name_ + "}");
  }

  /// Waits until so many listen on it; false when it hangs.
  bool listeners(int count) const {
    return eventually([&] {
      return with_.server_.cli({"PUBSUB", "NUMSUB", channel()}) == channel() + "\n" + std::to_string(count) + "\n";
    });
  }
};

TEST_F(RedissonTest, TheLockGoesBackAndForthAndAWordWakesEither) {
  const Counter counter;
  std::vector<Duration> took;
  ASSERT_EQ(with_.they("acquire", "60000 0"), "ok");
  for (int i = 0; i < 200; ++i) {
    auto wait = acquire_meanwhile(ours_, with_.name_);
    ASSERT_TRUE(stands_in_line(ours_, with_.name_));
    ASSERT_TRUE(listeners(1)) << "we listen where they speak";
    ASSERT_EQ(with_.peer_->ask("bump " + counter.path()), "ok");
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(with_.they("release"), "ok");
    Hold hold = wait.get().value();
    took.push_back(std::chrono::steady_clock::now() - begin);
    ASSERT_TRUE(with_.they_begin_to_wait());
    counter.bump();
    ASSERT_TRUE(hold.release());
    ASSERT_EQ(with_.peer_->answer(), "ok") << "they do not look by themselves while our lease lasts";
    ASSERT_TRUE(listeners(0)) << "nobody listens longer than he must";
  }
  EXPECT_EQ(counter.read(), 400);
  EXPECT_EQ(with_.they("release"), "ok");
  // We do look by ourselves, but not before 100 ms have passed.
  std::nth_element(took.begin(), took.begin() + 100, took.end());
  EXPECT_LT(took[100], 50ms);
}

TEST_F(RedissonTest, NamesWithAHashTagHaveAChannelOfTheirOwnForm) {
  for (const char* name : {"{x}y", "y{x}", "{}", "plain", "with-dash:and:colon"}) {
    with_.name_ = name;
    Hold hold = mutex().acquire().value();
    ASSERT_TRUE(with_.they_begin_to_wait());
    ASSERT_TRUE(listeners(1)) << name;
    ASSERT_TRUE(hold.release());
    ASSERT_EQ(with_.peer_->answer(), "ok") << name;
    ASSERT_TRUE(listeners(0)) << name;
    auto wait = acquire_meanwhile(ours_, name);
    ASSERT_TRUE(listeners(1)) << name;
    ASSERT_EQ(with_.they("release"), "ok");
    EXPECT_EQ(wait.get().code(), Errc{}) << name;
  }
}

TEST_F(RedissonTest, WhatTheyHoldTwiceIsBusyUntilTheSecondRelease) {
  ASSERT_EQ(with_.they("acquire", "60000 0"), "ok");
  ASSERT_EQ(with_.they("acquire", "60000 0"), "ok");
  ASSERT_EQ(with_.they("holds"), "ok 2");
  auto wait = acquire_meanwhile(ours_, with_.name_);
  ASSERT_TRUE(stands_in_line(ours_, with_.name_));
  EXPECT_EQ(with_.they("release"), "ok");
  EXPECT_EQ(mutex().try_acquire().code(), Errc::busy);
  EXPECT_EQ(wait.wait_for(300ms), std::future_status::timeout);
  EXPECT_EQ(with_.they("holds"), "ok 1");
  EXPECT_EQ(with_.they("release"), "ok");
  EXPECT_EQ(wait.get().code(), Errc{});
}

TEST_F(RedissonTest, TheirWatchdogKeepsWhatTheyHold) {
  ASSERT_EQ(with_.they("acquire", "-1 0"), "ok");
  const auto lease_left = [&] { return ours_.inspect(with_.name_).value().holders.at(0).lease_left; };
  EXPECT_LE(lease_left(), std::chrono::milliseconds(test::Redisson::watchdog));
  EXPECT_TRUE(renewed(3, lease_left)) << "every third of it, so once around";
  EXPECT_EQ(mutex().try_acquire().code(), Errc::busy);
  EXPECT_EQ(with_.they("release"), "ok");
}

TEST_F(RedissonTest, TheyCannotLetGoOfOurs) {
  Hold hold = mutex().acquire().value();
  EXPECT_EQ(with_.they("release"), "no IllegalMonitorStateException");
  EXPECT_EQ(with_.they("locked"), "ok true");
  EXPECT_EQ(with_.they("owned"), "ok false");
  EXPECT_EQ(with_.they("holds"), "ok 0");
  EXPECT_TRUE(hold.release()) << "it was still ours";
}

TEST_F(RedissonTest, OurKeyLooksLikeTheirs) {
  const Hold hold = mutex().acquire().value();
  EXPECT_THAT(with_.server_.cli({"HGETALL", with_.name_}),
              testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:[0-9]+\n1\n"));
}

}  // namespace
}  // namespace pawl
