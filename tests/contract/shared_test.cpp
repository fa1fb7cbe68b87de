// Promise: readers together, writers alone, first come, first served; a downgrade keeps the token.

#include "tests/contract/contract.hpp"

#include <pawl/fence.hpp>

#include <stop_token>
#include <vector>

namespace pawl::contract {

class Shared : public Contract {
 protected:
  static StartedHold start_reading(const Actor& actor, AcquireOptions options = {}, std::stop_token stop = {}) {
    lock::Wanted wanted;
    wanted.mode = Mode::shared;
    return start_acquire(actor, actor.lock(Kind::rw, "job"), options, std::move(stop), wanted);
  }
  static StartedHold start_writing(const Actor& actor, AcquireOptions options = {}, std::stop_token stop = {}) {
    return start_acquire(actor, actor.lock(Kind::rw, "job"), options, std::move(stop));
  }
  static Hold read(const Actor& actor, AcquireOptions options = {}) {
    return start_reading(actor, options).get().value();
  }
  static Hold write(const Actor& actor, AcquireOptions options = {}) {
    return start_writing(actor, options).get().value();
  }
  bool queued(std::size_t waiters) { return world().queued("job", waiters, Kind::rw); }
  std::size_t holders() { return world().view("job", Kind::rw).holders.size(); }
};
INSTANTIATE_TEST_SUITE_P(Schemes, Shared, ::testing::ValuesIn(all_schemes()), line_name);

TEST_P(Shared, ReadersHoldItTogether) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().client(), bob = world().client();
  const Hold one = read(alice), other = read(bob);
  EXPECT_TRUE(one.valid() && other.valid());
  EXPECT_EQ(one.mode(), Mode::shared);
  EXPECT_EQ(holders(), 2U);
}

TEST_P(Shared, AWriterIsAlone) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().client(), bob = world().client();
  Hold writer = write(alice);
  EXPECT_EQ(start_reading(bob, {.wait = 0s}).get().code(), Errc::busy);
  EXPECT_EQ(start_writing(bob, {.wait = 0s}).get().code(), Errc::busy);
  EXPECT_TRUE(release(alice, writer));
  const Hold reader = read(bob);
  EXPECT_EQ(start_writing(alice, {.wait = 0s}).get().code(), Errc::busy);
}

TEST_P(Shared, AMutexOfTheSameNameIsAnotherLock) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().client(), bob = world().client();
  const Hold writer = write(alice);
  EXPECT_TRUE(try_acquire(bob, "job"));
}

TEST_P(Shared, AReaderWhoComesAfterAWaitingWriterWaitsBehindIt) {
  PAWL_NEEDS(shared_mode);
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().client(), carol = world().client();
  Hold first = read(alice);
  StartedHold writer = start_writing(bob);
  ASSERT_TRUE(queued(1));
  EXPECT_EQ(start_reading(carol, {.wait = 0s}).get().code(), Errc::busy) << "or the writer would starve";
  StartedHold last = start_reading(carol);
  ASSERT_TRUE(queued(2));
  EXPECT_TRUE(release(alice, first));
  Hold wrote = writer.get().value();
  EXPECT_FALSE(last.ready());
  EXPECT_TRUE(release(bob, wrote));
  EXPECT_GT(last.get().value().token(), wrote.token());
}

TEST_P(Shared, ReadersWhoWaitTogetherComeInTogether) {
  PAWL_NEEDS(shared_mode);
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().client(), carol = world().client(), dave = world().client();
  Hold writer = write(alice);
  StartedHold one = start_reading(bob);
  ASSERT_TRUE(queued(1));
  StartedHold other = start_reading(carol);
  ASSERT_TRUE(queued(2));
  StartedHold next = start_writing(dave);
  ASSERT_TRUE(queued(3));
  EXPECT_TRUE(release(alice, writer));
  {
    const Hold bobs = one.get().value(), carols = other.get().value();
    EXPECT_TRUE(bobs.valid() && carols.valid());
    EXPECT_FALSE(next.ready());
  }
  EXPECT_TRUE(next.get());
}

TEST_P(Shared, AWriterWhoGivesUpLetsTheReadersBehindItIn) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().client(), bob = world().client(), carol = world().client();
  const Hold reader = read(alice);
  std::stop_source stop;
  StartedHold writer = start_writing(bob, {}, stop.get_token());
  ASSERT_TRUE(queued(1));
  StartedHold behind = start_reading(carol);
  ASSERT_TRUE(queued(2));
  stop.request_stop();
  EXPECT_EQ(writer.get().code(), Errc::cancelled);
  EXPECT_TRUE(behind.get());
}

