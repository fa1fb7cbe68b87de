#include "store/etcd/departures.hpp"

#include "base/simulated_runtime.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

namespace pawl::store::etcd {
namespace {

using namespace std::chrono_literals;
using base::Deadline;

class DeparturesTest : public testing::Test {
 protected:
  static base::awaitable<void> wait(std::shared_ptr<Departures> departures, std::string lock, Deadline deadline,
                                    bool& over) {
    co_await departures->all_answered(std::move(lock), deadline);
    over = true;
  }

  void start_waiting(const std::string& lock, bool& over, Deadline deadline = Deadline::never()) {
    base::spawn(process_, wait(departures_, lock, deadline, over));
    world_.run_for(1ms);
  }

  base::SimWorld world_{1};
  base::SimProcess& process_ = world_.add_process();
  const std::shared_ptr<Departures> departures_ = std::make_shared<Departures>(process_);
};

TEST_F(DeparturesTest, WithoutAnyThereIsNothingToWaitFor) {
  bool over = false;
  start_waiting("a/", over);
  EXPECT_TRUE(over);
}

TEST_F(DeparturesTest, AllOfThatLockAreWaitedFor) {
  std::optional<Departures::Departure> first(std::in_place, departures_, "a/");
  std::optional<Departures::Departure> second(std::in_place, departures_, "a/");
  bool over = false;
  start_waiting("a/", over);
  first.reset();
  world_.run_for(1ms);
  EXPECT_FALSE(over);
  second.reset();
  world_.run_for(1ms);
  EXPECT_TRUE(over);
}

TEST_F(DeparturesTest, ThoseOfAnotherLockAreNot) {
  const Departures::Departure other(departures_, "ab/");
  bool over = false;
  start_waiting("a/", over);
  EXPECT_TRUE(over);
}

TEST_F(DeparturesTest, AWaitEndsAtItsDeadline) {
  const Departures::Departure slow(departures_, "a/");
  bool over = false;
  start_waiting("a/", over, Deadline::in(world_.now(), 50ms));
  EXPECT_FALSE(over);
  world_.run_for(100ms);
  EXPECT_TRUE(over);
}

}  // namespace
}  // namespace pawl::store::etcd
