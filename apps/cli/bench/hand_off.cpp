#include "apps/cli/bench/ring.hpp"
#include "apps/cli/context.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace pawl::cli {

namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void take_turns(Mutex mutex, int me, Stage& stage) {
  while (!stage.stop) {
    const Hold hold = value_or_fail(mutex.acquire());
    stage.arrived_at(me);
  }
}

double cost_of_pawl(const Bench& bench, int processes) {
  const Part part = [&](int me, Stage& stage) {
    Client client = value_or_fail(Client::open(bench.url));
    const Mutex mutex = client.mutex("pawl-bench/processes");
    stage.wait_for_go();
    take_turns(mutex, me, stage);
  };
  return cost_per_hand_off(processes, bench.slice, 100, part);
}

double cost_of_flock(const Bench& bench, int processes) {
  const Part part = [&](int me, Stage& stage) {
    const int fd = ::open((bench.folder / "flock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    stage.wait_for_go();
    while (!stage.stop) {
      if (::flock(fd, LOCK_EX) != 0) throw Failure{own_failure, "flock failed"};
      stage.arrived_at(me);
      ::flock(fd, LOCK_UN);
    }
  };
  return cost_per_hand_off(processes, bench.slice, 10, part);
}

double cost_of_threads(const Bench& bench, int threads) {
  const Part part = [&](int, Stage& stage) {
    Client client = value_or_fail(Client::open(bench.url));
    const Mutex mutex = client.mutex("pawl-bench/threads");
    stage.wait_for_go();
    std::vector<std::jthread> crowd;
    crowd.reserve(static_cast<std::size_t>(threads));
    for (int i = 0; i < threads; ++i) crowd.emplace_back([&, i] { take_turns(mutex, i, stage); });
  };
  return cost_per_hand_off(1, bench.slice, 100, part);
}

}  // namespace

Figure measure_processes(const Bench& bench, int processes) {
  std::vector<double> pawl, floor, socket, flock;
  for (int i = 0; i < bench.rounds; ++i) {
    pawl.push_back(cost_of_pawl(bench, processes));
    if (bench.floor != nullptr) floor.push_back(cost_of_ring(bench, processes, true));
    socket.push_back(cost_of_ring(bench, processes, false));
    flock.push_back(cost_of_flock(bench, processes));
  }
  Figure figure{.name = fmt::format("hand-off, {} processes", processes), .pawl = median(pawl), .goal = 2};
  figure.socket = median(socket);
  figure.flock = median(flock);
  if (bench.floor == nullptr) return figure;
  figure.floor = median(floor);
  figure.floor_is = fmt::format("a datagram and {}", bench.floor->what);
  return figure;
}

Figure measure_threads(const Bench& bench, int threads) {
  std::vector<double> pawl, floor;
  for (int i = 0; i < bench.rounds; ++i) {
    pawl.push_back(cost_of_threads(bench, threads));
    floor.push_back(cost_of_thread_ring(bench, threads));
  }
  return {.name = fmt::format("hand-off, {} threads", threads),
          .pawl = median(pawl),
          .floor = median(floor),
          .floor_is = "a semaphore from thread to thread"};
}

}  // namespace pawl::cli
