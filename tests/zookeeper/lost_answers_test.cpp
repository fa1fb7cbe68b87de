// A request that never arrives, or whose answer never does: the claim is found again, or taken back, and nothing else is
// touched.

#include "base/real_runtime.hpp"
#include "store/zookeeper/zookeeper_store.hpp"
#include "tests/zookeeper/stage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace pawl {
namespace {

using namespace stage;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ZooKeeperLostAnswers, ANodeWhoseAnswerWasLostIsFoundAgain) {
  Stage stage;
  stage.eye.make_folder(stage.folder());
  Client alice = stage.alice();
  const Hold anchor = alice.mutex("anchor").acquire().value();
  stage.arrange(Fault::lose_reply, "change", "/job/lock-");
  Result<Hold> hold = alice.mutex("job").acquire({.wait = hang});
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_EQ(stage.proxy.happened(), 1U);
  EXPECT_THAT(stage.line(), ElementsAre("lock-0000000000")) << "no second one";
  EXPECT_TRUE(hold->release());
  EXPECT_THAT(stage.line(), IsEmpty());
  EXPECT_EQ(alice.metrics().sessions_opened, 1U);
}

// Scenario: carol has left the queue. Alice hears of that, looks who is left, and does not get the answer.
TEST(ZooKeeperLostAnswers, WhatWasHeardOfOneWhoLeftDoesNotSpeakOfTheHolder) {
  for (const std::string dialect : {"curator", "kazoo"}) {
    Stage stage;
    const std::string more = "&lease=6s&dialect=" + dialect;
    Client alice = stage.alice(more), bob = stage.bob(more), carol = stage.bob(more);
    const Hold anchor = alice.mutex("anchor").acquire().value();
    Hold held = bob.mutex("job").acquire().value();
    const std::string holder = stage.line().at(0);
    std::stop_source stop;
    auto leaves = wait_for(carol.mutex("job"), stop.get_token());
    ASSERT_TRUE(stage.line_is(2));
    std::atomic<bool> left = false;
    stage.before("getData", "0000000001", [&](std::string_view) {
      stop.request_stop();
      leaves.wait();
      left = true;
    });
    stage.proxy.arrange(Fault::lose_reply, [&left, holder](const std::string& name, std::string_view bytes) {
      return left && name == "getData" && bytes.find(holder) != std::string_view::npos;
    });
    auto waits = wait_for(alice.mutex("job"));
    EXPECT_TRUE(eventually([&] { return stage.proxy.happened() == 1; }));
    EXPECT_EQ(waits.wait_for(a_moment), std::future_status::timeout) << "granted beside the holder";
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(waits.get());
  }
}

// Scenario: alice leaves the queue, and comes again when there is one more before her; she knows of neither whether it has
// worked.
TEST(ZooKeeperLostAnswers, WhoWasBeforeTheOldPlaceIsNotAllThatIsBeforeTheNewOne) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob(), carol = stage.bob();
  EXPECT_TRUE(bob.mutex("job").acquire()->release());  // there is a folder
  const Hold anchor = alice.mutex("anchor").acquire().value();
  std::optional<Hold> held;
  std::future<Result<Hold>> hers;
  std::atomic<int> changes = 0;
  stage.proxy.arrange(Fault::lose_reply, [&](const std::string& name, std::string_view) {
    if (name != "multi" || ++changes != 1) return changes == 2 && name == "multi";
    held = bob.mutex("job").acquire().value();
    return false;
  });
  stage.proxy.arrange(Fault::lose_reply, [&](const std::string& name, std::string_view) {
    if (name != "multi" || changes < 2 || hers.valid()) return false;
    hers = wait_for(carol.mutex("job"));
    EXPECT_TRUE(stage.line_is(2));
    return true;
  });
  Mutex spins = alice.mutex("job", {.waiting = WaitStyle::spin});
  auto waits = wait_for(spins);
  ASSERT_TRUE(eventually([&] { return stage.proxy.happened() == 2 && stage.line().size() == 3; }));
  const std::string carols = stage.top + "/tickets/" + bob.inspect("job").value().waiters.at(0).claim;
  EXPECT_TRUE(eventually([&] { return stage.watched(carols); }, 4s)) << "alice waits for somebody else";
  EXPECT_TRUE(held->release());
  Result<Hold> next = hers.get();
  ASSERT_TRUE(next) << next.error().to_string();
  EXPECT_EQ(waits.wait_for(a_moment), std::future_status::timeout) << "granted beside carol";
  EXPECT_TRUE(next->release());
  EXPECT_TRUE(waits.get());
}

