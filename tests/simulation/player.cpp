#include "tests/simulation/player.hpp"

#include "base/wakeup.hpp"
#include "lock/hold_core.hpp"
#include "lock/lock_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <utility>

namespace pawl::test {

using namespace std::chrono_literals;

namespace {

std::shared_ptr<store::memory::MemoryState> make_state(base::SimWorld& world, base::Runtime& server) {
  return std::make_shared<store::memory::MemoryState>([&world] { return world.now(); },
                                                      [&world] { return world.random(); }, server.unix_milliseconds());
}

std::shared_ptr<FaultyStore> connect(Stage& stage, base::SimProcess& process, std::shared_ptr<RandomFaults> faults) {
  auto connection = std::make_shared<store::memory::MemoryStore>(stage.state, stage.server);
  return std::make_shared<FaultyStore>(connection, process, std::move(faults), stage.server);
}

std::shared_ptr<lock::ClientCore> make_client(base::SimProcess& process, std::shared_ptr<store::Store> store) {
  ClientOptions options;
  options.lease = lease;
  options.timeout = timeout;
  return lock::ClientCore::make(process, std::move(store), options).value();
}

}  // namespace

Stage::Stage(std::uint64_t seed)
    : world(seed),
      server(world.add_process()),
      state(make_state(world, server)),
      monitor(world, state, server),
      dice(world),
      script(dice.script()) {
  world.after_step = [this] { monitor.look(); };
}

Player::Player(Stage& stage, std::string its_name)
    : name(std::move(its_name)),
      process(stage.world.add_process()),
      faults(std::make_shared<RandomFaults>(stage.server, stage.healed_at ? FaultRates{} : stage.script.weather)),
      store(connect(stage, process, faults)),
      core(make_client(process, store)),
      stage_(stage),
      anchor_{.name = "anchor of " + name},
      users_(stage.script.users) {
  for (int i = 0; i < stage.script.users; ++i) base::spawn(process, user(i));
  base::spawn(process, anchor());
}

awaitable<void> Player::user(int number) {
  const std::string who = fmt::format("{}/{}", name, number);
  for (int round = 0; round < stage_.script.rounds; ++round) {
    co_await base::sleep_for(process, stage_.dice.up_to(2s));
    co_await turn(who);
  }
  --users_;
}

awaitable<void> Player::turn(std::string who) {
  const Wish wish = stage_.dice.wish(stage_.script, who);
  const std::string title = wish.lock->title();
  const bool fine = stage_.healed_at && process.now() > *stage_.healed_at + longest_delay;
  Result<Hold> hold = co_await acquire(wish);
  if (!hold) {
    stage_.monitor.note(fmt::format("{} {}: {}", who, title, hold.error().to_string()));
    if (fine && wish.must) stage_.monitor.violated(fmt::format("{} was refused {} in good weather", who, title));
    co_return;
  }
  stage_.monitor.note(fmt::format("{} holds {}", who, title));
  stage_.monitor.granted(process, wish, *hold);
  co_await work(*hold);
  const bool writer = hold->mode() == Mode::exclusive;  // readers ask for it, too: there is nothing to do
  if (wish.lock->kind == Kind::rw && stage_.dice.chance(writer ? stage_.script.with_downgrade : 10)) {
    stage_.monitor.note(fmt::format("{} downgrades {}", who, title));
    co_await downgrade(*hold);
    co_await work(*hold);
  }
  stage_.monitor.ended(*hold);
  if (stage_.dice.chance(30)) co_return;  // the destructor releases
  Result<void> released = co_await lock::HoldCore::behind(*hold)->release();
  stage_.monitor.note(fmt::format("{} released {}: {}", who, title, released ? "done" : released.error().to_string()));
}

awaitable<Result<Hold>> Player::acquire(const Wish& wish) {
  LockOptions bounds;
  if (wish.lock->strict) bounds.local_passes = 0;
  if (wish.lock->spin) bounds.waiting = WaitStyle::spin;
  const auto lock = lock::ClientCore::lock(core, wish.lock->kind, wish.lock->name, bounds).value();
  std::stop_source stop;
  base::Runtime::AlarmId alarm = 0;
  if (wish.cancel_after) {
    alarm = process.set_alarm(process.now() + *wish.cancel_after, [stop]() mutable { stop.request_stop(); });
  }
  Result<Hold> hold = co_await lock->acquire(wish.options, stop.get_token(), wish.wanted);
  process.cancel_alarm(alarm);
  co_return hold;
}

// Writes before it looks whether it may: nobody can do both at one instant, and whoever was paused comes late.
awaitable<void> Player::work(const Hold& hold) {
  const base::Time end = process.now() + (stage_.dice.chance(20) ? stage_.dice.up_to(8s) : stage_.dice.up_to(300ms));
  for (;;) {
    stage_.monitor.writes(hold);
    if (process.now() >= end || hold.lost().stop_requested()) break;
    co_await base::sleep_until(process, std::min(end, process.now() + 500ms));
  }
}

awaitable<void> Player::downgrade(const Hold& hold) {
  const auto behind = lock::HoldCore::behind(hold);
  if (stage_.dice.chance(30)) {  // as the Lockable face does
    stage_.monitor.downgrades(hold);
    behind->send_downgrade();
    co_return;
  }
  for (bool again = true; again;) {
    stage_.monitor.downgrades(hold);
    Result<void> answer = co_await behind->downgrade();
    stage_.monitor.downgraded(hold, answer);
    again = !answer && stage_.dice.chance(50);
  }
}

// Keeps the client's session alive, so that a claim left behind does not vanish with it unseen.
awaitable<void> Player::anchor() {
  Wish wish;
  wish.lock = &anchor_;
  while (!stage_.curtain) {
    Result<Hold> hold = co_await acquire(wish);
    if (!hold) {
      co_await base::sleep_for(process, 200ms);
      continue;
    }
    stage_.monitor.granted(process, wish, *hold);
    anchored_ = true;
    while (!stage_.curtain && hold->valid()) co_await base::sleep_for(process, 200ms);
    anchored_ = false;
    stage_.monitor.ended(*hold);
  }
}

}  // namespace pawl::test
