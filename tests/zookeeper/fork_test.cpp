// fork() beside a ZooKeeper session: it is the parent's, and stays so.

#include "base/real_runtime.hpp"
#include "base/url.hpp"
#include "store/registry.hpp"
#include "tests/process/child.hpp"
#include "tests/support/proxy.hpp"
#include "tests/support/threads.hpp"
#include "tests/support/zookeeper_frames.hpp"
#include "tests/support/zookeeper_server.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pawl {

inline void PrintTo(Errc code, std::ostream* out) { *out << (code == Errc{} ? "no error" : to_string(code)); }

namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::Exit;
using test::in_child;
using test::Proxy;
using test::ZooKeeperServer;

constexpr Duration hang = 60s;

/// A client of the child's own. 0: all is well.
int use_a_client(const std::string& url, const std::string& name) {
  Client client(url);
  Mutex mutex = client.mutex(name);
  Hold hold = mutex.acquire({.wait = 30s}).value();
  if (!hold.valid()) return 1;
  if (client.inspect(name).value().holders.at(0).owner.pid != ::getpid()) return 2;
  if (mutex.try_acquire().code() != Errc::busy) return 3;
  if (!hold.release()) return 4;
  return 0;
}

class ZooKeeperFork : public testing::TestWithParam<std::string> {
 protected:
  // Not a static object: a child that exits fully would end the server.
  static void SetUpTestSuite() { shared_ = new ZooKeeperServer; }
  static void TearDownTestSuite() { delete std::exchange(shared_, nullptr); }

  static std::string folder() {
    static int folders = 0;
    return "/fork-" + std::to_string(++folders);
  }
  std::string url(std::uint16_t port) const {
    return "zookeeper://127.0.0.1:" + std::to_string(port) + at_ + "?scheme=" + GetParam();
  }
  /// Whether the parent's connection still speaks, listens and is the same one.
  void expect_that_the_parent_goes_on(Hold& hold) {
    EXPECT_TRUE(hold.valid());
    EXPECT_EQ(other_->mutex("job").try_acquire().code(), Errc::busy);
    EXPECT_TRUE(client_->mutex("more").acquire({.wait = hang})) << "a request, and its answer";
    EXPECT_TRUE(other_->revoke("job"));
    EXPECT_TRUE(eventually([&] { return hold.release_requested().stop_requested(); })) << "news that nobody asked for";
    EXPECT_EQ(proxy_.seen("closeSession"), closed_);
    EXPECT_EQ(proxy_.accepted(), accepted_) << "nobody had to connect again";
  }

  static inline ZooKeeperServer* shared_ = nullptr;
  const ZooKeeperServer& server_ = *shared_;
  const std::string at_ = folder();
  Proxy proxy_{server_.port(), test::zookeeper_framing()};
  std::unique_ptr<Client> client_ = std::make_unique<Client>(url(proxy_.port()));
  std::unique_ptr<Client> other_ = std::make_unique<Client>(url(server_.port()));
  std::unique_ptr<Mutex> job_ = std::make_unique<Mutex>(client_->mutex("job"));
  std::unique_ptr<Hold> hold_ = std::make_unique<Hold>(job_->acquire().value());
  const bool settled_ = eventually([this] { return proxy_.connections() == 1; });  // the one before it is closed
  const std::size_t accepted_ = proxy_.accepted();
  const std::size_t closed_ = proxy_.seen("closeSession");
};

TEST_P(ZooKeeperFork, TheChildsHandlesAreInertAndTheParentKeepsItsLock) {
  const int code = in_child([&] {
    if (job_->acquire().code() != Errc::closed) return 1;
    if (job_->try_acquire().code() != Errc::closed) return 2;
    if (hold_->valid()) return 3;
    if (hold_->release().code() != Errc::closed) return 4;
    if (client_->inspect("job").code() != Errc::closed) return 5;
    if (client_->list().code() != Errc::closed) return 6;
    if (client_->revoke("job").code() != Errc::closed) return 7;
    if (client_->raise_epoch().code() != Errc::closed) return 8;
    if (client_->close().code() != Errc::closed) return 9;
    return 0;
  });
  EXPECT_EQ(code, 0);
  expect_that_the_parent_goes_on(*hold_);
}

TEST_P(ZooKeeperFork, TheChildsDestructorsDoNothing) {
  for (const Exit how : {Exit::quickly, Exit::fully}) {
    const int code = in_child(
        [&] {
          hold_.reset();
          job_.reset();
          client_.reset();  // the last handle would end the session
          other_.reset();
          return 0;
        },
        how);
    EXPECT_EQ(code, 0);
  }
  expect_that_the_parent_goes_on(*hold_);
}

