#include "tests/support/real_world.hpp"

#include "base/boot_clock.hpp"
#include "base/url.hpp"
#include "store/registry.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace pawl::scene {

RealWorld::RealWorld(RealPlace place)
    : World(place.scheme),
      place_(std::move(place)),
      there_before_(place_.census ? place_.census() : std::set<std::string>()) {}

RealWorld::~RealWorld() {
  // Their work is over: its outcome was waited for. One that hangs has made its test fail, and is left behind.
  eventually([&] { return *threads_ == 0; }, 10s);
  forget_clients();
}

void RealWorld::run_on_a_thread(std::function<void()> work) {
  ++*threads_;
  std::thread([work = std::move(work), threads = threads_]() mutable {
    work();
    work = nullptr;  // it may be the last to know its client
    --*threads;
  }).detach();
}

Time RealWorld::now() const { return base::read_boot_clock(); }

void RealWorld::sleep(Duration duration) { std::this_thread::sleep_for(duration); }

bool RealWorld::eventually(const std::function<bool()>& so, Duration within) {
  // Counts what it slept, not what the clock says: a machine that stands still for a minute must not look like a hang.
  Duration pause = 20us;
  for (Duration waited{}; !so(); waited += pause) {
    if (waited >= within) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min<Duration>(pause * 2, 2ms);
  }
  return true;
}

Runtime& RealWorld::new_home() {
  if (homes_.size() < most_homes) return *homes_.emplace_back(std::make_unique<base::RealRuntime>());
  return *homes_[next_home_++ % most_homes];
}

void RealWorld::restart() {
  if (!place_.restart) return World::restart();
  place_.restart();
}

std::string RealWorld::leftovers() {
  std::string text;
  if (!place_.census) return text;
  for (const std::string& record : place_.census()) {
    if (!there_before_.contains(record)) text += "left at the store: " + record + "\n";
  }
  return text;
}

std::shared_ptr<store::Store> RealWorld::open_store(Runtime& home) {
  const base::Url url = base::Url::parse(place_.url).value();
  return store::open_store(url, home).value();
}

}  // namespace pawl::scene
