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

}  // namespace
}  // namespace pawl::test
