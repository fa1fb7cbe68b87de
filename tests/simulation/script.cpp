#include "tests/simulation/script.hpp"

#include <algorithm>
#include <utility>

namespace pawl::test {

using namespace std::chrono_literals;

namespace {

bool offers(const store::Capabilities& scheme, Kind kind) {
  switch (kind) {
    case Kind::mutex: return true;
    case Kind::rw: return scheme.shared_mode;
    case Kind::permits: return scheme.permits;
    case Kind::election: return scheme.election;
  }
  return false;
}

}  // namespace

std::string Wish::title() const {
  std::string title;
  for (const Part& part : parts) title += (title.empty() ? "" : " + ") + part.lock->title();
  return title;
}

std::int64_t Dice::drift_ppm() {
  const auto anything = static_cast<std::int64_t>(roll(2 * most_drift_ppm)) - most_drift_ppm;
  return one_of({-most_drift_ppm, most_drift_ppm, anything, anything});
}

Script Dice::script(const PlayedStore& store) {
  Script script;
  script.lease = one_of<Duration>({1s, 3s, 3s, 3s, 10s});
  script.timeout = one_of<Duration>({300ms, 1s, 1s, 3s});
  script.drift = chance(50);
  script.players = 2 + roll(2);
  script.users = one_of({1, 2, 3, 3, 5});
  script.rest = one_of<Duration>({2s, 2s, 50ms});
  script.rounds = 3 + static_cast<int>(roll(3));
  script.disasters = static_cast<int>(roll(8));
  script.with_several = one_of({0, 0, 0, 0, 30, 80});
  const std::uint64_t locks = (script.with_several > 0 ? 2 : 1) + roll(1);
  for (std::uint64_t i = 0; i < locks; ++i) {
    PlayedLock lock = played_lock(store.capabilities());
    // Locks of different kinds have the same name: they must not meet.
    const auto namesakes = std::count_if(script.locks.begin(), script.locks.end(),
                                         [&](const PlayedLock& other) { return other.kind == lock.kind; });
    lock.name = "lock" + std::to_string(namesakes);
    script.locks.push_back(std::move(lock));
  }
  script.with_max_hold = one_of({0, 15, 15, 60});
  script.with_lock_delay = one_of({0, 20, 20, 100});
  script.with_other_lease = one_of({0, 10});
  script.with_downgrade = one_of({30, 90});
  script.observers = one_of({0, 30});
  script.weather = weather();
  script.latency = store.latency();
  return script;
}

PlayedLock Dice::played_lock(const store::Capabilities& scheme) {
  PlayedLock lock;
  lock.kind = one_of({Kind::mutex, Kind::mutex, Kind::mutex, Kind::rw, Kind::rw, Kind::rw, Kind::rw, Kind::permits,
                      Kind::permits, Kind::election});
  if (!offers(scheme, lock.kind)) lock.kind = Kind::mutex;
  if (lock.kind == Kind::permits) lock.permits = 2 + static_cast<std::uint32_t>(roll(2));
  lock.strict = chance(25);
  lock.pass_time = one_of<Duration>({10ms, 1s, 3s});
  lock.spin = chance(5);  // few: it takes many requests
  return lock;
}

FaultRates Dice::weather() {
  const auto rate = [&](double worst) { return chance(50) ? 0.0 : worst * static_cast<double>(roll(100)) / 100; };
  FaultRates weather;
  weather.refuse = rate(one_of({0.1, 0.1, 0.8}));
  weather.drop_request = rate(0.2);
  weather.drop_reply = rate(one_of({0.2, 0.2, 0.6}));
  weather.request_delay = rate(0.3);
  weather.reply_delay = rate(0.3);
  weather.duplicate = rate(0.2);
  weather.drop_notice = rate(0.5);
  weather.delay_notice = rate(0.3);
  weather.repeat_notice = rate(0.2);
  weather.longest_delay = one_of<Duration>({200ms, 900ms, longest_delay});  // a request's deadline is 1 s
  weather.thrown = rate(0.1);
  return weather;
}

// In any order.
std::vector<const PlayedLock*> Dice::some_of(const Script& script) {
  std::vector<const PlayedLock*> all;
  for (const PlayedLock& lock : script.locks) all.push_back(&lock);
  const std::size_t count = chance(script.with_several) ? 2 + roll(all.size() - 2) : 1;
  for (std::size_t i = 0; i < count; ++i) std::swap(all[i], all[i + roll(all.size() - 1 - i)]);
  all.resize(count);
  return all;
}

lock::Wanted Dice::wanted(const PlayedLock& lock, const std::string& who) {
  lock::Wanted wanted;
  if (lock.kind == Kind::rw && chance(60)) wanted.mode = Mode::shared;
  if (lock.kind == Kind::permits) {
    wanted.permits = {1 + static_cast<std::uint32_t>(roll(lock.permits - 1)), lock.permits};
  }
  if (lock.kind == Kind::election) wanted.value = who;
  return wanted;
}

Wish Dice::wish(const Script& script, const std::string& who) {
  Wish wish;
  for (const PlayedLock* lock : some_of(script)) wish.parts.push_back({lock, wanted(*lock, who)});
  wish.must = chance(50);
  if (!wish.must && chance(30)) wish.options.wait = 0s;
  if (!wish.must && !wish.options.wait && chance(50)) wish.options.wait = up_to(4s) + 1ms;
  if (chance(script.with_max_hold))
    wish.options.max_hold = up_to(chance(50) ? Duration(3s) : Duration(300ms)) + 1ms + 20 * script.latency;
  if (chance(script.with_lock_delay)) wish.options.lock_delay = 1s;
  if (chance(script.with_other_lease)) wish.options.lease = script.longest_lease();
  if (!wish.must && chance(20)) wish.cancel_after = up_to(3s);
  return wish;
}

}  // namespace pawl::test
