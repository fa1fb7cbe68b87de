// A service that we may call three times in 100 ms, all our servers together. Each call takes one of three permits and
// keeps it for that long: so there are never more than three calls under way, and never a fourth within the time.
#include <pawl/pawl.hpp>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t limit = 3;
constexpr auto window = 100ms;

/// The service, which remembers when it was called.
class Service {
 public:
  void call(std::uint32_t slot) {
    const std::lock_guard guard(mutex_);
    calls_.push_back(Clock::now());
    std::printf("call %zu with permit %u\n", calls_.size(), slot);
  }

  /// Of any four calls, the last one comes later than `window` after the first one.
  bool content(std::size_t expected) const {
    for (std::size_t i = limit; i < calls_.size(); ++i) {
      if (calls_[i] - calls_[i - limit] < window) return false;
    }
    return calls_.size() == expected;
  }

 private:
  std::mutex mutex_;
  std::vector<Clock::time_point> calls_;
};

bool call_limited(pawl::Semaphore permits, Service& service) {
  auto permit = permits.acquire({.wait = 30s});
  if (!permit) return false;
  service.call(*permit->sequencer().slot);
  std::this_thread::sleep_until(Clock::now() + window);  // the limit itself: the permit is used up for so long
  return true;
}

}  // namespace

int main() {
  Service service;
  std::vector<pawl::Client> servers;
  for (int i = 0; i < 2; ++i) servers.push_back(pawl::Client::open("memory:service").value());

  std::vector<std::jthread> threads;
  bool fine[8] = {};
  for (std::size_t i = 0; i < std::size(fine); ++i) {
    pawl::Semaphore permits = servers[i % servers.size()].semaphore("service", limit);
    threads.emplace_back([&, i, permits] { fine[i] = call_limited(permits, service); });
  }
  threads.clear();  // joins them
  return std::ranges::all_of(fine, std::identity{}) && service.content(std::size(fine)) ? 0 : 1;
}
