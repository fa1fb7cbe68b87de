// Promise: a waiter is woken when its turn comes. That costs it no request where the grant itself is sent, and one where it
// is told to look; and nobody else is woken. A store that forgets to tell would still be right, only slow: so the messages
// and requests are counted, not the time.

#include "tests/contract/contract.hpp"

#include <functional>
#include <sstream>
#include <stop_token>
#include <string>
#include <vector>

namespace pawl::contract {

class WakeUp : public Contract {
 protected:
  /// What a client has sent and heard.
  struct Traffic {
    std::size_t claims = 0, looks = 0, granted = 0, told_to_look = 0;

    bool is_silent() const { return claims + looks + granted + told_to_look == 0; }
    /// Told once, and asked only if it was only told to look.
    bool is_one_wakeup() const { return looks == 0 && granted + told_to_look == 1 && claims == told_to_look; }
    bool is_a_wakeup() const { return looks == 0 && granted + told_to_look > 0 && claims <= told_to_look; }
  };
  static Traffic traffic(const Actor& actor) {
    using What = store::Notice::What;
    return {actor.sent(Operation::claim), actor.sent(Operation::look), actor.heard(What::granted),
            actor.heard(What::look_again)};
  }
  static Traffic since(const Traffic& before, const Actor& actor) {
    const Traffic now = traffic(actor);
    return {now.claims - before.claims, now.looks - before.looks, now.granted - before.granted,
            now.told_to_look - before.told_to_look};
  }
  static std::string text(const std::string& who, const Traffic& traffic) {
    std::ostringstream out;
    out << who << ": " << traffic.claims << " claims, " << traffic.looks << " looks, told " << traffic.granted
        << " grants and " << traffic.told_to_look << " times to look\n";
    return out.str();
  }

  static StartedHold start(const Actor& actor, Kind kind, Mode mode = Mode::exclusive, std::stop_token stop = {}) {
    lock::Wanted wanted;
    wanted.mode = mode;
    if (kind == Kind::permits) wanted.permits = {1, 1};
    return start_acquire(actor, actor.lock(kind, "job"), {}, std::move(stop), wanted);
  }

  /// Waiters also look by themselves every few seconds, and on a slow machine that may fall into any hand-over. So a
  /// hand-over that is as it should be is looked for in several: a message that is not sent is missing in all of them.
  void expect_once(const std::function<std::string()>& hand_over) {
    std::string all;
    for (int round = 0; round < 6; ++round) {
      const std::string wrong = hand_over();
      if (wrong.empty()) return;
      all += wrong;
    }
    ADD_FAILURE() << all;
  }

