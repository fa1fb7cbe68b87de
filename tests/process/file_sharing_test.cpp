// A folder that several users may write into, or root and its owner: who is let in, and what planted links can reach.

#include "tests/process/file_child.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/temporary_folder.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace pawl::process {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr uid_t alice_id = 64001;
constexpr gid_t her_group = 64100;
constexpr gid_t the_folders_group = 64200;

class FileSharing : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) PAWL_SKIP_WITHOUT("becoming another user needs root");
    fs::permissions(folder_.path(), fs::perms(0777));
  }
  void make_folder(uid_t owner, gid_t group, unsigned mode) const {
    fs::create_directory(path_);
    ASSERT_EQ(::chown(path_.c_str(), owner, group), 0);
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
  }
  static struct stat status_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
    return status;
  }
  std::string error_of(const std::string& url) const {
    const Result<Client> client = Client::open(url, {.timeout = 2s});
    return client ? "" : client.error().to_string();
  }
  static bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
  static bool asks_for_consent(const std::string& error) {
    return has(error, "permission_denied") && has(error, "belongs to user 64001") && has(error, "?mode=0770");
  }

  const Child::Options alice_{.user = alice_id, .group = her_group};
  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "store";
  const std::string url_ = "file://" + path_;
  const std::string shared_ = url_ + "?mode=0770";
};

TEST_F(FileSharing, RootDoesNotUseAnotherUsersFolder) {
  Child alice(alice_);
  ASSERT_EQ(alice.say("open " + url_), "ok");
  const std::string refused = error_of(url_);
  EXPECT_TRUE(asks_for_consent(refused)) << refused;
  EXPECT_TRUE(alice.say("acquire job").starts_with("ok "));
}

TEST_F(FileSharing, WhoJoinsAnotherUsersFolderSaysThatItIsOnPurpose) {
  make_folder(alice_id, her_group, 0770);
  Child bob(Child::Options{.user = 64002, .group = her_group});
  const std::string refused = bob.say("open " + url_);
  EXPECT_TRUE(asks_for_consent(refused)) << refused;
  EXPECT_TRUE(asks_for_consent(error_of(url_)));
  EXPECT_EQ(bob.say("open " + shared_), "ok");
}

TEST_F(FileSharing, AFolderOfRootsNeedsNoConsent) {
  make_folder(0, her_group, 0770);
  Child alice(alice_);
  EXPECT_EQ(alice.say("open " + url_), "ok");
  EXPECT_EQ(error_of(url_), "");
}

// Scenario: the owner is not in the folder's group, and root comes first.
TEST_F(FileSharing, WhatRootMakesInASharedFolderBelongsToTheFoldersOwner) {
  make_folder(alice_id, the_folders_group, 0770);
  Child root;
  ASSERT_EQ(root.say("open " + shared_), "ok");
  ASSERT_TRUE(root.say("acquire job").starts_with("ok "));
  for (const auto& file : fs::directory_iterator(path_)) {
    const struct stat status = status_of(file.path());
    EXPECT_EQ(status.st_uid, alice_id) << file.path();
    EXPECT_EQ(status.st_gid, the_folders_group) << file.path();
    EXPECT_EQ(status.st_mode & 0777, 0660u) << file.path();
  }
  Child alice(alice_);
  ASSERT_EQ(alice.say("open " + shared_), "ok");
  ASSERT_EQ(alice.say("start job"), "ok");
  ASSERT_TRUE(queued(root, "1"));
  ASSERT_EQ(root.say("release"), "ok");
  EXPECT_TRUE(alice.say("finish").starts_with("ok "));
  ASSERT_EQ(root.say("start job"), "ok");
  ASSERT_TRUE(queued(alice, "1"));
  const auto released = Clock::now();
  ASSERT_EQ(alice.say("release"), "ok");
  EXPECT_TRUE(root.say("finish").starts_with("ok "));
  EXPECT_LT(Clock::now() - released, 4s) << "by a letter to root's mailbox, not by the next look";
}

