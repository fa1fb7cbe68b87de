#include "base/on_stop.hpp"
#include "base/real_runtime.hpp"
#include "tests/process/child.hpp"
#include "tests/support/threads.hpp"

#include <pawl/asio.hpp>
#include <pawl/pawl.hpp>

#include <boost/asio/use_future.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::Exit;
using test::in_child;

Errc thrown_by(const std::function<void()>& act) {
  try {
    act();
  } catch (const Exception& exception) {
    return exception.errc();
  }
  return Errc{};
}

/// A client of the child's own, used in every way. 0: all is well.
int use_a_client(const std::string& url) {
  Client client(url);
  Mutex mutex = client.mutex("job");
  Hold hold = mutex.acquire({.wait = 30s}).value();
  if (!hold.valid()) return 1;
  if (mutex.try_acquire().code() != Errc::busy) return 2;
  if (!hold.release()) return 3;
  mutex.lock();
  mutex.unlock();
  hold = mutex.acquire({.wait = 30s, .max_hold = 20ms}).value();
  if (client.inspect("job").value().holders.at(0).owner.pid != ::getpid()) return 4;
  while (!hold.lost().stop_requested()) std::this_thread::yield();  // told by a notifier of its own
  return 0;
}

class ForkTest : public testing::Test {
 protected:
  Client client_{"memory:fork"};
  Client other_{"memory:fork"};
};