// Scenario: the server never heard of her node; but there is one with her claim's id, of another session.
TEST(ZooKeeperLostAnswers, ANodeOfAnotherSessionWithOurClaimsIdIsNeverOurs) {
  Stage stage;
  stage.eye.make_folder(stage.folder());
  Client alice = stage.alice();
  const Hold anchor = alice.mutex("anchor").acquire().value();
  std::string strange;
  stage.before("change", "/job/lock-", [&](std::string_view request) {
    strange = stage.eye.create(stage.folder() + "/lock-", ZOO_EPHEMERAL | ZOO_SEQUENCE, test::zookeeper_data(request));
  });
  stage.arrange(Fault::lose_request, "change", "/job/lock-");
  auto waits = wait_for(alice.mutex("job"));
  ASSERT_TRUE(stage.line_is(2)) << "her own stands behind it";
  EXPECT_THAT(stage.eye.get(strange).data, HasSubstr(" id="));
  EXPECT_NE(waits.wait_for(a_moment), std::future_status::ready);
  EXPECT_EQ(stage.eye.remove(strange), ZOK);
  Result<Hold> hold = waits.get();
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_THAT(stage.line(), ElementsAre("lock-0000000001"));
}

// Scenario: her node is gone, but nobody has told her; bob's has the same path by now.
TEST(ZooKeeperLostAnswers, AReleaseThatIsRepeatedDoesNotTakeTheNextHoldersNode) {
  Stage stage("ephemeral");
  Client alice = stage.alice(), bob = stage.bob(), carol = stage.bob();
  const Hold anchor = alice.mutex("anchor").acquire().value();
  Hold hold = alice.mutex("job").acquire().value();
  auto waits = wait_for(bob.mutex("job"));
  ASSERT_TRUE(eventually([&] { return carol.inspect("job").value().waiters.size() == 1; }));
  bool taken = false;
  stage.arrange(Fault::lose_reply, "change", stage.folder());
  stage.before("connect", "", [&](std::string_view) { taken = waits.wait_for(hang) == std::future_status::ready; });
  const Result<void> released = hold.release();
  EXPECT_TRUE(released) << released.error().to_string();
  EXPECT_TRUE(taken) << "before she came back";
  const Result<Hold> bobs = waits.get();
  ASSERT_TRUE(bobs) << bobs.error().to_string();
  EXPECT_EQ(stage.proxy.happened(), 1U);
  EXPECT_EQ(carol.mutex("job").try_acquire().code(), Errc::busy);
  EXPECT_FALSE(bobs->lost().stop_requested());
  EXPECT_TRUE(bobs->valid());
}

// Scenario: bob has stood in the queue before her, but has got his permit after she came.
TEST(ZooKeeperLostAnswers, ThePermitsOfAClaimWhoseAnswerWasLostHaveALargerToken) {
  for (const std::string request : {"exists", "multi"}) {
    Stage stage;
    Client alice = stage.alice(), bob = stage.bob(), carol = stage.bob();
    const auto wait_for_permit = [](Client& client) {
      return std::async(std::launch::async, [&] { return client.semaphore("job", 1).acquire({.wait = hang}); });
    };
    const auto waiters = [&] { return carol.inspect("job", Kind::permits).value().waiters.size(); };
    Hold carols = carol.semaphore("job", 1).acquire().value();
    auto bobs = wait_for_permit(bob);
    ASSERT_TRUE(eventually([&] { return waiters() == 1; }));
    auto alices = wait_for_permit(alice);
    ASSERT_TRUE(eventually([&] { return waiters() == 2; }));
    stage.arrange(Fault::lose_reply, request, "/lease-");
    EXPECT_TRUE(carols.release());
    Result<Hold> before = bobs.get();
    ASSERT_TRUE(before) << before.error().to_string();
    EXPECT_TRUE(before->release());
    const Result<Hold> hold = alices.get();
    ASSERT_TRUE(hold) << hold.error().to_string();
    EXPECT_EQ(stage.proxy.happened(), 1U) << request;
    EXPECT_GT(hold->token(), before->token()) << request;
  }
}

