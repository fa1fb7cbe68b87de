// Promise: one leader at a time, first come, first served; whoever observes sees each change once, in order.

#include "tests/contract/contract.hpp"

#include "lock/observation_core.hpp"

#include <pawl/fence.hpp>

#include <algorithm>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace pawl::contract {

using Change = std::optional<Leader>;

class Elections : public Contract {
 protected:
  static StartedHold start_campaign(const Actor& actor, const std::string& value, AcquireOptions options = {},
                                    std::stop_token stop = {}) {
    lock::Wanted wanted;
    wanted.value = value;
    return start_acquire(actor, actor.lock(Kind::election, "job"), options, std::move(stop), wanted);
  }
  static Hold lead(const Actor& actor, const std::string& value, AcquireOptions options = {}) {
    return start_campaign(actor, value, options).get().value();
  }
  static std::string leader(const Actor& actor) {
    const auto named = actor.lock(Kind::election, "job")->named();
    const Change leader = await(actor, lock::current_leader(named)).value();
    return leader ? leader->value : "nobody";
  }
  bool queued(std::size_t candidates) { return world().queued("job", candidates, Kind::election); }

  /// Somebody who observes.
  class Watcher {
   public:
    explicit Watcher(const Actor& actor)
        : actor_(actor), core_(std::make_shared<lock::ObservationCore>(actor.lock(Kind::election, "job")->named())) {}

    Started<Result<Change>> start(std::optional<Duration> wait = {}, std::stop_token stop = {}) {
      return scene::start(actor_, lock::ObservationCore::next(core_, wait, std::move(stop)));
    }
    std::string next() {
      const Change change = start().get().value();
      return change ? change->value : "nobody";
    }
    Errc nothing_within(Duration time) { return start(time).get().code(); }

   private:
    const Actor actor_;
    const std::shared_ptr<lock::ObservationCore> core_;
  };
};
INSTANTIATE_TEST_SUITE_P(Schemes, Elections, ::testing::ValuesIn(all_schemes()), line_name);

/// Where minutes cost nothing.
class MinutesOfElections : public Elections {};

std::vector<Line> on_virtual_time() {
  std::vector<Line> lines = all_schemes();
  std::erase_if(lines, [](const Line& line) { return !line.name.ends_with("_virtual"); });
  return lines;
}
INSTANTIATE_TEST_SUITE_P(Schemes, MinutesOfElections, ::testing::ValuesIn(on_virtual_time()), line_name);

TEST_P(Elections, TheNextOneLeadsWhenTheLeaderResigns) {
  PAWL_NEEDS(election);
  const Actor alice = world().client(), bob = world().client();
  EXPECT_EQ(leader(bob), "nobody");
  Hold first = lead(alice, "alice");
  EXPECT_EQ(leader(bob), "alice");
  StartedHold next = start_campaign(bob, "bob");
  ASSERT_TRUE(queued(1));
  EXPECT_FALSE(next.ready());
  EXPECT_TRUE(release(alice, first));
  const Hold second = next.get().value();
  EXPECT_GT(second.token(), first.token());
  EXPECT_EQ(leader(alice), "bob");
}

TEST_P(Elections, ATryIsBusyWhileSomebodyLeads) {
  PAWL_NEEDS(election);
  const Actor alice = world().client(), bob = world().client();
  const Hold first = lead(alice, "alice");
  EXPECT_EQ(start_campaign(bob, "bob", {.wait = 0s}).get().code(), Errc::busy);
}

TEST_P(Elections, CandidatesOfOneClientStandForThemselves) {
  PAWL_NEEDS(election);
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().client();
  Hold first = lead(alice, "one");
  StartedHold second = start_campaign(bob, "two");
  ASSERT_TRUE(queued(1));
  StartedHold third = start_campaign(alice, "three");
  ASSERT_TRUE(queued(2));
  EXPECT_TRUE(release(alice, first));
  Hold bobs = second.get().value();
  EXPECT_FALSE(third.ready()) << "the office is not passed on within a client";
  EXPECT_TRUE(release(bob, bobs));
  EXPECT_TRUE(third.get());
}

