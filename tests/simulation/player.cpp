#include "tests/simulation/player.hpp"

#include "base/wakeup.hpp"
#include "lock/hold_core.hpp"
#include "lock/lock_core.hpp"
#include "lock/multi_core.hpp"
#include "lock/observation_core.hpp"
#include "store/answered.hpp"
#include "tests/simulation/told_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <utility>

namespace pawl::test {

using namespace std::chrono_literals;

namespace {

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

Player::Player(Stage& stage, std::string its_name)
    : name(std::move(its_name)),
      process(stage.world.add_process(stage.script.drift ? stage.dice("clock of " + name).drift_ppm() : 0)),
      stage_(stage),
      monitor_(stage.monitor),
      users_(stage.script.users) {
  Dice dice = stage.dice("player " + name);
  for (std::size_t i = 0; i < stage.script.links.size(); ++i) connect(i, dice);
  for (int i = 0; i < stage.script.users; ++i) base::spawn(process, user(i));
  for (const auto& link : links_) base::spawn(process, anchor(*link));
  for (const PlayedLock& lock : stage.script.locks) {
    if (lock.kind != Kind::election || !dice.chance(stage.script.observers)) continue;
    base::spawn(process, observe(lock, testimonies_.emplace_back(&lock, Testimony()).second));
    ++observers_;
  }
}

void Player::connect(std::size_t index, Dice& dice) {
  const std::string title = links_.empty() ? name : fmt::format("{}:{}", name, index);
  const std::size_t store = stage_.script.links[index];
  auto link = std::make_unique<Link>();
  link->anchor = {.name = "anchor of " + title, .link = index, .store = store};
  link->latency = dice.up_to(stage_.script.latency);
  const auto random = [faults = stage_.dice("faults of " + title)]() mutable { return faults.random(); };
  link->faults = std::make_shared<RandomFaults>(random, FaultRates{});
  auto plan = std::make_shared<ToldFaults>(link->faults, link->latency, monitor_, process, store, title);
  link->store = stage_.stores[store]->connect(process, plan);
  ClientOptions options;
  options.scheme = stage_.stores[store]->capabilities().scheme;
  options.lease = stage_.script.lease;
  options.timeout = stage_.script.timeout;
  if (dice.chance(stage_.script.watched)) options.observer = observer_of(*link);
  link->core = lock::ClientCore::make(process, link->store, options).value();
  links_.push_back(std::move(link));
  change_weather(stage_.healed ? FaultRates{} : stage_.script.weather);
}

std::function<void(const Event&)> Player::observer_of(Link& link) {
  return [this, &link, dice = stage_.dice("observer of " + name)](const Event& event) mutable {
    ++monitor_.deeds().events;
    monitor_.complain(link.witness.told(event));
    process.take_time(dice.up_to(stage_.script.slow));
  };
}

bool Player::done() const {
  if (closing_) return closed_ && users_ == 0 && observers_ == 0;
  return users_ == 0 && std::all_of(links_.begin(), links_.end(), [](const auto& link) { return link->anchored; });
}

void Player::change_weather(const FaultRates& rates) {
  for (const auto& link : links_) {
    FaultRates own = rates;
    own.latency += link->latency;
    link->faults->change(own);
  }
}

void Player::doubt_sessions(std::size_t store) {
  for (const auto& link : links_) {
    if (link->anchor.store == store) link->store->doubt_sessions();
  }
}

void Player::expire_sessions() {
  for (const auto& link : links_) {
    for (const store::SessionId session : link->store->sessions()) stage_.stores[link->anchor.store]->forget(session);
  }
}

awaitable<void> Player::close() {
  closing_ = true;
  monitor_.note("{} closes", name);
  const bool fair = monitor_.fair() && stage_.script.slow == 0s;
  const auto stray = handle_of(stage_.script.locks.front());
  for (const auto& link : links_) {
    monitor_.closing(process, link->anchor.link);
    Result<void> closed = co_await link->core->close(10s);
    monitor_.note("{} closed: {}", name, closed ? "done" : closed.error().to_string());
    if (closed) link->witness.closed();
    if (!closed && fair) monitor_.violated(Oracle::does_not_close, name + ": " + closed.error().to_string());
  }
  if (stray) stray->unlock();  // by one who does not hold it: an event, while there is anybody to tell
  closed_ = true;
  monitor_.closed(process);
}

awaitable<void> Player::user(int number) {
  const std::string who = fmt::format("{}/{}", name, number);
  const bool cut = stage_.leaves_out("user " + who);
  for (int round = 0; round < stage_.script.rounds && !closing_ && !cut; ++round) {
    const std::string title = fmt::format("turn {}.{}", who, round);
    if (stage_.leaves_out(title)) continue;
    Dice dice = stage_.dice(title);
    co_await base::sleep_for(process, dice.up_to(stage_.script.rest));
    co_await turn(who, dice);
  }
  --users_;
}

awaitable<void> Player::turn(std::string who, Dice dice) {
  Wish wish = dice.wish(stage_.script, who);
  if (wish.parts.size() == 1) {
    co_await turn_with_one(std::move(wish), who, dice);
  } else {
    co_await turn_with_several(std::move(wish), who, dice);
  }
}

awaitable<void> Player::turn_with_one(Wish wish, std::string who, Dice& dice) {
  const std::string title = wish.title();
  const PlayedLock& lock = *wish.parts.front().lock;
  const bool was_fair = monitor_.fair();
  const auto losses = [&] { return metrics(lock.link).lost; };
  monitor_.asks(process, lock, who, losses());
  Result<Hold> hold = co_await acquire(wish);
  monitor_.answered(process, lock, who, hold.has_value(), losses());
  if (!hold) co_return refused(wish, who, hold.error(), was_fair);
  monitor_.note("{} holds {}", who, title);
  monitor_.granted(process, wish, *hold);
  co_await work(*hold, lock, dice);
  const bool writer = hold->mode() == Mode::exclusive;  // readers ask for it, too: there is nothing to do
  if (lock.kind == Kind::rw && dice.chance(writer ? stage_.script.with_downgrade : 10)) {
    monitor_.note("{} downgrades {}", who, title);
    const Sequencer before = hold->sequencer();
    co_await downgrade(*hold, dice);
    co_await work(*hold, lock, dice);
    if (writer) monitor_.writes_after_downgrade(*hold, before);
  }
  monitor_.ended(*hold);
  co_await let_go(wish, who, std::move(*hold), dice);
}

awaitable<void> Player::let_go(const Wish& wish, const std::string& who, Hold hold, Dice& dice) {
  const PlayedLock& lock = *wish.parts.front().lock;
  const Sequencer sequencer = hold.sequencer();
  if (dice.chance(30)) co_return;  // the destructor releases
  Result<void> released = co_await lock::HoldCore::behind(hold)->release();
  monitor_.note("{} released {}: {}", who, wish.title(), released ? "done" : released.error().to_string());
  const bool passed_on = !lock.strict && (lock.kind == Kind::mutex || lock.kind == Kind::rw);
  if (!released || passed_on || !dice.chance(stage_.script.with_check)) co_return;
  Result<void> stands = co_await store::answered(link_of(lock).core->check(sequencer));
  if (stands) monitor_.violated(Oracle::check_confirms, lock.title() + " was released, and its sequencer is confirmed");
}

awaitable<void> Player::turn_with_several(Wish wish, std::string who, Dice& dice) {
  const std::string title = wish.title();
  const std::string label = fmt::format("{} #{}", who, ++labels_);
  wish.options.label = label;
  const bool was_fair = monitor_.fair();
  monitor_.note("{} wants {}", who, title);
  Result<MultiHold> holds = co_await acquire_together(wish);
  if (!holds) {
    refused(wish, who, holds.error(), was_fair);
    if (!was_fair) co_return;
    co_await base::sleep_for(process, 1s);  // a request and its answer take some time, and another request each
    co_return monitor_.gave_up(wish, label);
  }
  monitor_.note("{} holds {}", who, title);
  monitor_.granted(process, wish, *holds);
  if (monitor_.violation()) co_return;
  co_await work(*holds, dice);
  monitor_.ended(*holds);
  if (dice.chance(30)) co_return;  // the destructor releases
  Result<void> released = co_await lock::MultiHoldCore::release(lock::Access::core(*holds));
  monitor_.note("{} released {}: {}", who, title, released ? "done" : released.error().to_string());
}

void Player::refused(const Wish& wish, const std::string& who, const Error& error, bool was_fair) {
  monitor_.note("{} {}: {}", who, wish.title(), error.to_string());
  if (!was_fair || !wish.must || closing_) return;
  const bool taken_away = std::any_of(wish.parts.begin(), wish.parts.end(),
                                      [&](const Wish::Part& part) { return monitor_.any_taken_away(*part.lock); });
  if (taken_away && error.code == Errc::lost) return;
  monitor_.violated(Oracle::refused,
                    fmt::format("{} was refused {} in good weather: {}", who, wish.title(), error.to_string()));
}

std::shared_ptr<lock::LockCore> Player::handle_of(const PlayedLock& played) const {
  LockOptions bounds;
  bounds.local_passes = played.strict ? 0 : played.passes;
  if (!played.strict && played.pass_time > 0s) bounds.local_pass_time = played.pass_time;
  if (played.spin) bounds.waiting = WaitStyle::spin;
  Result<std::shared_ptr<lock::LockCore>> handle =
      lock::ClientCore::lock(link_of(played).core, played.kind, played.name, bounds);
  return handle ? *handle : nullptr;
}

awaitable<Result<Hold>> Player::acquire(const Wish& wish) {
  const Wish::Part& part = wish.parts.front();
  const auto lock = handle_of(*part.lock);
  if (!lock) co_return Error{Errc::closed, "the client is closed"};
  if (wish.as_thread) {
    Result<Hold> hold = co_await acquire_as_thread(wish);
    co_return hold;
  }
  Stopper stopper(process, wish.cancel_after);
  Result<Hold> hold = co_await lock->acquire(wish.options, stopper.token(), part.wanted);
  stopper.disarm();
  co_return hold;
}

// What LockCore does for a thread that blocks, with a coroutine in place of the thread.
awaitable<Result<Hold>> Player::acquire_as_thread(const Wish& wish) {
  using Local = Result<std::shared_ptr<local::LocalHold>>;
  const Wish::Part& part = wish.parts.front();
  const auto named = handle_of(*part.lock)->named();
  Result<local::Request> request =
      lock::make_request(wish.options, part.wanted, {}, named->agreed().scheme->capabilities());
  request->spin = part.lock->spin;
  const std::shared_ptr<local::LocalLock> queue = named->queue(*request);
  const std::stop_token never;
  Result<local::LocalLock::Place> place = queue->queue_up(*request, never);
  if (!place) co_return place.error();
  Local local = local::LocalLock::granted(*place);
  if (!*local) {
    const auto answered = std::make_shared<base::Wakeup>(process);
    const auto answer = std::make_shared<std::optional<Local>>();
    queue->wait_without_coroutine(*place, [answered, answer](Local outcome) {
      answer->emplace(std::move(outcome));
      answered->notify();
    });
    co_await answered->wait(base::Time::max());
    local = std::move(**answer);
  }
  if (!local) co_return local.error();
  if ((*local)->remaining() <= 0s) {
    local = co_await queue->acquire(*request, never, *place);
    if (!local) co_return local.error();
  }
  co_return lock::HoldCore::face(std::make_shared<lock::HoldCore>(named, queue, *local));
}

awaitable<Result<MultiHold>> Player::acquire_together(const Wish& wish) {
  const auto plan = std::make_shared<lock::MultiPlan>();
  for (const Wish::Part& part : wish.parts) {
    auto lock = handle_of(*part.lock);
    if (!lock) co_return Error{Errc::closed, "the client is closed"};
    plan->parts.push_back({std::move(lock), part.wanted});
  }
  Stopper stopper(process, wish.cancel_after);
  base::awaitable<Result<MultiHold>> taking = lock::MultiPlan::acquire(plan, wish.options, stopper.token());
  std::optional<Result<MultiHold>> holds;
  co_await base::store_result(std::move(taking), holds);  // as the face does, also where the store throws
  stopper.disarm();
  co_return std::move(*holds);
}

base::Time Player::end_of_work(Dice& dice) const {
  if (stage_.script.quiet) return process.now() + dice.up_to(20ms);
  return process.now() + (dice.chance(20) ? dice.up_to(8s) : dice.up_to(300ms));
}

// Writes before it looks whether it may: nobody can do both at one instant, and whoever was paused comes late.
awaitable<void> Player::work(const Hold& hold, const PlayedLock& lock, Dice& dice) {
  const base::Time end = end_of_work(dice);
  const bool checks = dice.chance(stage_.script.with_check), yields = dice.chance(70);
  if (checks) co_await check(hold, lock);
  for (;;) {
    monitor_.writes(hold);
    const bool asked = yields && hold.release_requested().stop_requested();
    if (process.now() >= end || hold.lost().stop_requested() || asked) break;
    co_await base::sleep_until(process, std::min(end, process.now() + 500ms));
  }
}

awaitable<void> Player::work(const MultiHold& holds, Dice& dice) {
  const base::Time end = end_of_work(dice);
  for (;;) {
    for (std::size_t part = 0; part < holds.size(); ++part) monitor_.writes(holds[part]);
    if (process.now() >= end || holds.lost().stop_requested()) break;
    co_await base::sleep_until(process, std::min(end, process.now() + 500ms));
  }
}

awaitable<void> Player::check(const Hold& hold, const PlayedLock& lock) {
  const bool stood = monitor_.stands(hold);
  Result<void> answer = co_await store::answered(link_of(lock).core->check(hold.sequencer()));
  ++monitor_.deeds().checks;
  if (answer.code() != Errc::overtaken || !stood || !monitor_.stands(hold)) co_return;
  monitor_.violated(Oracle::check_denies, lock.title() + " is held, and its sequencer is denied");
}

awaitable<void> Player::downgrade(const Hold& hold, Dice& dice) {
  const auto behind = lock::HoldCore::behind(hold);
  if (dice.chance(30)) {  // as the Lockable face does
    monitor_.downgrades(hold);
    behind->send_downgrade();
    co_return;
  }
  for (bool again = true; again;) {
    monitor_.downgrades(hold);
    Result<void> answer = co_await behind->downgrade();
    monitor_.downgraded(hold, answer);
    again = !answer && dice.chance(50);
  }
}

// Keeps the client's session alive, so that a claim left behind does not vanish with it unseen.
awaitable<void> Player::anchor(Link& link) {
  Wish wish;
  wish.parts.push_back({&link.anchor});
  wish.options.lease = stage_.script.lease;
  while (!stage_.curtain && !closing_) {
    Result<Hold> hold = co_await acquire(wish);
    if (!hold) {
      co_await base::sleep_for(process, 200ms);
      continue;
    }
    monitor_.granted(process, wish, *hold);
    link.anchored = true;
    while (!stage_.curtain && hold->valid()) co_await base::sleep_for(process, 200ms);
    link.anchored = false;
    monitor_.ended(*hold);
  }
}

awaitable<void> Player::observe(const PlayedLock& election, Testimony& testimony) {
  const auto observation = std::make_shared<lock::ObservationCore>(handle_of(election)->named());
  Dice dice = stage_.dice(fmt::format("{} observes {}", name, election.name));
  for (;;) {
    const bool hurry = stage_.healed;
    if (!hurry && dice.chance(40)) co_await base::sleep_for(process, dice.up_to(8s));
    std::optional<Duration> wait, cancel_after;
    if (dice.chance(30)) wait = dice.chance(30) ? Duration(0s) : dice.up_to(3s);
    if (dice.chance(20)) cancel_after = dice.up_to(3s);
    const base::Time began = process.now();
    Stopper stopper(process, cancel_after);
    Result<std::optional<Leader>> change = co_await lock::ObservationCore::next(observation, wait, stopper.token());
    stopper.disarm();
    if (change) {
      monitor_.note("{} sees {} lead", name, *change ? (*change)->value : "nobody");
      monitor_.told(election, testimony, *change);
      if (monitor_.violation()) break;  // it may be told the same for ever, without a pause
      continue;
    }
    if (change.code() == Errc::closed && closing_) break;
    const bool timed_out = change.code() == Errc::timed_out && wait && process.now() >= began + *wait;
    const bool cancelled = change.code() == Errc::cancelled && cancel_after;
    if (!timed_out && !cancelled) {
      monitor_.violated(Oracle::cannot_observe, fmt::format("{} cannot observe: {}", name, change.error().to_string()));
      break;
    }
    if (wait == Duration(0s)) co_await base::sleep_for(process, 200ms);
  }
  --observers_;
}

void Player::question_observers() {
  for (const auto& [election, testimony] : testimonies_) monitor_.observed(*election, testimony);
}

}  // namespace pawl::test
