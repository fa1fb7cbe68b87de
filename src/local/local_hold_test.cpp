#include "local/local_hold.hpp"

#include "tests/support/client_scene.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace pawl::local {
namespace {

using namespace test;
using session::Validity;

class LocalHoldTest : public ClientScene {
 protected:
  static constexpr Duration lease = 30s;
  static constexpr Duration certain = lease - (lease / 100 + 2ms);

  LocalHoldTest() { validity_->confirm(now()); }

  std::shared_ptr<LocalHold> hold(std::optional<Duration> max_hold = {}) {
    LocalHold::Terms terms{lock_key("job"), Token(1, 2, 3)};
    terms.max_hold = max_hold;
    terms.label = "nightly";
    auto one = std::make_shared<LocalHold>(alice_.context, validity_, std::move(terms));
    one->start(owner_, [this](const std::shared_ptr<LocalHold>& lost) {
      EXPECT_TRUE(lost->lost().stop_requested()) << "the holder is told before the queue";
      ++on_lost_;
    });
    return one;
  }
  const Metrics metrics() const { return alice_.context->telemetry.snapshot(); }

  const Party alice_ = party("alice");
  const std::shared_ptr<int> owner_ = std::make_shared<int>(0);
  const std::shared_ptr<Validity> validity_ = std::make_shared<Validity>(alice_.process, lease);
  int on_lost_ = 0;
};

// held

TEST_F(LocalHoldTest, HeldIsWhatItWasMadeOf) {
  const auto held = hold();
  EXPECT_EQ(held->state(), HoldState::held);
  EXPECT_EQ(held->token(), Token(1, 2, 3));
  EXPECT_EQ(held->label(), "nightly");
  EXPECT_EQ(held->remaining(), certain);
  EXPECT_FALSE(held->lost().stop_requested());
  EXPECT_FALSE(held->release_requested().stop_requested());
}

TEST_F(LocalHoldTest, HeldCanBeShared) {
  const auto held = hold();
  EXPECT_EQ(held->mode(), Mode::exclusive);
  held->share();
  EXPECT_EQ(held->mode(), Mode::shared);
  EXPECT_EQ(held->token(), Token(1, 2, 3)) << "the same one";
  EXPECT_EQ(held->state(), HoldState::held);
}

TEST_F(LocalHoldTest, HeldKnowsItsPermits) {
  LocalHold::Terms terms{lock_key("job"), Token(1, 2)};
  EXPECT_TRUE(std::make_shared<LocalHold>(alice_.context, validity_, terms)->slots().empty());
  terms.slots = {0, 4};
  const auto held = std::make_shared<LocalHold>(alice_.context, validity_, terms);
  EXPECT_EQ(held->slots(), (std::vector<std::uint32_t>{0, 4}));
}

TEST_F(LocalHoldTest, HeldLetGoIsReleasedAndNeverFiresLost) {
  const auto held = hold();
  pass(1s);
  EXPECT_TRUE(held->let_go());
  EXPECT_EQ(held->state(), HoldState::released);
  EXPECT_EQ(held->remaining(), 0ns);
  pass(2 * lease);
  EXPECT_FALSE(held->lost().stop_requested());
  EXPECT_EQ(on_lost_, 0);
  EXPECT_EQ(metrics().released, 1u);
  EXPECT_EQ(metrics().lost, 0u);
  EXPECT_EQ(metrics().hold.total, 1s);
  ASSERT_EQ(alice_.count(EventType::released), 1u);
  EXPECT_EQ(alice_.events->front().elapsed, 1s);
  EXPECT_EQ(alice_.events->front().token, Token(1, 2, 3));
}

TEST_F(LocalHoldTest, HeldIsLostWhenTheLeaseIsOver) {
  const auto held = hold();
  pass(certain - 1ns);
  EXPECT_EQ(held->state(), HoldState::jeopardy);
  EXPECT_EQ(held->remaining(), 1ns);
  pass(1ns);
  EXPECT_EQ(held->state(), HoldState::lost);
  EXPECT_TRUE(held->lost().stop_requested());
  EXPECT_EQ(on_lost_, 1);
  EXPECT_EQ(metrics().lost, 1u);
  EXPECT_EQ(alice_.count(EventType::lost), 1u);
}

TEST_F(LocalHoldTest, HeldIsLostAtItsMaxHoldToTheNanosecond) {
  const auto held = hold(10s);
  EXPECT_EQ(held->remaining(), 10s);
  pass(10s - 1ns);
  EXPECT_EQ(held->remaining(), 1ns);
  EXPECT_EQ(held->state(), HoldState::held);
  pass(1ns);
  EXPECT_EQ(held->state(), HoldState::lost);
  EXPECT_TRUE(held->lost().stop_requested());
  EXPECT_EQ(on_lost_, 1);
  EXPECT_TRUE(validity_->valid()) << "the lease is another matter";
}

TEST_F(LocalHoldTest, HeldRemainsForTheShorterOneOfLeaseAndMaxHold) {
  EXPECT_EQ(hold(1h)->remaining(), certain);
  EXPECT_EQ(hold(1s)->remaining(), 1s);
  EXPECT_EQ(hold(Duration::max())->remaining(), certain);
}

TEST_F(LocalHoldTest, HeldIsLostWhenItIsTakenAway) {
  const auto held = hold();
  held->lose("taken away");
  EXPECT_EQ(held->state(), HoldState::lost) << "at once";
  EXPECT_FALSE(held->lost().stop_requested()) << "user code never runs here";
  pass(0s);
  EXPECT_TRUE(held->lost().stop_requested());
  EXPECT_EQ(alice_.events->back().message, "taken away");
}

TEST_F(LocalHoldTest, HeldThatIsLetGoAfterItsTimeIsLostThoughNobodyHasToldIt) {
  const auto held = hold();
  alice_.process.pause();  // nothing runs: no alarm
  pass(certain);
  EXPECT_EQ(held->remaining(), 0ns);
  EXPECT_EQ(held->state(), HoldState::lost);
  EXPECT_FALSE(held->let_go());
  alice_.process.resume();
  pass(0s);
  EXPECT_TRUE(held->lost().stop_requested());
  EXPECT_EQ(metrics().released, 0u);
  EXPECT_EQ(metrics().lost, 1u);
  EXPECT_EQ(on_lost_, 1);
}

TEST_F(LocalHoldTest, HeldSeesJeopardyComeAndGo) {
  const auto held = hold();
  pass(certain - lease / 3);
  EXPECT_EQ(held->state(), HoldState::jeopardy);
  EXPECT_EQ(metrics().jeopardies, 1u);
  validity_->confirm(now());
  pass(0s);
  EXPECT_EQ(held->state(), HoldState::held);
  EXPECT_EQ(alice_.count(EventType::jeopardy), 1u);
  EXPECT_EQ(alice_.count(EventType::safe), 1u);
}

TEST_F(LocalHoldTest, HeldIsAskedForOnTheNotifierOnce) {
  const auto held = hold();
  int asked = 0;
  const std::stop_callback count(held->release_requested(), [&] { ++asked; });
  held->ask_for_release();
  held->ask_for_release();
  EXPECT_EQ(asked, 0) << "user code never runs here";
  pass(0s);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(held->state(), HoldState::held) << "asking is not taking";
}

TEST_F(LocalHoldTest, HeldUnderALeaseThatIsOverIsLostFromTheBeginning) {
  validity_->end("the store said so");
  const auto held = hold();
  EXPECT_EQ(held->state(), HoldState::lost);
  pass(0s);
  EXPECT_EQ(on_lost_, 1);
}

// released

TEST_F(LocalHoldTest, ReleasedLetGoIsFalse) {
  const auto held = hold();
  EXPECT_TRUE(held->let_go());
  EXPECT_FALSE(held->let_go());
  EXPECT_EQ(metrics().released, 1u);
}

TEST_F(LocalHoldTest, ReleasedIsNotLostByAnything) {
  const auto held = hold(10s);
  EXPECT_TRUE(held->let_go());
  held->lose("taken away");
  validity_->end("the store said so");
  pass(2 * lease);
  EXPECT_EQ(held->state(), HoldState::released);
  EXPECT_FALSE(held->lost().stop_requested());
  EXPECT_EQ(on_lost_, 0);
}

// Whoever keeps the object after its release must not hear of a lease that is no longer his.
TEST_F(LocalHoldTest, ReleasedIsNeverInJeopardy) {
  const auto held = hold();
  EXPECT_TRUE(held->let_go());
  pass(certain - lease / 3);
  validity_->confirm(now());
  pass(0s);
  EXPECT_EQ(metrics().jeopardies, 0u);
  EXPECT_EQ(alice_.count(EventType::jeopardy), 0u);
  EXPECT_EQ(alice_.count(EventType::safe), 0u);
}

// lost

TEST_F(LocalHoldTest, LostLetGoIsFalse) {
  const auto held = hold();
  held->lose("taken away");
  EXPECT_FALSE(held->let_go());
  EXPECT_EQ(held->state(), HoldState::lost);
  EXPECT_EQ(metrics().released, 0u);
}

TEST_F(LocalHoldTest, LostIsToldOnce) {
  const auto held = hold(10s);
  held->lose("taken away");
  held->lose("again");
  validity_->end("the store said so");
  pass(2 * lease);
  EXPECT_EQ(on_lost_, 1);
  EXPECT_EQ(metrics().lost, 1u);
  EXPECT_EQ(alice_.count(EventType::lost), 1u);
}

TEST_F(LocalHoldTest, LostKnowsWhyAndSaysSoToALateRelease) {
  const auto taken = hold(), renewed_too_late = hold(), held_too_long = hold(10s), released = hold();
  EXPECT_EQ(taken->why_lost(), "");
  taken->lose("it was taken away");
  taken->lose("again");
  EXPECT_EQ(taken->why_lost(), "it was taken away");
  EXPECT_EQ(taken->lost_before_release().message, "the hold was lost before it was released: it was taken away");
  EXPECT_TRUE(released->let_go());
  pass(10s);
  EXPECT_EQ(held_too_long->why_lost(), "it was held for longer than max_hold");
  pass(certain);
  EXPECT_EQ(renewed_too_late->why_lost(), session::loss::not_renewed);
  EXPECT_EQ(released->why_lost(), "");
}

TEST_F(LocalHoldTest, LostByTheStoresWordSaysWhatTheStoreSaid) {
  const auto held = hold();
  validity_->end(session::loss::session_unknown);
  EXPECT_EQ(held->why_lost(), session::loss::session_unknown);
}

// the end

TEST_F(LocalHoldTest, AHoldThatGoesTakesItsAlarmAlong) {
  auto held = hold(10s);
  const std::weak_ptr<LocalHold> seen = held;
  EXPECT_TRUE(held->let_go());
  pass(0s);
  held.reset();
  EXPECT_TRUE(seen.expired());
  pass(1h);
  EXPECT_EQ(on_lost_, 0);
}

}  // namespace
}  // namespace pawl::local