TEST_P(ZooKeeperFork, TheChildMayUseAClientOfItsOwn) {
  for (const Exit how : {Exit::quickly, Exit::fully}) {
    const int code = in_child(
        [&] {
          hold_.reset();
          client_.reset();
          return use_a_client(url(server_.port()), "child's");
        },
        how);
    EXPECT_EQ(code, 0);
  }
  expect_that_the_parent_goes_on(*hold_);
}

TEST_P(ZooKeeperFork, AWaitingParentIsStillServed) {
  auto waiting = std::async(std::launch::async, [&] { return other_->mutex("job").acquire({.wait = hang}); });
  ASSERT_TRUE(eventually([&] { return client_->inspect("job").value().waiters.size() == 1; }));
  EXPECT_EQ(in_child([&] {
              other_.reset();
              client_.reset();
              return 0;
            }),
            0);
  EXPECT_TRUE(hold_->release());
  const Result<Hold> next = waiting.get();
  EXPECT_TRUE(next) << next.error().to_string();
}

// It has a copy of the connection, and does not answer for it.
TEST_P(ZooKeeperFork, AChildThatOutlivesItsParentDoesNotKeepTheParentsLock) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    Client client(url(server_.port()) + "&lease=6s");
    const Hold hold = client.mutex("of the dead").acquire().value();
    const pid_t child = ::fork();
    if (child != 0 && ::write(pipe_ends[1], &child, sizeof child) != sizeof child) ::_exit(1);
    ::poll(nullptr, 0, 600'000);
    ::_exit(0);
  }
  pid_t child = -1;
  ASSERT_EQ(::read(pipe_ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  EXPECT_EQ(other_->mutex("of the dead").try_acquire().code(), Errc::busy);
  ::kill(parent, SIGKILL);
  EXPECT_EQ(test::wait_for_child(parent), test::killed);
  const Result<Hold> next = other_->mutex("of the dead").acquire({.wait = hang});
  EXPECT_TRUE(next) << next.error().to_string();
  EXPECT_EQ(::kill(child, SIGKILL), 0) << "it is still there";
}

TEST_P(ZooKeeperFork, AChildOfAProcessThatIsBusyWithLocksIsFree) {
  if (!test::may_fork_while_busy) GTEST_SKIP() << "ASan's allocator does not survive it";
  std::atomic<bool> stop = false;
  std::vector<std::thread> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&, i] {
      while (!stop) {
        Client brief(url(server_.port()));
        Mutex shared = client_->mutex("shared"), own = brief.mutex("own " + std::to_string(i));
        const std::scoped_lock both(shared, own);
        (void)brief.inspect("shared");
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    Client inherited = *client_;
    const int code = in_child(
        [&] {
          hold_.reset();
          if (inherited.inspect("job").code() != Errc::closed) return 20;
          return use_a_client(url(server_.port()), "child's");
        },
        i % 2 == 0 ? Exit::quickly : Exit::fully);
    EXPECT_EQ(code, 0) << "round " << i;
    if (code != 0) break;
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
  EXPECT_TRUE(hold_->valid());
  EXPECT_EQ(proxy_.accepted(), accepted_);
}

INSTANTIATE_TEST_SUITE_P(All, ZooKeeperFork, testing::Values("sequential", "ephemeral"),
                         [](const auto& info) { return info.param; });

// A store that nobody else uses: no handle of a client stands before its end in the child.
TEST(ZooKeeperForkedStore, MayEndInTheChildAndGoesOnInTheParent) {
  const auto server = std::make_unique<ZooKeeperServer>();
  Proxy proxy(server->port(), test::zookeeper_framing());
  base::RealRuntime runtime;
  const base::Url url = base::Url::parse("zookeeper://127.0.0.1:" + std::to_string(proxy.port())).value();
  std::shared_ptr<store::Store> store = store::open_store(url, runtime).value();
  const auto soon = [&] { return base::Deadline::in(runtime.now(), hang); };
  ASSERT_TRUE(runtime.block_on(store->connect(soon())));
  EXPECT_EQ(in_child([&] {
              store.reset();
              return 0;
            }),
            0);
  const Result<std::uint64_t> raised = runtime.block_on(store->raise_epoch(soon()));
  EXPECT_TRUE(raised) << raised.error().to_string();
  EXPECT_EQ(proxy.accepted(), 1) << "nobody had to connect again";
  EXPECT_EQ(proxy.seen("closeSession"), 0);
  store.reset();
  EXPECT_TRUE(eventually([&] { return proxy.connections() == 0; }));
}

}  // namespace
}  // namespace pawl
