#include "store/net/link.hpp"

#include "base/simulated_runtime.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::store::net {
namespace {

using namespace std::chrono_literals;
using base::awaitable;
using base::Deadline;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Duration one_attempt = 100ms;  // takes so long

/// Its attempts end as the test has said; without a word, they fail.
class TestLink final : public Link {
 public:
  explicit TestLink(base::Runtime& runtime, bool once = false)
      : Link(runtime, once ? Patience::one_attempt : Patience::until_deadline), runtime_(runtime) {}

  using Link::broken;
  using Link::close_link;

  std::deque<Result<void>> attempts;
  std::vector<base::Time> begun;
  std::vector<std::string> told;
  bool breaks_when_up = false;

 private:
  awaitable<Result<void>> open() override {
    begun.push_back(runtime_.now());
    co_await base::sleep_for(runtime_, one_attempt);
    if (attempts.empty()) co_return Error{Errc::store_unavailable, "nobody is there"};
    Result<void> next = attempts.front();
    attempts.pop_front();
    co_return next;
  }
  void went_up() override {
    told.emplace_back("up");
    if (breaks_when_up) broken(Error{Errc::store_unavailable, "broken at once"});
  }
  void went_down(const Error& why) override { told.push_back("down: " + why.message); }

  base::Runtime& runtime_;
};

const Error broke{Errc::store_unavailable, "the line broke"};
const Error stranger{Errc::permission_denied, "who are you?"};

class LinkTest : public testing::Test {
 protected:
  using Answer = std::shared_ptr<std::optional<Result<void>>>;

  ~LinkTest() override {
    link_->close_link();
    world_.run_for(1s);
  }

  Deadline in(Duration time) const { return Deadline::in(process_.now(), time); }
  static awaitable<void> wait(std::shared_ptr<TestLink> link, Deadline deadline, Answer answer) {
    *answer = co_await link->ready(deadline);
  }
  Answer begin_to_wait(Duration time = 1h) {
    auto answer = std::make_shared<std::optional<Result<void>>>();
    base::spawn(process_, wait(link_, in(time), answer));
    return answer;
  }
  Result<void> ready(Duration time = 1h) {
    const Answer answer = begin_to_wait(time);
    world_.run_until([&] { return answer->has_value(); });
    return **answer;
  }
  static std::string told(const Result<void>& result) { return result ? "" : result.error().to_string(); }
  /// Up, after one attempt.
  void bring_up() {
    link_->attempts.emplace_back();
    ASSERT_TRUE(ready());
  }
  /// Between the end of one attempt and the beginning of the next.
  Duration pause_before(std::size_t attempt) const {
    return link_->begun.at(attempt) - link_->begun.at(attempt - 1) - one_attempt;
  }

