// A folder that is deleted or replaced under those who use it: they are told at once, and not by their next renewal.

#include "tests/process/file_child.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace pawl::process {
namespace {

namespace fs = std::filesystem;

/// What a person types: $F is the folder by the path of the URL, $D the one that it is in.
struct Accident {
  const char* name;
  const char* commands;
};

class FileForgetting : public testing::Test {
 protected:
  FileForgetting() {
    fs::permissions(folder_.path(), fs::perms(0755));
    shell("mkdir -p $D/real/above; ln -s real $D/link");
  }
  int shell(const std::string& commands) const {
    return std::system(("D=" + folder_.path() + "; F=" + path_ + "; " + commands).c_str());
  }

  static constexpr const char* no_renewal = " 24h";  // the first one comes after eight hours
  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "link/above/store";
  const std::string url_ = "file://" + path_;
};

class FileForgottenAtOnce : public FileForgetting, public testing::WithParamInterface<Accident> {};

TEST_P(FileForgottenAtOnce, HoldersAreLostAndWaitersServed) {
  Child alice, bob;
  ASSERT_EQ(alice.say("open " + url_ + no_renewal), "ok");
  ASSERT_EQ(bob.say("open " + url_ + no_renewal), "ok");
  const std::string before = token_of(alice.say("acquire job"));
  ASSERT_EQ(bob.say("start job"), "ok");
  ASSERT_TRUE(queued(alice, "1"));
  ASSERT_EQ(shell(GetParam().commands), 0);
  EXPECT_EQ(alice.say("await-loss"), "ok");
  EXPECT_GT(token_of(bob.say("finish")), before) << "in a folder that was made anew";
  EXPECT_TRUE(alice.say("try job").starts_with("busy: ")) << "both are there now";
}

const Accident accidents[] = {
    {"Deleted", "rm -r $F"},
    {"ByTheGateAlone", "rm $F/gate"},
    {"MovedAway", "mv $F $F.away"},
    {"ReplacedByAnEmptyOne", "mkdir -m 700 $F.new && mv $F $F.old && mv $F.new $F"},
    {"ReplacedByACopy", "cp -a $F $F.new && rm $F.new/mail-* && rm -r $F && mv $F.new $F"},
    {"MovedWithAFolderAbove", "mv $D/real/above $D/real/elsewhere"},
    {"ALinkToItPointsElsewhere", "mkdir $D/other && ln -s other $D/new && mv -T $D/new $D/link"},
    {"ALinkToItIsRemoved", "rm $D/link"},
};
INSTANTIATE_TEST_SUITE_P(Process, FileForgottenAtOnce, testing::ValuesIn(accidents),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(FileForgetting, WithoutInotifyTheNextRenewalTells) {
  Child alice(Child::Options{.environment = {{"PAWL_TEST_NO_INOTIFY", "1"}}});
  ASSERT_EQ(alice.say("open " + url_ + " 3s"), "ok");
  token_of(alice.say("acquire job"));
  fs::remove_all(path_);
  EXPECT_EQ(alice.say("await-loss"), "ok");
}

TEST_F(FileForgetting, AFolderThatIsLookedAtOrTouchedIsNotLost) {
  Child alice(url_, "1s");
  token_of(alice.say("acquire job"));
  ASSERT_EQ(
      shell("ls -lR $D >/dev/null; touch $F/gate $F $D/real/above; chmod 700 $F; cp -a $F $D/copy; rm -r $D/copy"), 0);
  EXPECT_EQ(alice.say("await-renewals"), "ok");
}

// Scenario: the holder may not look at its own path any more. It has the folder open, and nothing else has changed.
TEST_F(FileForgetting, AFolderAboveThatMayNotBePassedIsNoDeletion) {
  if (::geteuid() != 0) PAWL_SKIP_WITHOUT("becoming another user needs root");
  fs::create_directory(path_);
  ASSERT_EQ(::chown(path_.c_str(), 64001, 64100), 0);
  fs::permissions(path_, fs::perms(0700));
  Child alice(Child::Options{.user = 64001, .group = 64100});
  ASSERT_EQ(alice.say("open " + url_ + " 1s"), "ok");
  token_of(alice.say("acquire job"));
  fs::permissions(folder_ / "real/above", fs::perms(0700));
  EXPECT_EQ(alice.say("await-renewals"), "ok");
  EXPECT_EQ(alice.say("release"), "ok");
}

}  // namespace
}  // namespace pawl::process
