// Locks shared with other people's Redlocks on the same five nodes: Go's redsync, and npm's redlock in its versions 4 and 5.

#include "tests/interop/counter.hpp"
#include "tests/interop/redlock_peers.hpp"
#include "tests/redlock/nodes.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <ostream>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using redlock_test::nodes;
using redlock_test::nodes_with;
using test::Counter;
using test::eventually;
using test::RedisServers;
using test::RedlockNeighbour;
using testing::AllOf;
using testing::AnyOf;
using testing::Each;
using testing::Gt;
using testing::Le;
using testing::SizeIs;
using testing::StartsWith;

struct Library {
  const char* name;
  RedlockNeighbour& (*neighbour)();
  const char* asks;  ///< a command that a node runs when it asks, and in these tests never when we do while we hold
};

RedlockNeighbour& redsync_peer() {
  static test::Redsync neighbour(RedisServers::shared().ports());
  return neighbour;
}

RedlockNeighbour& npm_peer() {
  static test::NpmRedlock neighbour(RedisServers::shared().ports(), "redlock");
  return neighbour;
}

RedlockNeighbour& npm_5_peer() {
  static test::NpmRedlock neighbour(RedisServers::shared().ports(), "redlock-5");
  return neighbour;
}

const Library redsync{"Redsync", redsync_peer, "set"};
const Library npm{"NpmRedlock", npm_peer, "exists"};
const Library npm_5{"NpmRedlock5", npm_5_peer, "exists"};

void PrintTo(const Library* library, std::ostream* out) { *out << library->name; }

std::future<Result<Hold>> acquire_meanwhile(Client& client, const std::string& name) {
  return std::async(std::launch::async, [&client, name] { return client.mutex(name).acquire({.wait = 120s}); });
}

/// We and a client of another library, and one lock between us that is named after the test.
class RedlockInterop : public testing::TestWithParam<const Library*> {
 protected:
  RedlockInterop() : library_(*GetParam()), ours_(url()) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    name_ = std::string(test->test_suite_name()) + "." + test->name();
    peer_ = library_.neighbour().peer();
  }

  void SetUp() override {
    if (peer_ == nullptr) PAWL_SKIP_WITHOUT(library_.neighbour().not_tested(library_.name));
  }
  // It may have an answer left that the next test would take for its own.
  void TearDown() override {
    if (HasFailure()) library_.neighbour().end();
  }

  std::string url(const std::string& more = {}) const {
    return servers_.url("?names=raw&delay=10ms&node_timeout=10s" + more);
  }
  Mutex mutex() { return ours_.mutex(name_); }

  /// They, with the lock's name put in: they("acquire", "30000 0").
  std::string they(const std::string& what, const std::string& rest = {}) const { return peer_->ask(line(what, rest)); }
  std::string line(const std::string& what, const std::string& rest = {}) const {
    return what + " " + name_ + " " + rest;
  }

  /// They begin to wait, while nobody else does anything. True when they have asked in vain, false when that hangs.
  bool they_begin_to_wait() const {
    const int before = calls();
    peer_->tell(line("acquire", "15000 50000"));
    return eventually([&] { return calls() > before; });
  }
  int calls() const {
    const std::string stats = servers_[0].cli({"INFO", "commandstats"});
    const std::string before = "cmdstat_" + std::string(library_.asks) + ":calls=";
    const std::size_t found = stats.find(before);
    return found == std::string::npos ? 0 : std::stoi(stats.substr(found + before.size()));
  }
  bool we_stand_in_line() {
    return eventually([&] { return ours_.inspect(name_).value().waiters.size() == 1; });
  }

  /// What the nodes hold for it; "" where there is nothing.
  std::vector<std::string> values() const {
    std::vector<std::string> seen;
    for (std::size_t i = 0; i < nodes; ++i) {
      seen.push_back(test::naive::Redis(servers_[i].port()).call({"GET", name_}).value_or(""));
    }
    return seen;
  }
  std::vector<Duration> leases_left() const {
    std::vector<Duration> left;
    for (std::size_t i = 0; i < nodes; ++i) {
      left.push_back(std::chrono::milliseconds(test::naive::Redis(servers_[i].port()).number({"PTTL", name_})));
    }
    return left;
  }
  void forget(std::size_t first, std::size_t count) const {
    for (std::size_t i = first; i < first + count; ++i) {
      test::naive::Redis(servers_[i].port()).call({"DEL", name_});
    }
  }
  /// Behind a majority that has answered, the others follow.
  bool on_every_node() const {
    return eventually([&] { return nodes_with(servers_, name_) == nodes; });
  }
  bool on_no_node() const {
    return eventually([&] { return nodes_with(servers_, name_) == 0; });
  }

  const Library& library_;
  RedisServers& servers_ = RedisServers::shared();
  test::Peer* peer_ = nullptr;
  std::string name_;
  Client ours_;
};

