#include "base/planted.hpp"
#include "tests/support/actor.hpp"

#include <gtest/gtest.h>

namespace pawl::test {
namespace {

using base::Bug;
using base::plant;

/// Each planted bug shows: otherwise the simulation would look for something that is not there.
class PlantedTest : public StoreScene {
 protected:
  ~PlantedTest() override { base::uproot_all(); }
};

TEST_F(PlantedTest, ReleaseByName) {
  plant(Bug::release_by_name);
  Actor alice = actor("alice", 3s), bob = actor("bob", 60s);
  const Claim held = alice.wish("job"), next = bob.wish("job");
  alice.claim(held).value();
  bob.claim(next).value();
  pass(3s);
  EXPECT_EQ(bob.look(next).place, Standing::Place::held);
  alice.withdraw(held);
  EXPECT_EQ(bob.look(next).place, Standing::Place::gone);
}

TEST_F(PlantedTest, RenewalCreates) {
  plant(Bug::renewal_creates);
  Actor alice = actor("alice", 3s), bob = actor("bob", 60s);
  const Claim held = alice.wish("job"), next = bob.wish("job");
  alice.claim(held).value();
  bob.claim(next).value();
  const std::uint64_t before = alice.changes();
  pass(3s);
  EXPECT_EQ(alice.changes(), before);
  EXPECT_EQ(bob.look(next).place, Standing::Place::held);
}

TEST_F(PlantedTest, LateClaimAccepted) {
  plant(Bug::late_claim_accepted);
  Actor alice = actor("alice");
  const Claim late = alice.wish("job");
  alice.withdraw(late, {.unsettled = true});
  EXPECT_TRUE(granted(alice.claim(late)));
}

TEST_F(PlantedTest, TokenReused) {
  plant(Bug::token_reused);
  Actor alice = actor("alice", 3s), bob = actor("bob", 60s);
  const Claim held = alice.wish("job"), next = bob.wish("job");
  const Token token = granted(alice.claim(held))->token;
  bob.claim(next).value();
  pass(3s);
  EXPECT_EQ(bob.look(next).token, token);
}

TEST_F(PlantedTest, ReaderBesideWriter) {
  plant(Bug::reader_beside_writer);
  Actor alice = actor("alice"), bob = actor("bob");
  alice.claim(alice.write_wish("page")).value();
  EXPECT_TRUE(granted(bob.claim(bob.read_wish("page"))));
}

TEST_F(PlantedTest, FittingOvertakes) {
  plant(Bug::fitting_overtakes);
  Actor alice = actor("alice"), bob = actor("bob"), carol = actor("carol");
  alice.claim(alice.read_wish("page")).value();
  EXPECT_TRUE(waiting(bob.claim(bob.write_wish("page"))));
  EXPECT_TRUE(granted(carol.claim(carol.read_wish("page"))));
}

TEST_F(PlantedTest, SlotFreedTwice) {
  plant(Bug::slot_freed_twice);
  Actor alice = actor("alice", 3s), bob = actor("bob", 60s), carol = actor("carol", 60s);
  Claim failing = alice.permits_wish("seats", 1, 1);
  failing.lock_delay = 10s;
  alice.claim(failing).value();
  pass(3s);
  EXPECT_TRUE(granted(bob.claim(bob.permits_wish("seats", 1, 1))));
  pass(10s);
  EXPECT_TRUE(granted(carol.claim(carol.permits_wish("seats", 1, 1))));
}

TEST_F(PlantedTest, DowngradeRequeues) {
  plant(Bug::downgrade_requeues);
  Actor alice = actor("alice"), bob = actor("bob");
  const Claim held = alice.write_wish("page"), next = bob.write_wish("page");
  alice.claim(held).value();
  bob.claim(next).value();
  EXPECT_TRUE(alice.downgrade(held));
  EXPECT_TRUE(bob.holds(next));
}

}  // namespace
}  // namespace pawl::test
