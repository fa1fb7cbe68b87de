#include "store/file/token_file.hpp"

#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace pawl::store::file {
namespace {

class TokenFileTest : public testing::Test {
 protected:
  static TokenMark mark_of(std::uint64_t epoch, std::uint64_t mark) {
    TokenMark out;
    out.epoch.epoch = epoch;
    out.epoch.store_id = 7;
    out.epoch.identity = "inode-1";
    out.mark = mark;
    return out;
  }
  Folder folder() const { return Folder::open({.path = temporary_ / "store"}).value(); }
  void scribble(std::streamoff at) const {
    std::fstream file(temporary_ / "store/tokens", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file << "scribble";
  }

  const test::TemporaryFolder temporary_;
};

TEST_F(TokenFileTest, ANewFileSaysNothing) {
  EXPECT_EQ(TokenFile::open(folder()).value().read().value(), std::nullopt);
}

TEST_F(TokenFileTest, WhatWasWrittenLastIsRead) {
  TokenFile file = TokenFile::open(folder()).value();
  for (std::uint64_t i = 1; i <= 5; ++i) {
    ASSERT_TRUE(file.write(mark_of(1, i * 1000)));
    EXPECT_EQ(file.read().value(), mark_of(1, i * 1000));
  }
  ASSERT_TRUE(file.write(mark_of(2, 5000)));
  EXPECT_EQ(TokenFile::open(folder()).value().read().value(), mark_of(2, 5000));
}

// Scenario: the machine dies in the middle of a write.
TEST_F(TokenFileTest, ATornWriteLeavesTheMarkBefore) {
  TokenFile file = TokenFile::open(folder()).value();
  ASSERT_TRUE(file.write(mark_of(1, 1000)));  // the first slot
  ASSERT_TRUE(file.write(mark_of(1, 2000)));  // the second
  scribble(0);
  EXPECT_EQ(file.read().value(), mark_of(1, 2000));
  ASSERT_TRUE(file.write(mark_of(1, 3000)));
  scribble(4096);
  EXPECT_EQ(file.read().value(), mark_of(1, 3000));
  scribble(0);
  EXPECT_EQ(file.read().code(), Errc::store_unavailable);
}

TEST_F(TokenFileTest, ACopyKnowsThatItIsOne) {
  const std::string before = TokenFile::open(folder()).value().identity();
  const auto path = std::filesystem::path(temporary_ / "store/tokens");
  std::filesystem::copy_file(path, temporary_ / "copy");
  std::filesystem::rename(temporary_ / "copy", path);
  EXPECT_NE(TokenFile::open(folder()).value().identity(), before);
}

TEST_F(TokenFileTest, AMarkIsText) {
  const TokenMark mark = mark_of(1'700'000'000'000, 10'000);
  EXPECT_EQ(TokenMark::parse(mark.to_text()).value(), mark);
  std::string text = mark.to_text();
  text[text.find("mark=") + 5] = '9';
  EXPECT_EQ(TokenMark::parse(text).value(), std::nullopt);
  EXPECT_EQ(TokenMark::parse("").value(), std::nullopt);
}

}  // namespace
}  // namespace pawl::store::file