TEST_P(RedlockInterop, TheyHoldItAndWeAreBusy) {
  ASSERT_EQ(they("acquire", "60000 0"), "ok");
  EXPECT_EQ(mutex().try_acquire().code(), Errc::busy);
  EXPECT_EQ(mutex().acquire({.wait = 300ms}).code(), Errc::timed_out);
  EXPECT_EQ(they("owned"), "ok true");
  EXPECT_EQ(they("release"), "ok");
  EXPECT_TRUE(mutex().try_acquire());
  EXPECT_TRUE(on_no_node());
}

TEST_P(RedlockInterop, WeHoldItAndTheyAreBusy) {
  Hold hold = mutex().acquire().value();
  EXPECT_EQ(they("acquire", "60000 0"), "no");
  EXPECT_EQ(they("acquire", "60000 300"), "no");
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(on_no_node());
  EXPECT_EQ(they("acquire", "60000 0"), "ok");
  EXPECT_EQ(they("release"), "ok");
}

TEST_P(RedlockInterop, WeWaitAndHaveItWhenTheyLetGo) {
  ASSERT_EQ(they("acquire", "60000 0"), "ok");
  auto wait = acquire_meanwhile(ours_, name_);
  ASSERT_TRUE(we_stand_in_line());
  EXPECT_EQ(they("release"), "ok");
  EXPECT_EQ(wait.get().code(), Errc{});
}

TEST_P(RedlockInterop, TheyWaitAndHaveItWhenWeLetGo) {
  Hold hold = mutex().acquire().value();
  ASSERT_TRUE(on_every_node());
  ASSERT_TRUE(they_begin_to_wait());
  EXPECT_TRUE(hold.release());
  EXPECT_EQ(peer_->answer(), "ok");
  EXPECT_EQ(mutex().try_acquire().code(), Errc::busy);
  EXPECT_EQ(they("release"), "ok");
}

TEST_P(RedlockInterop, NobodyIsInsideWhileAnotherIs) {
  constexpr int visits = 30;
  const Counter counter;
  Client second(url());
  const auto visit = [&](Client& client) {
    for (int i = 0; i < visits; ++i) {
      Hold hold = client.mutex(name_).acquire({.wait = 120s}).value();
      counter.bump();
      if (!hold.release()) return false;
    }
    return true;
  };
  peer_->tell(line("visit", counter.path() + " " + std::to_string(visits)));
  ASSERT_TRUE(eventually([&] { return counter.read() > 0; })) << "they have begun";
  auto other = std::async(std::launch::async, [&] { return visit(second); });
  EXPECT_TRUE(visit(ours_));
  EXPECT_TRUE(other.get());
  EXPECT_EQ(peer_->answer(), "ok");
  EXPECT_EQ(counter.read(), 3 * visits);
  EXPECT_TRUE(on_no_node());
}