  /// Alice holds it, bob waits and then carol. Empty: bob was woken, carol was left alone.
  std::string hand_over(Kind kind, const std::function<void(const Actor& alice, Hold& hold)>& let_go) {
    const Actor alice = world().client(), bob = world().client(), carol = world().client();
    Hold held = start(alice, kind).get().value();
    StartedHold bobs = start(bob, kind);
    EXPECT_TRUE(world().queued("job", 1, kind));
    StartedHold carols = start(carol, kind);
    EXPECT_TRUE(world().queued("job", 2, kind));
    const Traffic bob_before = traffic(bob), carol_before = traffic(carol);
    let_go(alice, held);
    EXPECT_TRUE(world().eventually([&] { return bobs.ready() || carols.ready(); }));
    const Traffic bobs_traffic = since(bob_before, bob), carols_traffic = since(carol_before, carol);
    const bool bob_first = bobs.ready();
    (void)(bob_first ? bobs : carols).get();  // lets go of it at once
    EXPECT_TRUE((bob_first ? carols : bobs).get());
    if (!can().fair) {
      const bool woken = bob_first ? bobs_traffic.is_one_wakeup() : carols_traffic.is_one_wakeup();
      return woken ? "" : text("bob", bobs_traffic) + text("carol", carols_traffic);
    }
    EXPECT_TRUE(bob_first);
    bool right = bobs_traffic.is_one_wakeup() && carols_traffic.is_silent();
    // Who waits for permits may be told to look whenever one of several holders comes or goes.
    if (kind == Kind::permits) right = bobs_traffic.is_a_wakeup();
    return right ? "" : text("bob", bobs_traffic) + text("carol", carols_traffic);
  }
};
INSTANTIATE_TEST_SUITE_P(Schemes, WakeUp, ::testing::ValuesIn(all_schemes()), line_name);

namespace {

void let_go_cleanly(const Actor& alice, Hold& hold) { EXPECT_TRUE(release(alice, hold)); }

}  // namespace

TEST_P(WakeUp, AReleaseOfAMutexWakesTheNextAndNobodyElse) {
  PAWL_NEEDS(wakes_waiters);
  expect_once([&] { return hand_over(Kind::mutex, let_go_cleanly); });
}

// D2: where a Redis script forgets to tell in settle(), rw locks, permits and elections only get slow.
TEST_P(WakeUp, AReleaseOfARwLockWakesTheNextAndNobodyElse) {
  PAWL_NEEDS(wakes_waiters);
  PAWL_NEEDS(shared_mode);
  expect_once([&] { return hand_over(Kind::rw, let_go_cleanly); });
}

TEST_P(WakeUp, AReleaseOfAPermitWakesTheNext) {
  PAWL_NEEDS(wakes_waiters);
  PAWL_NEEDS(permits);
  expect_once([&] { return hand_over(Kind::permits, let_go_cleanly); });
}

TEST_P(WakeUp, AResignationWakesTheNextAndNobodyElse) {
  PAWL_NEEDS(wakes_waiters);
  PAWL_NEEDS(election);
  expect_once([&] { return hand_over(Kind::election, let_go_cleanly); });
}

TEST_P(WakeUp, TheEndOfASessionWakesTheNextAndNobodyElse) {
  PAWL_NEEDS(wakes_waiters);
  expect_once([&] { return hand_over(Kind::mutex, [&](const Actor& alice, Hold&) { world().expire(alice); }); });
}

TEST_P(WakeUp, ALockThatIsTakenAwayWakesTheNextAndNobodyElse) {
  PAWL_NEEDS(wakes_waiters);
  PAWL_NEEDS(revocable);
  const Actor operator_ = world().client();
  expect_once([&] {
    return hand_over(Kind::mutex, [&](const Actor&, Hold&) { EXPECT_TRUE(revoke(operator_, "job", {.now = true})); });
  });
}

TEST_P(WakeUp, ADowngradeWakesTheReaders) {
  PAWL_NEEDS(wakes_waiters);
  PAWL_NEEDS(shared_mode);
  expect_once([&]() -> std::string {
    const Actor alice = world().client(), bob = world().client(), carol = world().client();
    Hold writer = start(alice, Kind::rw).get().value();
    StartedHold bobs = start(bob, Kind::rw, Mode::shared), carols = start(carol, Kind::rw, Mode::shared);
    EXPECT_TRUE(world().queued("job", 2, Kind::rw));
    const Traffic bob_before = traffic(bob), carol_before = traffic(carol);
    EXPECT_TRUE(downgrade(alice, writer));
    EXPECT_TRUE(bobs.get());
    EXPECT_TRUE(carols.get());
    const Traffic bobs_traffic = since(bob_before, bob), carols_traffic = since(carol_before, carol);
    const bool right = bobs_traffic.is_one_wakeup() && carols_traffic.is_one_wakeup();
    return right ? "" : text("bob", bobs_traffic) + text("carol", carols_traffic);
  });
}

TEST_P(WakeUp, AWriterThatGivesUpWakesTheReaderBehindIt) {
  PAWL_NEEDS(wakes_waiters);
  PAWL_NEEDS(shared_mode);
  PAWL_NEEDS(fair);
  expect_once([&]() -> std::string {
    const Actor alice = world().client(), bob = world().client(), carol = world().client();
    const Hold reader = start(alice, Kind::rw, Mode::shared).get().value();
    std::stop_source stop;
    StartedHold writer = start(bob, Kind::rw, Mode::exclusive, stop.get_token());
    EXPECT_TRUE(world().queued("job", 1, Kind::rw));
    StartedHold behind = start(carol, Kind::rw, Mode::shared);
    EXPECT_TRUE(world().queued("job", 2, Kind::rw));
    const Traffic before = traffic(carol);
    stop.request_stop();
    EXPECT_EQ(writer.get().code(), Errc::cancelled);
    EXPECT_TRUE(behind.get());
    const Traffic told = since(before, carol);
    return told.granted + told.told_to_look > 0 ? "" : text("carol", told);
  });
}

// A lost message is found by looking, so that must not look like a wake-up in the tests above.
TEST_P(WakeUp, OfWhichNothingIsHeardIsToldApart) {
  // A first claim that is still under way may find the lock free: then nothing had to be heard.
  expect_once([&] {
    const Actor alice = world().client(), bob = world().brief_client();
    Hold held = must_acquire(alice, "job");
    StartedHold bobs = start(bob, Kind::mutex);
    EXPECT_TRUE(world().queued("job", 1));
    bob.faults().drop_notices(true);
    const Traffic before = traffic(bob);
    EXPECT_TRUE(release(alice, held));
    EXPECT_TRUE(bobs.get());
    const Traffic traffic = since(before, bob);
    return !traffic.is_one_wakeup() && traffic.claims >= 1 ? std::string() : text("bob", traffic);
  });
}

}  // namespace pawl::contract
