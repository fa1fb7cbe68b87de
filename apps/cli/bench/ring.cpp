#include "apps/cli/bench/ring.hpp"

#include "apps/cli/context.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

namespace pawl::cli {

namespace {

/// One datagram socket per process, made before they are forked.
class Sockets {
 public:
  explicit Sockets(int number) {
    for (int i = 0; i < number; ++i) {
      std::array<int, 2> pair{};
      if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
        throw Failure{own_failure, "no socket"};
      pairs_.push_back(pair);
    }
  }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;
  ~Sockets() {
    for (const auto& pair : pairs_) {
      ::close(pair[0]);
      ::close(pair[1]);
    }
  }
  void send_to(int process) const {
    const char word = 'x';
    if (::send(pairs_.at(static_cast<std::size_t>(process))[0], &word, 1, 0) != 1)
      throw Failure{own_failure, "send failed"};
  }
  void receive_as(int process) const {
    char word = 0;
    if (::recv(pairs_.at(static_cast<std::size_t>(process))[1], &word, 1, 0) != 1)
      throw Failure{own_failure, "recv failed"};
  }

 private:
  std::vector<std::array<int, 2>> pairs_;
};

}  // namespace

double cost_of_ring(const Bench& bench, int processes, bool with_step) {
  // What several would make at the same time is made before them.
  if (with_step) in_process([&] { bench.floor->make(bench.folder, bench.url); });
  const Sockets sockets(processes);
  const Part part = [&](int me, Stage& stage) {
    const std::unique_ptr<Step> step = with_step ? bench.floor->make(bench.folder, bench.url) : nullptr;
    const int next = (me + 1) % processes;
    stage.wait_for_go();
    if (me == 0) sockets.send_to(0);
    while (!stage.stop) {
      sockets.receive_as(me);
      if (stage.stop) break;
      stage.arrived_at(me);
      if (step != nullptr) step->run();
      sockets.send_to(next);
    }
    sockets.send_to(next);  // it may wait for what has come here and was not passed on
  };
  return cost_per_hand_off(processes, bench.slice, 100, part);
}

double cost_of_thread_ring(const Bench& bench, int threads) {
  const Part part = [&](int, Stage& stage) {
    using Turn = std::counting_semaphore<4>;  // one that goes round, and two more at the end
    const auto size = static_cast<std::size_t>(threads);
    std::vector<std::unique_ptr<Turn>> turns(size);
    for (int i = 0; i < threads; ++i) turns[static_cast<std::size_t>(i)] = std::make_unique<Turn>(i == 0 ? 1 : 0);
    stage.wait_for_go();
    std::vector<std::jthread> ring;
    ring.reserve(size);
    for (int i = 0; i < threads; ++i) {
      ring.emplace_back([&, i] {
        while (!stage.stop) {
          turns[static_cast<std::size_t>(i)]->acquire();
          stage.arrived_at(i);
          turns[static_cast<std::size_t>((i + 1) % threads)]->release();
        }
        turns[static_cast<std::size_t>((i + 1) % threads)]->release();
      });
    }
  };
  return cost_per_hand_off(1, bench.slice, 100, part);
}

}  // namespace pawl::cli
