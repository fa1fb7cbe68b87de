#include "base/simulated_runtime.hpp"

#include <boost/asio/post.hpp>

#include <stdexcept>
#include <utility>

namespace pawl::base {

struct SimProcess::Alarm final : Timers::Node {
  Alarm(SimProcess& owner, AlarmId number, std::function<void()> what)
      : process(owner), id(number), call(std::move(what)) {}

  void fire() override {
    SimProcess& owner = process;
    owner.send(std::move(call));
    owner.alarms_.erase(id);  // the end of this object
  }

  SimProcess& process;
  AlarmId id;
  std::function<void()> call;
  Timers::Key key{};
};

SimProcess::SimProcess(SimWorld& world, std::int64_t drift_ppm, std::uint64_t seed)
    : world_(world), drift_ppm_(drift_ppm), chance_(seed) {}

SimProcess::~SimProcess() {
  crashed_ = true;
  pending_.drop_all();
  callbacks_.calls.clear();
  observers_.calls.clear();
}

Time SimProcess::now() const { return local(world_.now()); }

Time SimProcess::local(Time world) const {
  constexpr std::int64_t million = 1'000'000;
  const std::int64_t since = (world - SimWorld::began).count();
  return world + Duration(since / million * drift_ppm_ + since % million * drift_ppm_ / million);
}

Time SimProcess::in_world_time(Time local_time) const {
  if (drift_ppm_ == 0 || local_time == Time::max()) return local_time;
  const auto since = static_cast<long double>((local_time - SimWorld::began).count());
  const auto guess = static_cast<std::int64_t>(since * 1e6L / static_cast<long double>(1'000'000 + drift_ppm_));
  Time world = SimWorld::began + Duration(guess);
  while (local(world) >= local_time) world -= Duration(1);
  while (local(world) < local_time) world += Duration(1);
  return world;
}

std::uint64_t SimProcess::unix_milliseconds() const {
  constexpr std::uint64_t year_2020 = 1'577'836'800'000;
  return year_2020 + static_cast<std::uint64_t>(now().time_since_epoch() / std::chrono::milliseconds(1));
}

void SimProcess::send(std::function<void()> work) { asio::post(io_, std::move(work)); }

void SimProcess::enqueue(Lane& lane, std::function<void()> call) {
  lane.calls.push_back(std::move(call));
  if (std::exchange(lane.busy, true)) return;
  send([this, &lane] { run_next(lane); });
}

void SimProcess::run_next(Lane& lane) {
  const std::function<void()> call = std::move(lane.calls.front());
  lane.calls.pop_front();
  taken_ = {};
  call();
  const auto next = [this, &lane] {
    lane.busy = !lane.calls.empty();
    if (lane.busy) run_next(lane);
  };
  if (taken_ > Duration::zero()) {
    set_alarm(after(now(), taken_), next);
  } else {
    lane.busy = !lane.calls.empty();
    if (lane.busy) send([this, &lane] { run_next(lane); });
  }
}

awaitable<void> SimProcess::offload(std::string, std::function<void()> work) {
  work();
  co_return;
}

Runtime::AlarmId SimProcess::set_alarm(Time at, std::function<void()> call) {
  const AlarmId id = ++last_alarm_;
  auto alarm = std::make_unique<Alarm>(*this, id, std::move(call));
  alarm->key = arm(at, *alarm);
  alarms_.emplace(id, std::move(alarm));
  return id;
}

void SimProcess::cancel_alarm(AlarmId id) {
  const auto found = alarms_.find(id);
  if (found == alarms_.end()) return;
  disarm(found->second->key);
  alarms_.erase(found);
}

void SimProcess::run_to_end(awaitable<void>) { throw std::logic_error("nothing blocks in simulation"); }

// A step of its own for each, so that other processes can come in between.
void SimProcess::resume_soon(Resumption waiter, Woke why) {
  asio::post(io_, [waiter = std::move(waiter), why]() mutable { std::move(waiter)(why); });
}

bool SimProcess::run_one() {
  io_.restart();
  return io_.poll_one() != 0;
}

SimWorld::~SimWorld() {
  // All of them first: what is dropped in one process must not wake another.
  for (auto& process : processes_) process->crashed_ = true;
  for (auto& process : processes_) process->pending_.drop_all();
}

SimProcess& SimWorld::add_process(std::int64_t drift_ppm) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;  // streams that have nothing in common
  const std::uint64_t seed = seed_ ^ (golden * (processes_.size() + 1));
  return *processes_.emplace_back(std::make_unique<SimProcess>(*this, drift_ppm, seed));
}

bool SimWorld::step() {
  const std::size_t count = processes_.size();
  if (count == 0) return false;
  const std::size_t first = chance_() % count;
  for (std::size_t i = 0; i < count; ++i) {
    SimProcess& process = *processes_[(first + i) % count];
    if (process.runs() && process.run_one()) return true;
  }
  return false;
}

SimProcess* SimWorld::next_timer(Time& at) {
  SimProcess* who = nullptr;
  for (auto& process : processes_) {
    if (!process->runs()) continue;
    const auto next = process->timers_.next();
    if (!next) continue;
    const Time then = process->in_world_time(*next);
    if (who == nullptr || then < at) {
      who = process.get();
      at = then;
    }
  }
  return who;
}

bool SimWorld::run_until(const std::function<bool()>& done, Time until) {
  for (;;) {
    if (done()) return true;
    if (step()) {
      ++steps_;
      if (after_step) after_step();
      continue;
    }
    Time at{};
    SimProcess* who = next_timer(at);
    if (who == nullptr || at > until) return false;
    if (at > now_) now_ = at;
    who->timers_.fire_one(who->now());
  }
}

void SimWorld::run_for(Duration duration) {
  const Time end = after(now_, duration);
  run_until([] { return false; }, end);
  if (now_ < end) now_ = end;
}

}  // namespace pawl::base
