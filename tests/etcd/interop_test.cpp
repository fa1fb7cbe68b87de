// Locks and elections shared with Go's clients (concurrency.Mutex, concurrency.Election) and with etcdctl lock: names=raw.

#include "tests/etcd/stage.hpp"
#include "tests/interop/counter.hpp"
#include "tests/interop/neighbour.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/temporary_folder.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

namespace pawl {
namespace {

using namespace stage;
using test::Counter;
using test::GoEtcd;
using test::Peer;
using testing::HasSubstr;
using testing::SizeIs;

GoEtcd& go_library() {
  EtcdServer::shared();  // outlives it
  static GoEtcd library;
  return library;
}

std::string etcdctl() {
  const char* given = std::getenv("PAWL_ETCDCTL");
  return given != nullptr ? given : "etcdctl";
}

/// `etcdctl lock NAME`, which holds it as long as a file is there.
class CtlLock {
 public:
  explicit CtlLock(const std::string& name) {
    std::ofstream(path()).flush();
    // Its command is run when it has the lock, and says "ready" to us by then.
    const std::string command = "echo ready; while [ -e " + path() + " ]; do sleep 0.01; done";
    held_ = std::async(std::launch::async, [this, name, command] {
      const std::string at = EtcdServer::shared().address();
      return std::make_unique<Peer>(
          std::vector<std::string>{etcdctl(), "--endpoints", at, "lock", name, "--", "sh", "-c", command},
          folder_ / "log");
    });
  }
  bool has_it_soon() { return held_.wait_for(hang) == std::future_status::ready; }
  bool waits() { return held_.wait_for(200ms) == std::future_status::timeout; }
  void release() { std::filesystem::remove(path()); }
  /// Its process is gone: it has removed its key.
  void join() {
    release();
    peer_ = held_.get();
    try {
      peer_->answer();
    } catch (const std::exception&) {  // as it should
    }
  }

 private:
  std::string path() const { return folder_ / "held"; }

  test::TemporaryFolder folder_;
  std::future<std::unique_ptr<Peer>> held_;
  std::unique_ptr<Peer> peer_;
};

class EtcdInterop : public testing::Test {
 protected:
  EtcdInterop()
      : server_(EtcdServer::shared()),
        name_(testing::UnitTest::GetInstance()->current_test_info()->name()),
        ours_(url()) {}

  void SetUp() override {
    peer_ = go_library().peer(server_.port());
    if (peer_ == nullptr) PAWL_SKIP_WITHOUT(go_library().not_tested("Go's etcd client"));
  }
  // It may have a reply left that the next test would take for its own.
  void TearDown() override {
    if (HasFailure()) go_library().end();
  }

  std::string url(const std::string& more = {}) const { return server_.url("?names=raw" + more); }
  std::string they(const std::string& what, const std::string& rest = {}) { return peer_->ask(line(what, rest)); }
  std::string line(const std::string& what, const std::string& rest = {}) const {
    return what + " " + name_ + " " + rest;
  }
  Mutex mutex() { return ours_.mutex(name_); }
  /// Until there are so many keys in the line.
  bool line_is(std::size_t count) const {
    return eventually([&] { return server_.records(name_ + "/").size() == count; });
  }

