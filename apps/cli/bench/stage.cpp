#include "apps/cli/bench/stage.hpp"

#include "apps/cli/context.hpp"

#include <fmt/core.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <thread>
#include <vector>

namespace pawl::cli {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto hang = 60s;

[[noreturn]] void play(const std::function<void()>& part) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int code = own_failure;
  try {
    part();
    code = 0;
  } catch (const Failure& failure) {
    fmt::print(stderr, "pawl: {}\n", failure.sentence);
  } catch (const std::exception& error) {
    fmt::print(stderr, "pawl: {}\n", error.what());
  }
  ::_exit(code);
}

/// Processes that are ended with this object, if they have not ended by themselves.
class Forked {
 public:
  Forked() = default;
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;
  ~Forked() {
    for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  }
  void add(const std::function<void()>& part) {
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    if (pid < 0) throw Failure{own_failure, "no process can be made"};
    if (pid == 0) play(part);
    pids_.push_back(pid);
  }
  /// Waits until it is so. Throws when a process fails meanwhile, or nothing happens.
  void wait_until(const std::function<bool()>& so) {
    for (const auto end = Clock::now() + hang; !so(); std::this_thread::sleep_for(500us)) {
      reap();
      if (Clock::now() > end) throw Failure{own_failure, "a measurement hangs"};
    }
  }
  void wait() {
    wait_until([this] { return reap(), pids_.empty(); });
  }

 private:
  void reap() {
    for (std::size_t i = 0; i < pids_.size();) {
      int status = 0;
      if (::waitpid(pids_[i], &status, WNOHANG) != pids_[i]) {
        ++i;
        continue;
      }
      pids_.erase(pids_.begin() + static_cast<std::ptrdiff_t>(i));
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw Failure{own_failure, "a process of the benchmark failed"};
    }
  }
  std::vector<pid_t> pids_;
};

}  // namespace

void Stage::wait_for_go() {
  ++ready;
  while (!go) std::this_thread::sleep_for(100us);
}

double cost_per_hand_off(int processes, std::chrono::milliseconds slice, std::uint64_t warm_up, const Part& part) {
  const SharedMemory<Stage> stage;
  Forked forked;
  for (int i = 0; i < processes; ++i) forked.add([&, i] { part(i, *stage); });
  forked.wait_until([&] { return stage->ready == processes; });
  stage->go = true;
  forked.wait_until([&] { return stage->hand_offs >= warm_up; });
  const std::uint64_t before = stage->hand_offs;
  const auto began = Clock::now();
  std::this_thread::sleep_for(slice);
  const std::uint64_t count = stage->hand_offs - before;
  const std::chrono::duration<double, std::nano> took = Clock::now() - began;
  stage->stop = true;
  forked.wait();
  return took.count() / static_cast<double>(std::max<std::uint64_t>(count, 1));
}

void in_process(const std::function<void()>& part) {
  Forked forked;
  forked.add(part);
  forked.wait();
}

}  // namespace pawl::cli