TEST_P(Elections, AValueThatIsTooLongIsRefused) {
  PAWL_NEEDS(election);
  const Actor alice = world().client();
  EXPECT_EQ(start_campaign(alice, std::string(4097, 'x')).get().code(), Errc::invalid_argument);
  const Hold hold = lead(alice, std::string(4096, 'x'));
  EXPECT_EQ(leader(alice).size(), 4096U);
}

TEST_P(Elections, ALeaderThatIsLostIsSucceededAndFencedOff) {
  PAWL_NEEDS(election);
  const Actor alice = world().brief_client(), bob = world().client();
  Fence fence(Kind::election, "job");
  const auto nothing = [] {};
  const Hold first = lead(alice, "alice");
  EXPECT_TRUE(fence.admit(first.sequencer(), nothing));
  StartedHold next = start_campaign(bob, "bob");
  ASSERT_TRUE(queued(1));
  world().expire(alice);
  const Hold second = next.get().value();
  EXPECT_TRUE(world().eventually([&] { return is_lost(first); }));
  EXPECT_TRUE(fence.admit(second.sequencer(), nothing));
  EXPECT_EQ(fence.admit(first.sequencer(), nothing).code(), Errc::overtaken);
}

TEST_P(Elections, AnObservationBeginsWithHowItIsAndTellsEachChangeOnce) {
  PAWL_NEEDS(election);
  const Actor alice = world().client(), bob = world().client(), carol = world().client();
  Watcher watcher(carol);
  EXPECT_EQ(watcher.next(), "nobody");
  Hold first = lead(alice, "alice");
  EXPECT_EQ(watcher.next(), "alice");
  EXPECT_EQ(watcher.nothing_within(a_moment()), Errc::timed_out) << "nothing has changed";
  StartedHold next = start_campaign(bob, "bob");
  ASSERT_TRUE(queued(1));
  EXPECT_TRUE(release(alice, first));
  EXPECT_EQ(watcher.next(), "bob") << "nobody was never";
  Hold second = next.get().value();
  EXPECT_TRUE(release(bob, second));
  EXPECT_EQ(watcher.next(), "nobody");
  Watcher late(alice);
  EXPECT_EQ(late.next(), "nobody") << "what was before is not its concern";
}

TEST_P(Elections, NobodyWhoLedForAMomentOnlyIsLeftOut) {
  PAWL_NEEDS(election);
  const Actor alice = world().client(), bob = world().client(), carol = world().client();
  Watcher watcher(carol);
  EXPECT_EQ(watcher.next(), "nobody");
  std::vector<std::string> expected;
  StartedHold first = start_campaign(alice, "0");
  ASSERT_TRUE(world().eventually([&] { return first.ready(); }));
  Hold leads = first.get().value();
  for (int i = 1; i <= 9; ++i) {
    expected.push_back(std::to_string(i - 1));
    const Actor& actor = i % 2 == 0 ? alice : bob;
    StartedHold next = start_campaign(actor, std::to_string(i));
    ASSERT_TRUE(queued(1));
    EXPECT_TRUE(release(i % 2 == 0 ? bob : alice, leads));
    leads = next.get().value();
  }
  expected.emplace_back("9");
  for (const std::string& value : expected) EXPECT_EQ(watcher.next(), value);
  EXPECT_TRUE(release(bob, leads));
  EXPECT_EQ(watcher.next(), "nobody");
}

