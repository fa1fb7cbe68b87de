#include "tests/simulation/script.hpp"

#include <algorithm>
#include <type_traits>
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

namespace {

/// What goes wrong or is unusual in a script, by name, and how to leave it out. Visited for each: name, is it there, what
/// to set.
template <class Visit>
void visit_parts(Script& script, Visit visit) {
  const auto set = [&](const char* name, auto& value) {
    using Value = std::remove_reference_t<decltype(value)>;
    if (value != Value{}) visit(name, [&value] { value = Value{}; });
  };
  set("drift", script.drift);
  set("latency", script.latency);
  set("several", script.with_several);
  set("max_hold", script.with_max_hold);
  set("lock_delay", script.with_lock_delay);
  set("other_lease", script.with_other_lease);
  set("downgrade", script.with_downgrade);
  set("check", script.with_check);
  set("observation", script.observers);
  set("observer", script.watched);
  set("slow_observer", script.slow);
  set("commands", script.commands);
  FaultRates& weather = script.weather;
  set("refuse", weather.refuse);
  set("thrown", weather.thrown);
  set("drop_request", weather.drop_request);
  set("drop_reply", weather.drop_reply);
  set("request_delay", weather.request_delay);
  set("reply_delay", weather.reply_delay);
  set("duplicate", weather.duplicate);
  set("drop_notice", weather.drop_notice);
  set("delay_notice", weather.delay_notice);
  set("repeat_notice", weather.repeat_notice);
}

std::uint64_t mix(std::uint64_t bits) {  // splitmix64
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

}  // namespace

std::vector<std::string> Script::parts() const {
  std::vector<std::string> parts;
  Script copy = *this;
  visit_parts(copy, [&](const char* name, const auto&) { parts.emplace_back(name); });
  return parts;
}

void Script::leave_out(const Cuts& cuts) {
  visit_parts(*this, [&](const char* name, const auto& leave_it_out) {
    if (cuts.has(name)) leave_it_out();
  });
}

Dice::Dice(std::uint64_t seed, std::string_view purpose) : state_(mix(seed)) {
  for (const char letter : purpose) state_ = mix(state_ ^ static_cast<unsigned char>(letter));
}

std::uint64_t Dice::random() {
  state_ += 0x9e3779b97f4a7c15;
  return mix(state_);
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
  script.with_several = one_of({0, 0, 0, 30, 80});
  script.links = one_of<std::vector<std::size_t>>({{0}, {0}, {0, 0}, {0, 1}});
  script.stores = 1 + *std::max_element(script.links.begin(), script.links.end());
  script.latency = one_of<Duration>({0s, 0s, 2ms, 50ms});
  script.commands = one_of({0, 0, 3, 8});
  script.with_max_hold = one_of({0, 15, 15, 60});
  script.with_lock_delay = one_of({0, 20, 20, 100});
  script.with_other_lease = one_of({0, 10});
  script.with_downgrade = one_of({30, 90});
  script.with_check = one_of({0, 0, 20});
  script.observers = one_of({0, 30});
  script.watched = one_of({0, 50});
  script.slow = one_of<Duration>({0s, 0s, 500ms});
  script.weather = weather();
  script.quiet = chance(30);
  if (script.quiet) {
    script.weather = {};
    script.disasters = 0;
    script.players = 2;
    script.users = 5 + static_cast<int>(roll(3));
    script.rounds = 6;
    if (chance(50)) script.with_several = 0;
    script.rest = 20ms;
    script.with_lock_delay = script.with_other_lease = 0;  // those whose options differ pass nothing on
  }
  script.store_latency = store.latency();
  if (!store.many()) {
    script.links = {0};
    script.stores = 1;
    script.commands = 0;
  }
  add_locks(script, store.capabilities());
  return script;
}

void Dice::add_locks(Script& script, const store::Capabilities& scheme) {
  const std::uint64_t locks = (script.with_several > 0 ? 2 : 1) + roll(1);
  for (std::uint64_t i = 0; i < locks; ++i) {
    PlayedLock lock = played_lock(scheme);
    lock.strict = lock.strict && (!script.quiet || chance(30));
    lock.link = i % script.links.size();
    lock.store = script.links[lock.link];
    // Locks of different kinds, and of different stores, have the same name: they must not meet.
    const auto namesakes = std::count_if(script.locks.begin(), script.locks.end(), [&](const PlayedLock& other) {
      return other.kind == lock.kind && other.store == lock.store;
    });
    lock.name = "lock" + std::to_string(namesakes);
    script.locks.push_back(std::move(lock));
  }
}

PlayedLock Dice::played_lock(const store::Capabilities& scheme) {
  PlayedLock lock;
  lock.kind = one_of({Kind::mutex, Kind::mutex, Kind::mutex, Kind::rw, Kind::rw, Kind::rw, Kind::rw, Kind::permits,
                      Kind::permits, Kind::election});
  if (!offers(scheme, lock.kind)) lock.kind = Kind::mutex;
  if (lock.kind == Kind::permits) lock.permits = 2 + static_cast<std::uint32_t>(roll(2));
  lock.strict = chance(25);
  lock.passes = one_of<std::uint32_t>({1, 3, 64});
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
  wish.must = chance(script.quiet ? 85 : 50);
  if (!wish.must && chance(30)) wish.options.wait = 0s;
  if (!wish.must && !wish.options.wait && chance(50)) wish.options.wait = up_to(4s) + 1ms;
  if (chance(script.with_max_hold)) wish.options.max_hold = up_to(chance(50) ? Duration(3s) : Duration(300ms)) + 1ms;
  // Whoever wants several has to have the first ones until the last one is granted.
  if (wish.options.max_hold && wish.parts.size() > 1) {
    *wish.options.max_hold += 20 * (script.latency + script.store_latency);
  }
  if (chance(script.with_lock_delay)) wish.options.lock_delay = 1s;
  wish.options.lease = chance(script.with_other_lease) ? script.longest_lease() : script.lease;
  if (!wish.must && chance(20)) wish.cancel_after = up_to(3s);
  wish.as_thread = !wish.cancel_after && chance(30);
  return wish;
}

}  // namespace pawl::test