TEST_F(ForkTest, TheChildsHandlesAreInertAndTheParentKeepsTheLock) {
  Mutex job = client_.mutex("job"), inside = client_.mutex("inside");
  auto hold = std::make_unique<Hold>(job.acquire().value());
  inside.lock();
  const int code = in_child([&] {
    if (job.acquire().code() != Errc::closed) return 1;
    if (job.try_acquire().code() != Errc::closed) return 2;
    if (thrown_by([&] { job.lock(); }) != Errc::closed) return 3;
    if (thrown_by([&] { (void)inside.try_lock(); }) != Errc::closed) return 4;
    if (hold->remaining() != 0s || hold->valid()) return 5;
    if (hold->state() != HoldState::released) return 6;
    if (hold->release().code() != Errc::closed) return 7;
    if (thrown_by([&] { client_.mutex("another"); }) != Errc::closed) return 8;
    if (client_.inspect("job").code() != Errc::closed) return 9;
    if (client_.list().code() != Errc::closed) return 10;
    if (client_.check(hold->sequencer()).code() != Errc::closed) return 11;
    if (client_.revoke("job").code() != Errc::closed) return 12;
    if (client_.close().code() != Errc::closed) return 13;
    if (inside.this_thread_hold() != nullptr) return 14;
    if (async_acquire(job, {}, boost::asio::use_future).get().code() != Errc::closed) return 15;
    if (async_release(*hold, boost::asio::use_future).get().code() != Errc::closed) return 16;
    if (MultiLock{job, inside}.acquire().code() != Errc::closed) return 17;
    (void)client_.metrics();
    inside.unlock();
    Hold moved = std::move(*hold);
    moved = Hold();
    hold.reset();
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(hold->valid());
  EXPECT_TRUE(inside.this_thread_hold()->valid());
  EXPECT_EQ(other_.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_EQ(other_.mutex("inside").try_acquire().code(), Errc::busy);
  inside.unlock();
  EXPECT_TRUE(hold->release());
}

TEST_F(ForkTest, TheChildsDestructorsDoNothing) {
  auto client = std::make_unique<Client>("memory:fork");
  auto mutex = std::make_unique<Mutex>(client->mutex("job"));
  auto hold = std::make_unique<Hold>(mutex->acquire().value());
  const int code = in_child([&] {
    hold.reset();
    mutex.reset();
    client.reset();  // the last handle would say goodbye
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(hold->valid());
  EXPECT_EQ(other_.mutex("job").try_acquire().code(), Errc::busy);
}

// Fails when HoldCore::let_go() does not ask inert().
TEST_F(ForkTest, TheChildLosesSeveralLocksTogetherWithoutTouchingTheParents) {
  auto holds = std::make_unique<MultiHold>(MultiLock{client_.mutex("a"), client_.mutex("b")}.acquire().value());
  const int code = in_child([&] {
    if (holds->valid()) return 1;
    if (holds->release().code() != Errc::closed) return 2;
    holds.reset();
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(holds->valid());
  EXPECT_EQ(other_.mutex("b").try_acquire().code(), Errc::busy);
  EXPECT_TRUE(holds->release());
}

TEST_F(ForkTest, TheChildMayUseAClientOfItsOwn) {
  const Hold hold = client_.mutex("job").acquire().value();
  EXPECT_EQ(in_child([] { return use_a_client("memory:"); }), 0);
  EXPECT_EQ(in_child([] { return use_a_client("memory:"); }, Exit::fully), 0);
  EXPECT_TRUE(hold.valid());
}

// "Shared within the process": what the child has of the parent's is a copy that nobody keeps up.
TEST_F(ForkTest, ANamedMemoryStoreOfTheChildIsItsOwn) {
  const Hold hold = client_.mutex("job").acquire().value();
  EXPECT_EQ(in_child([] { return use_a_client("memory:fork"); }), 0);
  EXPECT_EQ(in_child([id = client_.store_id()] { return Client("memory:fork").store_id() == id ? 1 : 0; }), 0);
}

TEST_F(ForkTest, TheGrandchildIsInertToBothAndMayUseItsOwn) {
  const Hold hold = client_.mutex("job").acquire().value();
  const int code = in_child([&] {
    Client own("memory:");
    const Hold second = own.mutex("job").acquire().value();
    const int inner = in_child([&] {
      if (hold.valid() || second.valid()) return 1;
      if (thrown_by([&] { own.mutex("job"); }) != Errc::closed) return 2;
      return use_a_client("memory:");
    });
    if (inner != 0) return 50 + inner;
    return second.valid() ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}

TEST_F(ForkTest, AChildLeavesWithoutHangingWhileThreadsOfTheParentWait) {
  Mutex job = client_.mutex("job");
  Hold hold = job.acquire().value();
  std::vector<std::thread> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back([&] { EXPECT_TRUE(job.acquire()); });
    waiting.emplace_back([&] { EXPECT_TRUE(other_.mutex("job").acquire()); });
  }
  EXPECT_TRUE(eventually([&] { return other_.inspect("job").value().waiters.size() == 1; }));
  for (int i = 0; i < 50; ++i) {
    const Exit how = i % 2 == 0 ? Exit::quickly : Exit::fully;
    const int code = in_child([&] { return hold.valid() ? 1 : 0; }, how);
    EXPECT_EQ(code, 0) << "round " << i;
    if (code != 0) break;
  }
  EXPECT_TRUE(hold.release());
  for (std::thread& thread : waiting) thread.join();
}

TEST_F(ForkTest, AChildOfAProcessThatIsBusyWithLocksIsFree) {
  if (!test::may_fork_while_busy) GTEST_SKIP() << "ASan's allocator does not survive it";
  std::atomic<bool> stop = false;
  std::vector<std::thread> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&, i] {
      while (!stop) {
        Client brief("memory:fork");
        Mutex shared = client_.mutex("shared"), own = brief.mutex("job " + std::to_string(i));
        const std::scoped_lock both(shared, own);
        (void)brief.inspect("shared");
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    Client inherited = client_;
    std::optional<Hold> hold = client_.mutex("mine").acquire().value();
    const Exit how = i % 2 == 0 ? Exit::quickly : Exit::fully;
    const int code = in_child(
        [&] {
          hold.reset();
          if (thrown_by([&] { inherited.mutex("x"); }) != Errc::closed) return 20;
          return use_a_client(i % 4 < 2 ? "memory:" : "memory:fork");
        },
        how);
    EXPECT_TRUE(hold->valid());
    EXPECT_EQ(code, 0) << "round " << i;
    if (code != 0) break;
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
}

// There the executor is the parent's: a mutex in it may be locked for ever.
TEST_F(ForkTest, AStopThatIsAskedForInTheChildTouchesNothingOfTheParents) {
  std::stop_source source;
  const auto guest = std::make_shared<int>(0);
  const base::OnStop on_stop(base::RealRuntime::process_wide(), source.get_token(), [guest] {});
  const int code = in_child([&] {
    const long before = guest.use_count();
    source.request_stop();
    return guest.use_count() == before ? 0 : 1;  // else a copy waits in the parent's queue
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace pawl
