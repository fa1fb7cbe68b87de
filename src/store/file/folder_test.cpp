#include "store/file/folder.hpp"

#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <linux/magic.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace pawl::store::file {
namespace {

class FolderTest : public testing::Test {
 protected:
  static mode_t mode_of(const std::string& path) {
    struct stat status {};
    ::stat(path.c_str(), &status);
    return status.st_mode & 0777;
  }
  const test::TemporaryFolder temporary_;
  const std::string path_ = temporary_ / "above/store";
};

TEST_F(FolderTest, IsMadeForThisUserAloneWhateverTheUmask) {
  const mode_t before = ::umask(0);
  const Folder folder = Folder::open({.path = path_}).value();
  ASSERT_TRUE(folder.open_file("file").value().created);
  ::umask(before);
  EXPECT_EQ(mode_of(path_), 0700u);
  EXPECT_EQ(mode_of(path_ + "/file"), 0600u);
  EXPECT_FALSE(folder.open_file("file").value().created);
}

TEST_F(FolderTest, IsMadeForTheGroupWhateverTheUmask) {
  const mode_t before = ::umask(077);
  const Folder folder = Folder::open({.path = path_, .mode = 0770}).value();
  ASSERT_TRUE(folder.open_file("file"));
  ::umask(before);
  EXPECT_EQ(mode_of(path_), 0770u);
  EXPECT_EQ(mode_of(path_ + "/file"), 0660u);
}

TEST_F(FolderTest, AnOldFolderDecidesForItsFiles) {
  std::filesystem::create_directories(path_);
  ::chmod(path_.c_str(), 0770);
  ASSERT_TRUE(Folder::open({.path = path_}).value().open_file("file"));
  EXPECT_EQ(mode_of(path_ + "/file"), 0660u);
}

TEST_F(FolderTest, ASymbolicLinkInTheFolderIsNotFollowed) {
  const Folder folder = Folder::open({.path = path_}).value();
  std::filesystem::create_symlink("/etc/passwd", path_ + "/gate");
  EXPECT_EQ(folder.open_file("gate").code(), Errc::invalid_argument);
}

TEST_F(FolderTest, WhatIsNoFileIsNotOpened) {
  const Folder folder = Folder::open({.path = path_}).value();
  ASSERT_EQ(::mkfifo((path_ + "/gate").c_str(), 0600), 0);
  EXPECT_EQ(folder.open_file("gate").code(), Errc::invalid_argument);
}

// A hard link can be made by whoever may write into the folder, and lead to a file of ours elsewhere.
TEST_F(FolderTest, AFileWithAnotherNameIsOpenedWhereOnlyThisUserWrites) {
  std::ofstream(temporary_ / "ours").close();
  for (const mode_t mode : {0700, 0770}) {
    const Folder folder = Folder::open({.path = path_ + std::to_string(mode), .mode = mode}).value();
    std::filesystem::create_hard_link(temporary_ / "ours", folder.path() + "/gate");
    EXPECT_EQ(folder.open_file("gate").code(), mode == 0700 ? Errc{} : Errc::invalid_argument);
  }
}

TEST_F(FolderTest, ALinkInTheFolderIsNoSocketAndWhatItLeadsToIsNotShared) {
  const Folder folder = Folder::open({.path = path_, .mode = 0770}).value();
  std::ofstream(temporary_ / "file").close();
  ::chmod((temporary_ / "file").c_str(), 0600);
  std::filesystem::create_symlink(temporary_ / "file", path_ + "/mail");
  EXPECT_FALSE(folder.find_socket("mail"));
  folder.share_socket("mail");
  EXPECT_EQ(mode_of(temporary_ / "file"), 0600u);
}

TEST_F(FolderTest, APathThatCannotBeLookedAtIsNotGone) {
  const std::string loop = temporary_ / "loop";
  std::filesystem::create_directory_symlink(temporary_.path(), loop);
  const Folder folder = Folder::open({.path = loop + "/store"}).value();
  std::filesystem::remove(loop);
  std::filesystem::create_symlink(loop, loop);  // an error, whoever asks
  EXPECT_TRUE(folder.still_there());
  std::filesystem::remove(loop);
  EXPECT_FALSE(folder.still_there());
}

TEST_F(FolderTest, NoticesThatItWasMoved) {
  const Folder folder = Folder::open({.path = path_}).value();
  EXPECT_TRUE(folder.still_there());
  std::filesystem::rename(path_, path_ + "-away");
  EXPECT_FALSE(folder.still_there());
  EXPECT_TRUE(folder.open_file("file")) << "it is reached by its descriptor";
  EXPECT_TRUE(std::filesystem::exists(path_ + "-away/file"));
}

TEST(NetworkFileSystem, IsKnownByItsType) {
  for (const std::uint64_t type :
       {std::uint64_t{NFS_SUPER_MAGIC}, std::uint64_t{0xFF534D42}, std::uint64_t{V9FS_MAGIC}}) {
    EXPECT_TRUE(is_network_file_system(type));
  }
  for (const std::uint64_t type : {EXT4_SUPER_MAGIC, TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC, 0x58465342}) {
    EXPECT_FALSE(is_network_file_system(type));
  }
}

}  // namespace
}  // namespace pawl::store::file
