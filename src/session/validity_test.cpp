#include "session/validity.hpp"

#include "base/simulated_runtime.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pawl::session {
namespace {

using namespace std::chrono_literals;
using base::SimProcess;
using base::SimWorld;
using std::chrono::nanoseconds;

using Heard = std::vector<std::pair<std::string, Duration>>;

/// Writes down what it is told, and when.
struct Ear final : Validity::Watcher {
  Ear(const SimWorld& in, Time from) : world(in), start(from) {}
  void validity_lost(const char* why) override {
    heard.emplace_back("lost", world.now() - start);
    reason = why;
  }
  void validity_in_jeopardy() override { heard.emplace_back("jeopardy", world.now() - start); }
  void validity_safe() override { heard.emplace_back("safe", world.now() - start); }

  const SimWorld& world;
  const Time start;
  Heard heard;
  std::string reason;
};

// A lease of 30 s: the drift is 302 ms, so the deadline is 29.698 s after sending, and jeopardy begins 10 s earlier.
constexpr Duration lease = 30s;
constexpr Duration whole = 29'698ms;
constexpr Duration two_thirds = 19'698ms;

class ValidityTest : public testing::Test {
 protected:
  ValidityTest() { validity_->watch(std::shared_ptr<Validity::Watcher>(ear_, ear_.get())); }

  void pass(Duration time) { world_.run_for(time); }
  Duration since() const { return world_.now() - start_; }
  bool in_jeopardy() const { return validity_->in_jeopardy(world_.now()); }
  bool confirm() { return validity_->confirm(world_.now()); }
  /// What was heard, once everybody was told.
  const Heard& heard() {
    pass(0s);
    return ear_->heard;
  }
  void into_jeopardy() {
    EXPECT_TRUE(confirm());
    pass(two_thirds + 1s);
    EXPECT_TRUE(in_jeopardy());
  }
  void into_loss() {
    EXPECT_TRUE(confirm());
    validity_->end("the store said so");
    pass(0s);
  }

