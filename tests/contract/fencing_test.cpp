// Promise: of two grants that exclude each other the later one has the larger token, and the store can be asked.

#include "tests/contract/contract.hpp"

#include <memory>
#include <stop_token>
#include <vector>

namespace pawl::contract {

PAWL_CONTRACT(Fencing);

TEST_P(Fencing, NewHolderGetsALargerToken) {
  const Actor alice = world().client(), bob = world().client();
  Token last;
  for (int round = 0; round < 10; ++round) {
    for (const Actor& actor : {alice, bob}) {
      Hold hold = must_acquire(actor, "job");
      EXPECT_GT(hold.token(), last);
      last = hold.token();
      EXPECT_TRUE(release(actor, hold));
    }
  }
}

TEST_P(Fencing, NewHolderGetsALargerTokenWhenTheLastOneExpired) {
  const Actor alice = world().client(), bob = world().client();
  const Hold first = must_acquire(alice, "job");
  world().expire(alice);
  EXPECT_GT(must_acquire(bob, "job").token(), first.token());
}

TEST_P(Fencing, NewHolderGetsALargerTokenWhenTheLockWasTakenAway) {
  PAWL_NEEDS(revocable);
  const Actor alice = world().client(), bob = world().client();
  const Hold first = must_acquire(alice, "job");
  EXPECT_TRUE(revoke(bob, "job", {.now = true}));
  EXPECT_GT(must_acquire(bob, "job").token(), first.token());
}

TEST_P(Fencing, EveryThreadOfAClientGetsATokenOfItsOwn) {
  const Actor alice = world().client();
  const std::shared_ptr<lock::LockCore> mutex = alice.mutex("job", {.local_pass_time = 1h});
  std::vector<StartedHold> waiting;
  Hold first = start_acquire(alice, mutex).get().value();
  for (int i = 0; i < 5; ++i) waiting.push_back(start_acquire_in_order(alice, mutex));
  EXPECT_TRUE(release(alice, first));
  Token last = first.token();
  for (StartedHold& next : waiting) {
    Hold hold = next.get().value();
    EXPECT_GT(hold.token(), last);
    last = hold.token();
    EXPECT_TRUE(release(alice, hold));
  }
  EXPECT_EQ(alice.metrics().local_passes, 5U);
  EXPECT_EQ(last.counter(), first.token().counter());
  EXPECT_EQ(last.sub(), 5U);
}

TEST_P(Fencing, AClientThatComesAfterLocalPassesGetsALargerToken) {
  const Actor alice = world().client(), bob = world().client();
  Hold first = must_acquire(alice, "job");
  StartedHold second = start_acquire(alice, "job");
  EXPECT_TRUE(release(alice, first));
  Hold passed = second.get().value();
  EXPECT_TRUE(release(alice, passed));
  EXPECT_GT(must_acquire(bob, "job").token(), passed.token());
}

namespace {

awaitable<Token> hold_often(std::shared_ptr<lock::LockCore> mutex, int times) {
  Token last;
  for (int i = 0; i < times; ++i) {
    const AcquireOptions options;
    Result<Hold> hold = co_await mutex->acquire(options, std::stop_token());
    if (!hold || hold->token() <= last) co_return Token();
    last = hold->token();
  }
  co_return last;
}

}  // namespace

// Scenario: two threads pass the lock to each other more often than a token's sub can count.
TEST_P(Fencing, TokensGrowWhenTheCountOfLocalPassesIsFull) {
  PAWL_NEEDS(knows_contention);
  const Actor alice = world().client();
  Hold first = must_acquire(alice, "job");
  Started<Token> one = start(alice, hold_often(alice.mutex("job"), 35'000));
  Started<Token> two = start(alice, hold_often(alice.mutex("job"), 35'000));
  EXPECT_TRUE(release(alice, first));
  EXPECT_GT(one.get().counter(), first.token().counter());
  EXPECT_GT(two.get().counter(), first.token().counter());
  EXPECT_EQ(alice.metrics().store_claims, 2U);
}

TEST_P(Fencing, ASequencerSaysWhatIsHeldAndSurvivesItsTextForm) {
  const Actor alice = world().client();
  const Hold hold = must_acquire(alice, "billing/ledger");
  const Sequencer sequencer = hold.sequencer();
  EXPECT_EQ(sequencer.name, "billing/ledger");
  EXPECT_EQ(sequencer.kind, Kind::mutex);
  EXPECT_EQ(sequencer.mode, Mode::exclusive);
  EXPECT_EQ(sequencer.token, hold.token());
  EXPECT_EQ(sequencer.store_id, alice.core()->store_id());
  EXPECT_NE(sequencer.store_id, 0U);
  EXPECT_EQ(Sequencer::parse(sequencer.to_string()).value(), sequencer);
}

TEST_P(Fencing, TheGrantOfAHolderStands) {
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job");
  EXPECT_TRUE(check(alice, hold.sequencer()));
  EXPECT_TRUE(check(bob, Sequencer::parse(hold.sequencer().to_string()).value()));
}

TEST_P(Fencing, TheGrantOfALocalHolderStandsToo) {
  const Actor alice = world().client(), bob = world().client();
  Hold first = must_acquire(alice, "job");
  StartedHold second = start_acquire(alice, "job");
  EXPECT_TRUE(release(alice, first));
  const Hold passed = second.get().value();
  EXPECT_TRUE(check(bob, passed.sequencer()));
}

TEST_P(Fencing, AReleasedGrantIsOvertaken) {
  const Actor alice = world().client();
  Hold hold = must_acquire(alice, "job");
  const Sequencer sequencer = hold.sequencer();
  EXPECT_TRUE(release(alice, hold));
  EXPECT_EQ(check(alice, sequencer).code(), Errc::overtaken);
}

// Counters may begin anew with an epoch. E14: a check that compares counters alone would let a grant of an earlier epoch stand.
TEST_P(Fencing, AGrantOfAnEarlierEpochIsOvertaken) {
  const Actor alice = world().client();
  const Hold hold = must_acquire(alice, "job");
  Sequencer before = hold.sequencer();
  before.token = Token(hold.token().epoch() - 1, hold.token().counter(), hold.token().sub());
  EXPECT_EQ(check(alice, before).code(), Errc::overtaken);
  EXPECT_TRUE(check(alice, hold.sequencer()));
}

TEST_P(Fencing, AnExpiredGrantIsOvertaken) {
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job");
  world().expire(alice);
  EXPECT_EQ(check(bob, hold.sequencer()).code(), Errc::overtaken);
  const Hold next = must_acquire(bob, "job");
  EXPECT_EQ(check(alice, hold.sequencer()).code(), Errc::overtaken);
  EXPECT_TRUE(check(alice, next.sequencer()));
}

TEST_P(Fencing, ASequencerOfAnotherStoreIsAnInvalidArgument) {
  const Actor alice = world().client();
  Sequencer stranger = must_acquire(alice, "job").sequencer();
  stranger.store_id ^= 1;
  EXPECT_EQ(check(alice, stranger).code(), Errc::invalid_argument);
}

TEST_P(Fencing, AllClientsOfAStoreAgreeWhichStoreItIs) {
  EXPECT_EQ(world().client().core()->store_id(), world().client().core()->store_id());
}

}  // namespace pawl::contract