TEST_P(RedlockInterop, TheLockGoesBackAndForth) {
  const Counter counter;
  ASSERT_EQ(they("acquire", "60000 0"), "ok");
  for (int i = 0; i < 10; ++i) {
    auto wait = acquire_meanwhile(ours_, name_);
    ASSERT_TRUE(we_stand_in_line());
    ASSERT_EQ(peer_->ask("bump " + counter.path()), "ok");
    ASSERT_EQ(they("release"), "ok");
    Hold hold = wait.get().value();
    ASSERT_TRUE(on_every_node());
    ASSERT_TRUE(they_begin_to_wait());
    counter.bump();
    ASSERT_TRUE(hold.release());
    ASSERT_EQ(peer_->answer(), "ok");
  }
  EXPECT_EQ(counter.read(), 20);
  EXPECT_EQ(they("release"), "ok");
}

// A lock is on a majority of the nodes; what the others have is no vote, and no reason to wait.
TEST_P(RedlockInterop, AMajorityOfTheirsExcludesUsAndWeLeaveNothing) {
  ASSERT_EQ(they("acquire", "60000 0"), "ok");
  ASSERT_TRUE(on_every_node());
  forget(3, 2);
  EXPECT_EQ(mutex().try_acquire().code(), Errc::busy);
  EXPECT_TRUE(eventually([&] { return nodes_with(servers_, name_) == 3; })) << "ours on the other two is undone";
  EXPECT_EQ(they("owned"), "ok true");
  EXPECT_EQ(they("release"), "ok");
}

TEST_P(RedlockInterop, AMajorityOfOursExcludesThemAndTheyLeaveNothing) {
  Hold hold = mutex().acquire().value();
  ASSERT_TRUE(on_every_node());
  const std::string claim = values()[0];
  forget(3, 2);
  EXPECT_EQ(they("acquire", "60000 0"), "no");
  EXPECT_TRUE(eventually([&] {
    const std::vector<std::string> now = values();
    return std::all_of(now.begin(), now.end(), [&](const auto& value) { return value.empty() || value == claim; });
  })) << "theirs on the other two is undone";
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(hold.release()) << "it was still ours";
}

TEST_P(RedlockInterop, AMinorityOfTheirsThatIsLeftBehindDoesNotKeepUsOut) {
  ASSERT_EQ(they("acquire", "60000 0"), "ok");
  ASSERT_TRUE(on_every_node());
  forget(0, 3);
  Hold hold = mutex().acquire({.wait = 120s}).value();
  EXPECT_EQ(they("owned"), "ok false");
  EXPECT_EQ(they("acquire", "60000 0"), "no");
  EXPECT_TRUE(hold.release());
}

TEST_P(RedlockInterop, TheirLockEndsWithItsLeaseAndIsOurs) {
  ASSERT_EQ(they("acquire", "1000 0"), "ok");
  const Hold hold = mutex().acquire({.wait = 120s}).value();
  EXPECT_EQ(they("owned"), "ok false");
  EXPECT_THAT(they("release"), StartsWith("no "));
  EXPECT_TRUE(hold.valid());
  EXPECT_EQ(they("acquire", "60000 0"), "no");
}

TEST_P(RedlockInterop, OurKeyIsTheNameWithOurClaimAndOurLease) {
  const Hold hold = mutex().acquire().value();
  ASSERT_TRUE(on_every_node());
  EXPECT_THAT(values(), Each(testing::MatchesRegex("[0-9a-f]+")));
  EXPECT_THAT(values(), Each(values()[0]));
  EXPECT_THAT(leases_left(), Each(AllOf(Gt(10s), Le(30s))));
}

TEST_P(RedlockInterop, OurKeyIsRenewedBeyondItsFirstLease) {
  Client client(url("&lease=3s"));
  const Hold hold = client.mutex(name_).acquire().value();
  std::vector<Duration> before = leases_left();
  int renewed = 0;
  ASSERT_TRUE(eventually([&] {
    const std::vector<Duration> now = leases_left();
    if (now[0] > before[0]) ++renewed;
    before = now;
    return renewed == 4;
  }));
  EXPECT_TRUE(hold.valid());
  EXPECT_EQ(they("acquire", "60000 0"), "no");
}

