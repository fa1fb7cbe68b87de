#include "tests/support/threads.hpp"

#include <pawl/pawl.hpp>

#include <gtest/gtest.h>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using test::eventually;

std::atomic<int> handled = 0;
std::atomic<pid_t> handled_by = 0;

void handle(int) {
  handled_by = ::gettid();
  ++handled;
}

/// Blocks a signal in the calling thread and what it starts, and takes the handler away at the end.
class Deaf {
 public:
  explicit Deaf(int signal) : signal_(signal) {
    sigemptyset(&only_);
    sigaddset(&only_, signal);
    pthread_sigmask(SIG_BLOCK, &only_, &before_);
    struct sigaction action {};
    action.sa_handler = handle;
    ::sigaction(signal, &action, &old_);
  }
  ~Deaf() {
    ::sigaction(signal_, &old_, nullptr);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  void listen() const { pthread_sigmask(SIG_UNBLOCK, &only_, nullptr); }
  bool pending() const {
    sigset_t waiting;
    ::sigpending(&waiting);
    return sigismember(&waiting, signal_) == 1;
  }
  void consume() const {
    int got = 0;
    ::sigwait(&only_, &got);
  }

 private:
  const int signal_;
  sigset_t only_{};
  sigset_t before_{};
  struct sigaction old_ {};
};

/// Client, holds, waiters: everything that makes pawl start threads and keeps them busy.
class Work {
 public:
  Work() {
    holds_.push_back(client_.mutex("held").acquire().value());
    for (int i = 0; i < 2; ++i) {
      waiting_.emplace_back([this] {
        // A thread of the program, but not one for signals.
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, nullptr);
        (void)client_.mutex("held").acquire();
      });
    }
  }
  ~Work() {
    holds_.clear();
    for (std::thread& thread : waiting_) thread.join();
  }

 private:
  Client client_{"memory:"};
  std::vector<Hold> holds_;
  std::vector<std::thread> waiting_;
};

TEST(SignalsTest, ASignalGoesToTheProgramsOwnThread) {
  const Deaf deaf(SIGUSR1);
  handled = 0;
  std::atomic<pid_t> ears = 0;
  std::atomic<bool> stop = false;
  // Started before pawl's threads, so that nothing is inherited by chance.
  std::thread listener([&] {
    deaf.listen();
    ears = ::gettid();
    while (!stop) std::this_thread::sleep_for(1ms);
  });
  ASSERT_TRUE(eventually([&] { return ears != 0; }));
  {
    const Work work;
    for (int i = 1; i <= 100; ++i) {
      ::kill(::getpid(), SIGUSR1);
      ASSERT_TRUE(eventually([&] { return handled == i; }));
      ASSERT_EQ(handled_by.load(), ears.load());
    }
  }
  stop = true;
  listener.join();
}

TEST(SignalsTest, ASignalThatNobodyInTheProgramWantsIsNotTakenByUs) {
  const Deaf deaf(SIGUSR2);
  handled = 0;
  const Work work;
  ::kill(::getpid(), SIGUSR2);
  EXPECT_TRUE(deaf.pending());
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(1ms);  // to see that something does not happen
    EXPECT_TRUE(deaf.pending());
  }
  EXPECT_EQ(handled, 0);
  deaf.consume();
}

TEST(SignalsTest, AProgramThatIsInterruptedWhileItWaitsGoesOnWaiting) {
  const Deaf deaf(SIGUSR1);
  handled = 0;
  Client client("memory:");
  Mutex mutex = client.mutex("job");
  Hold hold = mutex.acquire().value();
  std::atomic<pthread_t> id{};
  std::atomic<bool> waits = false, granted = false;
  std::thread waiter([&] {
    deaf.listen();
    id = pthread_self();
    waits = true;
    granted = mutex.acquire().has_value();
  });
  ASSERT_TRUE(eventually([&] { return waits.load(); }));
  for (int i = 1; i <= 50; ++i) {
    pthread_kill(id, SIGUSR1);
    ASSERT_TRUE(eventually([&] { return handled == i; }));
  }
  EXPECT_FALSE(granted);
  EXPECT_TRUE(hold.release());
  waiter.join();
  EXPECT_TRUE(granted);
}

}  // namespace
}  // namespace pawl