// Scenario: with the answer, she misses that her old node is gone, or not. What she has missed she hears when she is back.
TEST(ZooKeeperLostAnswers, ADowngradeWhoseAnswerIsLostIsDone) {
  for (const bool alone : {true, false}) {
    Stage stage;
    Client alice = stage.alice(), bob = stage.bob();
    Hold hold = alice.shared_mutex("job").acquire().value();
    const Token token = hold.token();
    ASSERT_TRUE(eventually([&] { return stage.watched(stage.folder("job", "rw") + "/__WRIT__0000000000"); }));
    if (alone) {
      stage.arrange(Fault::lose_reply, "multi", "__READ__");
    } else {
      stage.proxy.delay_replies(hang);
    }
    auto downgrade = std::async(std::launch::async, [&] { return hold.downgrade(); });
    ASSERT_TRUE(eventually([&] { return stage.line("job", "rw") == std::vector<std::string>{"__READ__0000000000"}; }));
    if (!alone) {
      stage.proxy.delay_replies(0s);
      stage.proxy.cut();
    }
    const Result<void> done = downgrade.get();
    EXPECT_TRUE(done) << done.error().to_string();
    EXPECT_EQ(stage.proxy.happened(), alone ? 1U : 0U);
    EXPECT_THAT(stage.line("job", "rw"), ElementsAre("__READ__0000000000"));
    EXPECT_TRUE(bob.shared_mutex("job").acquire_shared({.wait = hang})->release());
    EXPECT_EQ(bob.shared_mutex("job").try_acquire().code(), Errc::busy);
    EXPECT_FALSE(hold.lost().stop_requested());
    EXPECT_TRUE(hold.valid());
    EXPECT_EQ(hold.token(), token);
    EXPECT_TRUE(hold.release());
    EXPECT_THAT(stage.line("job", "rw"), IsEmpty());
  }
}

// Scenario: she is away for so long that her session is renewed first, and then looks what has become of the hold.
TEST(ZooKeeperLostAnswers, AHoldWhoseDowngradeIsNotSettledYetIsNotLost) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  Hold hold = alice.shared_mutex("job").acquire().value();
  ASSERT_TRUE(eventually([&] { return stage.watched(stage.folder("job", "rw") + "/__WRIT__0000000000"); }));
  stage.proxy.shut(true);
  stage.arrange(Fault::lose_reply, "multi", "__READ__");
  auto downgrade = std::async(std::launch::async, [&] { return hold.downgrade(); });
  ASSERT_TRUE(eventually([&] { return stage.proxy.happened() == 1; }));
  std::this_thread::sleep_for(2200ms);  // a third of the lease: a renewal waits for the connection by then
  stage.proxy.shut(false);
  EXPECT_TRUE(downgrade.get());
  EXPECT_FALSE(hold.lost().stop_requested());
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(bob.shared_mutex("job").acquire({.wait = hang}));
}

// Scenario: the server has written her delay; she looks, and finds it.
TEST(ZooKeeperLostAnswers, AClaimDoesNotWaitForItsOwnDelay) {
  Stage stage;
  Client alice = stage.alice();
  EXPECT_TRUE(alice.mutex("job").acquire({.lock_delay = 60s})->release());
  stage.arrange(Fault::lose_reply, "multi", "/delays/");
  Result<Hold> hold = alice.mutex("job").acquire({.wait = 30s, .lock_delay = 60s});
  ASSERT_TRUE(hold) << hold.error().to_string();
  EXPECT_EQ(stage.proxy.happened(), 1U);
  EXPECT_TRUE(hold->release());
  EXPECT_THAT(stage.claims("job"), IsEmpty());
}

// Scenario: the lock is hers, but she does not hear of it, and gives up.
TEST(ZooKeeperLostAnswers, WhoGivesUpCleanlyLeavesNoDelay) {
  Stage stage;
  Client alice = stage.alice("&lease=15s"), bob = stage.bob();
  const Hold anchor = alice.mutex("anchor").acquire().value();
  EXPECT_TRUE(alice.mutex("job").acquire({.lock_delay = 60s})->release());
  stage.arrange(Fault::go_silent, "multi", "/delays/");
  std::stop_source enough;
  auto hers = std::async(std::launch::async,
                         [&] { return alice.mutex("job").acquire({.lock_delay = 60s}, enough.get_token()).code(); });
  EXPECT_TRUE(eventually([&] { return stage.proxy.happened() == 1U; }));
  enough.request_stop();
  EXPECT_EQ(hers.get(), Errc::cancelled);
  EXPECT_TRUE(eventually([&] { return stage.claims("job").empty(); })) << testing::PrintToString(stage.claims("job"));
  EXPECT_TRUE(anchor.valid()) << "her session has not taken them along";
  EXPECT_TRUE(bob.mutex("job").acquire({.wait = 30s}));
}

