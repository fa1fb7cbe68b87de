#include "tests/simulation/player.hpp"

#include "base/wakeup.hpp"
#include "lock/hold_core.hpp"
#include "lock/lock_core.hpp"
#include "lock/multi_core.hpp"
#include "lock/observation_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <utility>

namespace pawl::test {

using namespace std::chrono_literals;

namespace {

std::shared_ptr<lock::ClientCore> make_client(const Stage& stage, base::SimProcess& process,
                                              std::shared_ptr<store::Store> store) {
  const Script& script = stage.script;
  ClientOptions options;
  options.scheme = stage.store->capabilities().scheme;
  options.lease = script.lease;
  options.timeout = script.timeout;
  return lock::ClientCore::make(process, std::move(store), options).value();
}

/// Stops somebody after a while.
class Stopper {
 public:
  Stopper(base::SimProcess& process, std::optional<Duration> after) : process_(process) {
    if (after) alarm_ = process.set_alarm(process.now() + *after, [stop = stop_]() mutable { stop.request_stop(); });
  }
  Stopper(const Stopper&) = delete;
  Stopper& operator=(const Stopper&) = delete;
  void disarm() { process_.cancel_alarm(alarm_); }
  std::stop_token token() const { return stop_.get_token(); }

 private:
  base::SimProcess& process_;
  std::stop_source stop_;
  base::Runtime::AlarmId alarm_ = 0;
};

}  // namespace

Stage::Stage(std::uint64_t seed, const StoreMaker& maker)
    : world(seed),
      server(world.add_process()),
      store(maker(world, server)),
      monitor(world, store),
      dice(world),
      script(dice.script(*store)) {
  world.after_step = [this] { monitor.look(); };
}

Player::Player(Stage& stage, std::string its_name)
    : name(std::move(its_name)),
      process(stage.world.add_process(stage.script.drift ? stage.dice.drift_ppm() : 0)),
      faults(std::make_shared<RandomFaults>(stage.server, stage.healed_at ? FaultRates{} : stage.script.weather)),
      store(stage.store->connect(process, faults)),
      core(make_client(stage, process, store)),
      stage_(stage),
      anchor_{.name = "anchor of " + name},
      users_(stage.script.users) {
  for (int i = 0; i < stage.script.users; ++i) base::spawn(process, user(i));
  base::spawn(process, anchor());
  for (const PlayedLock& lock : stage.script.locks) {
    if (lock.kind != Kind::election || !stage.dice.chance(stage.script.observers)) continue;
    base::spawn(process, observe(lock, testimonies_.emplace_back(&lock, Testimony()).second));
    ++observers_;
  }
}

awaitable<void> Player::user(int number) {
  const std::string who = fmt::format("{}/{}", name, number);
  for (int round = 0; round < stage_.script.rounds; ++round) {
    co_await base::sleep_for(process, stage_.dice.up_to(stage_.script.rest));
    co_await turn(who);
  }
  --users_;
}

awaitable<void> Player::turn(std::string who) {
  Wish wish = stage_.dice.wish(stage_.script, who);
  if (wish.parts.size() == 1) {
    co_await turn_with_one(wish, who);
  } else {
    co_await turn_with_several(std::move(wish), who);
  }
}

awaitable<void> Player::turn_with_one(const Wish& wish, const std::string& who) {
  const std::string title = wish.title();
  const bool was_fine = fine();
  const auto losses = [this] { return core->context().telemetry.snapshot().lost; };
  stage_.monitor.asks(process, *wish.parts.front().lock, who, losses());
  Result<Hold> hold = co_await acquire(wish);
  stage_.monitor.answered(process, *wish.parts.front().lock, who, hold.has_value(), losses());
  if (!hold) co_return refused(wish, who, hold.error(), was_fine);
  stage_.monitor.note(fmt::format("{} holds {}", who, title));
  stage_.monitor.granted(process, wish, *hold);
  co_await work(*hold);
  const bool writer = hold->mode() == Mode::exclusive;  // readers ask for it, too: there is nothing to do
  const bool rw = wish.parts.front().lock->kind == Kind::rw;
  if (rw && stage_.dice.chance(writer ? stage_.script.with_downgrade : 10)) {
    stage_.monitor.note(fmt::format("{} downgrades {}", who, title));
    co_await downgrade(*hold);
    co_await work(*hold);
  }
  stage_.monitor.ended(*hold);
  if (stage_.dice.chance(30)) co_return;  // the destructor releases
  Result<void> released = co_await lock::HoldCore::behind(*hold)->release();
  stage_.monitor.note(fmt::format("{} released {}: {}", who, title, released ? "done" : released.error().to_string()));
}

awaitable<void> Player::turn_with_several(Wish wish, const std::string& who) {
  const std::string title = wish.title();
  const std::string label = fmt::format("{} #{}", who, ++labels_);
  wish.options.label = label;
  const bool was_fine = fine();
  stage_.monitor.note(fmt::format("{} wants {}", who, title));
  Result<MultiHold> holds = co_await acquire_together(wish);
  if (!holds) {
    refused(wish, who, holds.error(), was_fine);
    if (!was_fine) co_return;
    co_await base::sleep_for(process, 100ms);
    co_return stage_.monitor.gave_up(wish, label);
  }
  stage_.monitor.note(fmt::format("{} holds {}", who, title));
  stage_.monitor.granted(process, wish, *holds);
  co_await work(*holds);
  stage_.monitor.ended(*holds);
  if (stage_.dice.chance(30)) co_return;  // the destructor releases
  Result<void> released = co_await lock::MultiHoldCore::release(lock::Access::core(*holds));
  stage_.monitor.note(fmt::format("{} released {}: {}", who, title, released ? "done" : released.error().to_string()));
}

bool Player::fine() const { return stage_.healed_at && stage_.world.now() > *stage_.healed_at + longest_delay; }

void Player::refused(const Wish& wish, const std::string& who, const Error& error, bool was_fine) {
  stage_.monitor.note(fmt::format("{} {}: {}", who, wish.title(), error.to_string()));
  if (!was_fine || !wish.must) return;
  stage_.monitor.violated(fmt::format("{} was refused {} in good weather", who, wish.title()));
}

std::shared_ptr<lock::LockCore> Player::handle_of(const PlayedLock& played) const {
  LockOptions bounds;
  if (played.strict) bounds.local_passes = 0;
  if (!played.strict && played.pass_time > 0s) bounds.local_pass_time = played.pass_time;
  if (played.spin) bounds.waiting = WaitStyle::spin;
  return lock::ClientCore::lock(core, played.kind, played.name, bounds).value();
}

awaitable<Result<Hold>> Player::acquire(const Wish& wish) {
  const Wish::Part& part = wish.parts.front();
  const auto lock = handle_of(*part.lock);
  Stopper stopper(process, wish.cancel_after);
  Result<Hold> hold = co_await lock->acquire(wish.options, stopper.token(), part.wanted);
  stopper.disarm();
  co_return hold;
}

awaitable<Result<MultiHold>> Player::acquire_together(const Wish& wish) {
  const auto plan = std::make_shared<lock::MultiPlan>();
  for (const Wish::Part& part : wish.parts) plan->parts.push_back({handle_of(*part.lock), part.wanted});
  Stopper stopper(process, wish.cancel_after);
  base::awaitable<Result<MultiHold>> taking = lock::MultiPlan::acquire(plan, wish.options, stopper.token());
  std::optional<Result<MultiHold>> holds;
  co_await base::store_result(std::move(taking), holds);  // as the face does, also where the store throws
  stopper.disarm();
  co_return std::move(*holds);
}

base::Time Player::end_of_work() {
  return process.now() + (stage_.dice.chance(20) ? stage_.dice.up_to(8s) : stage_.dice.up_to(300ms));
}

// Writes before it looks whether it may: nobody can do both at one instant, and whoever was paused comes late.
awaitable<void> Player::work(const Hold& hold) {
  const base::Time end = end_of_work();
  for (;;) {
    stage_.monitor.writes(hold);
    if (process.now() >= end || hold.lost().stop_requested()) break;
    co_await base::sleep_until(process, std::min(end, process.now() + 500ms));
  }
}

awaitable<void> Player::work(const MultiHold& holds) {
  const base::Time end = end_of_work();
  for (;;) {
    for (std::size_t part = 0; part < holds.size(); ++part) stage_.monitor.writes(holds[part]);
    if (process.now() >= end || holds.lost().stop_requested()) break;
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
  wish.parts.push_back({&anchor_});
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

awaitable<void> Player::observe(const PlayedLock& election, Testimony& testimony) {
  const auto observation = std::make_shared<lock::ObservationCore>(handle_of(election)->named());
  for (;;) {
    const bool hurry = stage_.healed_at.has_value();
    if (!hurry && stage_.dice.chance(40)) co_await base::sleep_for(process, stage_.dice.up_to(8s));
    std::optional<Duration> wait, cancel_after;
    if (stage_.dice.chance(30)) wait = stage_.dice.chance(30) ? Duration(0s) : stage_.dice.up_to(3s);
    if (stage_.dice.chance(20)) cancel_after = stage_.dice.up_to(3s);
    const base::Time began = process.now();
    Stopper stopper(process, cancel_after);
    Result<std::optional<Leader>> change = co_await lock::ObservationCore::next(observation, wait, stopper.token());
    stopper.disarm();
    if (change) {
      stage_.monitor.note(fmt::format("{} sees {} lead", name, *change ? (*change)->value : "nobody"));
      stage_.monitor.told(election, testimony, *change);
      if (stage_.monitor.violation()) break;  // it may be told the same for ever, without a pause
      continue;
    }
    if (change.code() == Errc::closed && stage_.curtain) break;
    const bool timed_out = change.code() == Errc::timed_out && wait && process.now() >= began + *wait;
    const bool cancelled = change.code() == Errc::cancelled && cancel_after;
    if (!timed_out && !cancelled) {
      stage_.monitor.violated(fmt::format("{} cannot observe: {}", name, change.error().to_string()));
      break;
    }
    if (wait == Duration(0s)) co_await base::sleep_for(process, 200ms);
  }
  --observers_;
}

void Player::question_observers() {
  for (const auto& [election, testimony] : testimonies_) stage_.monitor.observed(*election, testimony);
}

}  // namespace pawl::test
