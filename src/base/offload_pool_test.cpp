#include "base/offload_pool.hpp"

#include "tests/support/threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <system_error>

namespace pawl::base {
namespace {

using namespace std::chrono_literals;

constexpr auto hang = 60s;

class OffloadPoolTest : public testing::Test {
 protected:
  /// Of the pools of this test; also one that has not given itself its name yet.
  std::size_t threads() const { return test::threads_besides(others_).size(); }

 private:
  const std::vector<test::ThreadSeen> others_ = test::threads_seen();
};

/// Jobs that hang until it goes.
class Jam {
 public:
  ~Jam() { open_.set_value(); }
  std::function<void()> job() {
    return [running = running_, opened = opened_] {  // the pool may begin it when the jam is over
      ++*running;
      opened.wait();
    };
  }
  int running() const { return *running_; }

 private:
  const std::shared_ptr<std::atomic<int>> running_ = std::make_shared<std::atomic<int>>(0);
  std::promise<void> open_;
  const std::shared_future<void> opened_ = open_.get_future().share();
};

TEST_F(OffloadPoolTest, ALaneThatHangsDelaysNoOther) {
  OffloadPool pool;
  Jam jam;
  for (int i = 0; i < 20; ++i) pool.submit("a folder that hangs", jam.job());
  std::promise<void> done;
  pool.submit("another folder", [&] { done.set_value(); });
  EXPECT_EQ(done.get_future().wait_for(hang), std::future_status::ready);
}

TEST_F(OffloadPoolTest, ALaneHasAFewThreadsOfItsOwn) {
  OffloadPool pool;
  Jam jam;
  for (int i = 0; i < 20; ++i) pool.submit("one", jam.job());
  EXPECT_TRUE(test::eventually([&] { return jam.running() == 4; }));
  EXPECT_EQ(threads(), OffloadPool::most_threads_in_a_lane);
  pool.submit("other", jam.job());
  EXPECT_TRUE(test::eventually([&] { return jam.running() == 5; }));
}

TEST_F(OffloadPoolTest, TheJobsOfAJammedLaneAreDoneInTheEnd) {
  std::atomic<int> done = 0;
  {
    OffloadPool pool;
    Jam jam;
    for (int i = 0; i < 4; ++i) pool.submit("one", jam.job());
    for (int i = 0; i < 20; ++i) pool.submit("one", [&] { ++done; });
  }
  EXPECT_EQ(done, 20);
}

TEST_F(OffloadPoolTest, ThreadsThatAreNotNeededEnd) {
  OffloadPool pool(1ms);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 8; ++i) pool.submit(std::to_string(i), [] {});
    EXPECT_TRUE(test::eventually([this] { return threads() == 0; }));
  }
}

TEST_F(OffloadPoolTest, WithoutAThreadTheJobIsRefusedAndTheNextIsDone) {
  OffloadPool pool;
  {
    const test::NoMoreThreads scarce;
    EXPECT_THROW(pool.submit("one", [] { ADD_FAILURE() << "it was refused"; }), std::system_error);
  }
  std::promise<void> done;
  pool.submit("one", [&] { done.set_value(); });
  EXPECT_EQ(done.get_future().wait_for(hang), std::future_status::ready);
}

TEST_F(OffloadPoolTest, WithoutAThreadTheJobIsRefusedAlsoWhereOneHasEnded) {
  OffloadPool pool(1ms);
  pool.submit("one", [] {});
  EXPECT_TRUE(test::eventually([this] { return threads() == 0; }));
  const test::NoMoreThreads scarce;
  EXPECT_THROW(pool.submit("one", [] {}), std::system_error);
}

TEST_F(OffloadPoolTest, ALaneThatHasAThreadNeedsNoOther) {
  std::atomic<bool> done = false;
  {
    OffloadPool pool;
    Jam jam;
    pool.submit("one", jam.job());
    const test::NoMoreThreads scarce;
    pool.submit("one", [&] { done = true; });
    EXPECT_THROW(pool.submit("other", [] {}), std::system_error);
  }
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace pawl::base