  const EtcdServer& server_;
  const std::string name_;
  Client ours_;
  Peer* peer_ = nullptr;
};

TEST_F(EtcdInterop, TheyHoldItAndWeAreBusy) {
  ASSERT_EQ(they("acquire", "-1 -1"), "ok");
  EXPECT_EQ(mutex().try_acquire().code(), Errc::busy);
  EXPECT_EQ(mutex().acquire({.wait = 300ms}).code(), Errc::timed_out);
  EXPECT_TRUE(line_is(1)) << "ours is gone";
  EXPECT_EQ(they("release"), "ok");
  EXPECT_TRUE(mutex().try_acquire());
}

TEST_F(EtcdInterop, WeHoldItAndTheyAreBusy) {
  Hold hold = mutex().acquire().value();
  EXPECT_EQ(they("acquire", "-1 0"), "no");
  EXPECT_EQ(they("acquire", "-1 300"), "no");
  EXPECT_TRUE(hold.release());
  EXPECT_EQ(they("acquire", "-1 0"), "ok");
  EXPECT_EQ(they("release"), "ok");
}

TEST_F(EtcdInterop, ALineOfBothIsServedInTheOrderOfComing) {
  Hold first = mutex().acquire().value();
  peer_->tell(line("acquire", "-1 -1"));
  ASSERT_TRUE(line_is(2));
  Client second(url());
  auto ours = wait_for(second, name_);
  ASSERT_TRUE(line_is(3));
  CtlLock ctl(name_);
  ASSERT_TRUE(line_is(4));
  Client third(url());
  auto last = wait_for(third, name_);
  ASSERT_TRUE(line_is(5));

  EXPECT_TRUE(first.release());
  EXPECT_EQ(peer_->answer(), "ok");
  EXPECT_EQ(ours.wait_for(200ms), std::future_status::timeout);
  EXPECT_EQ(they("release"), "ok");
  Result<Hold> hold = ours.get();
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_TRUE(ctl.waits());
  EXPECT_TRUE(hold->release());
  EXPECT_TRUE(ctl.has_it_soon());
  EXPECT_EQ(last.wait_for(200ms), std::future_status::timeout);
  ctl.join();
  hold = last.get();
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_TRUE(hold->release());
}

TEST_F(EtcdInterop, NoClientIsInsideWhileAnotherIs) {
  constexpr int visits = 50, calls = 10;
  const Counter counter;
  Client second(url());
  const auto visit = [&](Client& client) {
    for (int i = 0; i < visits; ++i) {
      Hold hold = client.mutex(name_).acquire({.wait = hang}).value();
      counter.bump();
      if (!hold.release()) return false;
    }
    return true;
  };
  peer_->tell(line("visit", counter.path() + " " + std::to_string(visits)));
  ASSERT_TRUE(eventually([&] { return counter.read() > 0; })) << "they have begun";
  auto other = std::async(std::launch::async, [&] { return visit(second); });
  auto third = std::async(std::launch::async, [&] {
    const std::string command = "n=$(cat " + counter.path() + "); sleep 0.001; echo $((n+1)) >" + counter.path();
    for (int i = 0; i < calls; ++i) server_.must_ctl({"lock", name_, "--", "sh", "-c", command});
  });
  EXPECT_TRUE(visit(ours_));
  EXPECT_TRUE(other.get());
  third.get();
  EXPECT_EQ(peer_->answer(), "ok");
  EXPECT_EQ(counter.read(), 3 * visits + calls);
}

TEST_F(EtcdInterop, TheirLockEndsWithTheirLeaseAndIsOurs) {
  ASSERT_EQ(they("acquire", "2000 -1"), "ok");
  ASSERT_EQ(they("orphan"), "ok");
  EXPECT_EQ(mutex().try_acquire().code(), Errc::busy);
  const Hold hold = mutex().acquire({.wait = hang}).value();
  EXPECT_EQ(they("acquire", "-1 0"), "no");
  EXPECT_TRUE(hold.valid());
}

TEST_F(EtcdInterop, OurLockEndsWithOurLeaseAndIsTheirs) {
  Proxy proxy(server_.port(), test::etcd_framing());
  Client client(url_at(proxy.port(), "?names=raw&lease=2s&timeout=1s"));
  Hold hold = client.mutex(name_).acquire().value();
  peer_->tell(line("acquire", "-1 -1"));
  ASSERT_TRUE(line_is(2));
  proxy.hold();
  EXPECT_EQ(peer_->answer(), "ok");
  EXPECT_FALSE(hold.valid()) << "our own clock knew before";
  proxy.go_on();
  EXPECT_EQ(hold.release().code(), Errc::lost);
  EXPECT_TRUE(line_is(1)) << "theirs stays";
  EXPECT_EQ(they("release"), "ok");
}

// Go's client knows of no lock-delay: the dead holder's key stays for so long.
TEST_F(EtcdInterop, TheyObeyOurLockDelay) {
  constexpr auto delay = 5s;
  Proxy proxy(server_.port(), test::etcd_framing());
  Client client(url_at(proxy.port(), "?names=raw&lease=2s&timeout=1s"));
  Hold hold = client.mutex(name_).acquire({.lock_delay = delay}).value();
  const std::int64_t second_lease = server_.records(name_ + "/").at(0).lease;
  constexpr auto length =
      2s + delay + 1s;  // the session's, the delay, and a second by which the session's may be renewed later
  EXPECT_LE(server_.seconds_left(second_lease).value(), length / 1s);
  peer_->tell(line("acquire", "-1 -1"));
  ASSERT_TRUE(line_is(2));
  proxy.hold();
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  const auto lost = std::chrono::steady_clock::now();
  EXPECT_LE(server_.seconds_left(second_lease).value_or(0), length / 1s) << "nobody renews it any more";
  EXPECT_EQ(peer_->answer(), "ok");
  const auto waited = std::chrono::steady_clock::now() - lost;
  EXPECT_GE(waited, delay);
  EXPECT_LE(waited, length + 30s) << "the server ends leases late when it is busy";
  EXPECT_FALSE(server_.seconds_left(second_lease)) << "it is the lease that they wait for";
  EXPECT_EQ(they("release"), "ok");
}

TEST_F(EtcdInterop, TheirLeaderIsOursToSee) {
  ASSERT_EQ(they("campaign", "go-1"), "ok");
  Observation observation = ours_.election(name_).observe();
  const Result<std::optional<Leader>> seen = observation.next(hang);
  ASSERT_TRUE(seen) << seen.error().to_string();
  ASSERT_TRUE(seen->has_value());
  EXPECT_EQ((*seen)->value, "go-1");
  EXPECT_EQ(they("resign"), "ok");
}

TEST_F(EtcdInterop, OurLeaderIsTheirsToSee) {
  Hold office = ours_.election(name_).campaign("pawl-1", {.wait = hang}).value();
  EXPECT_EQ(they("leader"), "ok pawl-1");
  EXPECT_EQ(they("observe"), "ok pawl-1");
  EXPECT_TRUE(office.release());
  EXPECT_THAT(they("leader"), HasSubstr("no"));
}

TEST_F(EtcdInterop, TheyAndWeFollowOneAnotherInOffice) {
  Hold office = ours_.election(name_).campaign("pawl-1", {.wait = hang}).value();
  peer_->tell(line("campaign", "go-1"));
  ASSERT_TRUE(line_is(2));
  Client second(url());
  auto next = std::async(std::launch::async, [&] { return second.election(name_).campaign("pawl-2", {.wait = hang}); });
  ASSERT_TRUE(line_is(3));
  EXPECT_TRUE(office.release());
  EXPECT_EQ(peer_->answer(), "ok");
  EXPECT_EQ(they("leader"), "ok go-1");
  EXPECT_EQ(next.wait_for(200ms), std::future_status::timeout);
  EXPECT_EQ(they("resign"), "ok");
  const Result<Hold> hold = next.get();
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_EQ(they("leader"), "ok pawl-2");
}

}  // namespace
}  // namespace pawl