// Scenario: the queue was empty when she looked; bob came before her node, so she takes it back.
TEST(ZooKeeperLostAnswers, ATryThatDoesNotKnowWhetherItHasWithdrawnLosesNothing) {
  for (const WaitStyle style : {WaitStyle::notified, WaitStyle::spin}) {
    Stage stage;
    Client alice = stage.alice(), bob = stage.bob();
    const Hold anchor = alice.mutex("anchor").acquire().value();
    std::optional<Hold> bobs;
    stage.before("change", "/job/lock-", [&](std::string_view) { bobs = bob.mutex("job").acquire().value(); });
    stage.arrange(Fault::lose_reply, "change", "/job/lock-0000000001");
    Mutex lock = alice.mutex("job", {.waiting = style});
    const bool spins = style == WaitStyle::spin;
    const Result<Hold> tried = spins ? lock.acquire({.wait = a_moment}) : lock.try_acquire();
    EXPECT_EQ(tried.code(), spins ? Errc::timed_out : Errc::busy);
    EXPECT_TRUE(eventually([&] { return stage.proxy.happened() == 1U; }));
    EXPECT_TRUE(stage.line_is(1)) << "bob's";
    EXPECT_TRUE(bobs.value().valid());
    EXPECT_EQ(anchor.state(), HoldState::held);
  }
}

// Scenario: the same, and she stands first in the queue: there are not enough permits any more.
TEST(ZooKeeperLostAnswers, ATryForPermitsThatDoesNotKnowWhetherItHasWithdrawnLosesNothing) {
  Stage stage;
  Client alice = stage.alice(), bob = stage.bob();
  const Hold anchor = alice.mutex("anchor").acquire().value();
  EXPECT_TRUE(alice.semaphore("job", 1).acquire()->release());
  std::optional<Hold> bobs;
  stage.before("change", "/job/locks/lock-",
               [&](std::string_view) { bobs = bob.semaphore("job", 1).acquire().value(); });
  stage.arrange(Fault::lose_reply, "change", "/job/locks/lock-0");
  EXPECT_EQ(alice.semaphore("job", 1).try_acquire().code(), Errc::busy);
  EXPECT_EQ(stage.proxy.happened(), 1U);
  EXPECT_TRUE(eventually([&] { return stage.claims("job").size() == 1; })) << "bob's";
  EXPECT_TRUE(bobs.value().valid());
  EXPECT_EQ(anchor.state(), HoldState::held);
}

// Scenario: whatever she asks for may be cut off at any moment, also while it is being sent.
TEST(ZooKeeperLostAnswers, AConnectionThatBreaksAllTheTimeHangsNobody) {
  Stage stage;
  Client alice = stage.alice();
  const Hold anchor = alice.mutex("anchor").acquire().value();
  std::atomic<int> done = 0;
  std::vector<std::future<void>> workers;
  for (int i = 0; i < 4; ++i) {
    workers.push_back(std::async(std::launch::async, [&, name = "job-" + std::to_string(i)] {
      for (int turn = 0; turn < 50; ++turn) {
        Result<Hold> hold = alice.mutex(name).acquire({.wait = hang});
        ASSERT_TRUE(hold) << hold.error().to_string();
        EXPECT_TRUE(hold->release());
        ++done;
      }
    }));
  }
  for (int cuts = 0; cuts < 40 && done < 200; ++cuts) {
    const int before = done;
    EXPECT_TRUE(eventually([&] { return done >= before + 4 || done == 200; }));
    stage.proxy.cut();
  }
  for (auto& worker : workers) worker.get();
  EXPECT_EQ(done, 200);
  EXPECT_EQ(anchor.state(), HoldState::held);
  EXPECT_TRUE(eventually([&] { return stage.claims("job").empty(); }));
  EXPECT_EQ(alice.metrics().sessions_opened, 1U);
}

