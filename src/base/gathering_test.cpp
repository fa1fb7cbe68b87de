#include "base/gathering.hpp"

#include "base/simulated_runtime.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::base {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class GatheringTest : public testing::Test {
 protected:
  /// The world outlives the gathering: nobody may be left in it.
  ~GatheringTest() override {
    for (int turn = 0; turn < 2; ++turn) {
      gathering_.notify();
      world_.run_for(0s);
    }
  }

  void comes(const std::string& name, Time deadline = Time::max()) { spawn(process_, wait(name, deadline)); }
  /// Who has gone on, in that order, until now.
  const std::vector<std::string>& gone_on() {
    world_.run_for(0s);
    return gone_on_;
  }

  awaitable<void> wait(std::string name, Time deadline) {
    co_await gathering_.wait(deadline);
    gone_on_.push_back(name);
  }
  awaitable<void> wait_twice(std::string name) {
    co_await gathering_.wait(Time::max());
    gone_on_.push_back(name);
    co_await gathering_.wait(Time::max());
    gone_on_.push_back(name);
  }

  SimWorld world_{1};
  SimProcess& process_ = world_.add_process();
  Gathering gathering_{process_};
  std::vector<std::string> gone_on_;
  const Time start_ = world_.now();
};

TEST_F(GatheringTest, AllGoOnInTheOrderInWhichTheyCame) {
  comes("alice");
  comes("bob");
  comes("carol");
  EXPECT_THAT(gone_on(), IsEmpty());
  gathering_.notify();
  EXPECT_THAT(gone_on(), ElementsAre("alice", "bob", "carol"));
}

TEST_F(GatheringTest, NewsBeforeSomebodyComesIsNotForHim) {
  gathering_.notify();
  comes("alice");
  EXPECT_THAT(gone_on(), IsEmpty());
}

TEST_F(GatheringTest, NewsForNobodyIsFine) {
  gathering_.notify();
  comes("alice");
  gathering_.notify();
  EXPECT_THAT(gone_on(), IsEmpty()) << "alice has not sat down yet";
  gathering_.notify();
  EXPECT_THAT(gone_on(), ElementsAre("alice"));
}

TEST_F(GatheringTest, WhoeverComesBackWaitsForOtherNews) {
  spawn(process_, wait_twice("alice"));
  EXPECT_THAT(gone_on(), IsEmpty());
  gathering_.notify();
  gathering_.notify();  // the same news: alice has not been back yet
  EXPECT_THAT(gone_on(), ElementsAre("alice"));
  gathering_.notify();
  EXPECT_THAT(gone_on(), ElementsAre("alice", "alice"));
}

TEST_F(GatheringTest, ADeadlineEndsOneWaitAlone) {
  comes("alice", start_ + 1s);
  comes("bob");
  world_.run_for(2s);
  EXPECT_THAT(gone_on(), ElementsAre("alice"));
  gathering_.notify();
  EXPECT_THAT(gone_on(), ElementsAre("alice", "bob"));
}

TEST_F(GatheringTest, ADeadlineThatHasPassedIsNoWait) {
  comes("alice", start_);
  EXPECT_THAT(gone_on(), ElementsAre("alice"));
}

TEST(GatheringAtTheEnd, WhoeverIsDroppedIsNotThereAnyMore) {
  auto world = std::make_unique<SimWorld>(1);
  SimProcess& process = world->add_process();
  const auto guest = std::make_shared<int>(0);
  Gathering gathering(process);
  spawn(process, [](Gathering& in, std::shared_ptr<int> kept) -> awaitable<void> {
    co_await in.wait(Time::max());
    ++*kept;
  }(gathering, guest));
  world->run_for(0s);
  EXPECT_EQ(guest.use_count(), 2);
  world.reset();
  EXPECT_EQ(guest.use_count(), 1);
  gathering.notify();  // nobody
  EXPECT_EQ(*guest, 0);
}

}  // namespace
}  // namespace pawl::base
