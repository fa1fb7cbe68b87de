// A disk that stalls: what waits for it does, and nothing else.

#include "tests/process/file_child.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/threads.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace pawl::process {
namespace {

class FileStall : public testing::Test {
 protected:
  void stall_the_disk() const { std::ofstream(stall_).flush(); }
  void mend_the_disk() const { std::filesystem::remove(stall_); }
  bool a_sync_has_begun() const {
    return test::eventually([&] { return std::filesystem::exists(log_); });
  }

  const test::TemporaryFolder folder_;
  const std::string store_ = folder_ / "store";
  const std::string stall_ = folder_ / "stall";
  const std::string log_ = folder_ / "syncs";
  Child alice_{Child::Options{.environment = {{"PAWL_TEST_SYNC_WHILE", stall_},
                                              {"PAWL_TEST_SYNC_OF", "tokens"},
                                              {"PAWL_TEST_SYNC_LOG", log_}}}};
};

// Scenario: one claim of the process waits until more tokens are on the disk, and the hold of another lock ends meanwhile.
TEST_F(FileStall, ALossIsToldWithinASecondWhileAClaimWaitsForTheDisk) {
  ASSERT_EQ(alice_.say("open file://" + store_ + " 30s 25s"), "ok");
  std::filesystem::remove(log_);
  stall_the_disk();
  ASSERT_EQ(alice_.say("use-tokens " + store_), "ok");
  ASSERT_NE(token_of(alice_.say("acquire first")), "");
  ASSERT_TRUE(a_sync_has_begun()) << "tokens are few, so more are reserved";
  ASSERT_EQ(alice_.say("hold-for job 300ms"), "ok") << "there is one left";
  ASSERT_EQ(alice_.say("start other"), "ok");
  const std::string late = alice_.say("await-lateness");
  EXPECT_EQ(late.find_first_not_of("0123456789"), std::string::npos) << late;
  EXPECT_LT(std::atoi(late.c_str()), 1000);
  EXPECT_EQ(alice_.say("started"), "no") << "the disk was not stalled: this says nothing";
  mend_the_disk();
  EXPECT_NE(token_of(alice_.say("finish")), "");
}

// A power cut must not take back a mark below which tokens were given. Mutant D7.
TEST_F(FileStall, NoTokenIsGivenBeforeTheMarkAboveItIsOnTheDisk) {
  ASSERT_EQ(alice_.say("open file://" + store_ + " 30s 25s"), "ok");
  ASSERT_EQ(alice_.say("use-tokens " + store_), "ok");
  stall_the_disk();
  std::filesystem::remove(log_);
  ASSERT_NE(token_of(alice_.say("acquire first")), "");
  ASSERT_NE(token_of(alice_.say("acquire second")), "") << "two are left";
  ASSERT_EQ(alice_.say("start third"), "ok");
  ASSERT_TRUE(a_sync_has_begun()) << "more tokens are reserved, and nothing brings the mark to the disk";
  EXPECT_EQ(alice_.say("started"), "no");
  mend_the_disk();
  EXPECT_NE(token_of(alice_.say("finish")), "");
}

}  // namespace
}  // namespace pawl::process
