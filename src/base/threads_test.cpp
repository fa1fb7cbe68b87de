#include "base/threads.hpp"

#include "tests/support/threads.hpp"

#include <gtest/gtest.h>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <set>
#include <system_error>
#include <thread>

namespace pawl::base {
namespace {

TEST(ThreadNumberTest, AThreadKeepsItsNumber) {
  const std::uint64_t mine = this_thread_number();
  EXPECT_GE(mine, 1u);
  EXPECT_EQ(this_thread_number(), mine);
}

TEST(ThreadNumberTest, ANumberIsNeverUsedAgain) {
  std::set<std::uint64_t> numbers{this_thread_number()};
  // One after the other: the system gives every one of them the same std::thread::id.
  for (int i = 0; i < 100; ++i) {
    std::thread thread([&] { EXPECT_TRUE(numbers.insert(this_thread_number()).second); });
    thread.join();
  }
  EXPECT_EQ(numbers.size(), 101u);
}

TEST(StartThreadTest, WhereNoneIsLeftTheSignalsOfTheCallerStayAsTheyWere) {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  {
    const test::NoMoreThreads scarce;
    EXPECT_THROW(start_thread("pawl-test", [] {}), std::system_error);
  }
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
  }
}

TEST(StartThreadTest, IsNamedAndDeafToAllSignals) {
  sigset_t blocked;
  sigemptyset(&blocked);
  std::array<char, 16> name{};
  std::thread thread = start_thread("pawl-test", [&] {
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    pthread_getname_np(pthread_self(), name.data(), name.size());
  });
  thread.join();
  EXPECT_STREQ(name.data(), "pawl-test");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGALRM, SIGRTMIN}) {
    EXPECT_EQ(sigismember(&blocked, signal), 1) << signal;
  }
}

TEST(StartThreadTest, LeavesTheSignalsOfTheCallerAlone) {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  start_thread("pawl-test", [] {}).join();
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < SIGRTMAX; ++signal) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
  }
}

TEST(ForkGenerationTest, GrowsInTheChildOnly) {
  const std::uint64_t before = fork_generation();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(fork_generation() == before + 1 ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(fork_generation(), before);
}

}  // namespace
}  // namespace pawl::base
