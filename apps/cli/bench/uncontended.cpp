#include "apps/cli/bench/cases.hpp"
#include "apps/cli/bench/stage.hpp"
#include "apps/cli/context.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

namespace pawl::cli {

namespace {

using Clock = std::chrono::steady_clock;

struct Samples {
  static constexpr std::size_t capacity = 50'000;
  std::size_t size = 0;
  std::array<float, capacity> nanoseconds{};

  template <class Work>
  void take(int times, const Work& work) {
    for (int i = 0; i < times && size < capacity; ++i) {
      const auto began = Clock::now();
      work();
      nanoseconds[size++] = std::chrono::duration<float, std::nano>(Clock::now() - began).count();
    }
  }
  double quantile(double share) {
    if (size == 0) return 0;
    const auto begin = nanoseconds.begin();
    const auto nth = begin + static_cast<std::ptrdiff_t>(share * static_cast<double>(size - 1));
    std::nth_element(begin, nth, begin + static_cast<std::ptrdiff_t>(size));
    return static_cast<double>(*nth);
  }
};

struct All {
  Samples pawl, floor, flock;
};

void flock_once(int fd) {
  if (::flock(fd, LOCK_EX) != 0 || ::flock(fd, LOCK_UN) != 0) throw Failure{own_failure, "flock failed"};
}

/// In turns of a few dozen each, so that all of them meet the same weather.
void measure(const Bench& bench, All& all) {
  Client client = value_or_fail(Client::open(bench.url));
  Mutex mutex = client.mutex("pawl-bench/uncontended");
  const std::unique_ptr<Step> step = bench.floor != nullptr ? bench.floor->make(bench.folder, bench.url) : nullptr;
  const int fd = ::open((bench.folder / "flock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const auto once = [&] {
    Hold hold = value_or_fail(mutex.acquire());
    value_or_fail(hold.release());
  };
  for (int i = 0; i < 200; ++i) once();
  for (const auto end = Clock::now() + bench.rounds * bench.slice; Clock::now() < end;) {
    all.pawl.take(30, once);
    if (step != nullptr) all.floor.take(30, [&] { step->run(); });
    all.flock.take(30, [&] { flock_once(fd); });
  }
  ::close(fd);
}

}  // namespace

std::vector<Figure> measure_uncontended(const Bench& bench) {
  const SharedMemory<All> all;
  in_process([&] { measure(bench, *all); });
  std::vector<Figure> figures{{.name = "uncontended, median", .goal = 2}, {.name = "uncontended, p99"}};
  const double shares[] = {0.5, 0.99};
  for (std::size_t i = 0; i < figures.size(); ++i) {
    figures[i].pawl = all->pawl.quantile(shares[i]);
    figures[i].flock = all->flock.quantile(shares[i]);
    if (bench.floor == nullptr) continue;
    figures[i].floor = all->floor.quantile(shares[i]);
    figures[i].floor_is = bench.floor->what;
  }
  return figures;
}

}  // namespace pawl::cli
