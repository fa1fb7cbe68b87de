#include "tests/simulation/play.hpp"

#include "base/wakeup.hpp"
#include "lock/hold_core.hpp"
#include "lock/mutex_core.hpp"

#include <fmt/format.h>

#include <chrono>
#include <stop_token>
#include <utility>

namespace pawl::test {

using namespace std::chrono_literals;

namespace {

constexpr Duration lease = 3s;
constexpr Duration longest_lease = 2 * lease;
constexpr Duration timeout = 1s;
constexpr Duration longest_delay = 5s;
constexpr std::uint64_t most_steps = 1'000'000;  // a play has a few thousand

std::shared_ptr<store::memory::MemoryState> make_state(base::SimWorld& world, base::Runtime& server) {
  return std::make_shared<store::memory::MemoryState>([&world] { return world.now(); },
                                                      [&world] { return world.random(); }, server.unix_milliseconds());
}

}  // namespace

Play::Play(std::uint64_t seed)
    : world_(seed),
      server_(world_.add_process()),
      state_(make_state(world_, server_)),
      monitor_(world_, state_, server_),
      script_(write_script(world_)),
      seed_(seed) {
  world_.after_step = [this] { monitor_.look(); };
}

Play::Script Play::write_script(base::SimWorld& world) {
  const auto roll = [&](std::uint64_t most) { return world.random() % (most + 1); };
  const auto rate = [&](double worst) { return roll(1) == 0 ? 0.0 : worst * static_cast<double>(roll(100)) / 100; };
  Script script{};
  script.players = 2 + roll(2);
  script.users = 1 + static_cast<int>(roll(2));
  script.locks = 1 + static_cast<int>(roll(1));
  script.rounds = 3 + static_cast<int>(roll(3));
  script.disasters = static_cast<int>(roll(8));
  script.weather.refuse = rate(0.1);
  script.weather.drop_request = rate(0.2);
  script.weather.drop_reply = rate(0.2);
  script.weather.request_delay = rate(0.3);
  script.weather.reply_delay = rate(0.3);
  script.weather.duplicate = rate(0.2);
  script.weather.drop_notice = rate(0.5);
  script.weather.delay_notice = rate(0.3);
  script.weather.repeat_notice = rate(0.2);
  const Duration delays[] = {200ms, 900ms, longest_delay};  // far within, just within, and beyond a request's deadline
  script.weather.longest_delay = delays[roll(2)];
  return script;
}

Duration Play::up_to(Duration longest) {
  return Duration(static_cast<std::int64_t>(world_.random() % static_cast<std::uint64_t>(longest.count() + 1)));
}

void Play::enter(const std::string& name) {
  auto player = std::make_unique<Player>();
  player->name = name;
  player->process = &world_.add_process();
  player->faults = std::make_shared<RandomFaults>(server_, healed_ ? FaultRates{} : script_.weather);
  auto connection = std::make_shared<store::memory::MemoryStore>(state_, server_);
  player->store = std::make_shared<FaultyStore>(connection, *player->process, player->faults, server_);
  ClientOptions options;
  options.lease = lease;
  options.timeout = timeout;
  player->core = lock::ClientCore::make(*player->process, player->store, options).value();
  player->users = script_.users;
  for (int i = 0; i < script_.users; ++i) base::spawn(*player->process, user(*player, i));
  base::spawn(*player->process, anchor(*player));
  players_.push_back(std::move(player));
}

awaitable<void> Play::user(Player& player, int number) {
  const std::string who = fmt::format("{}/{}", player.name, number);
  for (int round = 0; round < script_.rounds; ++round) {
    co_await base::sleep_for(*player.process, up_to(2s));
    co_await turn(player, who);
  }
  --player.users;
}

awaitable<void> Play::turn(Player& player, std::string who) {
  const std::string name = fmt::format("lock{}", world_.random() % static_cast<std::uint64_t>(script_.locks));
  LockOptions bounds;
  if (name == "lock1") bounds.local_passes = 0;
  const auto mutex = lock::ClientCore::mutex(player.core, name, bounds).value();
  AcquireOptions options;
  std::stop_source stop;
  const bool must = chance(50);
  if (!must && chance(30)) options.wait = 0s;
  if (!must && !options.wait && chance(50)) options.wait = up_to(4s) + 1ms;
  if (chance(15)) options.max_hold = up_to(3s) + 1ms;
  if (chance(20)) options.lock_delay = 1s;
  if (chance(10)) options.lease = longest_lease;
  base::Runtime::AlarmId alarm = 0;
  if (!must && chance(20))
    alarm = player.process->set_alarm(player.process->now() + up_to(3s), [stop]() mutable { stop.request_stop(); });
  const bool fine = healed_ && player.process->now() > healed_at_ + longest_delay;
  Result<Hold> hold = co_await mutex->acquire(options, stop.get_token());
  player.process->cancel_alarm(alarm);
  if (!hold) {
    monitor_.note(fmt::format("{} {}: {}", who, name, hold.error().to_string()));
    if (fine && must) monitor_.violated(fmt::format("{} was refused {} in good weather", who, name));
    co_return;
  }
  monitor_.note(fmt::format("{} holds {}", who, name));
  monitor_.granted(*player.process, name, *hold);
  co_await work(player, *hold);
  monitor_.ended(*hold);
  if (chance(30)) co_return;  // the destructor releases
  Result<void> released = co_await lock::HoldCore::behind(*hold)->release();
  monitor_.note(fmt::format("{} released {}: {}", who, name, released ? "done" : released.error().to_string()));
}

awaitable<void> Play::work(Player& player, const Hold& hold) {
  const base::Time end = player.process->now() + (chance(20) ? up_to(8s) : up_to(300ms));
  while (player.process->now() < end && !hold.lost().stop_requested()) {
    co_await base::sleep_until(*player.process, std::min(end, player.process->now() + 500ms));
  }
}

// Keeps the client's session alive, so that a claim left behind does not vanish with it unseen.
awaitable<void> Play::anchor(Player& player) {
  const std::string name = "anchor of " + player.name;
  const auto mutex = lock::ClientCore::mutex(player.core, name, {}).value();
  const AcquireOptions options;
  while (!curtain_) {
    Result<Hold> hold = co_await mutex->acquire(options, std::stop_token());
    if (!hold) {
      co_await base::sleep_for(*player.process, 200ms);
      continue;
    }
    monitor_.granted(*player.process, name, *hold);
    player.anchored = true;
    while (!curtain_ && hold->valid()) co_await base::sleep_for(*player.process, 200ms);
    player.anchored = false;
    monitor_.ended(*hold);
  }
}

Player* Play::someone() {
  Player* player = players_[world_.random() % players_.size()].get();
  return player->crashed ? nullptr : player;
}

awaitable<void> Play::nemesis() {
  for (int i = 0; i < script_.disasters; ++i) {
    co_await base::sleep_for(server_, up_to(4s));
    co_await strike();
  }
  co_await base::sleep_for(server_, up_to(4s));
  heal();
}

awaitable<void> Play::strike() {
  Player* victim = someone();
  if (victim == nullptr) co_return;
  const std::uint64_t what = world_.random() % 10;
  if (what < 3) {
    co_await pause(*victim, up_to(2 * lease));
  } else if (what < 6) {
    co_await cut(*victim, up_to(2 * lease));
  } else if (what < 8) {
    co_await slow_down(*victim, up_to(lease));
    co_await cut(*victim, 2 * lease);
  } else if (what < 9) {
    monitor_.note("the store forgets the sessions of " + victim->name);
    monitor_.excuse(*victim->process, world_.now() + longest_lease);
    co_await victim->store->expire_sessions();
  } else {
    crash(*victim);
  }
}

awaitable<void> Play::pause(Player& player, Duration duration) {
  monitor_.note(fmt::format("{} stands still for {} ms", player.name, duration / 1ms));
  player.process->pause();
  co_await base::sleep_for(server_, duration);
  player.process->resume();
  monitor_.note(player.name + " goes on");
}

// The last answers before a silence are the ones by which a client reckons until when it holds.
awaitable<void> Play::slow_down(Player& player, Duration duration) {
  monitor_.note(fmt::format("{} gets its answers late for {} ms", player.name, duration / 1ms));
  FaultRates slow;
  slow.reply_delay = 1;
  slow.longest_delay = 900ms;
  player.faults->change(slow);
  co_await base::sleep_for(server_, duration);
}

awaitable<void> Play::cut(Player& player, Duration duration) {
  // Half of the time only the way back is cut: the store hears everything, and the client nothing.
  const bool deaf = chance(50);
  monitor_.note(fmt::format("{} is {} for {} ms", player.name, deaf ? "deaf" : "cut off", duration / 1ms));
  FaultRates cut_off;
  cut_off.drop_notice = 1;
  (deaf ? cut_off.drop_reply : cut_off.drop_request) = 1;
  player.faults->change(cut_off);
  co_await base::sleep_for(server_, duration);
  player.faults->change(script_.weather);
}

void Play::crash(Player& player) {
  monitor_.note(player.name + " crashes");
  player.crashed = true;
  player.process->crash();
  monitor_.crashed(*player.process);
  enter(player.name + "'");
}

void Play::heal() {
  monitor_.note("good weather from now on");
  healed_ = true;
  healed_at_ = world_.now();
  for (auto& player : players_) player->faults->change(FaultRates{});
}

bool Play::everybody_done() const {
  if (!healed_) return false;
  for (const auto& player : players_) {
    if (!player->crashed && (player->users != 0 || !player->anchored)) return false;
  }
  return true;
}

Outcome Play::run() {
  for (std::size_t i = 0; i < script_.players; ++i) enter(std::string(1, static_cast<char>('a' + i)));
  base::spawn(server_, nemesis());
  const auto stop = [&] {
    if (world_.steps() > most_steps) monitor_.violated("it goes round and round");
    return monitor_.violation().has_value();
  };
  if (!world_.run_until([&] { return stop() || everybody_done(); }, world_.now() + 1h)) {
    monitor_.violated("somebody waits for ever");
  }
  if (!stop()) drop_curtain();
  return verdict();
}

void Play::drop_curtain() {
  // Requests that were under way arrive, what must be undone is undone; the anchors keep all sessions alive meanwhile.
  world_.run_for(4 * lease);
  std::size_t anchors = 0;
  for (const auto& player : players_) anchors += player->crashed ? 0 : 1;
  check_nothing_is_left(anchors);
  curtain_ = true;
  std::size_t open = anchors;
  for (auto& player : players_) {
    if (player->crashed) continue;
    base::spawn(*player->process, [](Player& last, std::size_t& left) -> awaitable<void> {
      [[maybe_unused]] auto closed = co_await last.core->close(10s);
      --left;
    }(*player, open));
  }
  if (!world_.run_until([&] { return open == 0; }, world_.now() + 1min)) monitor_.violated("a client does not close");
  check_nothing_is_left(0);
  if (state_->census().sessions != 0) monitor_.violated("a session was left behind");
}

void Play::check_nothing_is_left(std::size_t anchors) {
  const store::memory::Census census = state_->census();
  if (census.claims == anchors && census.keys == anchors) return;
  monitor_.violated(
      fmt::format("{} claims of {} locks are left where {} are held", census.claims, census.keys, anchors));
}

Outcome Play::verdict() {
  Outcome outcome;
  outcome.seed = seed_;
  outcome.violation = monitor_.violation();
  outcome.story.assign(monitor_.story().begin(), monitor_.story().end());
  outcome.steps = world_.steps();
  outcome.grants = monitor_.grants();
  for (const auto& player : players_) {
    const Metrics metrics = player->core->context().telemetry.snapshot();
    outcome.lost += metrics.lost;
    outcome.undone += metrics.undone;
    outcome.local_passes += metrics.local_passes;
  }
  return outcome;
}

Outcome simulate(std::uint64_t seed) {
  Play play(seed);
  return play.run();
}

}  // namespace pawl::test