/// A name in the folder that becomes a link to a file of root's outside of it, in the middle of root's opening.
class FilePlantedLink : public FileSharing, public testing::WithParamInterface<std::tuple<const char*, const char*>> {
 protected:
  static constexpr int enough_steps = 100;
  std::string plant() const {
    const auto& [name, link] = GetParam();
    return "touch " + planted_ + "; for f in " + path_ + "/" + name + "; do test -e $f && " + link + " " + target_ +
           " $f; done";
  }
  const std::string target_ = folder_ / "precious";
  const std::string planted_ = folder_ / "planted";
};

TEST_P(FilePlantedLink, LeadsNowhere) {
  int step = 0;
  do {
    ++step;
    fs::remove(planted_);
    fs::remove_all(path_);
    make_folder(alice_id, her_group, 0770);
    fs::remove(target_);
    std::ofstream(target_).close();
    ASSERT_EQ(::chmod(target_.c_str(), 0600), 0);
    const std::string number = std::to_string(step);
    Child root(Child::Options{.environment = {{"PAWL_TEST_STEP", number}, {"PAWL_TEST_STEP_COMMAND", plant()}}});
    const std::string opened = root.say("open " + shared_ + " 30s 500ms");
    if (opened == "ok") root.say("try job");
    const struct stat after = status_of(target_);
    EXPECT_TRUE(after.st_uid == 0 && after.st_gid == 0) << "step " << step << ": " << opened;
    EXPECT_EQ(after.st_mode & 0777, 0600u) << "step " << step << ": " << opened;
    EXPECT_EQ(after.st_size, 0) << "step " << step << ": " << opened;
  } while (fs::exists(planted_) && step < enough_steps);
  EXPECT_GT(step, 10);
  EXPECT_LT(step, enough_steps);
}

INSTANTIATE_TEST_SUITE_P(Process, FilePlantedLink,
                         testing::Combine(testing::Values("gate", "locks", "tokens", "mail-*"),
                                          testing::Values("ln -sfn", "ln -fn")),
                         [](const auto& info) {
                           std::string name = std::get<0>(info.param);
                           name.resize(std::min(name.find('-'), name.size()));
                           const bool symbolic = std::string(std::get<1>(info.param)) == "ln -sfn";
                           return name + (symbolic ? "Symbolic" : "Hard");
                         });

// Scenario: the mailbox of the next holder is a link to the socket of another service.
TEST_F(FileSharing, ALetterIsNotSentThroughALink) {
  const int outside = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string target = folder_ / "service";
  std::copy(target.begin(), target.end(), address.sun_path);
  ASSERT_EQ(::bind(outside, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  make_folder(alice_id, her_group, 0770);
  Child root, alice(alice_);
  ASSERT_EQ(alice.say("open " + shared_), "ok");
  ASSERT_EQ(root.say("open " + shared_), "ok");
  ASSERT_TRUE(root.say("acquire job").starts_with("ok "));
  ASSERT_EQ(alice.say("start job"), "ok");
  ASSERT_TRUE(queued(root, "1"));
  ASSERT_EQ(std::system(("for f in " + path_ + "/mail-*; do ln -sfn " + target + " $f; done").c_str()), 0);
  ASSERT_EQ(root.say("release"), "ok");
  char byte = 0;
  EXPECT_LT(::recv(outside, &byte, 1, MSG_DONTWAIT), 0) << "a letter has left the folder";
  ::close(outside);
  EXPECT_TRUE(alice.say("finish").starts_with("ok ")) << "it looks by itself";
}

class FileDefault : public testing::TestWithParam<uid_t> {};

TEST_P(FileDefault, AUserWithoutAHomeIsToldHowToNameAStore) {
  if (::geteuid() != 0) PAWL_SKIP_WITHOUT("becoming another user needs root");
  Child service(Child::Options{.user = GetParam(), .group = GetParam()});
  const std::string refused = service.say("open-default");
  EXPECT_NE(refused.find("PAWL_STORE=file:///"), std::string::npos) << refused;
}
INSTANTIATE_TEST_SUITE_P(Process, FileDefault, testing::Values(uid_t{65534}, uid_t{33}, uid_t{64001}),
                         [](const auto& info) { return "User" + std::to_string(info.param); });

}  // namespace
}  // namespace pawl::process