  base::SimWorld world_{1};
  base::SimProcess& process_ = world_.add_process();
  std::shared_ptr<TestLink> link_ = std::make_shared<TestLink>(process_);
};

TEST_F(LinkTest, NothingIsOpenedBeforeItIsNeeded) {
  world_.run_for(10s);
  EXPECT_THAT(link_->begun, IsEmpty());
  EXPECT_FALSE(link_->is_up());
}

TEST_F(LinkTest, ReadyOpensIt) {
  bring_up();
  EXPECT_TRUE(link_->is_up());
  EXPECT_THAT(link_->told, ElementsAre("up"));
}

TEST_F(LinkTest, StartOpensItWithoutAWaiter) {
  link_->attempts.emplace_back();
  link_->start();
  link_->start();
  world_.run_for(1s);
  EXPECT_TRUE(link_->is_up());
  EXPECT_EQ(link_->begun.size(), 1U);
}

TEST_F(LinkTest, AllWaitersAreServedByOneAttempt) {
  link_->attempts.emplace_back();
  const Answer alice = begin_to_wait(), bob = begin_to_wait();
  world_.run_for(1s);
  EXPECT_TRUE(*alice && **alice);
  EXPECT_TRUE(*bob && **bob);
  EXPECT_EQ(link_->begun.size(), 1U);
}

TEST_F(LinkTest, AFailureIsTriedAgainAfterPausesThatGrow) {
  EXPECT_EQ(ready(20s).error().message, "nobody is there");
  ASSERT_GE(link_->begun.size(), 12U);
  Duration whole = 10ms;
  for (std::size_t i = 1; i < link_->begun.size(); ++i) {
    EXPECT_GE(pause_before(i), whole / 2) << i;
    EXPECT_LE(pause_before(i), whole) << i;
    whole = std::min<Duration>(2 * whole, 1s);
  }
  EXPECT_THAT(link_->told, IsEmpty()) << "it was never up";
}

TEST_F(LinkTest, WithoutAnAnswerInTimeTheDeadlineEndsTheWait) {
  EXPECT_EQ(told(ready(50ms)), "store_unavailable: no connection in time");
}

TEST_F(LinkTest, WhatAskingAgainWouldNotHelpIsToldAtOnce) {
  link_->attempts = {stranger};
  const base::Time before = process_.now();
  EXPECT_EQ(told(ready()), "permission_denied: who are you?");
  EXPECT_EQ(process_.now() - before, one_attempt);
}

TEST_F(LinkTest, WhatWasRefusedIsAskedAgainAllTheSame) {
  link_->attempts = {stranger, Result<void>()};
  EXPECT_EQ(ready().code(), Errc::permission_denied);
  EXPECT_TRUE(ready());
}

TEST_F(LinkTest, OneAttemptMayBeEnough) {
  link_ = std::make_shared<TestLink>(process_, true);
  EXPECT_EQ(ready().error().message, "nobody is there");
  EXPECT_EQ(link_->begun.size(), 1U);
}

TEST_F(LinkTest, WhatBreaksIsOpenedAgain) {
  bring_up();
  link_->attempts.emplace_back();
  link_->broken(broke);
  EXPECT_FALSE(link_->is_up());
  EXPECT_TRUE(ready());
  EXPECT_THAT(link_->told, ElementsAre("up", "down: the line broke", "up"));
}

TEST_F(LinkTest, WhatBreaksSoonIsNotOpenedAgainAtOnce) {
  bring_up();
  link_->attempts.emplace_back();
  world_.run_for(500ms);
  const base::Time down = process_.now();
  link_->broken(broke);
  EXPECT_TRUE(ready());
  EXPECT_GE(link_->begun.at(1) - down, 5ms);
}

TEST_F(LinkTest, WhatWasUpForLongIsOpenedAgainAtOnceAndThePausesBeginAnew) {
  EXPECT_EQ(ready(5s).code(), Errc::store_unavailable);
  bring_up();
  world_.run_for(1s);
  const std::size_t before = link_->begun.size();
  const base::Time down = process_.now();
  link_->broken(broke);
  EXPECT_EQ(ready(one_attempt + 50ms).code(), Errc::store_unavailable);
  ASSERT_GE(link_->begun.size(), before + 2);
  EXPECT_EQ(link_->begun.at(before), down);
  EXPECT_LE(pause_before(before + 1), 10ms);
}

TEST_F(LinkTest, OneThatBreaksWhileItComesUpIsOpenedAgain) {
  link_->breaks_when_up = true;
  link_->attempts = {Result<void>(), Result<void>()};
  link_->start();
  world_.run_for(one_attempt);
  EXPECT_FALSE(link_->is_up());
  EXPECT_THAT(link_->told, ElementsAre("up", "down: broken at once"));
  link_->breaks_when_up = false;
  EXPECT_TRUE(ready());
}

TEST_F(LinkTest, OnlyWhatIsUpCanBreak) {
  link_->attempts.emplace_back();
  const Answer alice = begin_to_wait();
  world_.run_for(one_attempt / 2);
  link_->broken(broke);
  world_.run_for(one_attempt);
  EXPECT_TRUE(*alice && **alice);
  EXPECT_THAT(link_->told, ElementsAre("up"));
}

TEST_F(LinkTest, AWaiterHearsThatItIsClosed) {
  const Answer alice = begin_to_wait();
  world_.run_for(one_attempt / 2);
  link_->close_link();
  world_.run_for(0s);
  ASSERT_TRUE(*alice);
  EXPECT_EQ(told(**alice), "store_unavailable: the connection is closed");
  EXPECT_EQ(ready().code(), Errc::store_unavailable);
}

TEST_F(LinkTest, ClosedItIsNeverOpenedAgain) {
  bring_up();
  link_->close_link();
  link_->broken(broke);
  link_->start();
  world_.run_for(10s);
  EXPECT_FALSE(link_->is_up());
  EXPECT_EQ(link_->begun.size(), 1U);
  EXPECT_THAT(link_->told, ElementsAre("up"));
}

TEST_F(LinkTest, ClosedDuringAPauseItEnds) {
  EXPECT_EQ(ready(one_attempt + 1ms).code(), Errc::store_unavailable);
  link_->close_link();
  const std::weak_ptr<TestLink> gone = link_;
  link_ = std::make_shared<TestLink>(process_);
  world_.run_for(0s);
  EXPECT_TRUE(gone.expired()) << "nothing keeps it";
}

}  // namespace
}  // namespace pawl::store::net
