#include "base/boot_clock.hpp"

#include "tests/support/skip.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

namespace pawl::base {
namespace {

using namespace std::chrono_literals;

constexpr auto slept = 100'000s;

Duration monotonic() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// 0: right.
int look_at_the_clock() {
  const Duration awake = monotonic();  // first, or a little less than `slept` is between the two
  if (read_boot_clock().time_since_epoch() - awake < slept) return 1;
  const int timer = make_boot_timer();
  set_boot_timer(timer, read_boot_clock() + 1ms);
  pollfd polled{timer, POLLIN, 0};
  return ::poll(&polled, 1, 60'000) == 1 ? 0 : 2;
}

/// What `child` answers, or -1.
template <class Child>
int in_a_child(Child child) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(child());
  int status = 0;
  return pid > 0 && ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr int not_allowed = 77;

/// In a namespace where the machine has slept for so long: only CLOCK_BOOTTIME knows.
int after_a_sleep() {
  constexpr int new_time = 0x80;  // CLONE_NEWTIME; older headers lack it
  if (::unshare(new_time) != 0 && ::unshare(CLONE_NEWUSER | new_time) != 0) return not_allowed;
  std::ofstream offsets("/proc/self/timens_offsets");
  offsets << "boottime " << slept.count() << " 0\n" << std::flush;
  if (!offsets) return not_allowed;
  offsets.close();
  return in_a_child(look_at_the_clock);
}

// A hold must not outlive a suspended machine's sleep. D8: CLOCK_MONOTONIC, which stands still meanwhile, in either place.
TEST(BootClock, GoesOnWhileTheMachineSleepsAndSoDoItsTimers) {
  const int outcome = in_a_child(after_a_sleep);
  if (outcome == not_allowed) PAWL_SKIP_WITHOUT("no time namespace can be made here");
  EXPECT_EQ(outcome, 0) << (outcome == 1 ? "the clock stood still" : "the timer did not fire");
}

// The same where no namespace can be made: the kernel says which clock a timer has (7 is CLOCK_BOOTTIME).
TEST(BootClock, HasTimersOnBoottime) {
  const int timer = make_boot_timer();
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(timer));
  std::string clock;
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("clockid:")) clock = line.substr(line.find_last_of(" \t") + 1);
  }
  ::close(timer);
  EXPECT_EQ(clock, std::to_string(CLOCK_BOOTTIME));
}

}  // namespace
}  // namespace pawl::base