TEST_P(Shared, ReadersOfOneClientShareOneClaim) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().client(), bob = world().client();
  // A scheme that cannot tell whether others wait lets readers in for so long: longer than any machine stands still.
  const auto job = alice.lock(Kind::rw, "job", {.local_pass_time = 10min});
  const lock::Wanted shared{.mode = Mode::shared};
  Hold first = start_acquire(alice, job, {}, {}, shared).get().value();
  std::vector<Hold> others;
  for (int i = 0; i < 10; ++i) others.push_back(start_acquire(alice, job, {}, {}, shared).get().value());
  EXPECT_EQ(alice.metrics().store_claims, 1U);
  EXPECT_EQ(holders(), 1U);
  EXPECT_NE(others.front().token(), first.token()) << "each has a token of its own";
  EXPECT_TRUE(release(alice, first));
  EXPECT_EQ(start_writing(bob, {.wait = 0s}).get().code(), Errc::busy) << "ten still read";
  others.clear();
  EXPECT_TRUE(start_writing(bob).get());
}

TEST_P(Shared, AWriterOfTheSameClientWaitsForItsReaders) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().client();
  Hold one = read(alice), other = read(alice);
  const auto job = alice.lock(Kind::rw, "job");
  StartedHold writer = start_acquire_in_order(alice, job);
  StartedHold late = start_acquire_in_order(alice, job, {}, {.mode = Mode::shared});
  EXPECT_TRUE(release(alice, one));
  world().sleep(a_moment());
  EXPECT_FALSE(writer.ready());
  EXPECT_FALSE(late.ready()) << "behind the writer";
  EXPECT_TRUE(release(alice, other));
  Hold wrote = writer.get().value();
  EXPECT_TRUE(release(alice, wrote));
  EXPECT_TRUE(late.get());
}

TEST_P(Shared, ADowngradeKeepsTheTokenAndLetsReadersIn) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().client(), bob = world().client(), carol = world().client();
  Hold hold = write(alice);
  const Token token = hold.token();
  StartedHold reader = start_reading(bob);
  ASSERT_TRUE(queued(1));
  StartedHold writer = start_writing(carol);
  ASSERT_TRUE(queued(2));
  ASSERT_TRUE(downgrade(alice, hold));
  EXPECT_EQ(hold.token(), token);
  EXPECT_EQ(hold.sequencer().mode, Mode::shared);
  Hold bobs = reader.get().value();
  EXPECT_FALSE(writer.ready());
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(release(bob, bobs));
  EXPECT_TRUE(writer.get());
}

TEST_P(Shared, ADowngradeWhoseReplyIsLostIsConfirmedByAskingAgain) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().client({.lease = 6s}), bob = world().client();
  Hold hold = write(alice);
  alice.faults().lose_next_reply(Operation::downgrade);
  EXPECT_TRUE(downgrade(alice, hold));
  EXPECT_TRUE(start_reading(bob).get());
}

TEST_P(Shared, AReleaseThatCrossesItsOwnDowngradeLeavesNothingBehind) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().client(), bob = world().client();
  const Hold anchor = start_acquire(alice, alice.lock(Kind::rw, "anchor")).get().value();  // her session does not end
  Hold hold = write(alice);
  Started<Result<void>> downgraded = scene::start(alice, lock::HoldCore::behind(hold)->downgrade());
  ASSERT_TRUE(world().eventually([&] { return alice.sent(Operation::downgrade) > 0; }));
  EXPECT_TRUE(release(alice, hold));
  (void)downgraded.get();
  EXPECT_TRUE(start_writing(bob).get());
}

TEST_P(Shared, TheFenceAdmitsReadersTogetherAndNoOvertakenWriter) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().client(), bob = world().client();
  Fence fence(Kind::rw, "job");
  const auto nothing = [] {};
  const Hold writer = write(alice);
  EXPECT_TRUE(fence.admit(writer.sequencer(), nothing));
  world().expire(alice);
  const Hold one = read(bob), other = read(bob);
  EXPECT_TRUE(fence.admit(other.sequencer(), nothing));
  EXPECT_TRUE(fence.admit(one.sequencer(), nothing)) << "readers do not overtake each other";
  EXPECT_EQ(fence.admit(writer.sequencer(), nothing).code(), Errc::overtaken);
}

