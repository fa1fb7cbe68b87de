#include "apps/cli/torture/run.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace pawl::torture {

namespace {

using ::testing::IsEmpty;

std::vector<std::string> sentences(const std::vector<Complaint>& complaints) {
  std::vector<std::string> all;
  for (const Complaint& complaint : complaints) all.push_back(complaint.oracle + ": " + complaint.sentence);
  return all;
}

}  // namespace

#ifdef PAWL_WITH_FILE
class TortureLeftovers : public testing::Test {
 protected:
  TortureLeftovers() {
    plan_.url = "file://" + folder_.path() + "/store";
    plan_.crew.orders.run = "1";
    plan_.crew.orders.kinds = {Kind::rw};
  }
  test::TemporaryFolder folder_;
  Plan plan_;
};

TEST_F(TortureLeftovers, ALockThatIsStillHeldIsOne) {
  EXPECT_THAT(look_for_leftovers(plan_), IsEmpty());
  Client alice(plan_.url);
  const Hold hold = alice.shared_mutex("torture-1-rw").acquire_shared().value();
  EXPECT_THAT(sentences(look_for_leftovers(plan_, Milliseconds(0))), testing::Contains("left: the lock torture-1-rw"));
}

TEST_F(TortureLeftovers, WhatTheServerStillHasIsOneAndIsWaitedFor) {
  int looks = 0;
  plan_.leftovers = [&looks] { return std::vector<std::string>(++looks < 3 ? 1 : 0, "the key x"); };
  EXPECT_THAT(look_for_leftovers(plan_), IsEmpty());
  EXPECT_EQ(looks, 3);
  plan_.leftovers = [] { return std::vector<std::string>{"the key x"}; };
  EXPECT_THAT(sentences(look_for_leftovers(plan_, Milliseconds(0))), testing::ElementsAre("left: the key x"));
}
#endif

}  // namespace pawl::torture