  SimWorld world_{1};
  SimProcess& process_ = world_.add_process();
  const Time start_ = world_.now();
  const std::shared_ptr<Ear> ear_ = std::make_shared<Ear>(world_, start_);
  const std::shared_ptr<Validity> validity_ = std::make_shared<Validity>(process_, lease);
};

// valid

TEST_F(ValidityTest, TheDeadlineIsSentPlusLeaseMinusDrift) {
  for (const Duration length : {Duration(10ms), Duration(1s), Duration(15s), Duration(24h), Duration(12'345'678ns)}) {
    const auto validity = std::make_shared<Validity>(process_, length);
    ASSERT_TRUE(validity->confirm(world_.now()));
    EXPECT_EQ(validity->deadline(), world_.now() + length - (length / 100 + 2ms));
    EXPECT_EQ(validity->remaining(), length - (length / 100 + 2ms));
    EXPECT_TRUE(validity->valid());
  }
}

TEST_F(ValidityTest, ValidConfirmMovesTheDeadlineOn) {
  EXPECT_TRUE(confirm());
  pass(10s);
  EXPECT_EQ(validity_->remaining(), whole - 10s);
  EXPECT_TRUE(confirm());
  EXPECT_EQ(validity_->remaining(), whole);
  pass(two_thirds);
  EXPECT_EQ(heard(), (Heard{{"jeopardy", 10s + two_thirds}})) << "counted from the second";
}

TEST_F(ValidityTest, ValidCountsFromBeforeSendingNotFromTheAnswer) {
  const Time sent = world_.now();
  pass(4s);
  EXPECT_TRUE(validity_->confirm(sent));
  EXPECT_EQ(validity_->remaining(), whole - 4s);
}

TEST_F(ValidityTest, ValidFallsIntoJeopardyWhenAThirdOfTheLeaseIsLeft) {
  EXPECT_TRUE(confirm());
  pass(two_thirds - 1ns);
  EXPECT_FALSE(in_jeopardy());
  EXPECT_TRUE(heard().empty());
  pass(1ns);
  EXPECT_EQ(heard(), (Heard{{"jeopardy", two_thirds}}));
  EXPECT_TRUE(in_jeopardy()) << "whoever is told so must see it";
  EXPECT_TRUE(validity_->valid());
}

TEST_F(ValidityTest, ValidEndIsLost) {
  EXPECT_TRUE(confirm());
  pass(1s);
  validity_->end("the store said so");
  EXPECT_EQ(validity_->remaining(), 0ns);
  EXPECT_EQ(heard(), (Heard{{"lost", 1s}}));
  EXPECT_EQ(ear_->reason, "the store said so");
}

// jeopardy

TEST_F(ValidityTest, JeopardyConfirmIsValidAgain) {
  into_jeopardy();
  EXPECT_TRUE(confirm());
  EXPECT_FALSE(in_jeopardy());
  EXPECT_EQ(validity_->remaining(), whole);
  EXPECT_EQ(heard(), (Heard{{"jeopardy", two_thirds}, {"safe", two_thirds + 1s}}));
}

TEST_F(ValidityTest, JeopardyCanComeMoreThanOnce) {
  into_jeopardy();
  EXPECT_TRUE(confirm());
  pass(two_thirds);
  ASSERT_EQ(heard().size(), 3u);
  EXPECT_EQ(heard().back(), (std::pair<std::string, Duration>("jeopardy", 2 * two_thirds + 1s)));
}

TEST_F(ValidityTest, JeopardyIsLostAtTheDeadlineToTheNanosecond) {
  EXPECT_TRUE(confirm());
  pass(whole - 1ns);
  EXPECT_EQ(validity_->remaining(), 1ns);
  pass(1ns);
  EXPECT_EQ(validity_->remaining(), 0ns);
  EXPECT_EQ(heard(), (Heard{{"jeopardy", two_thirds}, {"lost", whole}}));
}

TEST_F(ValidityTest, JeopardyEndIsLost) {
  into_jeopardy();
  validity_->end("the store said so");
  EXPECT_EQ(heard(), (Heard{{"jeopardy", two_thirds}, {"lost", two_thirds + 1s}}));
}

// lost

TEST_F(ValidityTest, LostIsForEver) {
  into_loss();
  EXPECT_FALSE(confirm());
  EXPECT_FALSE(validity_->valid());
  EXPECT_EQ(validity_->remaining(), 0ns);
}

TEST_F(ValidityTest, LostIsToldOnceWhateverTheClockSays) {
  into_loss();
  pass(1h);
  EXPECT_EQ(heard(), (Heard{{"lost", 0s}}));
}

TEST_F(ValidityTest, LostEndIsNothing) {
  into_loss();
  validity_->end("the store said so");
  EXPECT_EQ(heard(), (Heard{{"lost", 0s}}));
}

// What comes late.

TEST_F(ValidityTest, NothingIsCertainBeforeTheFirstConfirmation) {
  EXPECT_EQ(validity_->remaining(), 0ns);
  EXPECT_FALSE(validity_->valid());
  pass(1h);
  EXPECT_TRUE(heard().empty());
  EXPECT_TRUE(confirm());
}

TEST_F(ValidityTest, AFirstAnswerThatComesAtItsDeadlineIsTooLate) {
  const Time sent = world_.now();
  pass(whole);
  EXPECT_FALSE(validity_->confirm(sent));
  EXPECT_FALSE(validity_->valid());
  EXPECT_EQ(heard(), (Heard{{"lost", whole}}));
}

TEST_F(ValidityTest, AnAnswerThatComesAtTheDeadlineIsTooLateThoughItWasSentInTime) {
  EXPECT_TRUE(confirm());
  pass(whole - 1ns);
  const Time sent = world_.now();
  process_.pause();  // the answer is there, but we are not
  pass(1ns);
  process_.resume();
  EXPECT_FALSE(validity_->confirm(sent));
  EXPECT_FALSE(validity_->valid());
}

TEST_F(ValidityTest, AnAnswerJustBeforeTheDeadlineIsInTime) {
  EXPECT_TRUE(confirm());
  pass(whole - 1ns);
  EXPECT_TRUE(confirm());
  EXPECT_EQ(validity_->remaining(), whole);
}

TEST_F(ValidityTest, AnOlderAnswerDoesNotMoveTheDeadlineBack) {
  const Time first = world_.now();
  pass(5s);
  EXPECT_TRUE(confirm());
  EXPECT_TRUE(validity_->confirm(first));
  EXPECT_EQ(validity_->remaining(), whole);
}

TEST_F(ValidityTest, AnOlderAnswerWhoseOwnTimeIsOverDoesNotEndANewerOne) {
  const Time first = world_.now();
  pass(5s);
  EXPECT_TRUE(confirm());
  pass(whole - 5s);
  EXPECT_TRUE(validity_->confirm(first));
  EXPECT_EQ(validity_->remaining(), 5s);
}

TEST_F(ValidityTest, APausedProcessFindsItsTimeOverBeforeAnythingRuns) {
  EXPECT_TRUE(confirm());
  process_.pause();
  pass(1h);
  EXPECT_EQ(validity_->remaining(), 0ns);
  EXPECT_TRUE(ear_->heard.empty());
  process_.resume();
  EXPECT_EQ(heard(), (Heard{{"lost", 1h}}));
}

// Watchers.

TEST_F(ValidityTest, EveryWatcherIsToldInOrder) {
  std::vector<std::shared_ptr<Ear>> ears;
  for (int i = 0; i < 3; ++i) {
    ears.push_back(std::make_shared<Ear>(world_, start_));
    EXPECT_NE(validity_->watch(std::shared_ptr<Validity::Watcher>(ears.back(), ears.back().get())), 0u);
  }
  into_loss();
  for (const auto& ear : ears) EXPECT_EQ(ear->heard, (Heard{{"lost", 0s}}));
}

TEST_F(ValidityTest, WhoeverStoppedWatchingOrIsGoneIsNotTold) {
  const auto silent = std::make_shared<Ear>(world_, start_);
  validity_->unwatch(validity_->watch(std::shared_ptr<Validity::Watcher>(silent, silent.get())));
  validity_->unwatch(0);
  {
    const auto gone = std::make_shared<Ear>(world_, start_);
    validity_->watch(std::shared_ptr<Validity::Watcher>(gone, gone.get()));
  }
  into_loss();
  EXPECT_TRUE(silent->heard.empty());
}

TEST_F(ValidityTest, WhoeverComesAfterTheLossIsRefused) {
  into_loss();
  EXPECT_EQ(validity_->watch(std::shared_ptr<Validity::Watcher>(ear_, ear_.get())), 0u);
}

TEST_F(ValidityTest, AnAlarmThatComesAfterItsEndIsHarmless) {
  auto own = std::make_shared<Validity>(process_, lease);
  EXPECT_TRUE(own->confirm(world_.now()));
  own.reset();
  pass(1h);
}

}  // namespace
}  // namespace pawl::session