// The limit that the header names: of more than 32 between two calls the first ones may be left out, and no other.
TEST_P(Elections, AnObservationTellsOf32LeadersBetweenTwoCallsAndOfMoreTheLast) {
  PAWL_NEEDS(election);
  const Actor alice = world().client(), bob = world().client();
  Watcher watcher(bob);
  EXPECT_EQ(watcher.next(), "nobody");
  int last = 0;
  for (const int leaders : {32, 40}) {
    const int before = last;
    while (last < before + leaders) {
      Hold office = lead(alice, std::to_string(++last));
      ASSERT_TRUE(release(alice, office));
    }
    std::vector<int> seen;
    for (std::string now; now != std::to_string(last);) {
      now = watcher.next();
      if (now != "nobody") seen.push_back(std::stoi(now));
    }
    EXPECT_GE(seen.size(), 32u);
    EXPECT_EQ(seen.front(), last - static_cast<int>(seen.size()) + 1) << "none of the last ones is left out";
    const auto unordered = std::adjacent_find(seen.begin(), seen.end(), std::greater_equal<>());
    EXPECT_EQ(unordered, seen.end()) << "each comes once, in order";
    EXPECT_EQ(watcher.next(), "nobody");
    EXPECT_EQ(watcher.nothing_within(a_moment()), Errc::timed_out);
  }
}

// The other limit that the header names.
TEST_P(MinutesOfElections, WhoLedForAMomentOnlyIsToldOfForAMinute) {
  const Actor alice = world().client(), bob = world().client();
  Watcher watcher(bob);
  EXPECT_EQ(watcher.next(), "nobody");
  const auto lead_for_a_moment = [&](const char* value) {
    Hold office = lead(alice, value);
    EXPECT_TRUE(release(alice, office));
  };
  lead_for_a_moment("within");
  world().sleep(59s);
  EXPECT_EQ(watcher.next(), "within");
  EXPECT_EQ(watcher.next(), "nobody");
  lead_for_a_moment("before");
  world().sleep(61s);
  const Hold now = lead(alice, "now");
  EXPECT_EQ(watcher.next(), "now") << "of what is older than a minute the store keeps nothing";
  EXPECT_EQ(watcher.nothing_within(1s), Errc::timed_out);
}

TEST_P(Elections, ATimeWithoutALeaderIsAChange) {
  PAWL_NEEDS(election);
  const Actor alice = world().client(), bob = world().client();
  Watcher watcher(bob);
  EXPECT_EQ(watcher.next(), "nobody");
  Hold one = lead(alice, "one");
  EXPECT_TRUE(release(alice, one));
  world().sleep(a_moment());
  const Hold two = lead(alice, "two");
  EXPECT_EQ(watcher.next(), "one");
  EXPECT_EQ(watcher.next(), "nobody");
  EXPECT_EQ(watcher.next(), "two");
}

TEST_P(Elections, AnObservationWaitsOutAnOutage) {
  PAWL_NEEDS(election);
  const Actor alice = world().client(), bob = world().impatient_client();
  Watcher watcher(bob);
  EXPECT_EQ(watcher.next(), "nobody");
  world().cut(bob);
  Started<Result<Change>> next = watcher.start();
  const Hold hold = lead(alice, "alice");
  world().sleep(a_moment());
  EXPECT_FALSE(next.ready());
  world().heal(bob);
  EXPECT_EQ(next.get().value().value().value, "alice");
}

TEST_P(Elections, AnObservationEndsWhenItIsCancelledAndWithItsClient) {
  PAWL_NEEDS(election);
  const Actor alice = world().client();
  Watcher watcher(alice);
  EXPECT_EQ(watcher.next(), "nobody");
  std::stop_source stop;
  Started<Result<Change>> cancelled = watcher.start({}, stop.get_token());
  stop.request_stop();
  EXPECT_EQ(cancelled.get().code(), Errc::cancelled);
  Started<Result<Change>> closed = watcher.start();
  EXPECT_TRUE(close(alice));
  EXPECT_EQ(closed.get().code(), Errc::closed);
}

TEST_P(Elections, WhoIsRefusedIsToldWhoLeads) {
  PAWL_NEEDS(election);
  const Actor alice = world().client({.label = "billing"}), bob = world().client();
  const Hold first = lead(alice, "alice");
  const std::string message = start_campaign(bob, "bob", {.wait = 0s}).get().error().message;
  EXPECT_EQ(message.find("\"job\" is led by "), 0U) << message;
  EXPECT_NE(message.find(", billing"), std::string::npos) << message;
}

}  // namespace pawl::contract