// Scenario: the servers do not answer that the session is over; asked again, the store still knows that they have not.
TEST(ZooKeeperLostAnswers, ASessionThatCouldNotBeClosedIsNotClosedTheSecondTime) {
  Stage stage;
  base::RealRuntime& runtime = base::RealRuntime::process_wide();
  store::zookeeper::Config config;
  config.addresses.push_back({.host = "127.0.0.1", .port = stage.proxy.port()});
  config.prefix = stage.top;
  store::zookeeper::ZooKeeperStore store(runtime, config);
  const auto in = [&](Duration time) { return base::Deadline::in(runtime.now(), time); };
  const store::SessionRequest request{.lease = 6s};
  const base::SessionId session = runtime.block_on(store.open_session(request, in(hang))).value().id;
  stage.proxy.hold();
  EXPECT_EQ(runtime.block_on(store.close_session(session, in(a_moment))).code(), Errc::store_unavailable);
  EXPECT_EQ(runtime.block_on(store.close_session(session, in(a_moment))).code(), Errc::store_unavailable);
  stage.proxy.go_on();
  EXPECT_TRUE(runtime.block_on(store.close_session(session, in(hang))));
  EXPECT_TRUE(runtime.block_on(store.close_session(session, in(hang)))) << "an unknown one is fine";
}

class Faults;

/// What alice does. Each request of hers meets the fault once.
struct Scene {
  const char* name;
  void (Faults::*play)(const std::string& lock);
};

struct Case {
  std::string scheme;
  Scene scene;
  Fault fault;
};

std::string name_of(const Case& it) {
  return it.scheme + "_" + it.scene.name + (it.fault == Fault::lose_request ? "_is_lost" : "_loses_its_answer");
}

void PrintTo(const Case& it, std::ostream* out) { *out << name_of(it); }

class Faults : public testing::TestWithParam<Case> {
 public:
  void alone(const std::string& lock) { finish(alice_.mutex(lock).acquire({.wait = hang})); }
  void a_try(const std::string& lock) {
    Result<Hold> hold = alice_.mutex(lock).try_acquire();
    if (hold.code() == Errc::outcome_unknown || hold.code() == Errc::store_unavailable) return;  // it does not wait
    finish(std::move(hold));
  }
  void a_waiter(const std::string& lock) {
    Hold bobs = bob_.mutex(lock).acquire({.wait = hang}).value();
    auto wait = wait_for(alice_.mutex(lock));
    ASSERT_TRUE(eventually([&] { return bob_.inspect(lock).value().waiters.size() == 1; }));
    EXPECT_TRUE(bobs.valid());
    EXPECT_TRUE(bobs.release());
    finish(wait.get());
  }
  void one_who_gives_up(const std::string& lock) {
    Hold bobs = bob_.mutex(lock).acquire({.wait = hang}).value();
    const std::vector<std::string> nodes = stage_.claims(lock);
    EXPECT_EQ(alice_.mutex(lock).acquire({.wait = a_moment}).code(), Errc::timed_out);
    EXPECT_TRUE(eventually([&] { return stage_.claims(lock) == nodes; })) << "only bob's are left";
    EXPECT_TRUE(bobs.valid());
  }
  void one_before_another(const std::string& lock) {
    Result<Hold> hold = alice_.mutex(lock).acquire({.wait = hang});
    ASSERT_TRUE(hold) << hold.error().to_string();
    auto bobs = wait_for(bob_.mutex(lock));
    ASSERT_TRUE(eventually([&] { return bob_.inspect(lock).value().waiters.size() == 1; }));
    EXPECT_TRUE(hold->valid());
    EXPECT_TRUE(hold->release());
    const Result<Hold> next = bobs.get();
    ASSERT_TRUE(next) << next.error().to_string();
    EXPECT_GT(next->token(), hold->token());
  }
  void a_reader(const std::string& lock) {
    Hold bobs = bob_.shared_mutex(lock).acquire_shared({.wait = hang}).value();
    finish(alice_.shared_mutex(lock).acquire_shared({.wait = hang}));
    EXPECT_TRUE(bobs.valid());
  }
  void a_downgrade(const std::string& lock) {
    Result<Hold> hold = alice_.shared_mutex(lock).acquire({.wait = hang});
    ASSERT_TRUE(hold) << hold.error().to_string();
    const Result<void> done = hold->downgrade();
    EXPECT_TRUE(done) << done.error().to_string();
    EXPECT_TRUE(bob_.shared_mutex(lock).acquire_shared({.wait = hang}));
    finish(std::move(hold));
  }
  void permits(const std::string& lock) {
    Hold bobs = bob_.semaphore(lock, 3).acquire({.wait = hang}).value();
    finish(alice_.semaphore(lock, 3).acquire(2, {.wait = hang}));
    EXPECT_TRUE(bobs.valid());
  }
  void permits_after_a_wait(const std::string& lock) {
    Hold bobs = bob_.semaphore(lock, 3).acquire(2, {.wait = hang}).value();
    auto wait = std::async(std::launch::async, [&] { return alice_.semaphore(lock, 3).acquire(2, {.wait = hang}); });
    ASSERT_TRUE(eventually([&] { return bob_.inspect(lock, Kind::permits).value().waiters.size() == 1; }));
    EXPECT_TRUE(bobs.release());
    finish(wait.get());
  }
  void a_leader(const std::string& lock) { finish(alice_.election(lock).campaign("alice", {.wait = hang})); }
  void a_delay(const std::string& lock) { finish(alice_.mutex(lock).acquire({.wait = hang, .lock_delay = 50ms})); }