TEST_P(Shared, ALostClaimIsLostForAllWhoShareIt) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().brief_client(), bob = world().client();
  const Hold one = read(alice), other = read(alice);
  world().expire(alice);
  EXPECT_TRUE(world().eventually([&] { return is_lost(one) && is_lost(other); }));
  EXPECT_TRUE(start_writing(bob).get());
}

TEST_P(Shared, AReaderThatFailedKeepsWritersOutForItsLockDelayAndReadersNot) {
  PAWL_NEEDS(shared_mode);
  PAWL_NEEDS(lock_delay);
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = read(alice, {.lock_delay = 60s});
  world().expire(alice);
  EXPECT_TRUE(start_reading(bob, {.wait = 0s}).get());
  EXPECT_EQ(start_writing(bob, {.wait = 0s}).get().code(), Errc::busy);
}

TEST_P(Shared, AWriterElsewhereThatGaveUpDoesNotKeepReadersOut) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().client(), bob = world().client();
  const Hold reader = read(alice);
  std::stop_source stop;
  StartedHold writer = start_writing(bob, {}, stop.get_token());
  ASSERT_TRUE(queued(1));
  world().sleep(a_moment());  // long enough for alice not to let readers pass it any more
  stop.request_stop();
  EXPECT_EQ(writer.get().code(), Errc::cancelled);
  ASSERT_TRUE(queued(0));
  const Hold other = read(alice);
  EXPECT_TRUE(reader.valid() && other.valid());
}

TEST_P(Shared, ReadersOfOneClientWithOtherLeasesReadTogether) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().client();
  const Hold one = read(alice);
  const Hold other = read(alice, {.lease = 60s});
  EXPECT_TRUE(one.valid() && other.valid());
  EXPECT_EQ(holders(), 2U);
}

TEST_P(Shared, AReaderBehindAWriterElsewhereWaitsForItThoughItsClientReads) {
  PAWL_NEEDS(shared_mode);
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().client();
  Hold reader = read(alice);
  StartedHold writer = start_writing(bob);
  ASSERT_TRUE(queued(1));
  world().sleep(a_moment());
  StartedHold late = start_reading(alice);
  ASSERT_TRUE(queued(2)) << "at the store, for itself";
  EXPECT_TRUE(release(alice, reader));
  Hold wrote = writer.get().value();
  EXPECT_FALSE(late.ready());
  EXPECT_TRUE(release(bob, wrote));
  EXPECT_TRUE(late.get());
}

TEST_P(Shared, ADowngradeOfUnknownOutcomeIsNotCalledAFailure) {
  PAWL_NEEDS(shared_mode);
  const Actor alice = world().impatient_client();
  Hold hold = write(alice);
  alice.faults().lose_next_reply(Operation::downgrade);
  Started<Result<void>> downgraded = scene::start(alice, lock::HoldCore::behind(hold)->downgrade());
  ASSERT_TRUE(world().eventually([&] { return alice.sent(Operation::downgrade) > 0; }));
  world().cut(alice);
  const Errc code = downgraded.get().code();
  EXPECT_TRUE(code == Errc::outcome_unknown || code == no_error);
  EXPECT_EQ(hold.mode(), Mode::shared) << "others may read already";
  world().heal(alice);
}

TEST_P(Shared, ADowngradeOfAnotherKindIsRefusedAndLeavesTheHoldAsItIs) {
  const Actor alice = world().client();
  const auto spoils_nothing = [&](Kind kind, const lock::Wanted& wanted) {
    Hold hold = start_acquire(alice, alice.lock(kind, "job"), {}, {}, wanted).get().value();
    Fence fence(kind, "job");
    EXPECT_EQ(downgrade(alice, hold).code(), Errc::unsupported) << to_string(kind);
    EXPECT_EQ(alice.sent(Operation::downgrade), 0U) << to_string(kind);
    EXPECT_EQ(hold.mode(), Mode::exclusive) << to_string(kind);
    EXPECT_TRUE(fence.admit(hold.sequencer(), [] {})) << to_string(kind);
    EXPECT_TRUE(fence.admit(hold.sequencer(), [] {})) << to_string(kind) << ": the holder goes on writing";
    EXPECT_TRUE(release(alice, hold));
  };
  lock::Wanted one_of_two;
  one_of_two.permits = {1, 2};
  spoils_nothing(Kind::mutex, {});
  if (can().permits) spoils_nothing(Kind::permits, one_of_two);
  if (can().election) spoils_nothing(Kind::election, {});
}

}  // namespace pawl::contract
