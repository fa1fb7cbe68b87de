// The file store and fork(): a child owns nothing of its parent's, and takes nothing from it.

#include "tests/process/file_child.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <stdlib.h>

#include <string>
#include <thread>

namespace pawl::process {
namespace {

using Clock = std::chrono::steady_clock;

class FileFork : public testing::Test {
 protected:
  FileFork() { ::setenv("PAWL_TEST_URL", url_.c_str(), 1); }

  const test::TemporaryFolder folder_;
  const std::string url_ = "file://" + folder_ / "store";
};

class FileForkWhileHolding : public FileFork, public testing::WithParamInterface<const char*> {};

TEST_P(FileForkWhileHolding, TheParentKeepsItsLock) {
  Child alice(url_, "3s"), bob(url_);
  alice.say("acquire job");
  EXPECT_EQ(alice.say(std::string("fork-and ") + GetParam()), "exited 0");
  EXPECT_TRUE(bob.say("try job").starts_with("busy: "));
  std::this_thread::sleep_for(4s);  // longer than the lease: it must still be renewed
  EXPECT_EQ(alice.say("valid"), "yes");
  EXPECT_TRUE(bob.say("try job").starts_with("busy: "));
  EXPECT_EQ(alice.say("release"), "ok");
  EXPECT_TRUE(bob.say("try job").starts_with("ok "));
}
INSTANTIATE_TEST_SUITE_P(TheChild, FileForkWhileHolding,
                         testing::Values("exit", "exec", "release", "destroy", "reopen"),
                         [](const auto& how) { return std::string(how.param); });

// Scenario: the child has all descriptors of its parent. The record lock is the parent's alone (an OFD lock lives on).
TEST_F(FileFork, WhenTheParentDiesALivingChildKeepsNothing) {
  Child alice(url_), bob(url_);
  alice.say("acquire job");
  EXPECT_EQ(alice.say("fork-and sleep"), "ok");
  bob.say("start job");
  const auto killed = Clock::now();
  alice.kill();
  EXPECT_TRUE(bob.say("finish").starts_with("ok "));
  EXPECT_LT(Clock::now() - killed, 5s);
}

}  // namespace
}  // namespace pawl::process
