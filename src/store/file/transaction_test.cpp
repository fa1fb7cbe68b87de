#include "store/file/transaction.hpp"

#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace pawl::store::file {
namespace {

/// No file can be opened while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class DatabaseTest : public testing::Test {
 protected:
  Fd file() const { return Fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)); }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "locks";
  const Key key_ = Key('k').number(1);
};

// Scenario: LMDB has panicked, and cannot be opened again just now.
TEST_F(DatabaseTest, WhatCannotBeReopenedIsAnErrorAndIsTriedAgain) {
  Database database = Database::open(file(), path_).value();
  {
    Transaction transaction(database);
    transaction.put(key_, "kept");
    ASSERT_EQ(transaction.commit(), 0);
  }
  {
    const NoDescriptors none;
    EXPECT_EQ(database.reopen(), EMFILE);
    Transaction transaction(database);
    EXPECT_EQ(transaction.get(key_), std::nullopt);
    EXPECT_FALSE(transaction.crowded());
    transaction.put(key_, "nothing");
    EXPECT_EQ(transaction.commit(), EMFILE);
  }
  Transaction transaction(database);
  EXPECT_EQ(transaction.get(key_), "kept");
}

// Scenario: between finding the file and opening the database in it, somebody puts a link in its place.
TEST_F(DatabaseTest, IsInTheFileThatWasFoundWhateverItsNameLeadsToByNow) {
  const std::string target = folder_ / "precious";
  std::ofstream(target).close();
  Fd found = file();
  std::filesystem::remove(path_);
  std::filesystem::create_symlink(target, path_);
  Database database = Database::open(std::move(found), path_).value();
  Transaction transaction(database);
  transaction.put(key_, "value");
  EXPECT_EQ(transaction.commit(), 0);
  EXPECT_EQ(std::filesystem::file_size(target), 0u);
}

}  // namespace
}  // namespace pawl::store::file