 protected:
  void SetUp() override { anchor_ = alice_.mutex("anchor").acquire().value(); }

  void finish(Result<Hold> hold) {
    ASSERT_TRUE(hold) << hold.error().to_string();
    EXPECT_TRUE(hold->valid());
    const Result<void> released = hold->release();
    EXPECT_TRUE(released) << released.error().to_string();
  }

  /// The nth request about that lock meets it. False: there are not so many.
  bool play(std::size_t nth) {
    const std::string lock = "job-" + std::to_string(nth) + "x";
    const std::size_t before = stage_.proxy.happened();
    stage_.proxy.arrange(
        GetParam().fault,
        [lock](const std::string&, std::string_view request) { return request.find(lock) != std::string_view::npos; },
        nth);
    (this->*GetParam().scene.play)(lock);
    EXPECT_TRUE(eventually([&] { return stage_.claims(lock).empty(); }, 30s))
        << "left behind by request " << nth << ": " << testing::PrintToString(stage_.claims(lock));
    EXPECT_EQ(anchor_->state(), HoldState::held) << nth;
    return stage_.proxy.happened() > before;
  }

  Stage stage_{GetParam().scheme};
  Client alice_ = stage_.alice(), bob_ = stage_.bob();
  std::optional<Hold> anchor_;  // what she forgot stays as long as her session does
};

TEST_P(Faults, LeaveNothingBehind) {
  std::size_t nth = 1;
  while (nth < 60 && play(nth) && !HasFailure()) ++nth;
  EXPECT_GT(nth, 2U) << "a lock takes more requests than that";
  EXPECT_LT(nth, 60U);
  EXPECT_EQ(alice_.metrics().sessions_opened, 1U);
}

std::vector<Case> all_cases() {
  const std::vector<Scene> of_a_mutex{{"alone", &Faults::alone},
                                      {"try", &Faults::a_try},
                                      {"waiter", &Faults::a_waiter},
                                      {"one_who_gives_up", &Faults::one_who_gives_up},
                                      {"one_before_another", &Faults::one_before_another}};
  const std::vector<Scene> more{{"reader", &Faults::a_reader}, {"downgrade", &Faults::a_downgrade},
                                {"permits", &Faults::permits}, {"permits_after_a_wait", &Faults::permits_after_a_wait},
                                {"leader", &Faults::a_leader}, {"delay", &Faults::a_delay}};
  std::vector<Case> cases;
  const auto add = [&](const std::string& scheme, const std::vector<Scene>& scenes) {
    for (const Scene& scene : scenes) {
      for (const Fault fault : {Fault::lose_reply, Fault::lose_request}) cases.push_back({scheme, scene, fault});
    }
  };
  add("sequential", of_a_mutex);
  add("sequential", more);
  add("ephemeral", of_a_mutex);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(ZooKeeper, Faults, testing::ValuesIn(all_cases()),
                         [](const testing::TestParamInfo<Case>& info) { return name_of(info.param); });

}  // namespace
}  // namespace pawl
