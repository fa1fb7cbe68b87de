#include "base/log.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace pawl::base {
namespace {

/// Puts the old sink back when a test ends.
class LogTest : public testing::Test {
 protected:
  void TearDown() override { replace_log_sink({}); }
};

TEST_F(LogTest, WritesOneLineToStderr) {
  testing::internal::CaptureStderr();
  log(Level::error, "the hold of \"a\" failed\nbadly");
  log(Level::warning, "hm");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "pawl: error: the hold of \"a\" failed badly\npawl: warning: hm\n");
}

TEST_F(LogTest, GoesToTheSinkInstead) {
  std::string seen;
  EXPECT_FALSE(replace_log_sink([&](Level, std::string_view text) { seen = text; }));
  log(Level::error, "one");
  EXPECT_EQ(seen, "one");
  EXPECT_TRUE(replace_log_sink({}));
}

TEST_F(LogTest, SurvivesASinkThatThrows) {
  replace_log_sink([](Level, std::string_view) { throw std::runtime_error("no"); });
  EXPECT_NO_THROW(log(Level::error, "one"));
  static_assert(noexcept(log(Level::error, "")));
}

TEST_F(LogTest, LeavesErrnoAlone) {
  replace_log_sink([](Level, std::string_view) { errno = EIO; });
  errno = ENOENT;
  log(Level::error, "one");
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(LogTest, ASinkMayLogAndReplaceItself) {
  int lines = 0;
  replace_log_sink([&](Level, std::string_view text) {
    ++lines;
    if (text == "outer") log(Level::warning, "inner");
  });
  log(Level::error, "outer");
  EXPECT_EQ(lines, 2);
}

TEST_F(LogTest, TakesLinesFromManyThreads) {
  std::mutex mutex;
  int lines = 0;
  replace_log_sink([&](Level, std::string_view) {
    const std::lock_guard guard(mutex);
    ++lines;
  });
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int j = 0; j < 250; ++j) log(Level::warning, "x");
    });
  }
  threads.clear();
  EXPECT_EQ(lines, 1000);
}

}  // namespace
}  // namespace pawl::base
