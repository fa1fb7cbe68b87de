// Promise: what is over leaves nothing at the store, not even while its session lives. After every contract test the store
// is looked through as well: Contract::TearDown.

#include "tests/contract/contract.hpp"

#include <stop_token>
#include <string>
#include <vector>

namespace pawl::contract {

PAWL_CONTRACT(Leftovers);

namespace {

/// A program must not be slower, nor its store fuller, the longer it runs.
void take_and_let_go(const Actor& alice, Kind kind, Mode mode) {
  lock::Wanted wanted;
  wanted.mode = mode;
  if (kind == Kind::permits) wanted.permits = {2, 3};
  Hold hold = start_acquire(alice, alice.lock(kind, "job"), {}, {}, wanted).get().value();
  EXPECT_TRUE(release(alice, hold));
}

}  // namespace

// L1: a release that leaves its id in the list of its session's claims: the end of the session would sweep it.
TEST_P(Leftovers, AReleaseLeavesNoMoreThanWasThereBefore) {
  const Actor alice = world().client();
  const Hold anchor = must_acquire(alice, "anchor");
  take_and_let_go(alice, Kind::mutex, Mode::exclusive);
  const std::string before = world().leftovers();
  for (int i = 0; i < 3; ++i) {
    take_and_let_go(alice, Kind::mutex, Mode::exclusive);
    if (can().shared_mode) take_and_let_go(alice, Kind::rw, Mode::exclusive);
    if (can().shared_mode) take_and_let_go(alice, Kind::rw, Mode::shared);
    if (can().permits) take_and_let_go(alice, Kind::permits, Mode::exclusive);
  }
  EXPECT_TRUE(world().ask_until([&] { return world().leftovers() == before; })) << world().leftovers() << before;
}

TEST_P(Leftovers, AHandOverAndAWaitThatWasGivenUpLeaveNoMoreEither) {
  const Actor alice = world().client(), bob = world().client();
  const Hold anchor = must_acquire(alice, "anchor"), bobs_anchor = must_acquire(bob, "bob's anchor");
  std::string before = world().leftovers();
  for (int round = 0; round < 3; ++round) {
    Hold hold = must_acquire(alice, "job");
    std::stop_source stop;
    StartedHold gives_up = start_acquire(bob, "job", {}, stop.get_token());
    ASSERT_TRUE(world().queued("job", 1));
    stop.request_stop();
    EXPECT_EQ(gives_up.get().code(), Errc::cancelled);
    ASSERT_TRUE(world().queued("job", 0));
    StartedHold bobs = start_acquire(bob, "job");
    ASSERT_TRUE(world().queued("job", 1));
    EXPECT_TRUE(release(alice, hold));
    Hold next = bobs.get().value();
    EXPECT_TRUE(release(bob, next));
    // What the first round leaves may be for good (the folder of a lock), or be there until bob's client has asked.
    if (round == 0) before = world().leftovers();
  }
  EXPECT_TRUE(world().ask_until([&] { return world().leftovers() == before; })) << world().leftovers() << before;
}

}  // namespace pawl::contract
