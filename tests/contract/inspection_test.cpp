// Promise: anybody can ask who holds a lock, since when, and who waits.

#include "tests/contract/contract.hpp"

#include <unistd.h>

#include <stop_token>
#include <string>
#include <vector>

namespace pawl::contract {

PAWL_CONTRACT(Inspection);

namespace {

std::vector<std::string> names(const std::vector<LockView>& views) {
  std::vector<std::string> names;
  for (const LockView& view : views) names.push_back(view.name);
  return names;
}

std::vector<std::string> labels(const std::vector<ClaimView>& claims) {
  std::vector<std::string> labels;
  for (const ClaimView& claim : claims) labels.push_back(claim.owner.label);
  return labels;
}

}  // namespace

TEST_P(Inspection, AFreeLockHasAnEmptyView) {
  const Actor alice = world().client();
  const LockView view = inspect(alice, "job").value();
  EXPECT_EQ(view.name, "job");
  EXPECT_EQ(view.kind, Kind::mutex);
  EXPECT_EQ(view.scheme, can().scheme);
  EXPECT_TRUE(view.holders.empty());
  EXPECT_TRUE(view.waiters.empty());
  EXPECT_EQ(view.shut_for, 0s);
}

TEST_P(Inspection, TheHolderIsShown) {
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job", {.label = "nightly backup"});
  const LockView view = inspect(bob, "job").value();
  ASSERT_EQ(view.holders.size(), 1U);
  const ClaimView& holder = view.holders[0];
  EXPECT_EQ(holder.token, hold.token());
  EXPECT_EQ(holder.owner.label, "nightly backup");
  EXPECT_EQ(holder.owner.pid, ::getpid());
  EXPECT_FALSE(holder.owner.host.empty());
  EXPECT_FALSE(holder.owner.foreign);
  EXPECT_EQ(holder.claim.size(), 32U);
  EXPECT_GT(holder.lease_left, 0s);
  EXPECT_FALSE(holder.release_requested);
}

TEST_P(Inspection, AgesCountFromTheGrantAndFromTheAsking) {
  const Actor alice = world().client(), bob = world().client();
  const Hold hold = must_acquire(alice, "job");
  world().sleep(a_moment());
  std::stop_source stop;
  StartedHold bobs = start_acquire(bob, "job", {}, stop.get_token());
  ASSERT_TRUE(world().queued("job", 1));
  world().sleep(a_moment());
  const LockView view = world().view("job");
  EXPECT_GE(view.holders.at(0).age, 2 * a_moment());
  EXPECT_GE(view.waiters.at(0).age, a_moment());
  EXPECT_LE(view.waiters.at(0).age, view.holders.at(0).age - a_moment());
  if (world().virtual_time()) {
    EXPECT_EQ(view.holders.at(0).age, 2 * a_moment());
    EXPECT_EQ(view.waiters.at(0).age, a_moment());
  }
  stop.request_stop();
  EXPECT_FALSE(bobs.get());
}

TEST_P(Inspection, WaitersAreShownInTheOrderInWhichTheyWillBeServed) {
  PAWL_NEEDS(fair);
  const Actor alice = world().client(), bob = world().client(), carol = world().client();
  Hold hold = must_acquire(alice, "job");
  StartedHold bobs = start_acquire(bob, "job", {.label = "bob"});
  ASSERT_TRUE(world().queued("job", 1));
  StartedHold carols = start_acquire(carol, "job", {.label = "carol"});
  ASSERT_TRUE(world().queued("job", 2));
  const LockView view = world().view("job");
  EXPECT_EQ(labels(view.waiters), (std::vector<std::string>{"bob", "carol"}));
  EXPECT_EQ(view.waiters.at(0).token, Token());
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(bobs.get());
  EXPECT_TRUE(carols.get());
}

TEST_P(Inspection, AfterALocalPassTheNextHoldersLabelIsShown) {
  PAWL_NEEDS(knows_contention);
  const Actor alice = world().client();
  Hold first = must_acquire(alice, "job", {.label = "first"});
  StartedHold second = start_acquire_in_order(alice, alice.mutex("job"), {.label = "second"});
  EXPECT_EQ(labels(world().view("job").holders), std::vector<std::string>{"first"});
  EXPECT_TRUE(release(alice, first));
  const Hold hold = second.get().value();
  EXPECT_TRUE(
      world().ask_until([&] { return labels(world().view("job").holders) == std::vector<std::string>{"second"}; }));
  EXPECT_EQ(alice.metrics().local_passes, 1U);
}

TEST_P(Inspection, AHoldWithoutALabelShowsItsClients) {
  const Actor alice = world().client({.label = "billing"});
  const Hold hold = must_acquire(alice, "job");
  EXPECT_EQ(labels(world().view("job").holders), std::vector<std::string>{"billing"});
}

TEST_P(Inspection, TheListHasEveryLockInUseByName) {
  const Actor alice = world().client(), bob = world().client();
  const Hold b = must_acquire(alice, "b"), a2 = must_acquire(bob, "a/2"), a1 = must_acquire(alice, "a/1");
  EXPECT_EQ(names(list(bob).value()), (std::vector<std::string>{"a/1", "a/2", "b"}));
  EXPECT_EQ(names(list(bob, "a/").value()), (std::vector<std::string>{"a/1", "a/2"}));
  EXPECT_EQ(names(list(bob, "a/2").value()), std::vector<std::string>{"a/2"});
  EXPECT_TRUE(list(bob, "c").value().empty());
}

TEST_P(Inspection, AReleasedLockIsNotListed) {
  const Actor alice = world().client();
  Hold hold = must_acquire(alice, "job");
  EXPECT_EQ(list(alice).value().size(), 1U);
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(list(alice).value().empty());
}

TEST_P(Inspection, TheListShowsHolders) {
  const Actor alice = world().client();
  const Hold hold = must_acquire(alice, "job", {.label = "me"});
  const std::vector<LockView> views = list(alice).value();
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(labels(views[0].holders), std::vector<std::string>{"me"});
}

TEST_P(Inspection, AskingChangesNothing) {
  const Actor alice = world().client(), bob = world().client();
  Hold hold = must_acquire(alice, "job");
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(inspect(bob, "job"));
    EXPECT_TRUE(inspect(bob, "another job"));
    EXPECT_TRUE(list(bob));
    EXPECT_TRUE(check(bob, hold.sequencer()));
  }
  EXPECT_EQ(bob.sent(Operation::open_session), 0U);
  EXPECT_TRUE(release(alice, hold));
  EXPECT_TRUE(world().views().empty());
}

TEST_P(Inspection, ABadNameIsAnInvalidArgument) {
  const Actor alice = world().client();
  EXPECT_EQ(inspect(alice, "").code(), Errc::invalid_argument);
  EXPECT_EQ(inspect(alice, std::string(4097, 'x')).code(), Errc::invalid_argument);
  EXPECT_EQ(revoke(alice, "").code(), Errc::invalid_argument);
}

}  // namespace pawl::contract