TEST_P(RedlockInterop, TheyCannotLetGoOfWhatWeTookOver) {
  ASSERT_EQ(they("acquire", "60000 0"), "ok");
  ASSERT_TRUE(on_every_node());
  forget(0, nodes);
  Hold hold = mutex().acquire().value();
  ASSERT_TRUE(on_every_node());
  EXPECT_THAT(they("release"), StartsWith("no "));
  EXPECT_EQ(nodes_with(servers_, name_), nodes);
  EXPECT_EQ(they("acquire", "60000 0"), "no");
  EXPECT_TRUE(hold.release()) << "it was still ours";
}

TEST_P(RedlockInterop, WeCannotLetGoOfWhatTheyTookOver) {
  Hold hold = mutex().acquire().value();
  ASSERT_TRUE(on_every_node());
  forget(0, nodes);
  ASSERT_EQ(they("acquire", "60000 0"), "ok");
  EXPECT_THAT(hold.release().code(), AnyOf(Errc::lost, Errc::not_owner));
  EXPECT_EQ(they("owned"), "ok true");
  EXPECT_EQ(mutex().try_acquire().code(), Errc::busy);
  EXPECT_EQ(they("release"), "ok");
}

TEST_P(RedlockInterop, WeLearnThatTheyTookOverAndLeaveTheirLeaseAlone) {
  Client client(url("&lease=3s"));
  const Hold hold = client.mutex(name_).acquire().value();
  ASSERT_TRUE(on_every_node());
  forget(0, nodes);
  ASSERT_EQ(they("acquire", "100000 0"), "ok");
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_EQ(they("owned"), "ok true");
  EXPECT_THAT(leases_left(), Each(Gt(20s)));
  EXPECT_EQ(they("release"), "ok");
}

TEST_P(RedlockInterop, TheirHoldIsShownAsForeignWithItsLease) {
  ASSERT_EQ(they("acquire", "100000 0"), "ok");
  const LockView view = ours_.inspect(name_).value();
  ASSERT_THAT(view.holders, SizeIs(1));
  EXPECT_TRUE(view.holders[0].owner.foreign);
  EXPECT_THAT(view.holders[0].lease_left, AllOf(Gt(30s), Le(100s)));
  EXPECT_EQ(they("release"), "ok");
  const Hold hold = mutex().acquire().value();
  const LockView now = ours_.inspect(name_).value();
  ASSERT_THAT(now.holders, SizeIs(1));
  EXPECT_FALSE(now.holders[0].owner.foreign);
}

TEST_P(RedlockInterop, AHolderOfTheirsThatDiesIsOutlived) {
  ASSERT_EQ(they("acquire", "3000 0"), "ok");
  library_.neighbour().end();
  EXPECT_TRUE(mutex().acquire({.wait = 120s}));
}

TEST_P(RedlockInterop, TheyRespectTheLockDelayOfOneOfOursThatFailed) {
  Client client(url());
  const Hold hold = client.mutex(name_).acquire({.lock_delay = 5s}).value();
  ASSERT_TRUE(client.close());
  EXPECT_EQ(they("acquire", "60000 0"), "no");
  EXPECT_EQ(they("acquire", "15000 50000"), "ok");
  EXPECT_EQ(they("release"), "ok");
}

INSTANTIATE_TEST_SUITE_P(Redlock, RedlockInterop, testing::Values(&redsync, &npm, &npm_5),
                         [](const auto& info) { return info.param->name; });

class NpmInterop : public RedlockInterop {};

// redsync can extend a lease too, but by the lease that it has.
TEST_P(NpmInterop, ALeaseThatTheyExtendIsRespected) {
  ASSERT_EQ(they("acquire", "10000 0"), "ok");
  ASSERT_EQ(they("extend", "100000"), "ok");
  EXPECT_EQ(mutex().try_acquire().code(), Errc::busy);
  EXPECT_GT(ours_.inspect(name_).value().holders.at(0).lease_left, 20s);
  EXPECT_EQ(they("release"), "ok");
}

INSTANTIATE_TEST_SUITE_P(Redlock, NpmInterop, testing::Values(&npm, &npm_5),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace pawl
